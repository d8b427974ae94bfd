/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Marking beside threads: weak references, ephemerons, finalizers, long arrays, types with visitors. */

#include "cycles.h"

#include "base/os.h"

/* Loads from weak references have no barrier: what they load is on the stack or in a handle in the next pause. */
static void loaded_from_a_weak_reference(void **state)
{
    struct scene s = open_scene(state);
    load_next(s.grey, s.moved);
    struct tn_handle *weak = make_weak(s.heap, s.moved);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    store_next(s.grey, NULL);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    mark(s.heap);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_int_equal(value_of(s.moved), 41);
    close_scene(&s, s.moved, false);
}

static void weak_references_are_cleared(void **state)
{
    struct scene s = open_scene(state);
    load_next(s.grey, s.moved);
    struct tn_handle *weak = make_weak(s.heap, s.moved), *live = make_weak(s.heap, s.black);
    store_next(s.grey, NULL);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    end_cycle(s.heap);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_true(tn_handle_is_null(s.moved));
    assert_int_equal(tn_handle_load(live, 0, s.moved, &err), 0);
    assert_true(tn_handle_same(s.moved, s.black));
    tn_heap_destroy(s.heap);
}

/* A chain of ephemerons, each of which has the next one's key as its value; the values of dead keys die. */
static void ephemerons_follow_their_keys(void **state)
{
    enum { COUNT = 100 };
    struct scene s = open_scene(state);
    struct tn_handle *ephemerons[COUNT], *key = copy_of(s.heap, s.black), *first;
    for (int round = 0; round < 2; round++) {
        tn_handle_set(key, s.black);
        for (int i = 0; i < COUNT; i++) {
            struct tn_handle *value = make_node(s.heap, &node_type, 100 + (uint64_t)i, NULL);
            ephemerons[i] = make(s.heap, &tn_ephemeron_type, 0);
            assert_int_equal(tn_handle_store(ephemerons[i], 0, key, &err), 0);
            assert_int_equal(tn_handle_store(ephemerons[i], 8, value, &err), 0);
            tn_handle_set(key, value);
            tn_handle_free(value);
        }
        tn_handle_set(key, NULL);
        end_cycle(s.heap);
        begin_cycle(s.heap);
        if (round) {
            first = s.black;
            s.black = copy_of(s.heap, NULL);
            tn_handle_free(first);
            end_cycle(s.heap);
            begin_cycle(s.heap);
        }
        end_cycle(s.heap);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(tn_handle_load(ephemerons[i], 8, key, &err), 0);
            assert_int_equal(tn_handle_is_null(key), round);
            if (!round)
                assert_int_equal(value_of(key), 100 + i);
            tn_handle_free(ephemerons[i]);
        }
        if (!round)
            begin_cycle(s.heap);
    }
    tn_heap_destroy(s.heap);
}

/* A key that the marker has not reached is loaded from a weak reference before the last pause, which then follows the
 * chain of ephemerons that it begins. */
static void a_key_comes_back(void **state)
{
    enum { COUNT = 100 };
    struct tn_heap *heap = open_marked_heap(1, *(uint64_t *)*state, 0);
    struct tn_handle *ephemerons[COUNT], *key = make_node(heap, &node_type, 0, NULL), *weak = make_weak(heap, key);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct tn_handle *value = make_node(heap, &node_type, i + 1, NULL);
        ephemerons[i] = make(heap, &tn_ephemeron_type, 0);
        assert_int_equal(tn_handle_store(ephemerons[i], 0, key, &err), 0);
        assert_int_equal(tn_handle_store(ephemerons[i], 8, value, &err), 0);
        tn_handle_set(key, value);
        tn_handle_free(value);
    }
    struct tn_handle *end = make_weak(heap, key);
    assert_int_equal(tn_handle_load(weak, 0, key, &err), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_handle_set(key, NULL);
    begin_cycle(heap);
    mark(heap);
    assert_int_equal(tn_handle_load(weak, 0, key, &err), 0);
    assert_int_equal(value_of(key), 0);
    end_cycle(heap);
    struct tn_handle *got = copy_of(heap, NULL);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(tn_handle_load(ephemerons[i], 8, got, &err), 0);
        assert_int_equal(value_of(got), i + 1);
    }
    assert_int_equal(tn_handle_load(end, 0, got, &err), 0);
    assert_int_equal(value_of(got), COUNT);
    tn_heap_destroy(heap);
}

static void take_back(void *context, struct tn_handle *object)
{
    tn_handle_set(context, object);
}

static void finalizers_get_whole_objects(void **state)
{
    struct scene s = open_scene(state);
    struct tn_handle *got = copy_of(s.heap, NULL), *object = copy_of(s.heap, s.grey);
    assert_int_equal(tn_handle_finalize(object, take_back, got, &err), 0);
    end_cycle(s.heap);
    tn_handle_free(object);
    tn_handle_free(s.grey);
    begin_cycle(s.heap);
    end_cycle(s.heap);
    if (tn_handle_is_null(got))
        tn_run_pending_finalizers(s.heap);
    assert_false(tn_handle_is_null(got));
    close_scene(&s, got, true);
}

/* ---- long arrays, types with visitors ---- */

static void visit_one(void *object, tn_visit_slot *slot, void *context)
{
    slot(context, object);
}

static const struct tn_type custom_type = {.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 8, .visit = visit_one};
static const uint32_t second[] = {8};
static const struct tn_type listed_type = {
    .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .offsets = second, .offset_count = 1};

static void every_kind_is_marked(void **state)
{
    enum { COUNT = 2000 };
    struct scene s = open_scene(state);
    struct tn_handle *nodes = make(s.heap, &nodes_type, COUNT), *got = copy_of(s.heap, NULL),
                     *table = make(s.heap, &table_type, COUNT);
    for (int i = 0; i < COUNT; i++) {
        struct tn_handle *holder = make(s.heap, i % 2 ? &custom_type : &listed_type, 0);
        struct tn_handle *leaf = make_node(s.heap, &node_type, (uint64_t)i, NULL);
        assert_int_equal(tn_handle_store(holder, i % 2 ? 0 : 8, leaf, &err), 0);
        if (i % 2 == 0)
            assert_int_equal(tn_handle_store(nodes, 8 + sizeof(struct node) * (uint64_t)i, leaf, &err), 0);
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * (uint64_t)i, holder, &err), 0);
        tn_handle_free(holder);
        tn_handle_free(leaf);
    }
    for (int round = 0; round < 3; round++) {
        if (is_marking(s.heap))
            end_cycle(s.heap);
        begin_cycle(s.heap);
        end_cycle(s.heap);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(tn_handle_load(nodes, 8 + sizeof(struct node) * (uint64_t)i, got, &err), 0);
        assert_true(i % 2 ? tn_handle_is_null(got) : value_of(got) == (uint64_t)i);
        assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * (uint64_t)i, got, &err), 0);
        assert_int_equal(tn_handle_load(got, i % 2 ? 0 : 8, got, &err), 0);
        assert_int_equal(value_of(got), i);
    }
    tn_heap_destroy(s.heap);
}

/* ---- pauses with many types with visitors ---- */

static uint64_t visits;

static void visit_slowly(void *object, tn_visit_slot *slot, void *context)
{
    enum { NS = 20000 };
    for (uint64_t start = tn__os_now_ns(); tn__os_now_ns() < start + NS;)
        ;
    visits++;
    slot(context, object);
}

/* No pause visits all of them. */
static void visitors_take_turns(void **state)
{
    enum { COUNT = 900, MOST = 300 };
    static const struct tn_type slow_type = {.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 8, .visit = visit_slowly};
    (void)state;
    struct tn_heap *heap = open_marked_heap(1, 0, 0);
    struct tn_handle *table = make(heap, &table_type, COUNT), *got = copy_of(heap, NULL);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct tn_handle *holder = make(heap, &slow_type, 0), *leaf = make_node(heap, &node_type, i, NULL);
        assert_int_equal(tn_handle_store(holder, 0, leaf, &err), 0);
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * i, holder, &err), 0);
        tn_handle_free(holder);
        tn_handle_free(leaf);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    begin_cycle(heap);
    uint64_t before = seen.concurrent, first = visits, pauses = 0;
    for (; seen.concurrent == before; pauses++) {
        uint64_t last = visits;
        mark(heap);
        pause_now(heap);
        assert_true(visits - last <= MOST);
    }
    assert_true(visits - first >= COUNT);
    assert_true(pauses >= COUNT / MOST);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * i, got, &err), 0);
        assert_int_equal(tn_handle_load(got, 0, got, &err), 0);
        assert_int_equal(value_of(got), i);
    }
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERIFIED(loaded_from_a_weak_reference),
        VERIFIED(weak_references_are_cleared),
        VERIFIED(ephemerons_follow_their_keys),
        VERIFIED(finalizers_get_whole_objects),
        VERIFIED(a_key_comes_back),
        VERIFIED(every_kind_is_marked),
        cmocka_unit_test(visitors_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
