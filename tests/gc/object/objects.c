/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The layouts that types describe, what a heap reports about itself, and the order in which objects die. */

#include "support.h"

#include "gc/object/object.h"

/* ---- types ---- */

/* The same object described in each possible way: 40 bytes with references at 8 and 24. */
struct shape {
    uint64_t a;
    void *first;
    uint64_t b;
    void *second;
    uint64_t c;
};

static void visit_shape(void *object, tn_visit_slot *slot, void *context)
{
    struct shape *shape = object;
    slot(context, &shape->first);
    slot(context, &shape->second);
}

static const uint32_t offsets[] = {8, 24};
static const struct tn_type shapes[] = {
    {.kind = TN_KIND_FIXED, .alignment = 8, .size = 40, .references = 1 << 1 | 1 << 3},
    {.kind = TN_KIND_FIXED, .alignment = 8, .size = 40, .offsets = offsets, .offset_count = 2},
    {.kind = TN_KIND_FIXED, .alignment = 16, .size = 40, .element = 24, .length = 32, .references = 1 << 1 | 1 << 3},
    {.kind = TN_KIND_STRUCTS, .alignment = 8, .size = 40, .element = 40, .length = 0, .references = 1 << 1 | 1 << 3},
    {.kind = TN_KIND_STRUCTS,
     .alignment = 16,
     .size = 40,
     .element = 40,
     .length = 32,
     .offsets = offsets,
     .offset_count = 2},
    {.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 40, .visit = visit_shape},
    {.kind = TN_KIND_CUSTOM, .alignment = 16, .size = 40, .element = 1, .length = 0, .visit = visit_shape},
};

static void types_say_where_references_are(void **state)
{
    enum { LENGTH = 3, WORD = 0x1234567 };
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *got = copy_of(heap, NULL);
    for (size_t i = 0; i < TN_COUNT(shapes); i++) {
        const struct tn_type *type = &shapes[i];
        struct tn_handle *object = make(heap, type, type->element ? LENGTH : 0);
        uint64_t at = type->kind == TN_KIND_STRUCTS ? type->size + type->element * (LENGTH - 1) : 0, word = WORD;
        for (int k = 0; k < 2; k++) {
            struct tn_handle *node = make_node(heap, &node_type, 10 + (uint64_t)k, NULL);
            assert_int_equal(tn_handle_store(object, at + offsets[k], node, &err), 0);
            tn_handle_free(node);
        }
        assert_int_equal(tn_handle_write(object, at + 16, &word, sizeof word, &err), 0); /* resembles no reference */
        tn_heap_collect(heap, TN_COLLECT_FULL);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(tn_handle_load(object, at + offsets[k], got, &err), 0);
            assert_int_equal(value_of(got), 10 + k);
        }
        assert_int_equal(tn_handle_read(object, at + 16, &word, sizeof word, &err), 0);
        assert_int_equal(word, WORD);
        if (type->alignment == 16)
            assert_int_equal((uintptr_t)tn_handle_object(object) % 16, 0);
        tn_handle_set(got, NULL);
        assert_int_equal(take_census(heap).count, 3);
        tn_handle_free(object);
        tn_heap_collect(heap, TN_COLLECT_FULL);
        assert_int_equal(take_census(heap).count, 0);
    }
    tn_heap_destroy(heap);
}

/* ---- statistics and events ---- */

static struct tn_collection last;
static uint64_t calls, waiting; /* so far; finalizers, right after the last one */
static struct tn_heap *told_of;

static struct tn_heap_stats stats_of(struct tn_heap *heap)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_stats(heap, &stats);
    return stats;
}

static void note_collection(void *context, const struct tn_collection *collection)
{
    assert_ptr_equal(context, &last);
    assert_int_equal(collection->size, sizeof last);
    assert_int_equal(collection->number, ++calls);
    last = *collection;
    waiting = stats_of(told_of).finalizers_waiting;
}

static void ignore(void *context, struct tn_handle *object)
{
    (void)context, (void)object;
}

static void heaps_tell_of_themselves(void **state)
{
    enum { LARGE = 1 << 20 };
    const struct tn_heap_options options = {.size = sizeof options,
                                            .collector = chosen_collector(),
                                            .flags = *(uint64_t *)*state,
                                            .on_collection = note_collection,
                                            .context = &last};
    struct tn_heap *heap;
    void *address;
    calls = 0;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    told_of = heap;
    assert_int_equal(stats_of(heap).threads, 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    assert_int_equal(stats_of(heap).threads, 1);
    struct tn_handle *node = make_node(heap, &node_type, 1, NULL), *large = make(heap, &bytes_type, LARGE);
    assert_int_equal(tn_handle_finalize(node, ignore, NULL, &err), 0);
    struct tn_heap_stats before = stats_of(heap), after;
    assert_in_range(before.large, LARGE, LARGE + (64 << 10)); /* rounded up to what the collector gives out */
    assert_true(before.in_use > before.large);
    assert_int_equal(before.finalizers, 1);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    after = stats_of(heap);
    assert_int_equal(after.collections, before.collections + 1);
    assert_int_equal(after.collections, calls);
    assert_int_equal(after.moved, before.moved + 24);
    assert_int_equal(last.moved, 24);
    assert_int_equal(last.pinned, 0);
    assert_int_equal(last.after, after.in_use);
    assert_true(last.before >= last.after && last.pause_ns >= last.stop_ns);
    assert_int_equal(after.pause_ns, before.pause_ns + last.pause_ns);
    assert_true(after.longest_pause_ns >= last.pause_ns && after.longest_stop_ns >= last.stop_ns);
    assert_int_equal(tn_handle_pin(node, &address, &err), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(last.pinned, 1);
    assert_int_equal(last.moved, 0);
    assert_int_equal(stats_of(heap).pinned, after.pinned + 1);
    tn_handle_unpin(node);
    tn_handle_free(large);
    tn_handle_free(node);
    tn_heap_detach();
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(waiting, 1);
    after = stats_of(heap);
    assert_int_equal(after.large, 0);
    assert_int_equal(after.finalizers, 0);
    assert_int_equal(after.finalizers_waiting, 0);
    assert_int_equal(after.threads, 0);
    assert_int_equal(tn_run_pending_finalizers(heap), 0);
    tn_heap_destroy(heap);
}

/* ---- pins ---- */

static void pins_count(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *node = make_node(heap, &node_type, 1, NULL);
    void *address, *again;
    assert_int_equal(tn_handle_pin(node, &address, &err), 0);
    assert_int_equal(tn_handle_pin(node, &again, &err), 0);
    assert_ptr_equal(tn_pin_object(address), address);
    assert_ptr_equal(again, address);
    for (int pins = 3; pins; pins--) {
        tn_heap_collect(heap, TN_COLLECT_FULL);
        assert_ptr_equal(tn_handle_object(node), address);
        if (pins == 2)
            tn_unpin_object(address);
        else
            tn_handle_unpin(node);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_ptr_not_equal(tn_handle_object(node), address);
    assert_int_equal(tn_handle_pin(NULL, &address, &err), TN_EINVAL);
    assert_null(tn_pin_object(NULL));
    tn_handle_unpin(node); /* unpinning once too often has no effect */
    tn_heap_destroy(heap);
}

/* Although nothing else refers to them. */
static void pinned_objects_live(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *node = make_node(heap, &node_type, 8, make_node(heap, &node_type, 9, NULL));
    void *address;
    assert_int_equal(tn_handle_pin(node, &address, &err), 0);
    while (step(node))
        ;
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(((struct node *)address)->value, 8);
    tn_unpin_object(address);
    tn_heap_destroy(heap);
}

/* ---- death ---- */

/* A key reachable only from its own value, and an ephemeron that nothing refers to. */
static void ephemerons_do_not_keep_keys(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *key = make_node(heap, &node_type, 1, NULL), *value = make_node(heap, &node_type, 2, key);
    struct tn_handle *pair = make(heap, &tn_ephemeron_type, 0), *lost = make(heap, &tn_ephemeron_type, 0);
    struct tn_handle *got = copy_of(heap, NULL);
    assert_int_equal(tn_handle_store(pair, 0, key, &err), 0);
    assert_int_equal(tn_handle_store(pair, 8, value, &err), 0);
    assert_int_equal(tn_handle_store(lost, 0, key, &err), 0);
    assert_int_equal(tn_handle_store(lost, 8, make_node(heap, &node_type, 3, NULL), &err), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(tn_handle_load(pair, 8, got, &err), 0);
    assert_int_equal(value_of(got), 2);
    tn_handle_set(got, NULL);
    tn_handle_free(value);
    tn_handle_free(key);
    tn_handle_free(lost);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    for (uint64_t at = 0; at < 16; at += 8) {
        assert_int_equal(tn_handle_load(pair, at, got, &err), 0);
        assert_true(tn_handle_is_null(got));
    }
    tn_heap_destroy(heap);
}

/* A finalizer gets its object intact, with weak references to it cleared. It may collect, set another finalizer, and
 * resurrect the object. */
struct grave {
    struct tn_heap *heap;
    struct tn_handle *weak, *saved;
    uint64_t sum;
    int runs;
};

static void rise(void *context, struct tn_handle *object)
{
    struct grave *grave = context;
    struct tn_handle *got = copy_of(grave->heap, NULL), *next = copy_of(grave->heap, object);
    tn_heap_collect(grave->heap, TN_COLLECT_FULL); /* would deadlock if the world were stopped */
    assert_int_equal(tn_handle_load(grave->weak, 0, got, &err), 0);
    assert_true(tn_handle_is_null(got));
    for (bool more = true; more; more = step(next))
        grave->sum += value_of(next);
    if (!grave->runs++) {
        tn_handle_set(grave->saved, object);
        assert_int_equal(tn_handle_finalize(object, rise, grave, &err), 0);
    }
    tn_handle_free(got);
    tn_handle_free(next);
}

static void finalizers_find_objects_whole(void **state)
{
    struct grave grave = {.heap = make_heap(state, 0)};
    grave.weak = make(grave.heap, &tn_weak_type, 0);
    grave.saved = copy_of(grave.heap, NULL);
    struct tn_handle *second = make_node(grave.heap, &node_type, 2, NULL);
    tn_scope_begin(); /* ends before the finalizer runs */
    struct tn_handle *first = make_node(grave.heap, &node_type, 1, second);
    assert_int_equal(tn_handle_store(grave.weak, 0, first, &err), 0);
    assert_int_equal(tn_handle_finalize(first, rise, &grave, &err), 0);
    tn_scope_end();
    tn_handle_free(second);
    tn_heap_collect(grave.heap, TN_COLLECT_FULL);
    assert_int_equal(grave.runs, 1);
    assert_int_equal(grave.sum, 3);
    tn_heap_collect(grave.heap, TN_COLLECT_FULL);
    assert_int_equal(grave.runs, 1);
    assert_int_equal(value_of(grave.saved), 1);
    tn_handle_free(grave.saved);
    tn_heap_collect(grave.heap, TN_COLLECT_FULL);
    assert_int_equal(grave.runs, 2);
    assert_int_equal(grave.sum, 6);
    tn_heap_collect(grave.heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(grave.heap).count, 1); /* the weak reference */
    tn_heap_destroy(grave.heap);
}

/* A key reachable only from a finalizer's object keeps its value. */
static struct tn_handle *pair_of_the_dead;
static uint64_t value_found;

static void look_at_pair(void *context, struct tn_handle *object)
{
    struct tn_handle *key = copy_of(context, NULL), *value = copy_of(context, NULL);
    assert_true(step(object));
    assert_int_equal(tn_handle_load(pair_of_the_dead, 0, key, &err), 0);
    assert_true(tn_handle_same(key, object));
    assert_int_equal(tn_handle_load(pair_of_the_dead, 8, value, &err), 0);
    value_found = value_of(value);
    tn_handle_free(key);
    tn_handle_free(value);
}

static void finalizers_find_values(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *key = make_node(heap, &node_type, 1, NULL), *value = make_node(heap, &node_type, 2, NULL);
    pair_of_the_dead = make(heap, &tn_ephemeron_type, 0);
    assert_int_equal(tn_handle_store(pair_of_the_dead, 0, key, &err), 0);
    assert_int_equal(tn_handle_store(pair_of_the_dead, 8, value, &err), 0);
    struct tn_handle *dead = make_node(heap, &node_type, 0, key);
    assert_int_equal(tn_handle_finalize(dead, look_at_pair, heap, &err), 0);
    tn_handle_free(value);
    tn_handle_free(key);
    tn_handle_free(dead);
    value_found = 0;
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(value_found, 2);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 1);
    tn_heap_destroy(heap);
}

/* Finalizers run one after the other, never nested, however many are pending. */
static int running, finished;

static void allocate(void *heap, struct tn_handle *object)
{
    (void)object;
    assert_int_equal(running++, 0);
    tn_handle_free(make(heap, &node_type, 0));
    tn_heap_collect(heap, TN_COLLECT_FULL);
    running--;
    finished++;
}

static void finalizers_do_not_nest(void **state)
{
    enum { COUNT = 5 };
    struct tn_heap *heap = make_heap(state, 0);
    running = finished = 0;
    tn_scope_begin();
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(tn_handle_finalize(make(heap, &node_type, 0), allocate, heap, &err), 0);
    tn_scope_end();
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(finished, COUNT);
    tn_heap_destroy(heap);
}

/* ---- what managed code is told when memory is out ---- */

static jmp_buf out_of_memory;
static size_t wanted;

static void leave(void *context, size_t payload)
{
    (void)context;
    wanted = payload;
    longjmp(out_of_memory, 1);
}

/* tn__gc_allocate never returns without an object. */
static void managed_code_runs_out(void **state)
{
    const struct tn_heap_options options = {.size = sizeof options,
                                            .collector = chosen_collector(),
                                            .flags = *(uint64_t *)*state,
                                            .limit = 1 << 20,
                                            .out_of_memory = leave};
    static const size_t payloads[] = {2 << 20, SIZE_MAX / 2, SIZE_MAX - 7};
    struct tn_heap *heap;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    for (volatile size_t i = 0; i < TN_COUNT(payloads); i++) {
        tn_managed_begin();
        if (!setjmp(out_of_memory)) {
            tn__gc_allocate(payloads[i], &bytes_type);
            fail();
        }
        tn_managed_end();
        assert_int_equal(wanted, payloads[i]);
    }
    make(heap, &node_type, 0);
    tn_heap_destroy(heap);
}

/* ---- moves of memory ---- */

/* tn__gc_move equals memmove for every overlap and alignment, and moves whole words where it can. */
static void moves_are_moves(void **state)
{
    enum { SIZE = 64 };
    unsigned char bytes[SIZE], expected[SIZE];
    (void)state;
    for (size_t to = 0; to < SIZE; to += 3)
        for (size_t from = 0; from < SIZE; from++)
            for (size_t size = 0; size <= SIZE - tn__max64(to, from); size++) {
                for (size_t i = 0; i < SIZE; i++)
                    bytes[i] = expected[i] = (unsigned char)(i * 37);
                memmove(expected + to, expected + from, size);
                tn__gc_move(NULL, bytes + to, bytes + from, size);
                assert_memory_equal(bytes, expected, SIZE);
            }
    uint64_t object[3] = {(uintptr_t)&node_type | TN_GC_UNLOGGED | TN_GC_HASHED, 1, 2};
    tn__gc_move(&object[1], &object[2], &object[1], 8);
    assert_int_equal(object[0], (uintptr_t)&node_type | TN_GC_HASHED);
    assert_int_equal(object[2], 1);
}

/* ---- two things of one heap ---- */

struct pair {
    struct tn_heap *own, *other;
    struct tn_handle *a, *b, *node; /* of `own`: a node, nothing, what `a` refers to */
    struct tn_handle *foreign;      /* a node of `other` */
};

static int store(const struct pair *p)
{
    return tn_handle_store(p->a, 0, p->foreign, &err);
}

static int store_into(const struct pair *p)
{
    return tn_handle_store(p->foreign, 0, p->a, &err);
}

static int load_into_foreign(const struct pair *p)
{
    return tn_handle_load(p->a, 0, p->foreign, &err);
}

static int load_from_foreign(const struct pair *p)
{
    return tn_handle_load(p->foreign, 0, p->a, &err);
}

static int set(const struct pair *p)
{
    return tn_handle_set(p->b, p->foreign);
}

static int set_foreign(const struct pair *p)
{
    return tn_handle_set(p->foreign, p->a);
}

static int handle_of_foreign(const struct pair *p)
{
    struct tn_handle *handle;
    tn_managed_begin();
    int code = tn_handle_of(p->other, tn_handle_object(p->a), &handle, &err);
    tn_managed_end();
    return code;
}

static int attach_to_other(const struct pair *p)
{
    return tn_heap_attach(p->other, &err);
}

static int store_null(const struct pair *p)
{
    return tn_handle_store(p->foreign, 0, NULL, &err);
}

static int set_null(const struct pair *p)
{
    return tn_handle_set(p->b, NULL);
}

static int store_own(const struct pair *p)
{
    return tn_handle_store(p->a, 0, p->node, &err);
}

static int are_different(const struct pair *p)
{
    return tn_handle_same(p->a, p->foreign);
}

/* Every function that takes two things of one heap. */
static const struct {
    const char *name;
    int (*call)(const struct pair *p);
    int code;
} combinations[] = {
    {"store", store, TN_EINVAL},
    {"store into", store_into, TN_EINVAL},
    {"load into", load_into_foreign, TN_EINVAL},
    {"load from", load_from_foreign, TN_EINVAL},
    {"set", set, TN_EINVAL},
    {"set foreign", set_foreign, TN_EINVAL},
    {"handle of", handle_of_foreign, TN_EINVAL},
    {"attach", attach_to_other, TN_EINVAL},
    {"store null", store_null, 0},
    {"set null", set_null, 0},
    {"store own", store_own, 0},
    {"same", are_different, 0},
};

static void handles_of_another_heap_are_errors(void **state)
{
    struct pair p = {.own = make_heap(state, 0)};
    struct tn_heap_options options = {
        .size = sizeof options, .collector = chosen_collector(), .flags = *(uint64_t *)*state};
    assert_int_equal(tn_heap_create(&options, &p.other, &err), 0);
    p.node = make_node(p.own, &node_type, 7, NULL);
    p.foreign = make_node(p.other, &node_type, 9, NULL);
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        p.a = make_node(p.own, &node_type, 8, p.node);
        p.b = copy_of(p.own, NULL);
        assert_int_equal(combinations[i].call(&p), combinations[i].code);
        tn_heap_collect(p.own, TN_COLLECT_FULL);
        tn_heap_collect(p.other, TN_COLLECT_FULL);
        assert_int_equal(value_of(p.foreign), 9);
        assert_int_equal(value_of(p.a), 8);
        assert_true(tn_handle_is_null(p.b));
        assert_true(step(p.a) && value_of(p.a) == 7);
        tn_handle_free(p.a);
        tn_handle_free(p.b);
    }
    tn_heap_destroy(p.other);
    tn_heap_destroy(p.own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(handles_of_another_heap_are_errors),
        BOTH(types_say_where_references_are),
        BOTH(heaps_tell_of_themselves),
        BOTH(pins_count),
        BOTH(pinned_objects_live),
        BOTH(ephemerons_do_not_keep_keys),
        BOTH(finalizers_find_objects_whole),
        BOTH(finalizers_find_values),
        BOTH(finalizers_do_not_nest),
        BOTH(managed_code_runs_out),
        cmocka_unit_test(moves_are_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
