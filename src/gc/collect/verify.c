/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Checks a heap after a collection: every reference in it, in handles and in root ranges is null, permanent or the
 * start of an object; no header is a forwarding one.
 *
 * Then every object is marked as not logged, and its references are recorded. Before the next collection, each
 * reference of an object that still has that mark must be unchanged, or lead to no object of the heap (null or a
 * permanent object, which are stored without a barrier), or be in a word that was logged. Of such a word, the object's
 * type has to say that it holds a reference. */

#include <stdio.h>
#include <stdlib.h>

#include "gc/collect/collect.h"

/* ---- objects ---- */

/* The starts of all objects: a hash table. */
struct check {
    struct tn_heap *heap;
    const char *wrong;
    const void **starts;
    size_t count, capacity;
};

static const void **place_of(const struct check *check, const void *object)
{
    size_t at = ((uintptr_t)object >> 3) * 0x9E3779B97F4A7C15u >> 20;
    while (check->starts[at & (check->capacity - 1)] && check->starts[at & (check->capacity - 1)] != object)
        at++;
    return &check->starts[at & (check->capacity - 1)];
}

static void count_start(void *context, void *object)
{
    struct check *check = context;
    check->count++;
    if (*tn__header(object) & TN_GC_FORWARDED)
        check->wrong = "a header says after a collection that its object went elsewhere";
}

static void note_start(void *context, void *object)
{
    *place_of(context, object) = object;
}

static void check_slot(void *context, void **slot)
{
    struct check *check = context;
    if (tn__is_in_heap(check->heap, *slot) && !*place_of(check, *slot))
        check->wrong = "a reference leads to no object after a collection";
    else if (*slot && check->heap->permanent_work && !check->heap->permanent_work->is_start(check->heap, *slot))
        check->wrong = "a reference leads into a permanent object";
}

/* False: no memory. */
static bool note_starts(struct check *check)
{
    enum { LEAST = 64 };
    for (check->capacity = LEAST; check->capacity < 2 * check->count;)
        check->capacity *= 2;
    check->starts = tn__alloc_zeroed(NULL, check->capacity, sizeof *check->starts);
    if (check->starts)
        check->heap->collector->each_object(check->heap, note_start, check);
    return check->starts;
}

static void check_object(void *context, void *object)
{
    tn__visit_all_references(object, check_slot, context);
}

/* ---- barriers ---- */

/* For each object: its address, the number of its references, and these. */
struct tn__snapshot {
    uintptr_t *words;
    size_t count, capacity;
    bool is_whole; /* false: memory ran out */
    struct tn__mutex
        lock; /* for `stored`: words that the barrier was told of since then. A leaf: nothing is waited for */
    uintptr_t *stored;
    size_t stored_count, stored_capacity;
};

static struct tn__snapshot *make_snapshot(void)
{
    struct tn__snapshot *snapshot = tn__alloc_zeroed(NULL, 1, sizeof *snapshot);
    if (snapshot)
        tn__mutex_init(&snapshot->lock, TN__LEVEL_SNAPSHOT);
    return snapshot;
}

static void note_word(struct tn__snapshot *snapshot, uintptr_t word)
{
    snapshot->is_whole &=
        tn__grow(NULL, &snapshot->words, &snapshot->capacity, snapshot->count + 1, sizeof *snapshot->words);
    if (snapshot->is_whole)
        snapshot->words[snapshot->count++] = word;
}

static void note_slot(void *context, void **slot)
{
    note_word(context, (uintptr_t)*slot);
}

static void note_object(void *context, void *object)
{
    struct tn__snapshot *snapshot = context;
    note_word(snapshot, (uintptr_t)object);
    size_t at = snapshot->count;
    note_word(snapshot, 0);
    tn__visit_all_references(object, note_slot, snapshot);
    if (snapshot->is_whole)
        snapshot->words[at] = snapshot->count - at - 1;
    *tn__header(object) |= TN_GC_UNLOGGED;
}

static void take_snapshot(struct tn_heap *heap)
{
    if (!heap->snapshot)
        heap->snapshot = make_snapshot();
    if (!heap->snapshot)
        return;
    heap->snapshot->count = heap->snapshot->stored_count = 0;
    heap->snapshot->is_whole = true;
    heap->collector->each_object(heap, note_object, heap->snapshot);
}

static int compare_addresses(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Sorts them, and leaves each once. */
static void sort_stored(struct tn__snapshot *snapshot)
{
    size_t kept = 0;
    if (snapshot->stored_count)
        qsort(snapshot->stored, snapshot->stored_count, sizeof *snapshot->stored, compare_addresses);
    for (size_t i = 0; i < snapshot->stored_count; i++)
        if (!kept || snapshot->stored[kept - 1] != snapshot->stored[i])
            snapshot->stored[kept++] = snapshot->stored[i];
    snapshot->stored_count = kept;
}

static void note_stored(struct tn__snapshot *snapshot, const void *slot)
{
    tn__mutex_lock(&snapshot->lock);
    if (snapshot->stored_count == snapshot->stored_capacity)
        sort_stored(snapshot); /* most programs store into few words often */
    size_t need = tn__max64(snapshot->stored_count + 1, 2 * snapshot->stored_count);
    snapshot->is_whole &= tn__grow(NULL, &snapshot->stored, &snapshot->stored_capacity, need, sizeof *snapshot->stored);
    if (snapshot->is_whole)
        snapshot->stored[snapshot->stored_count++] = (uintptr_t)slot;
    tn__mutex_unlock(&snapshot->lock);
}

struct comparison {
    const struct tn_heap *heap;
    const struct tn__snapshot *snapshot;
    const uintptr_t *words;
    bool differs;
};

static void compare_slot(void *context, void **slot)
{
    struct comparison *comparison = context;
    const struct tn__snapshot *snapshot = comparison->snapshot;
    uintptr_t key = (uintptr_t)slot;
    if ((uintptr_t)*slot != *comparison->words && tn__is_in_heap(comparison->heap, *slot))
        comparison->differs |= !snapshot->stored_count ||
                               !bsearch(&key, snapshot->stored, snapshot->stored_count, sizeof key, compare_addresses);
    comparison->words++;
}

static void compare_snapshot(struct tn_heap *heap)
{
    struct tn__snapshot *snapshot = heap->snapshot;
    if (!snapshot || !snapshot->is_whole)
        return;
    if (snapshot->stored_count)
        sort_stored(snapshot);
    for (size_t at = 0; at < snapshot->count; at += 2 + snapshot->words[at + 1]) {
        void *object = (void *)snapshot->words[at];
        struct comparison comparison = {heap, snapshot, &snapshot->words[at + 2], false};
        if (*tn__header(object) & TN_GC_UNLOGGED)
            tn__visit_all_references(object, compare_slot, &comparison);
        if (comparison.differs)
            tn__corrupt(heap, "a reference was stored into an object that is not logged");
    }
}

void tn__verify_barriers(struct tn_heap *heap)
{
    if (!(heap->options.flags & TN_HEAP_VERIFY))
        return;
    compare_snapshot(heap);
    if (heap->permanent_work)
        heap->permanent_work->verify(heap);
    tn__phase_end(heap, TN_COLLECTION_VERIFY);
}

/* ---- words that are no references ---- */

static bool is_listed(const struct tn_type *type, uint64_t offset)
{
    for (uint64_t i = 0; type->offsets && i < type->offset_count; i++)
        if (type->offsets[i] == offset)
            return true;
    return !type->offsets && offset % 8 == 0 && offset < 512 && type->references >> offset / 8 & 1;
}

/* Whether the type says that there is a reference at this offset of its objects. Custom types do not say where. */
static bool has_reference_at(const struct tn_type *type, uint64_t offset)
{
    bool in_elements = offset >= type->size;
    switch (type->kind) {
    case TN_KIND_LEAF:
        return false;
    case TN_KIND_FIXED:
        return !in_elements && is_listed(type, offset);
    case TN_KIND_REFERENCES:
        return in_elements && (offset - type->size) % sizeof(void *) == 0;
    case TN_KIND_STRUCTS:
        return in_elements && is_listed(type, (offset - type->size) % type->element);
    case TN_KIND_WEAK:
        return offset == 0;
    case TN_KIND_EPHEMERON:
        return offset == 0 || offset == 8;
    default:
        return true;
    }
}

static void check_place(struct tn_heap *heap, const struct tn_type *type, uint64_t offset)
{
    if (has_reference_at(type, offset))
        return;
    snprintf(heap->corruption, sizeof heap->corruption,
             "a reference is stored at offset %llu of an object of type '%.80s', which lists none there",
             (unsigned long long)offset, type->name ? type->name : "?");
    tn__corrupt(heap, heap->corruption);
}

void tn__verify_log(struct tn_heap *heap, void *object, void *slot, void *value)
{
    uint64_t offset = (uintptr_t)slot - (uintptr_t)object;
    (void)value;
    if (!slot || offset >= tn__payload(object)) {
        __atomic_fetch_and(tn__header(object), ~(uint64_t)TN_GC_UNLOGGED, __ATOMIC_SEQ_CST);
        return;
    }
    check_place(heap, tn__type_of(object), offset);
    if (heap->snapshot)
        note_stored(heap->snapshot, slot);
}

void tn__verify_end(struct tn_heap *heap)
{
    struct tn__snapshot *snapshot = heap->snapshot;
    if (!snapshot)
        return;
    tn__mutex_destroy(&snapshot->lock);
    tn__free(NULL, snapshot->words);
    tn__free(NULL, snapshot->stored);
    tn__free(NULL, snapshot);
}

/* ---- all of it ---- */

void tn__verify_heap(struct tn_heap *heap)
{
    struct check check = {.heap = heap};
    if (!(heap->options.flags & TN_HEAP_VERIFY))
        return;
    heap->collector->each_object(heap, count_start, &check);
    if (!check.wrong && note_starts(&check)) {
        heap->collector->each_object(heap, check_object, &check);
        tn__visit_handles(heap, check_slot, &check);
        tn__visit_roots(check_slot, &check);
    }
    tn__free(NULL, check.starts);
    if (check.wrong)
        tn__corrupt(heap, check.wrong);
    take_snapshot(heap);
    tn__phase_end(heap, TN_COLLECTION_VERIFY);
}
