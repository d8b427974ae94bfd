/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Checks a heap behind a collection: every reference in it, and in handles and root ranges, is null, or permanent, or the
 * start of an object; no header says that its object went elsewhere. Starts are noted in the chunks' sets. */

#include "gc.h"

struct check {
    struct tn_heap *heap;
    const char *wrong;
};

static void forget_starts(struct tn_heap *heap)
{
    struct tn__space *space = &heap->space;
    for (uint32_t i = space->small.first; i; i = space->chunks[i].next)
        if (!space->chunks[i].kept)
            memset((void *)tn__chunk_address(space, i), 0, TN__CHUNK_HEAD);
}

/* Of what is kept the starts are in the set already. */
static void note_start(void *context, void *object)
{
    struct check *check = context;
    uint64_t header = *tn__header(object);
    if (header & TN_GC_FORWARDED)
        check->wrong = "a header says after a collection that its object went elsewhere";
    else if (tn__chunk_of(&check->heap->space, object)->state == TN__SMALL)
        *tn__set_word(object, TN__MARKS) |= tn__set_bit_of(object);
}

static void check_slot(void *context, void **slot)
{
    struct check *check = context;
    const struct tn__space *space = &check->heap->space;
    const struct tn__chunk *chunk = tn__chunk_of(space, *slot);
    if (!chunk)
        return;
    uintptr_t start = tn__chunk_address(space, (uint32_t)(chunk - space->chunks));
    bool ok = chunk->state == TN__BIG ? (uintptr_t)*slot == start + chunk->shift
                                      : chunk->state == TN__SMALL && (uintptr_t)*slot % 8 == 0 &&
                                            (uintptr_t)*slot >= start + TN__CHUNK_HEAD && tn__in_set(*slot, TN__MARKS);
    if (!ok)
        check->wrong = "a reference leads to no object after a collection";
}

static void check_object(void *context, void *object)
{
    tn__visit_references(object, check_slot, context);
    switch (tn__type_of(object)->kind) {
    case TN_KIND_EPHEMERON:
        check_slot(context, (void **)object + 1);
        check_slot(context, object);
        break;
    case TN_KIND_WEAK:
        check_slot(context, object);
        break;
    default:
        break;
    }
}

void tn__verify_heap(struct tn_heap *heap)
{
    struct check check = {.heap = heap};
    forget_starts(heap);
    tn__each_object(heap, note_start, &check);
    if (!check.wrong) {
        tn__each_object(heap, check_object, &check);
        tn__visit_handles(heap, check_slot, &check);
        tn__visit_roots(check_slot, &check);
    }
    if (check.wrong)
        tn__corrupt(heap, check.wrong);
}
