/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Allocates pieces of address space: a two-level segregated fit (Masmano et al., 2004) whose descriptors are kept apart
 * from the memory they describe, because that is executable or read-only. Every operation takes constant time. */

#ifndef TENON_RANGES_H
#define TENON_RANGES_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { TN__RANGE_GRANULE = 16, TN__RANGE_CLASSES = 40, TN__RANGE_STEPS = 8 };

/* A piece of address space in use, or free. Owned by its struct tn__ranges. */
struct tn__range {
    uint64_t address;
    size_t size;                       /* a multiple of the granule */
    uint8_t *write;                    /* where the bytes at `address` are written; may equal it */
    struct tn__range *before, *after;  /* neighbours in the same region */
    struct tn__range *next, *previous; /* in the free list of its class */
    uint32_t era;                      /* see tn__ranges_new_era */
    bool free;
    bool fresh; /* never handed out, so still zero */
};

struct tn__ranges {
    struct tn__range *heads[TN__RANGE_CLASSES][TN__RANGE_STEPS];
    uint64_t class_bits;
    uint8_t step_bits[TN__RANGE_CLASSES];
    uint32_t era;
    uint64_t used; /* bytes handed out */
    struct tn__range *spare;
    struct tn__arena descriptors;
};

/* Adds a region whose bytes are visible at `address` and written at `write`. False when memory is out. */
bool tn__ranges_add(struct tn__ranges *ranges, uint64_t address, size_t size, uint8_t *write);

/* Takes `size` bytes aligned to the power of two `alignment`. NULL if no region has room, or, with *no_memory set, if memory is
 * out. */
struct tn__range *tn__ranges_take(struct tn__ranges *ranges, size_t size, size_t alignment, bool *no_memory);

/* Gives a range back, merging it with free neighbours. Never fails. */
void tn__ranges_give(struct tn__ranges *ranges, struct tn__range *range);

/* From now on, nothing added before is handed out again, whether it is free now or given back later. */
void tn__ranges_new_era(struct tn__ranges *ranges);

void tn__ranges_close(struct tn__ranges *ranges);

#pragma GCC visibility pop
#endif
