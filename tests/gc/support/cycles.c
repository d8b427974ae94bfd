/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "cycles.h"

enum { MB = 1 << 20, ROUNDS = 10000 };

struct collections_seen seen;
uint64_t verified = TN_HEAP_VERIFY, bare = 0;

static void note(void *context, const struct tn_collection *collection)
{
    (void)context;
    seen.pauses++;
    seen.full += collection->full;
    seen.concurrent += collection->cycle_ns != 0;
    seen.tracing_ns = collection->phase_ns[TN_COLLECTION_TRACE];
}

struct tn_heap *open_marked_heap(uint64_t workers, uint64_t flags, uint64_t limit)
{
    struct tn_heap *heap;
    struct tn_heap_options options = {.size = sizeof options,
                                      .limit = limit,
                                      .minimum = 1 * MB,
                                      .flags = flags,
                                      .workers = workers,
                                      .on_collection = note,
                                      .collector = &tn_collector_concurrent};
    memset(&seen, 0, sizeof seen);
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return heap;
}

void pause_now(struct tn_heap *heap)
{
    tn_heap_collect(heap, TN_COLLECT_PARTIAL);
}

bool is_marking(struct tn_heap *heap)
{
    return tn__generational_of(heap)->marks;
}

void mark(struct tn_heap *heap)
{
    struct tn__generational *g = tn__generational_of(heap);
    for (int i = 0; i < ROUNDS && !g->cycle->is_dry; i++) {
        tn__heap_lock(heap);
        heap->collector->retire(tn__self());
        g->beside->help(heap, TN__PIECE);
        tn__heap_unlock(heap);
    }
    assert_true(g->cycle->is_dry);
}

void begin_cycle(struct tn_heap *heap)
{
    struct tn__generational *g = tn__generational_of(heap);
    uint64_t budget = g->budget;
    while (!is_marking(heap)) {
        g->budget = 0;
        pause_now(heap);
    }
    g->budget = budget;
}

void end_cycle(struct tn_heap *heap)
{
    uint64_t before = seen.concurrent;
    begin_cycle(heap); /* if there is none */
    for (int i = 0; i < ROUNDS && seen.concurrent == before; i++) {
        mark(heap);
        pause_now(heap);
        /* Only the want of time lets a cycle go on; how many pauses that takes depends on how slow the machine is. */
        assert_true(seen.concurrent > before || seen.tracing_ns >= TN__SHORT_NS);
    }
    assert_true(seen.concurrent > before);
}

/* ---- hiding ---- */

void load_next(const struct tn_handle *from, struct tn_handle *to)
{
    assert_int_equal(tn_handle_load(from, offsetof(struct node, next), to, &err), 0);
}

void store_next(struct tn_handle *to, const struct tn_handle *value)
{
    assert_int_equal(tn_handle_store(to, offsetof(struct node, next), value, &err), 0);
}

struct scene open_scene(void **state)
{
    struct scene s = {.heap = open_marked_heap(1, *(uint64_t *)*state, 0)};
    struct tn_handle *last = make_node(s.heap, &node_type, 42, NULL), *white = make_node(s.heap, &node_type, 41, last);
    s.black = make_node(s.heap, &node_type, 1, NULL);
    s.grey = make_node(s.heap, &node_type, 2, white);
    s.moved = copy_of(s.heap, NULL);
    tn_handle_free(white);
    tn_handle_free(last);
    tn_heap_collect(s.heap, TN_COLLECT_FULL);
    begin_cycle(s.heap);
    return s;
}

void hide(struct scene *s)
{
    load_next(s->grey, s->moved);
    store_next(s->grey, NULL);
    mark(s->heap);
}

void close_scene(struct scene *s, struct tn_handle *holder, bool steps)
{
    end_cycle(s->heap);
    struct tn_handle *got = copy_of(s->heap, holder);
    if (steps)
        assert_true(step(got));
    tn_managed_begin();
    assert_true(tn__gen_is_object(tn__generational_of(s->heap), tn_handle_object(got))); /* not only memory as it was */
    tn_managed_end();
    assert_int_equal(value_of(got), 41);
    assert_true(step(got));
    assert_int_equal(value_of(got), 42);
    tn_heap_collect(s->heap, TN_COLLECT_FULL);
    assert_int_equal(value_of(got), 42);
    tn_heap_destroy(s->heap);
}

struct tn_handle *make_weak(struct tn_heap *heap, const struct tn_handle *target)
{
    struct tn_handle *weak = make(heap, &tn_weak_type, 0);
    assert_int_equal(tn_handle_store(weak, 0, target, &err), 0);
    return weak;
}
