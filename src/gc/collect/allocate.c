/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The slow path of allocation: a new chunk for the thread or a large object, after a collection if one is due. */

#include "gc/collect/collect.h"

/* ---- small objects ---- */

/* Where an object's header goes if one begins at or behind `at`; fills with zeros up to there. */
static char *place(char *at, const struct tn_type *type)
{
    if (type->alignment == 16 && ((uintptr_t)at + TN_GC_HEADER_SIZE) % 16) {
        *(uint64_t *)(void *)at = 0;
        at += 8;
    }
    return at;
}

static void *bump(struct tn__mutator *mutator, uint64_t size, const struct tn_type *type)
{
    struct tn_gc_block *block = mutator->block;
    uint64_t most = size + (type->alignment == 16 ? 8 : 0);
    if (!mutator->limit || most > (uint64_t)(mutator->limit - block->bump))
        return NULL;
    char *header = place(block->bump, type);
    block->bump = header + size;
    return header + TN_GC_HEADER_SIZE;
}

static bool refill(struct tn_heap *heap, struct tn__mutator *mutator)
{
    tn__retire(mutator);
    uint32_t chunk = tn__space_take(&heap->space, &heap->space.small, false);
    if (!chunk)
        return false;
    char *start = (char *)tn__chunk_address(&heap->space, chunk);
    mutator->chunk = chunk;
    mutator->block->bump = start + TN__CHUNK_HEAD;
    mutator->limit = start + TN__CHUNK_SIZE;
    /* Under the lock, so no stop request is lost. In stress mode every allocation takes the slow path. */
    bool stress = heap->options.flags & TN_HEAP_STRESS;
    __atomic_store_n(&mutator->block->limit, stress ? NULL : mutator->limit, __ATOMIC_RELAXED);
    heap->allocated += TN__CHUNK_SIZE;
    return true;
}

/* ---- large objects ---- */

static void *take_large(struct tn_heap *heap, uint64_t size, const struct tn_type *type)
{
    uint8_t shift = type->alignment == 16 ? 16 : TN_GC_HEADER_SIZE;
    uint32_t chunk = tn__space_take_big(&heap->space, shift + size);
    if (!chunk)
        return NULL;
    heap->space.chunks[chunk].shift = shift;
    heap->allocated += heap->space.chunks[chunk].bytes;
    return (char *)tn__chunk_address(&heap->space, chunk) + shift;
}

/* ---- both ---- */

/* True if `bytes` more stay within the limit. */
static bool is_within_limit(const struct tn_heap *heap, uint64_t bytes)
{
    return heap->space.in_use <= heap->options.limit && bytes <= heap->options.limit - heap->space.in_use;
}

/* A thread that is not attached to this heap has no chunk in it: its objects are treated as large, whatever their
 * size. */
static void *take(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t size, const struct tn_type *type)
{
    if (size > TN__LARGE || !mutator)
        return is_within_limit(heap, size) ? take_large(heap, size, type) : NULL;
    void *object = bump(mutator, size, type);
    if (!object && is_within_limit(heap, TN__CHUNK_SIZE) && refill(heap, mutator))
        object = bump(mutator, size, type);
    return object;
}

static bool is_time(const struct tn_heap *heap, const struct tn__mutator *mutator, uint64_t size)
{
    if (heap->options.flags & TN_HEAP_STRESS)
        return true;
    bool fits = mutator && mutator->limit && size <= (uint64_t)(mutator->limit - mutator->block->bump);
    return !fits && heap->allocated >= heap->threshold;
}

void *tn__allocate(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t payload, const struct tn_type *type)
{
    uint64_t size = tn__allocation_size(payload);
    bool collected = is_time(heap, mutator, size);
    if (collected)
        tn__collect_now(heap);
    void *object = take(heap, mutator, size, type);
    if (!object && !collected) {
        tn__collect_now(heap);
        object = take(heap, mutator, size, type);
    }
    if (!object)
        return NULL;
    *tn__header(object) = (uintptr_t)type;
    memset(object, 0, size - TN_GC_HEADER_SIZE);
    return object;
}

void *tn__gc_allocate(size_t payload, const struct tn_type *type)
{
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
