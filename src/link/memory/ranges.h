/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Allocates pieces of one region of address space: a two-level segregated fit (Masmano et al., 2004) whose descriptors
 * are kept apart from the memory they describe, because that is executable or read-only. Every operation takes constant
 * time. */

#ifndef TENON_RANGES_H
#define TENON_RANGES_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Classes for sizes below 4 GiB: no window is larger. */
enum { TN__RANGE_GRANULE = 16, TN__RANGE_CLASSES = 26, TN__RANGE_STEPS = 8 };

/* A piece of the region, in use or free. Owned by its struct tn__ranges. */
struct tn__mem_range {
    uint64_t address;
    size_t size;                          /* a multiple of the granule */
    struct tn__mem_range *before, *after; /* neighbours in the region */
    union {
        struct { /* free: in the list of its class */
            struct tn__mem_range *next, *previous;
        };
        struct {                     /* in use */
            uint8_t *write;          /* where the bytes at `address` are written; may equal it */
            struct tn__region *home; /* for codemem.h */
        };
    };
    bool free;
    bool fresh;   /* never handed out, so still zero */
    bool writing; /* for codemem.h */
};

/* Descriptors, for any number of regions. A zeroed struct is an empty pool, apart from descriptors.from. */
struct tn__range_pool {
    struct tn__mem_range *spare;
    struct tn__arena descriptors;
};

struct tn__ranges {
    struct tn__range_pool *pool;
    struct tn__mem_range *heads[TN__RANGE_CLASSES][TN__RANGE_STEPS];
    uint32_t class_bits;
    uint8_t step_bits[TN__RANGE_CLASSES];
    uint64_t start;
    uint8_t *write; /* where the bytes at `start` are written */
    uint64_t used;  /* bytes handed out */
};

/* Begins a region whose bytes are visible at `address` and written at `write`. False when memory is out, or if the size
 * is 4 GiB or more. */
bool tn__ranges_open(struct tn__ranges *ranges, struct tn__range_pool *pool, uint64_t address, size_t size,
                     uint8_t *write);

/* Takes `size` bytes aligned to the power of two `alignment`. NULL if the region has no space, or, with *no_memory set,
 * if memory is out. */
struct tn__mem_range *tn__ranges_take(struct tn__ranges *ranges, size_t size, size_t alignment, bool *no_memory);

/* Cuts a range in use after `size` bytes, a multiple of the granule and less than all; returns the rest, another range
 * in use. NULL if memory is out. */
struct tn__mem_range *tn__ranges_cut(struct tn__ranges *ranges, struct tn__mem_range *range, size_t size);

/* Gives a range back, merging it with free neighbours; returns the free range that it is part of now. Never fails. */
const struct tn__mem_range *tn__ranges_give(struct tn__ranges *ranges, struct tn__mem_range *range);

/* ---- regions that are abandoned ---- */

/* Whole pages of a region in which nothing is in use any more. */
struct tn__pages {
    uint64_t address;
    size_t size;    /* 0: none */
    unsigned sides; /* on how many sides of them other pages of the region remain */
};

/* Abandons free space: nothing more may be taken from this region. Each call takes the whole pages of one free range
 * out of it; false when no free range is left to look at. */
bool tn__ranges_abandon(struct tn__ranges *ranges, size_t page_size, struct tn__pages *pages);

/* Gives a range of an abandoned region back, and takes out the whole pages that become free. When memory is out these
 * stay until a neighbour is given back. */
struct tn__pages tn__ranges_give_abandoned(struct tn__ranges *ranges, struct tn__mem_range *range, size_t page_size);

#pragma GCC visibility pop
#endif
