/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Patterns of allocation that are hard for a collector: fragments, arrays that survive in a nursery, collections at
 * every step of a refill, of large allocations, of threads that attach and end, of forks. */

#include "support.h"

#include <unistd.h>

#include "tenon_gc.h"

enum { MB = 1 << 20 };

static struct tn_heap *make_small(void **state, uint64_t limit, uint64_t flags)
{
    struct tn_heap *heap;
    struct tn_heap_options options = {.size = sizeof options,
                                      .limit = limit,
                                      .minimum = 1 * MB,
                                      .flags = (*(uint64_t *)*state & ~(uint64_t)TN_HEAP_VERIFY) | flags,
                                      .collector = chosen_collector()};
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return heap;
}

static bool is_stressed(void **state)
{
    return *(uint64_t *)*state & TN_HEAP_STRESS;
}

static void put(struct tn_handle *table, uint64_t index, const struct tn_handle *value)
{
    assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * index, value, &err), 0);
}

static void get(const struct tn_handle *table, uint64_t index, struct tn_handle *to)
{
    assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * index, to, &err), 0);
}

/* ---- alignment ---- */

/* Between objects of sizes that leave the next one at any word. */
static void copies_are_aligned(void **state)
{
    enum { ALIGNMENT = 16, COUNT = 1000, LENGTHS = 5 };
    struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
    uint64_t count = is_stressed(state) ? 50 : COUNT;
    struct tn_handle *table = make(heap, &table_type, 2 * count), *got = copy_of(heap, NULL);
    for (uint64_t i = 0; i < count; i++) {
        struct tn_handle *node = make_node(heap, &aligned_type, i, NULL),
                         *bytes = make(heap, &bytes_type, i % LENGTHS * 8);
        put(table, 2 * i, node);
        put(table, 2 * i + 1, bytes);
        tn_handle_free(node);
        tn_handle_free(bytes);
    }
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < count; i++) {
            get(table, 2 * i, got);
            assert_int_equal(value_of(got), i);
            tn_managed_begin();
            uintptr_t address = (uintptr_t)tn_handle_object(got);
            tn_managed_end();
            assert_int_equal(address % ALIGNMENT, 0);
        }
        tn_heap_collect(heap, round ? TN_COLLECT_FULL : TN_COLLECT_PARTIAL);
    }
    tn_heap_destroy(heap);
}

/* ---- fragments ---- */

/* Fills most of a heap with nodes, keeps one of `every`, and asks for large objects and for many small ones. */
static void fragment(void **state, uint64_t every)
{
    enum { LIMIT = 32 * MB, NODES = 400000, LARGE = 1 * MB, LARGE_COUNT = 8 };
    struct tn_heap *heap = make_small(state, LIMIT, 0);
    uint64_t count = is_stressed(state) ? 1000 : NODES;
    struct tn_handle *table = make(heap, &table_type, count), *got = copy_of(heap, NULL), *large[LARGE_COUNT];
    for (uint64_t i = 0; i < count; i++) {
        struct tn_handle *node = make_node(heap, &node_type, i, NULL);
        put(table, i, node);
        tn_handle_free(node);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    for (uint64_t i = 0; i < count; i++)
        if (i % every)
            put(table, i, NULL);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    for (int i = 0; i < LARGE_COUNT; i++)
        large[i] = make(heap, &bytes_type, LARGE);
    for (uint64_t i = 0; i < count; i++)
        if (i % every) {
            struct tn_handle *node = make_node(heap, &node_type, count + i, NULL);
            put(table, i, node);
            tn_handle_free(node);
        }
    for (uint64_t i = 0; i < count; i++) {
        get(table, i, got);
        assert_int_equal(value_of(got), i % every ? count + i : i);
    }
    for (int i = 0; i < LARGE_COUNT; i++)
        tn_handle_free(large[i]);
    tn_heap_destroy(heap);
}

static void one_object_of_each_line_lives(void **state)
{
    fragment(state, 3); /* of 24 bytes each, in lines of 64 */
}

static void one_object_of_each_block_lives(void **state)
{
    fragment(state, 1365);
}

/* ---- arrays ---- */

/* Arrays around the largest size that is allocated inline, filled with new objects, through collections of all
 * kinds. */
static void arrays_survive(void **state)
{
    static const uint64_t lengths[] = {30, 31, 32, 1000, 1021, 1022, 1023, 1024, 1025, 1100, 2044, 2048, 5000, 70000};
    struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
    for (size_t l = 0; l < TN_COUNT(lengths); l++) {
        uint64_t step = is_stressed(state) ? lengths[l] / 7 : lengths[l] / 100 + 1;
        struct tn_handle *table = make(heap, &table_type, lengths[l]), *got = copy_of(heap, NULL);
        for (int round = 0; round < 4; round++) {
            for (uint64_t i = 0; i < lengths[l]; i += step) {
                struct tn_handle *node = make_node(heap, &node_type, i * 10 + (uint64_t)round, NULL);
                put(table, i, node);
                tn_handle_free(node);
            }
            tn_heap_collect(heap, round == 2 ? TN_COLLECT_FULL : TN_COLLECT_PARTIAL);
            for (uint64_t i = 0; i < lengths[l]; i++) {
                get(table, i, got);
                if (i % step)
                    assert_true(tn_handle_is_null(got));
                else
                    assert_int_equal(value_of(got), i * 10 + (uint64_t)round);
            }
        }
        tn_handle_free(table);
        tn_handle_free(got);
    }
    tn_heap_destroy(heap);
}

/* More references in one object than a stack of the collector has entries; a third of them leads to objects without
 * references, a third to nodes that refer to another one. */
static void full_stacks(void **state)
{
    const uint64_t count = is_stressed(state) ? 2500 : 20000;
    if (is_stressed(state) && HAS_TSAN) /* thousands of collections of thousands of objects: minutes */
        skip();
    struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
    struct tn_handle *array = make(heap, &nodes_type, count), *got = copy_of(heap, NULL);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < count; i++) {
            struct tn_handle *next = i % 3 ? make_node(heap, &node_type, i, NULL) : make(heap, &bytes_type, 8);
            struct tn_handle *node = i % 3 == 1 ? make_node(heap, &node_type, count + i, next) : next;
            if (i % 3 == 0)
                assert_int_equal(tn_handle_write(next, 8, &i, sizeof i, &err), 0);
            assert_int_equal(tn_handle_store(array, 8 + sizeof(struct node) * i, node, &err), 0);
            tn_handle_free(node);
            if (next != node)
                tn_handle_free(next);
            if (is_stressed(state) && round)
                break;
        }
        tn_heap_collect(heap, TN_COLLECT_FULL);
        tn_heap_collect(heap, TN_COLLECT_FULL);
        for (uint64_t i = 0; i < count; i++) {
            assert_int_equal(tn_handle_load(array, 8 + sizeof(struct node) * i, got, &err), 0);
            assert_int_equal(value_of(got), i % 3 == 1 ? count + i : i);
            if (i % 3 == 1)
                assert_true(step(got) && value_of(got) == i);
        }
        tn_handle_set(got, NULL);
    }
    tn_heap_destroy(heap);
}

/* ---- barriers ---- */

/* As compiled code does for each of its kinds of stores: with the word and the value, or without both. */
static void barriers_remember(void **state)
{
    struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
    for (int kind = 0; kind < 4; kind++) {
        bool has_slot = kind % 2;
        struct tn_handle *old = make_node(heap, kind < 2 ? &node_type : &aligned_type, 1, NULL);
        tn_heap_collect(heap, TN_COLLECT_FULL);
        struct tn_handle *young = make_node(heap, &node_type, 2, NULL);
        tn_managed_begin();
        struct node *parent = tn_handle_object(old), *value = tn_handle_object(young);
        uint64_t header = *(const uint64_t *)(const void *)((const char *)parent - TN_GC_HEADER_SIZE);
        if (header & TN_GC_UNLOGGED)
            tn__gc_log(parent, has_slot ? &parent->next : NULL, has_slot ? value : NULL);
        parent->next = value;
        tn_managed_end();
        tn_handle_free(young);
        for (int i = 0; i < 3; i++) {
            tn_heap_collect(heap, TN_COLLECT_PARTIAL);
            tn_handle_free(make_node(heap, &node_type, 9, NULL)); /* where the young object was */
        }
        assert_true(step(old) && value_of(old) == 2);
        tn_handle_free(old);
    }
    tn_heap_destroy(heap);
}

/* ---- collections at every step ---- */

/* One thread allocates objects of all sizes and checks them; another one collects, partially and fully, all the
 * while. */
struct provoked {
    struct tn_heap *heap;
    bool done;            /* atomic */
    uint64_t collections; /* atomic */
};

static void *provoke(void *argument)
{
    struct provoked *p = argument;
    while (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE)) {
        uint64_t count = __atomic_load_n(&p->collections, __ATOMIC_RELAXED);
        if (count % 16 == 15)
            tn_heap_trim(p->heap);
        else
            tn_heap_collect(p->heap, count % 3 ? TN_COLLECT_PARTIAL : TN_COLLECT_FULL);
        __atomic_fetch_add(&p->collections, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void allocate_all_sizes(struct tn_heap *heap, uint64_t seed, int rounds)
{
    static const uint64_t sizes[] = {8, 24, 240, 1000, 8100, 8184, 8200, 20000, 32768, 65528, 300000};
    enum { SIZES = TN_COUNT(sizes), KEPT = 16 };
    struct tn_handle *kept[KEPT] = {0};
    uint64_t got, marks[KEPT];
    for (int i = 0; i < rounds; i++) {
        int at = (int)((seed + (uint64_t)i * 7) % KEPT);
        uint64_t size = sizes[(seed + (uint64_t)i) % SIZES], mark = seed * 1000000 + (uint64_t)i;
        if (kept[at]) {
            assert_int_equal(tn_handle_read(kept[at], 8, &got, sizeof got, &err), 0);
            assert_int_equal(got, marks[at]);
            tn_handle_free(kept[at]);
        }
        kept[at] = make(heap, &bytes_type, size);
        marks[at] = mark;
        assert_int_equal(tn_handle_write(kept[at], 8, &mark, sizeof mark, &err), 0);
    }
    for (int i = 0; i < KEPT; i++)
        tn_handle_free(kept[i]);
}

static void collections_at_each_step(void **state)
{
    enum { ENOUGH = 20 };
    struct provoked p = {.heap = make_small(state, 64 * MB, TN_HEAP_VERIFY)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, provoke, &p), 0);
    uint64_t seed = 1;
    do
        allocate_all_sizes(p.heap, seed++, is_stressed(state) ? 100 : 2000);
    while (__atomic_load_n(&p.collections, __ATOMIC_RELAXED) < ENOUGH);
    __atomic_store_n(&p.done, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    tn_heap_destroy(p.heap);
}

/* The collection that an allocation makes comes at each place of a piece or chunk: a filler moves the place. */
static void collections_at_each_place(void **state)
{
    enum { PIECE = 256 << 10, STEP = 1000 };
    struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
    struct tn_handle *list = make_node(heap, &node_type, 0, NULL);
    for (uint64_t place = 0; place < PIECE; place += is_stressed(state) ? 32 * STEP : STEP) {
        tn_handle_free(make(heap, &bytes_type, place % 8000));
        struct tn_handle *node = make_node(heap, &node_type, place, list);
        tn_heap_collect(heap, place % (2 * STEP) ? TN_COLLECT_FULL : TN_COLLECT_PARTIAL);
        assert_int_equal(value_of(node), place);
        tn_handle_free(node);
    }
    assert_int_equal(value_of(list), 0);
    tn_heap_destroy(heap);
}

/* ---- pins ---- */

/* Neither object of a pair moves, whichever of their pins is looked at first. */
static void pinned_pairs(void **state)
{
    enum { PAIRS = 40 };
    struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
    struct tn_handle *nodes[PAIRS], *others[PAIRS], *got = copy_of(heap, NULL);
    void *where[PAIRS][2];
    for (uint64_t i = 0; i < PAIRS; i++) {
        others[i] = i % 2 ? make(heap, &bytes_type, 8) : make_node(heap, &node_type, i, NULL);
        nodes[i] = make_node(heap, &node_type, i, others[i]);
    }
    for (uint64_t i = 0; i < PAIRS; i++) {
        assert_int_equal(tn_handle_pin(nodes[i], &where[i][0], &err), 0);
        assert_int_equal(tn_handle_pin(others[i], &where[i][1], &err), 0);
    }
    tn_heap_collect(heap, TN_COLLECT_PARTIAL);
    for (uint64_t i = 0; i < PAIRS; i++) {
        assert_int_equal(tn_handle_load(nodes[i], 0, got, &err), 0);
        tn_managed_begin();
        assert_ptr_equal(tn_handle_object(nodes[i]), where[i][0]);
        assert_ptr_equal(tn_handle_object(others[i]), where[i][1]);
        assert_ptr_equal(tn_handle_object(got), where[i][1]);
        tn_managed_end();
        tn_handle_unpin(nodes[i]);
        tn_handle_unpin(others[i]);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_heap_destroy(heap);
}

/* ---- ephemerons ---- */

/* Each value is the key of another one: the chain is found from its beginning whatever the order of the ephemerons is,
 * and dies with it. Every third value refers to the next key instead of being it; in the third order, odd keys are
 * large, so that nothing is young; the last chain is so short that everything is. A weak reference to the end of the
 * chain is cleared no earlier. */
static void long_chains_of_ephemerons(void **state)
{
    enum { PAUSES = 12, LARGE = 100000 };
    static const uint64_t steps[] = {1, 1999, 773, 389}; /* in order, backwards, otherwise */
    static const uint64_t lengths[] = {2000, 2000, 2000, 900};
    for (size_t order = 0; order < TN_COUNT(steps); order++) {
        const uint64_t length = is_stressed(state) ? 100 : lengths[order];
        struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
        struct tn_handle *pairs = make(heap, &table_type, length), *keys = make(heap, &table_type, length + 1);
        struct tn_handle *key = copy_of(heap, NULL), *value = copy_of(heap, NULL), *first = copy_of(heap, NULL);
        for (uint64_t i = 0; i <= length; i++) {
            struct tn_handle *made =
                i % 2 && order == 2 ? make(heap, &table_type, 2000) : make_node(heap, &node_type, i, NULL);
            assert_int_equal(tn_handle_store(keys, 8 + 8 * i, made, &err), 0);
            tn_handle_free(made);
        }
        for (uint64_t n = 0; n < length; n++) {
            uint64_t i = n * steps[order] % length;
            struct tn_handle *pair = make(heap, &tn_ephemeron_type, 0);
            assert_int_equal(tn_handle_load(keys, 8 + 8 * i, key, &err), 0);
            assert_int_equal(tn_handle_load(keys, 16 + 8 * i, value, &err), 0);
            struct tn_handle *node = i % 3 ? copy_of(heap, value) : make_node(heap, &node_type, i, value);
            assert_int_equal(tn_handle_store(pair, 0, key, &err), 0);
            assert_int_equal(tn_handle_store(pair, 8, node, &err), 0);
            assert_int_equal(tn_handle_store(pairs, 8 + 8 * i, pair, &err), 0);
            tn_handle_free(node);
            tn_handle_free(pair);
        }
        assert_int_equal(tn_handle_load(keys, 8, first, &err), 0);
        assert_int_equal(tn_handle_load(keys, 8 + 8 * length, key, &err), 0);
        struct tn_handle *weak = make(heap, &tn_weak_type, 0);
        assert_int_equal(tn_handle_store(weak, 0, key, &err), 0);
        tn_handle_free(keys);
        tn_handle_set(key, NULL);
        tn_handle_set(value, NULL);
        for (int dead = 0; dead < 2; dead++) {
            for (int i = 0; i < PAUSES && !dead; i++) { /* marking beside threads ends in one of them */
                tn_heap_collect(heap, TN_COLLECT_PARTIAL);
                tn_handle_free(make(heap, &bytes_type, LARGE));
            }
            tn_heap_collect(heap, TN_COLLECT_FULL);
            for (uint64_t i = 0; i < length; i++) {
                assert_int_equal(tn_handle_load(pairs, 8 + 8 * i, key, &err), 0);
                assert_int_equal(tn_handle_load(key, 8, value, &err), 0);
                assert_int_equal(tn_handle_is_null(value), dead);
            }
            assert_int_equal(tn_handle_load(weak, 0, key, &err), 0);
            assert_int_equal(tn_handle_is_null(key), dead);
            tn_handle_set(key, NULL);
            tn_handle_set(value, NULL);
            tn_handle_set(first, NULL);
        }
        tn_heap_destroy(heap);
    }
}

/* Arrays of leaves; in each, before them or behind them, is the array before it. Returns the last one; `pairs` has an
 * ephemeron for one leaf of each, with a value to which only a weak reference refers otherwise. */
static struct tn_handle *make_leaves(struct tn_heap *heap, struct tn_handle *pairs, struct tn_handle *weak,
                                     uint64_t count, bool before)
{
    enum { LEAVES = 64 };
    struct tn_handle *inner = copy_of(heap, NULL);
    for (uint64_t i = 0; i < count; i++) {
        struct tn_handle *array = make(heap, &table_type, LEAVES + 1);
        struct tn_handle *pair = make(heap, &tn_ephemeron_type, 0), *value = make_node(heap, &node_type, i, NULL);
        assert_int_equal(tn_handle_store(array, before ? 8 : 8 + 8 * LEAVES, inner, &err), 0);
        for (uint64_t leaf = 0; leaf < LEAVES; leaf++) {
            struct tn_handle *made = make(heap, &bytes_type, 8);
            assert_int_equal(tn_handle_store(array, 8 + 8 * (leaf + before), made, &err), 0);
            if (leaf == LEAVES / 2)
                assert_int_equal(tn_handle_store(pair, 0, made, &err), 0);
            tn_handle_free(made);
        }
        assert_int_equal(tn_handle_store(pair, 8, value, &err), 0);
        assert_int_equal(tn_handle_store(pairs, 8 + 8 * i, pair, &err), 0);
        struct tn_handle *reference = make(heap, &tn_weak_type, 0);
        assert_int_equal(tn_handle_store(reference, 0, value, &err), 0);
        assert_int_equal(tn_handle_store(weak, 8 + 8 * i, reference, &err), 0);
        tn_handle_free(reference);
        tn_handle_free(pair);
        tn_handle_free(value);
        tn_handle_free(inner);
        inner = array;
    }
    return inner;
}

/* Keys without references are marked apart when much waits to be looked at: they wake ephemerons too. */
static void many_leaves_are_keys(void **state)
{
    const uint64_t count = is_stressed(state) ? 50 : 500;
    for (int before = 0; before < 2; before++) {
        struct tn_heap *heap = make_small(state, 0, TN_HEAP_VERIFY);
        struct tn_handle *pairs = make(heap, &table_type, count + 1), *value = copy_of(heap, NULL);
        struct tn_handle *weak = make(heap, &table_type, count), *key = make_node(heap, &node_type, 0, NULL);
        struct tn_handle *leaves = make_leaves(heap, pairs, weak, count, before);
        struct tn_handle *pair = make(heap, &tn_ephemeron_type, 0);
        assert_int_equal(tn_handle_store(pair, 0, key, &err), 0);
        assert_int_equal(tn_handle_store(pair, 8, leaves, &err), 0);
        assert_int_equal(tn_handle_store(pairs, 8 + 8 * count, pair, &err), 0);
        tn_handle_free(pair);
        tn_heap_collect(heap, TN_COLLECT_FULL); /* the next one finds no gaps, and moves nothing */
        tn_handle_free(leaves);                 /* this value leads to the other keys */
        tn_heap_collect(heap, TN_COLLECT_FULL);
        for (uint64_t i = 0; i < count; i++) {
            assert_int_equal(tn_handle_load(pairs, 8 + 8 * i, value, &err), 0);
            assert_int_equal(tn_handle_load(value, 8, value, &err), 0);
            assert_int_equal(value_of(value), i);
            assert_int_equal(tn_handle_load(weak, 8 + 8 * i, value, &err), 0);
            assert_int_equal(tn_handle_load(value, 0, value, &err), 0);
            assert_false(tn_handle_is_null(value));
        }
        tn_heap_destroy(heap);
    }
}

/* ---- threads ---- */

static void *attach_and_end(void *argument)
{
    struct provoked *p = argument;
    assert_int_equal(tn_heap_attach(p->heap, &err), 0);
    allocate_all_sizes(p->heap, (uint64_t)(uintptr_t)&p % 1000, 30);
    tn_scope_begin();
    make_node(p->heap, &node_type, 1, NULL);
    if ((uintptr_t)&p % 128 >= 64)
        tn_heap_detach(); /* otherwise the end of the thread does it */
    return NULL;
}

static void threads_come_and_go(void **state)
{
    enum { THREADS = 4, ROUNDS = 25 };
    struct provoked p = {.heap = make_small(state, 0, 0)};
    pthread_t collecting, threads[THREADS];
    assert_int_equal(pthread_create(&collecting, NULL, provoke, &p), 0);
    for (int round = 0; round < (is_stressed(state) ? 3 : ROUNDS); round++) {
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, attach_and_end, &p), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    __atomic_store_n(&p.done, true, __ATOMIC_RELEASE);
    pthread_join(collecting, NULL);
    tn_heap_collect(p.heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(p.heap).count, 0);
    tn_heap_destroy(p.heap);
}

/* ---- forks ---- */

static struct provoked forked;

/* The child has everything the parent had, and can go on with it. */
static void go_on_in_child(void **state)
{
    struct tn_handle *list = *state;
    allocate_all_sizes(forked.heap, 3, 200);
    tn_heap_collect(forked.heap, TN_COLLECT_PARTIAL);
    tn_heap_trim(forked.heap);
    assert_int_equal(value_of(list), 7);
    assert_true(step(list) && value_of(list) == 6);
}

static void children_collect(void **state)
{
    enum { FORKS = 6 };
    if (HAS_TSAN)
        skip();
    forked = (struct provoked){.heap = make_small(state, 0, TN_HEAP_VERIFY)};
    struct tn_handle *list = make_node(forked.heap, &node_type, 7, make_node(forked.heap, &node_type, 6, NULL));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, provoke, &forked), 0);
    for (int i = 0; i < FORKS; i++) {
        tn_handle_free(make(forked.heap, &bytes_type, 5000));
        assert_int_equal(in_child(go_on_in_child, list), 0);
    }
    __atomic_store_n(&forked.done, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_int_equal(value_of(list), 7);
    tn_heap_destroy(forked.heap);
}

/* ---- several heaps ---- */

static void heaps_do_not_disturb_each_other(void **state)
{
    enum { HEAPS = 5, NODES = 200 };
    struct tn_heap *heaps[HEAPS];
    struct tn_handle *lists[HEAPS] = {0};
    for (int i = 0; i < HEAPS; i++) {
        struct tn_heap_options options = {.size = sizeof options,
                                          .limit = 8 * MB,
                                          .flags = *(uint64_t *)*state,
                                          .collector = tests_collectors[i % 3]};
        assert_int_equal(tn_heap_create(&options, &heaps[i], &err), 0);
    }
    for (uint64_t n = 0; n < (is_stressed(state) ? NODES / 10 : NODES); n++)
        for (int i = 0; i < HEAPS; i++) {
            struct tn_handle *node = make_node(heaps[i], &node_type, n * HEAPS + (uint64_t)i, lists[i]);
            tn_handle_free(lists[i]);
            lists[i] = node;
            tn_handle_free(make(heaps[(i + 1) % HEAPS], &bytes_type, n * 100));
            if (n % 16 == (uint64_t)i)
                tn_heap_collect(heaps[(i + 2) % HEAPS], n % 3 ? TN_COLLECT_PARTIAL : TN_COLLECT_FULL);
        }
    for (int i = 0; i < HEAPS; i++) {
        uint64_t count = 1, last = value_of(lists[i]);
        for (; step(lists[i]); last -= HEAPS, count++)
            assert_int_equal(value_of(lists[i]), last - HEAPS);
        assert_int_equal(last, i);
        tn_handle_free(lists[i]);
        tn_heap_collect(heaps[i], TN_COLLECT_FULL);
        assert_int_equal(take_census(heaps[i]).count, 0);
        tn_heap_destroy(heaps[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(copies_are_aligned),
        BOTH(one_object_of_each_line_lives),
        BOTH(one_object_of_each_block_lives),
        BOTH(arrays_survive),
        BOTH(full_stacks),
        BOTH(barriers_remember),
        BOTH(collections_at_each_step),
        BOTH(collections_at_each_place),
        BOTH(pinned_pairs),
        BOTH(long_chains_of_ephemerons),
        BOTH(many_leaves_are_keys),
        BOTH(threads_come_and_go),
        BOTH(children_collect),
        BOTH(heaps_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
