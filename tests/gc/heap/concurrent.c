/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects that are marked beside threads: references that are moved to where the marker does not look again. */

#include "cycles.h"

/* So many that the thread's buffer of logged stores is full again and again. */
static void store_often(struct scene *s, struct tn_handle *table, uint64_t length)
{
    enum { STORES = 20000 };
    for (uint64_t i = 0; i < STORES; i++)
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * (i * 7 % length), s->grey, &err), 0);
    assert_int_equal(tn_handle_set(s->moved, NULL), 0);
}

static void hidden_among_many_stores(void **state)
{
    enum { LENGTH = 900 };
    struct scene s = open_scene(state);
    struct tn_handle *table = make(s.heap, &table_type, LENGTH);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    hide(&s);
    store_next(s.black, s.moved);
    store_often(&s, table, LENGTH);
    close_scene(&s, s.black, true);
}

/* Only the first line of a large object is known to be in use. */
static void hidden_in_a_large_array_among_many_stores(void **state)
{
    enum { LENGTH = 5000, PLACE = sizeof(struct table) + 8 * (LENGTH - 1) };
    struct scene s = open_scene(state);
    struct tn_handle *table = make(s.heap, &table_type, LENGTH), *holder;
    end_cycle(s.heap);
    begin_cycle(s.heap);
    hide(&s);
    assert_int_equal(tn_handle_store(table, PLACE, s.moved, &err), 0);
    store_often(&s, table, LENGTH - 1);
    end_cycle(s.heap);
    holder = make_node(s.heap, &node_type, 3, NULL);
    assert_int_equal(tn_handle_load(table, PLACE, s.moved, &err), 0);
    store_next(holder, s.moved);
    begin_cycle(s.heap);
    close_scene(&s, holder, true);
}

/* The lines of objects that stay in the nursery are not known. */
static void hidden_in_a_pinned_object_among_many_stores(void **state)
{
    enum { LENGTH = 900 };
    struct scene s = open_scene(state);
    void *address;
    struct tn_handle *table = make(s.heap, &table_type, LENGTH), *holder = make_node(s.heap, &node_type, 3, NULL);
    assert_int_equal(tn_handle_pin(holder, &address, &err), 0);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    hide(&s);
    store_next(holder, s.moved);
    store_often(&s, table, LENGTH);
    close_scene(&s, holder, true);
}

/* ---- objects that threads allocate in holes of the old space ---- */

/* There stores have no barrier at first, as new objects have not the mark that barriers look for. */
static void hidden_in_an_object_from_a_hole(void **state)
{
    enum { NODES = 60000, MOST = 2000000 };
    struct scene s = {.heap = open_marked_heap(1, 0, 0)};
    struct tn_handle *list = copy_of(s.heap, NULL), *last;
    (void)state;
    for (uint64_t i = 0; i < MOST && (i < NODES || !tn__generational_of(s.heap)->is_direct); i++) {
        last = make_node(s.heap, &node_type, i, list);
        assert_int_equal(tn_handle_set(list, last), 0);
        tn_handle_free(last);
    }
    assert_true(tn__generational_of(s.heap)->is_direct);
    last = make_node(s.heap, &node_type, 42, NULL);
    s.moved = make_node(s.heap, &node_type, 41, last);
    tn_handle_free(last);
    s.grey = make_node(s.heap, &node_type, 2, s.moved);
    s.black = make_node(s.heap, &node_type, 1, NULL);
    struct tn_handle *weak = make_weak(s.heap, s.black);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    begin_cycle(s.heap);
    hide(&s);
    store_next(s.black, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_true(tn_handle_same(s.moved, s.black));
    uint64_t count = 0;
    for (; !tn_handle_is_null(list); step(list))
        count++;
    assert_true(count >= NODES);
    begin_cycle(s.heap);
    close_scene(&s, s.black, true);
}

/* As if nearly all new objects had survived: from now on the thread allocates in holes, also in the cycle. */
static struct scene open_scene_in_holes(void **state)
{
    struct scene s = open_scene(state);
    struct tn__generational *g = tn__generational_of(s.heap);
    assert_int_equal(g->pieces_young, 0);
    g->is_direct = true;
    g->direct_end = UINT64_MAX;
    return s;
}

/* The new object is stored to before the thread goes on to another hole. */
static void hidden_in_a_new_object_from_a_hole(void **state)
{
    struct scene s = open_scene_in_holes(state);
    hide(&s);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    assert_true(tn__generational_of(s.heap)->is_direct);
    close_scene(&s, holder, true);
}

/* Now the object is stored to after that; then in the next cycle. */
static void hidden_in_an_object_from_an_earlier_hole(void **state)
{
    for (int cycles = 0; cycles < 2; cycles++) {
        struct scene s = open_scene_in_holes(state);
        struct tn_handle *holder = make_node(s.heap, &node_type, 3, NULL);
        if (cycles) {
            end_cycle(s.heap);
            begin_cycle(s.heap);
        }
        hide(&s);
        store_next(holder, s.moved);
        assert_int_equal(tn_handle_set(s.moved, NULL), 0);
        close_scene(&s, holder, true);
    }
}

/* The thread's buffer becomes full before the marker has looked at the hole. */
static void hidden_in_a_hole_among_many_stores(void **state)
{
    enum { LENGTH = 900 };
    struct scene s = open_scene_in_holes(state);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, NULL), *table = make(s.heap, &table_type, LENGTH);
    hide(&s);
    store_next(holder, s.moved);
    store_often(&s, table, LENGTH);
    close_scene(&s, holder, true);
}

/* Objects of all kinds and sizes, with references to each other and to the white one. */
static void every_kind_in_holes(void **state)
{
    enum { COUNT = 3000, LENGTH = 500 };
    struct scene s = open_scene_in_holes(state);
    struct tn_handle *list = copy_of(s.heap, NULL), *got = copy_of(s.heap, NULL), *holder, *table, *weak, *dead;
    hide(&s);
    holder = make_node(s.heap, &aligned_type, 3, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    dead = make_weak(s.heap, make_node(s.heap, &node_type, 4, NULL));
    weak = make_weak(s.heap, holder);
    table = make(s.heap, &table_type, LENGTH);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct tn_handle *node = make_node(s.heap, i % 3 ? &node_type : &aligned_type, i, list);
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * (i % LENGTH), node, &err), 0);
        tn_handle_set(list, node);
        tn_handle_free(node);
        tn_handle_free(make(s.heap, &bytes_type, i % 700));
    }
    end_cycle(s.heap);
    for (uint64_t i = COUNT; i-- > 0; step(list))
        assert_int_equal(value_of(list), i);
    for (uint64_t i = 0; i < LENGTH; i++) {
        assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * i, got, &err), 0);
        assert_int_equal(value_of(got), COUNT - LENGTH + i);
    }
    assert_int_equal(tn_handle_load(weak, 0, got, &err), 0);
    assert_true(tn_handle_same(got, holder));
    assert_int_equal(tn_handle_load(dead, 0, got, &err), 0);
    assert_int_equal(value_of(got), 4);
    begin_cycle(s.heap);
    close_scene(&s, holder, true);
}

/* ---- objects in other places ---- */

static void hidden_in_a_handle(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    close_scene(&s, s.moved, false);
}

static void hidden_in_a_marked_object(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    store_next(s.black, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    close_scene(&s, s.black, true);
}

static void hidden_in_a_new_object(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    close_scene(&s, holder, true);
}

/* The new object is old after the first pause, and a young one refers to the white object until the second. */
static void hidden_in_a_promoted_object(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, NULL);
    pause_now(s.heap);
    if (!is_marking(s.heap))
        begin_cycle(s.heap);
    store_next(holder, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    close_scene(&s, holder, true);
}

static void hidden_in_an_array(void **state)
{
    enum { LENGTH = 3000 }; /* old at once, and looked at in parts */
    struct scene s = open_scene(state);
    struct tn_handle *table = make(s.heap, &table_type, LENGTH), *other = make(s.heap, &table_type, LENGTH);
    pause_now(s.heap);
    begin_cycle(s.heap);
    hide(&s);
    assert_int_equal(tn_handle_store(other, sizeof(struct table) + 8 * 7, s.moved, &err), 0);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    tn_managed_begin();
    struct table *to = tn_handle_object(table), *from = tn_handle_object(other);
    tn__gc_move(to, &to->items[5], &from->items[6], 3 * sizeof *to->items);
    from->items[7] = NULL;
    tn_managed_end();
    assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * 6, s.moved, &err), 0);
    assert_int_equal(value_of(s.moved), 41);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * 6, s.moved, &err), 0);
    assert_int_equal(value_of(s.moved), 41);
    tn_heap_destroy(s.heap);
}

/* A pinned object that is new stays in the nursery, and is old from the next pause on. */
static void hidden_in_a_pinned_object(void **state)
{
    struct scene s = open_scene(state);
    void *address;
    hide(&s);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, s.moved);
    assert_int_equal(tn_handle_pin(holder, &address, &err), 0);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    tn_handle_unpin(holder);
    close_scene(&s, holder, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERIFIED(hidden_in_a_handle),
        VERIFIED(hidden_in_a_marked_object),
        VERIFIED(hidden_in_a_new_object),
        VERIFIED(hidden_among_many_stores),
        VERIFIED(hidden_in_a_large_array_among_many_stores),
        VERIFIED(hidden_in_a_pinned_object_among_many_stores),
        cmocka_unit_test(hidden_in_an_object_from_a_hole),
        VERIFIED(hidden_in_a_new_object_from_a_hole),
        VERIFIED(hidden_in_an_object_from_an_earlier_hole),
        VERIFIED(hidden_in_a_hole_among_many_stores),
        VERIFIED(every_kind_in_holes),
        VERIFIED(hidden_in_a_promoted_object),
        VERIFIED(hidden_in_an_array),
        VERIFIED(hidden_in_a_pinned_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
