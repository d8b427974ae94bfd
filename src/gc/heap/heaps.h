/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* All heaps. */

#ifndef TENON_GC_HEAPS_H
#define TENON_GC_HEAPS_H

#include "gc/threads/threads.h"

#pragma GCC visibility push(hidden)

/* Of tn_heap_options.extra, in percent. */
enum { TN__MOST_EXTRA = 10000 };

/* These wait outside of managed code. A heap that is removed is no longer the default one. */
void tn__heaps_add(struct tn_heap *heap);
void tn__heaps_remove(struct tn_heap *heap);
/* Whether the object is of any other heap; false of what is in none. Takes a lock under which nothing is waited for, so
 * managed code may ask. */
bool tn__is_of_another_heap(const struct tn_heap *own, const void *object);

/* The default heap; if there is none, `otherwise` becomes it. */
struct tn_heap *tn__default_heap(struct tn_heap *otherwise);

/* tn_managed_begin and tn_managed_end, which host_MACHINE.c calls them from: levels whose `sp` is at most `fp` are
 * abandoned (enter.c). */
void tn__managed_begin(uintptr_t fp);
void tn__managed_end(uintptr_t fp);

#pragma GCC visibility pop
#endif
