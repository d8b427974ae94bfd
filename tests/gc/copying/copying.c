/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The copying collector as heaps and threads know it: its memory, and the chunks that threads allocate in. */

#include "copying.h"

enum { SMALLEST_MB = 64 };

/* ---- a heap ---- */

static void count_use(struct tn_heap *heap)
{
    heap->in_use = tn__copying_of(heap)->space.in_use;
    heap->large = tn__copying_of(heap)->space.large;
    heap->committed = heap->in_use + ((uint64_t)tn__copying_of(heap)->space.spare_count << TN__CHUNK_SHIFT);
}

/* Reserves twice the limit for copying, and twice that again so that freed addresses are not soon reused; less if the
 * system or the caller allows less. */
static bool open_space(struct tn_heap *heap, struct tn__space *space)
{
    uint64_t smallest = (uint64_t)SMALLEST_MB << 20;
    uint64_t size = tn__align_up(tn__max64(tn__min64(heap->options.limit, 1ull << 40) * 4, smallest), TN__CHUNK_SIZE);
    for (; size >= smallest; size = tn__align_up(size / 2, TN__CHUNK_SIZE))
        if (tn__space_open(space, size)) {
            heap->options.limit = tn__min64(heap->options.limit, size); /* no size within the limit overflows then */
            return true;
        }
    return false;
}

static int open_copying(struct tn_heap *heap, struct tn_error *err)
{
    struct tn__copying *own = tn__alloc_zeroed(NULL, 1, sizeof *own);
    if (!own)
        return tn__no_memory(err, NULL);
    if (!open_space(heap, &own->space)) {
        tn__free(NULL, own);
        return tn__fail(err, TN_ENOMEM, "no address space for a heap");
    }
    own->threshold = tn__within_soft_limit(heap, 0, heap->options.minimum);
    heap->own = own;
    heap->start = own->space.base;
    heap->size = own->space.size;
    heap->young_size = heap->options.flags & TN_HEAP_VERIFY ? UINT64_MAX : 0; /* else the barrier serves nothing */
    return 0;
}

static void close_copying(struct tn_heap *heap)
{
    tn__space_close(&tn__copying_of(heap)->space);
    tn__free(NULL, heap->own);
}

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

static void retire(struct tn__mutator *mutator)
{
    if (!mutator->chunk)
        return;
    struct tn__space *space = &tn__copying_of(mutator->heap)->space;
    uintptr_t start = tn__chunk_address(space, mutator->chunk);
    space->chunks[mutator->chunk].used = (uint32_t)((uintptr_t)mutator->block->bump - start);
    mutator->chunk = 0;
    mutator->limit = mutator->block->bump = NULL;
    __atomic_store_n(&mutator->block->limit, NULL, __ATOMIC_RELAXED);
}

static uint32_t take_chunk(struct tn_heap *heap)
{
    struct tn__copying *own = tn__copying_of(heap);
    uint32_t chunk = 0;
    if (tn__is_within_limit(heap, 0, TN__CHUNK_SIZE))
        chunk = tn__space_take(&own->space, &own->space.small, false);
    own->allocated += chunk ? TN__CHUNK_SIZE : 0;
    return chunk;
}

static bool refill(struct tn_heap *heap, struct tn__mutator *mutator)
{
    struct tn__copying *own = tn__copying_of(heap);
    retire(mutator);
    uint32_t chunk = take_chunk(heap);
    if (!chunk)
        return false;
    char *start = (char *)tn__chunk_address(&own->space, chunk);
    mutator->chunk = chunk;
    mutator->block->bump = start + TN__CHUNK_HEAD;
    mutator->limit = start + TN__CHUNK_SIZE;
    /* Under the lock, so no stop request is lost. In stress mode every allocation takes the slow path. */
    bool stress = heap->options.flags & TN_HEAP_STRESS;
    __atomic_store_n(&mutator->block->limit, stress ? NULL : mutator->limit, __ATOMIC_RELAXED);
    return true;
}

/* For a thread that is not attached to this heap, which has no chunk of its own in it: all such threads share one. */
static void *bump_common(struct tn_heap *heap, uint64_t size, const struct tn_type *type)
{
    struct tn__copying *own = tn__copying_of(heap);
    struct tn__chunk *chunks = own->space.chunks;
    uint64_t most = size + (type->alignment == 16 ? 8 : 0);
    if (!own->common || most > TN__CHUNK_SIZE - chunks[own->common].used)
        own->common = take_chunk(heap);
    if (!own->common)
        return NULL;
    char *start = (char *)tn__chunk_address(&own->space, own->common);
    char *header = place(start + chunks[own->common].used, type);
    chunks[own->common].used = (uint32_t)(header + size - start);
    return header + TN_GC_HEADER_SIZE;
}

/* ---- large objects ---- */

static void *take_large(struct tn__copying *own, uint64_t size, const struct tn_type *type)
{
    uint8_t shift = type->alignment == 16 ? 16 : TN_GC_HEADER_SIZE;
    uint32_t chunk = tn__space_take_big(&own->space, shift + size);
    if (!chunk)
        return NULL;
    own->space.chunks[chunk].shift = shift;
    own->allocated += own->space.chunks[chunk].bytes;
    return (char *)tn__chunk_address(&own->space, chunk) + shift;
}

/* ---- both ---- */

static void *take(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t size, const struct tn_type *type)
{
    void *object = NULL;
    if (size > TN__LARGE) {
        if (tn__is_within_limit(heap, size, TN__BIG_UNIT))
            object = take_large(tn__copying_of(heap), size, type);
    } else if (mutator) {
        object = bump(mutator, size, type);
        if (!object && refill(heap, mutator))
            object = bump(mutator, size, type);
    } else {
        object = bump_common(heap, size, type);
    }
    count_use(heap);
    return object;
}

static enum tn__extent due(const struct tn_heap *heap, const struct tn__mutator *mutator, uint64_t size)
{
    const struct tn__copying *own = tn__copying_of(heap);
    bool fits = mutator && mutator->limit && size <= (uint64_t)(mutator->limit - mutator->block->bump);
    bool is_due = heap->options.flags & TN_HEAP_STRESS || (!fits && own->allocated >= own->threshold);
    return is_due ? TN__FULL : TN__NOTHING;
}

/* ---- collections ---- */

static bool is_object(const struct tn_heap *heap, const void *address)
{
    return tn__is_object(&tn__copying_of(heap)->space, address);
}

static void collect(struct tn_heap *heap, enum tn__extent extent, struct tn_collection *done)
{
    struct tn__copying *own = tn__copying_of(heap);
    own->common = 0; /* what was allocated in it moves elsewhere, or stays alone */
    tn__verify_barriers(heap);
    tn__sift_results(heap, is_object);
    tn__copy(heap, done);
    if (extent == TN__TRIM) {
        tn__space_trim(&own->space, 0);
        tn__phase_end(heap, TN_COLLECTION_TRIM);
    }
    count_use(heap);
    done->full = 1;
    done->swept = done->before > heap->in_use ? done->before - heap->in_use : 0;
    own->allocated = 0;
    uint64_t budget = heap->in_use + tn__max64(heap->options.minimum, heap->in_use / 100 * heap->options.extra);
    own->threshold = tn__within_soft_limit(heap, heap->in_use, budget) - heap->in_use;
    tn__verify_heap(heap);
}

static void each_object(const struct tn_heap *heap, void (*visit)(void *context, void *object), void *context)
{
    tn__each_object(&tn__copying_of(heap)->space, visit, context);
}

const struct tn_collector tn_collector_copying = {
    .name = "copy",
    .last_resort = TN__FULL,
    .open = open_copying,
    .close = close_copying,
    .due = due,
    .take = take,
    .retire = retire,
    .log = tn__verify_log, /* objects are unlogged only if the heap is verified */
    .collect = collect,
    .each_object = each_object,
};
