/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An image in this program with one function, `first`, which is replaceable. Its only version is a body that the test
 * gives. */

#ifndef TENON_TESTS_JIT_CLAIMED_IMAGE_H
#define TENON_TESTS_JIT_CLAIMED_IMAGE_H

#include "tenon_image.h"

/* `body`: a long (*)(long). One image at a time. */
struct tn_image *open_claimed_image(const void *body);
/* The address of its version. */
const void *version_of(const struct tn_image *image);

#endif
