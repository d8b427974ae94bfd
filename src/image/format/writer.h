/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Writing header and tables of images: shared by what makes images of code (src/codegen/image) and of saved objects
 * (src/image/save). */

#ifndef TENON_IMAGE_WRITER_H
#define TENON_IMAGE_WRITER_H

#include "image/format/format.h"

#pragma GCC visibility push(hidden)

/* A growing table of text. */
struct tn__image_text {
    char *bytes;
    size_t size, capacity;
    bool full; /* memory is out */
};

/* Appends a string and returns its offset; 0, and `full`, if memory is out. */
uint32_t tn__image_add_text(struct tn__image_text *text, const char *string);

/* The same for bytes that are no string. */
uint32_t tn__image_add_bytes(struct tn__image_text *text, const void *bytes, size_t size);

/* What of a header is not the same for all images. */
struct tn__image_numbers {
    uint16_t machine;
    uint32_t size, slots, places, tables, name, gc_abi;
};

/* Fills the header, which is zeroed, but for the build id and the checksum. */
void tn__image_write_header(uint8_t *header, const struct tn__image_numbers *numbers);

/* Enters a table of required kind as row `index` of the directory. It begins at *size, which is increased by the size
 * of its rows; returns the first one. */
uint8_t *tn__image_begin_table(uint8_t *header, size_t index, enum tn__image_table kind, size_t count, size_t row,
                               size_t *size);

#pragma GCC visibility pop
#endif
