/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects that full collections move to make room: heaps of fragments; and random graphs whose blocks are emptied, with
 * everything that refers to objects in its own way, compared with a model of each object. */

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "base/os.h"

enum { MB = 1 << 20 };

static struct tn_collection last;
static uint64_t most_moved;

static void note_last(void *context, const struct tn_collection *collection)
{
    (void)context;
    last = *collection;
    most_moved = last.moved > most_moved ? last.moved : most_moved;
}

static struct tn_heap *make_noted(uint64_t limit, uint64_t flags, uint32_t workers)
{
    const struct tn_heap_options options = {.size = sizeof options,
                                            .limit = limit,
                                            .flags = flags,
                                            .workers = workers,
                                            .collector = chosen_collector(),
                                            .on_collection = note_last};
    struct tn_heap *heap;
    most_moved = 0;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return heap;
}

static bool is_copying(void)
{
    return chosen_collector() == &tn_collector_copying;
}

/* ---- fragments ---- */

/* A list of so many nodes, all of which are old. */
static struct tn_handle *make_list(struct tn_heap *heap, uint64_t count)
{
    struct tn_handle *list = copy_of(heap, NULL);
    for (uint64_t i = 0; i < count; i++) {
        struct tn_handle *node = make_node(heap, &node_type, i, list);
        tn_handle_set(list, node);
        tn_handle_free(node);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    return list;
}

/* Every third node stays: one in nearly each line of 64 bytes. */
static void thin_out(struct tn_heap *heap, const struct tn_handle *list)
{
    struct tn_handle *at = copy_of(heap, list), *next = copy_of(heap, list);
    for (bool goes_on = true; goes_on;) {
        for (int i = 0; i < 3 && goes_on; i++)
            goes_on = step(next);
        assert_int_equal(tn_handle_store(at, 0, next, &err), 0);
        tn_handle_set(at, next);
    }
    tn_handle_free(at);
    tn_handle_free(next);
}

static void check_list(struct tn_heap *heap, const struct tn_handle *list, uint64_t count)
{
    struct tn_handle *at = copy_of(heap, list);
    uint64_t value = count - 1, found = 1;
    for (assert_int_equal(value_of(at), value); step(at); found++)
        assert_int_equal(value_of(at), value -= 3);
    assert_int_equal(found, (count + 2) / 3);
    tn_handle_free(at);
}

/* Of 32 MB, lines with nodes take 27, and the nodes themselves 9. */
static void fragments_make_room(void **state)
{
    enum { LIMIT = 32 * MB, NODES = 1150000, LARGE = 12 * MB };
    struct tn_heap *heap = make_noted(LIMIT, 0, 0);
    (void)state;
    struct tn_handle *list = make_list(heap, NODES);
    thin_out(heap, list);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    if (!is_copying())
        assert_true(last.after > LIMIT - LARGE);
    struct tn_handle *large = make(heap, &bytes_type, LARGE), *another;
    assert_true(last.after < LIMIT - LARGE);
    check_list(heap, list, NODES);
    assert_int_equal(tn_handle_new(heap, &bytes_type, LARGE, &another, &err), TN_ENOMEM);
    check_list(heap, list, NODES);
    tn_handle_free(large);
    tn_heap_destroy(heap);
}

/* The system gets the memory between fragments. */
static void fragments_go_back(void **state)
{
    enum { NODES = 2000000 };
    struct tn_heap *heap = make_noted(0, 0, 0);
    (void)state;
    struct tn_handle *list = make_list(heap, NODES);
    thin_out(heap, list);
    tn_heap_trim(heap);
    check_list(heap, list, NODES);
    assert_true(last.committed < (uint64_t)NODES * 24 / 3 * 5 / 4 + 4 * MB);
    uint64_t committed = last.committed;
    tn_heap_trim(heap);
    assert_true(last.committed <= committed);
    check_list(heap, list, NODES);
    tn_heap_destroy(heap);
}

/* Objects of 1,000 bytes are not allocated in holes. So a full collection that finds most of the holes that the last
 * one has left empties the blocks with the most holes. */
static void holes_are_closed(void **state)
{
    enum { OBJECTS = 30000, BYTES = 1000, EVERY = 5 };
    (void)state;
    if (is_copying())
        skip();
    struct tn_heap *heap = make_noted(0, 0, 0);
    struct tn_handle *table = make(heap, &table_type, OBJECTS), *got = copy_of(heap, NULL);
    for (uint64_t i = 0; i < OBJECTS; i++) {
        struct tn_handle *object = make(heap, &bytes_type, BYTES);
        assert_int_equal(tn_handle_write(object, 8, &i, sizeof i, &err), 0);
        assert_int_equal(tn_handle_store(table, 8 + 8 * i, object, &err), 0);
        tn_handle_free(object);
    }
    for (uint64_t i = 0; i < OBJECTS; i++)
        if (i % EVERY)
            assert_int_equal(tn_handle_store(table, 8 + 8 * i, NULL, &err), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    uint64_t holes = last.holes;
    assert_true(holes > (uint64_t)OBJECTS * BYTES / 2);
    most_moved = 0;
    for (int i = 0; i < 4; i++) /* as much as there is free memory for */
        tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_true(most_moved >= (uint64_t)OBJECTS / EVERY * BYTES / 4);
    assert_true(last.holes < holes / 4);
    assert_int_equal(last.moved, 0); /* nothing is left to be done */
    for (uint64_t i = 0; i < OBJECTS; i += EVERY) {
        uint64_t value = 0;
        assert_int_equal(tn_handle_load(table, 8 + 8 * i, got, &err), 0);
        assert_int_equal(tn_handle_read(got, 8, &value, sizeof value, &err), 0);
        assert_int_equal(value, i);
    }
    tn_heap_destroy(heap);
}

/* ---- random graphs ---- */

struct thing {
    struct thing *refs[2];
    uint64_t id;
};

static const struct tn_type thing_types[] = {
    {.kind = TN_KIND_FIXED, .alignment = 8, .size = 24, .references = 3},
    {.kind = TN_KIND_FIXED, .alignment = 16, .size = 56, .references = 3},
    {.kind = TN_KIND_FIXED, .alignment = 8, .size = 120, .references = 3},
    {.kind = TN_KIND_FIXED, .alignment = 8, .size = 700, .references = 3},
    {.kind = TN_KIND_FIXED, .alignment = 16, .size = 3000, .references = 3},
    {.kind = TN_KIND_FIXED, .alignment = 8, .size = 20000, .references = 3},
};

enum { SLOTS = 3000, OTHERS = 200, IDS = 60000 };

/* What is known of a thing. NONE: no thing. */
enum { NONE = 0 };
struct model {
    uint32_t refs[2];
    uint64_t hash;             /* 0: nothing has asked for it */
    uint32_t ends;             /* how often its finalizer ran */
    bool is_pinned, has_final; /* it has a finalizer */
    struct thing *address;     /* in the check that goes on; NULL: not reached */
};

static struct graph {
    struct tn_heap *heap;
    struct tn_handle *table, *at, *other;
    struct tn_handle *weak[OTHERS], *pairs[OTHERS], *pins[OTHERS];
    void *pinned[OTHERS];
    uint32_t slots[SLOTS], weak_ids[OTHERS], key_ids[OTHERS], pin_ids[OTHERS];
    struct model things[IDS];
    uint32_t ids, reached[IDS];
    uint64_t random;
} graph;

static uint32_t any(uint32_t count)
{
    graph.random ^= graph.random << 13;
    graph.random ^= graph.random >> 7;
    graph.random ^= graph.random << 17;
    return (uint32_t)(graph.random >> 20) % count;
}

static void note_end(void *context, struct tn_handle *object)
{
    uint64_t id = 0;
    (void)context;
    assert_int_equal(tn_handle_read(object, offsetof(struct thing, id), &id, sizeof id, &err), 0);
    assert_in_range(id, 1, graph.ids);
    graph.things[id].ends++;
}

static void load(uint32_t slot, struct tn_handle *to)
{
    assert_int_equal(tn_handle_load(graph.table, 8 + 8 * slot, to, &err), 0);
}

/* Makes `other` refer to what may be any thing of the table; its number. */
static uint32_t pick(void)
{
    uint32_t slot = any(SLOTS);
    load(slot, graph.other);
    return graph.slots[slot];
}

static void set_reference(struct tn_handle *object, uint32_t id, uint32_t which)
{
    graph.things[id].refs[which] = pick();
    assert_int_equal(tn_handle_store(object, 8 * which, graph.other, &err), 0);
}

static void make_thing(uint32_t slot)
{
    uint64_t id = ++graph.ids;
    assert_true(id < IDS);
    uint32_t kind = any(100);
    struct tn_handle *thing = make(graph.heap, &thing_types[kind < 99 ? kind % 5 : 5], 0);
    graph.things[id] = (struct model){0};
    assert_int_equal(tn_handle_write(thing, offsetof(struct thing, id), &id, sizeof id, &err), 0);
    set_reference(thing, (uint32_t)id, 0);
    set_reference(thing, (uint32_t)id, 1);
    assert_int_equal(tn_handle_store(graph.table, 8 + 8 * slot, thing, &err), 0);
    graph.slots[slot] = (uint32_t)id;
    if (!any(20)) {
        assert_int_equal(tn_handle_finalize(thing, note_end, NULL, &err), 0);
        graph.things[id].has_final = true;
    }
    tn_handle_free(thing);
}

static void make_weak(uint32_t i)
{
    graph.weak_ids[i] = pick();
    tn_handle_free(graph.weak[i]);
    graph.weak[i] = make(graph.heap, &tn_weak_type, 0);
    assert_int_equal(tn_handle_store(graph.weak[i], 0, graph.other, &err), 0);
}

/* The value is a node that nothing else refers to. */
static void make_pair(uint32_t i)
{
    struct tn_handle *value = make_node(graph.heap, &node_type, i, NULL);
    graph.key_ids[i] = pick();
    tn_handle_free(graph.pairs[i]);
    graph.pairs[i] = make(graph.heap, &tn_ephemeron_type, 0);
    assert_int_equal(tn_handle_store(graph.pairs[i], 0, graph.other, &err), 0);
    assert_int_equal(tn_handle_store(graph.pairs[i], 8, value, &err), 0);
    tn_handle_free(value);
}

static void unpin(uint32_t i)
{
    if (!graph.pins[i])
        return;
    tn_handle_unpin(graph.pins[i]);
    tn_handle_free(graph.pins[i]);
    graph.pins[i] = NULL;
}

static void pin(uint32_t i)
{
    unpin(i);
    graph.pin_ids[i] = pick();
    if (!graph.pin_ids[i] || any(4))
        return;
    graph.pins[i] = copy_of(graph.heap, graph.other);
    assert_int_equal(tn_handle_pin(graph.pins[i], &graph.pinned[i], &err), 0);
}

static void hash(void)
{
    uint32_t id = pick();
    if (!id)
        return;
    uint64_t got = tn_handle_hash(graph.other);
    if (graph.things[id].hash)
        assert_int_equal(got, graph.things[id].hash);
    graph.things[id].hash = got;
}

/* Some of each; most things die soon, so that the others are left in fragments. */
static void change(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = any(SLOTS), what = any(100);
        if (what < 50) {
            make_thing(slot);
        } else if (what < 80) {
            assert_int_equal(tn_handle_store(graph.table, 8 + 8 * slot, NULL, &err), 0);
            graph.slots[slot] = NONE;
        } else if (what < 90 && graph.slots[slot]) {
            load(slot, graph.at);
            set_reference(graph.at, graph.slots[slot], any(2));
        } else if (what < 93) {
            hash();
        } else if (what < 95) {
            make_weak(any(OTHERS));
        } else if (what < 97) {
            make_pair(any(OTHERS));
        } else {
            pin(any(OTHERS));
        }
    }
}

/* ---- the check: raw references, in one piece without a safepoint ---- */

static const char *wrong;

static void see(struct thing *thing, uint32_t id, uint32_t *count)
{
    struct model *model = &graph.things[id];
    if (!thing != (id == NONE))
        wrong = "a reference is null, or another one is not";
    else if (thing && thing->id != id)
        wrong = "a reference leads to another thing";
    else if (thing && model->address && model->address != thing)
        wrong = "there are two copies of a thing";
    if (wrong || !thing || model->address)
        return;
    model->address = thing;
    graph.reached[(*count)++] = id;
}

static void walk(uint32_t count)
{
    const struct table *table = tn_handle_object(graph.table);
    for (uint32_t i = 0; i < SLOTS; i++)
        see((struct thing *)(void *)table->items[i], graph.slots[i], &count);
    for (uint32_t i = 0; i < OTHERS; i++)
        if (graph.pins[i] && tn_handle_object(graph.pins[i]) != graph.pinned[i])
            wrong = "a pinned thing has moved";
        else if (graph.pins[i])
            see(tn_handle_object(graph.pins[i]), graph.pin_ids[i], &count);
    for (uint32_t i = 0; i < count && !wrong; i++)
        for (int k = 0; k < 2; k++)
            see(graph.things[graph.reached[i]].address->refs[k], graph.things[graph.reached[i]].refs[k], &count);
}

/* `is_exact`: a full collection has just ended, so what is not reachable is dead. Things that wait for their
 * finalizers, and what they refer to, may live longer. */
static void check_dying(bool is_exact)
{
    for (uint32_t i = 0; i < OTHERS; i++) {
        void *const *weak = tn_handle_object(graph.weak[i]), *const *pair = tn_handle_object(graph.pairs[i]);
        const struct model *thing = &graph.things[graph.weak_ids[i]], *key = &graph.things[graph.key_ids[i]];
        if (weak && weak[0] ? weak[0] != thing->address && (thing->address || is_exact) : thing->address != NULL)
            wrong = "a weak reference is not to its thing";
        if (pair && pair[0] && key->address && pair[0] != key->address)
            wrong = "the key of an ephemeron is another thing";
        if (pair && key->address && (!pair[1] || ((struct node *)pair[1])->value != i))
            wrong = "the value of a live key is gone";
    }
    for (uint32_t id = 1; id <= graph.ids; id++) {
        const struct model *thing = &graph.things[id];
        if (thing->ends > thing->has_final || (thing->ends && thing->address))
            wrong = "a finalizer ran twice, or for a thing that lives";
        if (is_exact && thing->has_final && !thing->address && !thing->ends)
            wrong = "the finalizer of a dead thing did not run";
    }
}

static void check(bool is_exact)
{
    for (uint32_t id = 1; id <= graph.ids; id++)
        graph.things[id].address = NULL;
    wrong = NULL;
    tn_managed_begin();
    walk(0);
    if (!wrong)
        check_dying(is_exact);
    tn_managed_end();
    if (wrong)
        fail_msg("%s", wrong);
}

/* ---- */

static void open_graph(uint64_t flags, uint32_t workers, uint64_t seed)
{
    memset(&graph, 0, sizeof graph);
    graph.heap = make_noted(256 * MB, flags, workers);
    graph.random = 0x9E3779B97F4A7C15u * (seed + 1);
    graph.table = make(graph.heap, &table_type, SLOTS);
    graph.at = copy_of(graph.heap, NULL);
    graph.other = copy_of(graph.heap, NULL);
    for (uint32_t i = 0; i < OTHERS; i++) {
        graph.weak[i] = copy_of(graph.heap, NULL);
        graph.pairs[i] = copy_of(graph.heap, NULL);
    }
}

static void close_graph(void)
{
    for (uint32_t i = 0; i < OTHERS; i++)
        unpin(i);
    tn_heap_destroy(graph.heap);
}

/* A full collection twice: the first one finds finalizers, after which what they kept is dead. */
static void collect_fully(bool trims)
{
    tn_handle_set(graph.at, NULL);
    tn_handle_set(graph.other, NULL);
    for (int i = 0; i < 2; i++)
        if (trims)
            tn_heap_trim(graph.heap);
        else
            tn_heap_collect(graph.heap, TN_COLLECT_FULL);
    tn_run_pending_finalizers(graph.heap);
}

static void run_graph(uint64_t flags, uint32_t workers, uint64_t seed, uint32_t rounds, uint32_t changes)
{
    open_graph(flags, workers, seed);
    for (uint32_t round = 0; round < rounds; round++) {
        change(changes);
        tn_heap_collect(graph.heap, round % 3 ? TN_COLLECT_PARTIAL : TN_COLLECT_FULL);
        check(false);
        if (round % 2) {
            collect_fully(round % 4 == 1);
            check(true);
        }
    }
    assert_true(is_copying() || most_moved);
    close_graph();
}

/* Two workers mark in another way than one, or than more. */
static const uint32_t team_sizes[] = {1, 2, 4};

/* A heap that is trimmed moves its sparse blocks; one that is verified also others. */
static void random_graphs(void **state)
{
    for (uint64_t seed = 0; seed < 6; seed++)
        run_graph(seed % 2 ? *(uint64_t *)*state : 0, team_sizes[seed % 3], seed, 12, 5000);
}

/* Under stress, all objects move in each collection, and there is one for each object. */
static void random_graphs_under_stress(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++)
        run_graph(TN_HEAP_STRESS | (seed ? TN_HEAP_VERIFY : 0), team_sizes[1 + seed], seed, 6, 60);
}

/* The system has no memory for copies from some request on: objects stay where they are, beside others that moved. */
static void memory_ends_in_the_middle(void **state)
{
    static const char *const plans[] = {"F*", ". F*", ". . . F*", ". . . . . . F*"};
    for (uint64_t seed = 0; seed < 2 * TN_COUNT(plans); seed++) {
        open_graph(*(uint64_t *)*state, team_sizes[seed % 3], seed);
        for (int round = 0; round < 4; round++) {
            change(4000);
            tn_handle_set(graph.at, NULL);
            tn_handle_set(graph.other, NULL);
            assert_int_equal(tn__os_set_faults(plans[seed / 2]), 0);
            tn_heap_collect(graph.heap, TN_COLLECT_FULL);
            tn_heap_trim(graph.heap);
            tn__os_set_faults(NULL);
            check(false);
            change(400);
            tn_heap_collect(graph.heap, TN_COLLECT_PARTIAL);
            assert_true(last.moved); /* again */
            collect_fully(true);
            check(true);
        }
        close_graph();
    }
}

/* Each block has a pinned object, and all else of it moves: holes around pinned objects are used again. */
static void pins_in_each_block(void **state)
{
    enum { NODES = 60000, EVERY = 1365, PINS = NODES / EVERY + 1 };
    struct tn_heap *heap = make_noted(64 * MB, *(uint64_t *)*state, 0);
    struct tn_handle *list = copy_of(heap, NULL), *pins[PINS];
    void *addresses[PINS], *now;
    for (uint64_t i = 0; i < NODES; i++) {
        struct tn_handle *node = make_node(heap, &node_type, i, list);
        tn_handle_set(list, node);
        if (i % EVERY == 0)
            pins[i / EVERY] = copy_of(heap, node);
        tn_handle_free(node);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    for (int i = 0; i < PINS; i++)
        assert_int_equal(tn_handle_pin(pins[i], &addresses[i], &err), 0);
    thin_out(heap, list);
    for (int round = 0; round < 3; round++) {
        tn_heap_trim(heap);
        check_list(heap, list, NODES);
        for (int i = 0; i < PINS; i++) {
            assert_int_equal(tn_handle_pin(pins[i], &now, &err), 0);
            assert_ptr_equal(now, addresses[i]);
            assert_int_equal(value_of(pins[i]), i * EVERY);
            tn_handle_unpin(pins[i]);
        }
        tn_handle_free(make_list(heap, NODES / 2));
    }
    for (int i = 0; i < PINS; i++)
        tn_handle_unpin(pins[i]);
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_make_room),
        cmocka_unit_test(fragments_go_back),
        cmocka_unit_test(holes_are_closed),
        {"random_graphs", random_graphs, NULL, NULL, &plain},
        cmocka_unit_test(random_graphs_under_stress),
        {"memory_ends_in_the_middle", memory_ends_in_the_middle, NULL, NULL, &plain},
        {"pins_in_each_block", pins_in_each_block, NULL, NULL, &plain},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
