/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The copying collector: the reference that others are compared with. It uses the heap's internals, as the collectors
 * of the library do. */

#ifndef TENON_GC_COPYING_H
#define TENON_GC_COPYING_H

#include "gc/collect/collect.h"
#include "oracle.h"
#include "space.h"

#pragma GCC visibility push(hidden)

/* What a heap with this collector has. */
struct tn__copying {
    struct tn__space space;
    uint64_t allocated, threshold; /* bytes since the last collection; how many start the next one */
    uint32_t common;               /* the chunk in which threads that are not attached allocate, or 0 */
};

static inline struct tn__copying *tn__copying_of(const struct tn_heap *heap)
{
    return heap->own;
}

/* The world is stopped and every chunk retired. Afterwards only live objects are left (copy.c). */
void tn__copy(struct tn_heap *heap, struct tn_collection *done);

#pragma GCC visibility pop
#endif
