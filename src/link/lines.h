/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which line of which file an instruction comes from: the line tables of DWARF 2 to 5 (section 6.2 of the standard), as one
 * array by address. What else debug information tells takes a reader many times as large (codegen/dwarf.cpp). */

#ifndef TENON_LINES_H
#define TENON_LINES_H

#include "debug_image.h"

#pragma GCC visibility push(hidden)

/* Its path is root/directory/name, of which empty parts are left out. */
struct tn__source_file {
    const char *root, *directory, *name;
};

struct tn__line {
    uint64_t address;
    const struct tn__source_file *file; /* NULL: nothing is known from here on */
    uint32_t line;                      /* 0: made by the compiler */
};

struct tn__lines {
    struct tn__arena arena; /* files */
    struct tn__line *items;
    size_t count, capacity;
};

/* Adds the lines of an image's objects; a zeroed struct is empty. Names lie in the image, which is borrowed. Tables that make
 * no sense are passed over from there on. TN_ENOMEM. */
int tn__lines_add(struct tn__lines *lines, const struct tn__debug_image *image, struct tn_error *err);

/* The line that the instruction at `address` belongs to, or NULL. Those of the instructions behind it follow. */
const struct tn__line *tn__lines_find(const struct tn__lines *lines, uint64_t address);

/* As snprintf. */
int tn__source_path(const struct tn__source_file *file, char *out, size_t size);

void tn__lines_free(struct tn__lines *lines);

#pragma GCC visibility pop
#endif
