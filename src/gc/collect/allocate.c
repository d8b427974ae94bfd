/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The slow path of allocation: collects if that is due, or if there is no memory otherwise. */

#include "base/kept_errno.h"
#include "gc/collect/collect.h"

void *tn__allocate(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t payload, const struct tn_type *type)
{
    const struct tn_collector *collector = heap->collector;
    uint64_t size = tn__allocation_size(payload);
    enum tn__extent extent = collector->due(heap, mutator, size);
    if (extent)
        tn__collect_now(heap, extent);
    void *object = collector->take(heap, mutator, size, type);
    while (!object && extent < collector->last_resort) {
        extent = extent < TN__FULL ? TN__FULL : TN__COMPACT;
        tn__collect_now(heap, extent);
        object = collector->take(heap, mutator, size, type);
    }
    if (!object)
        return NULL;
    *tn__header(object) = (uintptr_t)type;
    memset(object, 0, size - TN_GC_HEADER_SIZE);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* other threads may get it by a plain store */
    return object;
}

void *tn__gc_allocate(size_t payload, const struct tn_type *type)
{
    TN__KEEP_ERRNO;
    struct tn__mutator *mutator = tn__self();
    struct tn_heap *heap = mutator->heap;
    tn__run_finalizers_here(heap);
    tn__heap_lock(heap);
    void *object = tn__allocate(heap, mutator, payload, type);
    tn__heap_unlock(heap);
    if (object)
        return object;
    if (heap->options.out_of_memory)
        heap->options.out_of_memory(heap->options.context, payload);
    __builtin_trap();
}
