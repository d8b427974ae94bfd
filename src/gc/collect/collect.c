/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A collection from the stop request until the world runs again. */

#include "base/os.h"
#include "gc/collect/collect.h"

/* ---- roots ---- */

static void walk_stacks(struct tn__collector *c, tn_visit_slot *slot, void (*pin)(void *context, void *object))
{
    struct tn_heap *heap = c->heap;
    for (TN__EACH_MUTATOR(at, heap)) {
        const char *wrong = tn__walk_stack(tn__mutator_at(at), slot, pin, c);
        if (wrong)
            tn__corrupt(heap, wrong);
    }
}

/* Whatever is pinned must be known before anything moves. */
static void find_roots(struct tn__collector *c)
{
    for (TN__EACH_MUTATOR(at, c->heap))
        for (int i = 0; i < TN__RESULTS; i++)
            tn__keep(c, tn__mutator_at(at)->results[i]);
    tn__each_pin(c->heap, tn__keep, c);
    tn__maps_lock();
    if (tn__maps_have_pins())
        walk_stacks(c, NULL, tn__keep);
    tn__visit_handles(c->heap, tn__forward_slot, c);
    tn__visit_roots(tn__forward_slot, c);
    walk_stacks(c, tn__forward_slot, NULL);
    tn__maps_unlock();
}

/* ---- all of it ---- */

/* Clears results that are not objects, while chunks still tell which are. */
static void sift_results(struct tn_heap *heap)
{
    for (TN__EACH_MUTATOR(at, heap))
        for (int i = 0; i < TN__RESULTS; i++)
            if (!tn__is_object(&heap->space, tn__mutator_at(at)->results[i]))
                tn__mutator_at(at)->results[i] = NULL;
}

/* The world is stopped and every chunk retired. */
static void collect(struct tn_heap *heap, struct tn_collection *done)
{
    struct tn__collector c = {.heap = heap};
    if (heap->options.flags & TN_HEAP_VERIFY)
        tn__verify_barriers(heap);
    sift_results(heap);
    tn__copy_begin(&c);
    find_roots(&c);
    tn__drain(&c);
    tn__settle_dead(&c);
    tn__copy_end(&c);
    done->moved = c.moved;
    done->pinned = c.pinned;
    if (heap->options.flags & TN_HEAP_VERIFY)
        tn__verify_heap(heap);
}

static void add_up(struct tn_heap *heap, const struct tn_collection *done)
{
    struct tn_heap_stats *stats = &heap->stats;
    stats->collections++;
    stats->moved += done->moved;
    stats->pinned += done->pinned;
    stats->pause_ns += done->pause_ns;
    stats->longest_pause_ns = tn__max64(stats->longest_pause_ns, done->pause_ns);
    stats->longest_stop_ns = tn__max64(stats->longest_stop_ns, done->stop_ns);
}

void tn__collect_now(struct tn_heap *heap)
{
    struct tn_collection done = {.size = sizeof done, .before = heap->space.in_use};
    uint64_t requested = tn__os_now_ns();
    tn__world_stop(heap);
    done.stop_ns = tn__os_now_ns() - requested;
    collect(heap, &done);
    tn__world_start(heap);
    done.pause_ns = tn__os_now_ns() - requested;
    done.after = heap->space.in_use;
    done.number = heap->stats.collections + 1;
    add_up(heap, &done);
    heap->allocated = 0;
    heap->threshold = tn__max64(heap->options.minimum, heap->space.in_use);
    if (heap->options.on_collection)
        heap->options.on_collection(heap->options.context, &done);
    tn__gc_block.runtime[TN__COLLECTED] = heap;
}
