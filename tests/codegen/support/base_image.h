/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An image and others that depend on it, by the API. All fail the running test if something goes wrong. */

#ifndef TENON_TESTS_CODEGEN_BASE_IMAGE_H
#define TENON_TESTS_CODEGEN_BASE_IMAGE_H

#include "tenon_codegen.h"
#include "tenon_image.h"

/* The file, for tn_image_open_memory, of an archive that tn_image_build has made, or of what it makes of the input. */
struct tn_buffer link_archive(const struct tn_buffer *archive);
struct tn_buffer build_file(const struct tn_image_input *input, const struct tn_image_options *how);

/* Builds and opens an image of the name "base". */
struct tn_image *open_base(const char *ir, size_t length);

/* Makes *dependency, which has its name, one on the image, which has to stay open. */
void depend_on(struct tn_image_dependency *dependency, const struct tn_image *image);

#endif
