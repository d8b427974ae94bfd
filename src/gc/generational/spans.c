/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Allocation in holes of the old space while objects are marked beside threads. Stores into a new object there have no
 * barrier, and its length may not be stored yet. So the marker does not look at it before the next pause: as long as a
 * thread has the hole, all bits of its lines are set in the table of marks, as if everything were marked. When the
 * thread goes on, its objects have starts, and get TN_GC_UNLOGGED, so that later stores are logged. The pause after
 * that hands the span to the marker, which scans its objects and puts the bits right. */

#include "gc/generational/cycle.h"

void tn__span_open(struct tn__generational *g, char *start, char *end)
{
    for (const char *line = start; line < end; line += TN__LINE)
        tn__set_bits(g, g->marks, line, UINT8_MAX);
}

static void settle_object(void *unused, void *object)
{
    uint32_t kind = tn__type_of(object)->kind;
    (void)unused;
    if (kind != TN_KIND_LEAF)
        __atomic_fetch_or(tn__header(object), TN_GC_UNLOGGED, __ATOMIC_RELAXED);
    if (kind == TN_KIND_WEAK)
        ((void **)object)[1] = NULL;
    else if (kind == TN_KIND_EPHEMERON)
        ((void **)object)[2] = NULL;
}

void tn__span_settle(struct tn__generational *g, char *start, char *end, char *hole_end)
{
    struct tn__filled_list *fresh = &g->cycle->fresh;
    tn__each_between(start, end, settle_object, NULL);
    if (!g->marks)
        ;
    else if (tn__grow(NULL, &fresh->items, &fresh->capacity, fresh->count + 1, sizeof *fresh->items))
        fresh->items[fresh->count++] = (struct tn__filled){start, end, hole_end};
    else
        __atomic_store_n(&g->marks_are_lost, true, __ATOMIC_RELAXED);
}

void tn__spans_hand_over(struct tn__cycle *cycle)
{
    struct tn__filled_list *fresh = &cycle->fresh, *filled = &cycle->filled;
    if (!filled->count) {
        struct tn__filled_list empty = *filled;
        *filled = *fresh;
        *fresh = empty;
    } else if (tn__grow(NULL, &filled->items, &filled->capacity, filled->count + fresh->count, sizeof *fresh->items)) {
        memcpy(filled->items + filled->count, fresh->items, fresh->count * sizeof *fresh->items);
        filled->count += fresh->count;
        fresh->count = 0;
    } else {
        cycle->marker.g->marks_are_lost = true;
    }
}
