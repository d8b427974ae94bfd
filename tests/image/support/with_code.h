/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An image with code and saved objects, made without a compiler and a linker: a file of segments, with the public
 * function `run`, which has a slot, two values, the type `link` and the root `root`, and one type of code. */

#ifndef TENON_TESTS_IMAGE_WITH_CODE_H
#define TENON_TESTS_IMAGE_WITH_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "tenon_image.h"

struct with_code {
    uint8_t *bytes;
    size_t size;
    uint64_t header, code, code_size, values; /* where they are; addresses in the file are offsets */
    uint64_t zones, end, page;                /* zones lie between, apart from the page with slots and values */
    uint64_t layout;                          /* the row of the type of code, of which offset lists are in the text */
};

/* Takes the objects of the file that tn_save_write has written. The image's name is `code`. The caller frees the bytes.
 * Returns the code of what reads the file, or TN_ENOMEM. */
int with_code_make(const uint8_t *file, size_t size, struct with_code *made, struct tn_error *err);

#endif
