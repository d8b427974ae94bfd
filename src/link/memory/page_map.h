/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which pages of a window are in use: one bit for each, in parts that are allocated when pages of theirs are first
 * taken. Unlike ranges.h, what was taken as one piece can be given back piece by piece, and that needs no memory. */

#ifndef TENON_PAGE_MAP_H
#define TENON_PAGE_MAP_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { TN__PAGE_MAP_PARTS = 16 };

struct tn__page_map {
    uint64_t start;
    size_t unit, units;                 /* bytes per unit: a page or, in client windows with tiny pages, several */
    uint64_t *used[TN__PAGE_MAP_PARTS]; /* NULL: nothing of that part was ever taken */
};

/* Cannot fail: the bits are allocated with the pieces. */
void tn__page_map_open(struct tn__page_map *map, uint64_t start, size_t size, size_t page_size);
void tn__page_map_close(struct tn__page_map *map, const struct tn_allocator *from);

/* `size` rounded up to what a piece of that size occupies. */
size_t tn__page_map_round(const struct tn__page_map *map, size_t size);

/* Takes the first free piece at or behind `near` or, if there is none, the first one of all. `size` is rounded. False
 * if there is none, or, with *no_memory set, if memory is out. */
bool tn__page_map_take(struct tn__page_map *map, const struct tn_allocator *from, size_t size, uint64_t near,
                       uint64_t *address, bool *no_memory);

/* Gives back a piece that was taken, or whole units of one. */
void tn__page_map_give(struct tn__page_map *map, uint64_t address, size_t size);

#pragma GCC visibility pop
#endif
