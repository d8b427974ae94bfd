/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An image with something in each zone: a list of four links, one of them of a type of the program, one with the
 * address of zones_anchor, one frozen. */

#ifndef TENON_TESTS_IMAGE_ZONES_H
#define TENON_TESTS_IMAGE_ZONES_H

#include "saved.h"

extern const struct tn_type zones_host_type;
extern char zones_anchor[8];

/* Names any address "anchor", or "visit". */
int zones_name(void *context, const void *address, struct tn_save_name *out);
void *zones_find(void *context, const char *name);

void zones_make(const char *path, const char *name);
struct tn_image_load_options zones_options(struct tn_heap *heap, uint64_t flags);
/* Checks the list. */
void zones_check(struct tn_heap *heap, const struct tn_image *image);
struct tn_image_memory zones_memory(const struct tn_image *image);

/* Where header and tables are in the file. */
size_t zones_header(const uint8_t *bytes, size_t size);
/* Where its table of this kind is, and how many rows that has. */
size_t zones_table(const uint8_t *bytes, size_t size, uint32_t kind, uint32_t *count);
/* How many rows the table of a file has. */
uint32_t zones_rows(const char *path, uint32_t kind);
/* Makes the checksums right again. */
void zones_sign(uint8_t *bytes, size_t size, size_t header);

#endif
