/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Permanent objects: what they refer to lives, whether it was young or old when it was stored; they are looked at only
 * while they refer to the heap; those of frozen spaces are never written. */

#include "support.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"
#include "gc/collect/collect.h"
#include "tenon_gc.h"

enum { NODES = 16, ITEMS = 5, PAIRS = 3 };

#define ARMED(type) ((uintptr_t)(type) + TN_PERMANENT)

/* One object of each kind, and nodes; a word of zeros aligns one of them. */
struct space {
    struct {
        uintptr_t header;
        struct node node;
    } nodes[NODES];
    uint64_t alignment;
    struct {
        uintptr_t header;
        uint64_t length;
        struct node *items[ITEMS];
    } table;
    struct {
        uintptr_t header;
        uint64_t length;
        struct node items[PAIRS];
    } structs;
    struct {
        uintptr_t header;
        struct node *target;
        void *collector;
    } weak;
    struct {
        uintptr_t header;
        struct node *key, *value;
        void *collector;
    } ephemeron;
    struct {
        uintptr_t header;
        struct node *reference;
        uint64_t other;
    } custom;
    struct {
        uintptr_t header;
        uint64_t numbers[2];
    } leaf;
};

enum { OBJECTS = NODES + 6 };

static void visit_custom(void *object, tn_visit_slot *slot, void *context)
{
    static bool runs;
    assert_false(runs); /* not while it runs */
    runs = true;
    slot(context, object);
    runs = false;
}

static const struct tn_type custom_type = {
    .kind = TN_KIND_CUSTOM, .alignment = 8, .size = 2 * sizeof(void *), .visit = visit_custom};
static const struct tn_type leaf_type = {.kind = TN_KIND_LEAF, .alignment = 8, .size = 16};

static void fill(struct space *s, uintptr_t bits)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < NODES; i++) {
        s->nodes[i].header = (uintptr_t)&node_type + bits;
        s->nodes[i].node.value = (uint64_t)i;
        s->nodes[i].node.next = i ? &s->nodes[i - 1].node : NULL;
    }
    s->table.header = (uintptr_t)&table_type + bits;
    s->table.length = ITEMS;
    s->structs.header = (uintptr_t)&nodes_type + bits;
    s->structs.length = PAIRS;
    s->weak.header = (uintptr_t)&tn_weak_type + bits;
    s->ephemeron.header = (uintptr_t)&tn_ephemeron_type + bits;
    s->custom.header = (uintptr_t)&custom_type + bits;
    s->leaf.header = (uintptr_t)&leaf_type;
}

/* The middle one is used: there are addresses before and behind it. */
static struct space spaces[3], *const space = &spaces[1];

static struct tn_heap *begin(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    fill(space, TN_PERMANENT);
    assert_int_equal(tn_heap_add_permanent(heap, space, sizeof *space, 0, &err), 0);
    return heap;
}

static struct tn_handle *handle_of(struct tn_heap *heap, void *object)
{
    struct tn_handle *handle;
    assert_int_equal(tn_handle_of(heap, object, &handle, &err), 0);
    return handle;
}

static void store(struct tn_heap *heap, void *object, void *slot, const struct tn_handle *value)
{
    struct tn_handle *handle = handle_of(heap, object);
    uint64_t offset = (uint64_t)((char *)slot - (char *)object);
    assert_int_equal(tn_handle_store(handle, offset, value, &err), 0);
    tn_handle_free(handle);
}

static struct tn_heap_stats stats_of(struct tn_heap *heap)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_stats(heap, &stats);
    return stats;
}

static void collect_all(struct tn_heap *heap)
{
    tn_heap_collect(heap, TN_COLLECT_PARTIAL);
    tn_heap_collect(heap, TN_COLLECT_FULL);
}

static uint64_t in_heap(struct tn_heap *heap)
{
    return take_census(heap).count - OBJECTS;
}

/* ---- what they refer to ---- */

/* The words, of objects of all kinds, that references can be stored into; the last two are weak. */
static const struct {
    size_t object, slot;
} words[] = {
    {offsetof(struct space, nodes[3].node), offsetof(struct space, nodes[3].node.next)},
    {offsetof(struct space, table.length), offsetof(struct space, table.items[0])},
    {offsetof(struct space, table.length), offsetof(struct space, table.items[ITEMS - 1])},
    {offsetof(struct space, structs.length), offsetof(struct space, structs.items[PAIRS - 1].next)},
    {offsetof(struct space, custom.reference), offsetof(struct space, custom.reference)},
    {offsetof(struct space, weak.target), offsetof(struct space, weak.target)},
    {offsetof(struct space, ephemeron.key), offsetof(struct space, ephemeron.key)},
};

enum { STRONG = TN_COUNT(words) - 2 };

static void set_word(struct tn_heap *heap, size_t word, const struct tn_handle *value)
{
    store(heap, (char *)space + words[word].object, (char *)space + words[word].slot, value);
}

static struct node *word_at(size_t word)
{
    return *(struct node **)(void *)((char *)space + words[word].slot);
}

static void references_keep_objects(void **state)
{
    struct tn_heap *heap = begin(state);
    for (int is_old = 0; is_old < 2; is_old++) {
        for (size_t w = 0; w < STRONG; w++) {
            struct tn_handle *node = make_node(heap, &node_type, 100 + w, NULL);
            struct tn_handle *first = make_node(heap, &node_type, 200 + w, node);
            if (is_old)
                collect_all(heap);
            set_word(heap, w, first);
            tn_handle_free(node);
            tn_handle_free(first);
        }
        for (int i = 0; i < 4; i++) {
            if (i)
                collect_all(heap);
            for (size_t w = 0; w < STRONG; w++) {
                assert_int_equal(word_at(w)->value, 200 + w);
                assert_int_equal(word_at(w)->next->value, 100 + w);
            }
        }
        assert_int_equal(in_heap(heap), 2 * STRONG);
        assert_int_equal(stats_of(heap).permanent_logged, STRONG - 1); /* one has two */
        for (size_t w = 0; w < STRONG; w++)
            set_word(heap, w, NULL);
        collect_all(heap);
        assert_int_equal(in_heap(heap), 0);
        assert_int_equal(stats_of(heap).permanent_logged, 0);
        assert_int_equal(space->table.header, ARMED(&table_type));
    }
    tn_heap_destroy(heap);
}

static void weak_ones_keep_nothing(void **state)
{
    struct tn_heap *heap = begin(state);
    for (int is_old = 0; is_old < 2; is_old++) {
        struct tn_handle *node = make_node(heap, &node_type, 1, NULL), *value = make_node(heap, &node_type, 2, node);
        if (is_old)
            collect_all(heap);
        set_word(heap, STRONG, node);
        set_word(heap, STRONG + 1, node);
        store(heap, &space->ephemeron.key, &space->ephemeron.value, value);
        tn_handle_free(value);
        for (int i = 0; i < 3; i++) {
            collect_all(heap);
            assert_ptr_equal(space->weak.target, space->ephemeron.key);
            assert_int_equal(space->weak.target->value, 1);
            assert_int_equal(space->ephemeron.value->value, 2);
            assert_ptr_equal(space->ephemeron.value->next, space->weak.target);
        }
        tn_handle_free(node);
        tn_heap_collect(heap, TN_COLLECT_FULL);
        assert_null(space->weak.target);
        assert_null(space->ephemeron.key);
        assert_null(space->ephemeron.value);
        assert_int_equal(in_heap(heap), 0);
        assert_int_equal(stats_of(heap).permanent_logged, 0);
    }
    tn_heap_destroy(heap);
}

/* A key that is itself permanent never dies. */
static void permanent_keys_live(void **state)
{
    struct tn_heap *heap = begin(state);
    struct tn_handle *key = handle_of(heap, &space->nodes[5].node), *value = make_node(heap, &node_type, 7, NULL);
    set_word(heap, STRONG + 1, key);
    store(heap, &space->ephemeron.key, &space->ephemeron.value, value);
    tn_handle_free(value);
    tn_handle_free(key);
    for (int i = 0; i < 3; i++) {
        collect_all(heap);
        assert_ptr_equal(space->ephemeron.key, &space->nodes[5].node);
        assert_int_equal(space->ephemeron.value->value, 7);
    }
    tn_heap_destroy(heap);
}

/* Marking beside threads never treats what a permanent weak object refers to as reachable, however many pauses there
 * are. */
static void cycles_clear_weak_ones(void **state)
{
    enum { MOST = 400 };
    struct tn_heap *heap;
    const struct tn_heap_options options = {.size = sizeof options,
                                            .flags = *(uint64_t *)*state,
                                            .limit = 64 << 20,
                                            .minimum = 1 << 20,
                                            .collector = &tn_collector_concurrent};
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    fill(space, TN_PERMANENT);
    assert_int_equal(tn_heap_add_permanent(heap, space, sizeof *space, 0, &err), 0);
    struct tn_handle *node = make_node(heap, &node_type, 1, NULL), *kept = make_node(heap, &node_type, 2, NULL);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    set_word(heap, STRONG, node);
    set_word(heap, STRONG + 1, node);
    set_word(heap, 0, kept);
    tn_handle_free(node);
    tn_handle_free(kept);
    for (int i = 0; i < MOST && (space->weak.target || space->ephemeron.key); i++) {
        tn_handle_free(make(heap, &bytes_type, 40000));
        tn_heap_collect(heap, TN_COLLECT_PARTIAL);
    }
    assert_null(space->weak.target);
    assert_null(space->ephemeron.key);
    assert_int_equal(space->nodes[3].node.next->value, 2);
    tn_heap_destroy(heap);
}

static void visitors_wait_for_each_other(void **state)
{
    struct tn_heap *heap = begin(state);
    struct tn_handle *node = make_node(heap, &node_type, 9, NULL), *custom = make(heap, &custom_type, 0);
    assert_int_equal(tn_handle_store(custom, 0, node, &err), 0);
    store(heap, &space->custom.reference, &space->custom.reference, custom);
    tn_handle_free(node);
    tn_handle_free(custom);
    for (int i = 0; i < 3; i++) {
        collect_all(heap);
        assert_int_equal(space->custom.reference->next->value, 9);
    }
    tn_heap_destroy(heap);
}

/* ---- what is asked about them ---- */

static void frozen_ones_are_not_written(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    size_t size = tn__align_up(sizeof *space, tn__os_page_size());
    struct space *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(s, MAP_FAILED);
    fill(s, 0);
    assert_int_equal(mprotect(s, size, PROT_READ), 0);
    assert_int_equal(tn_heap_add_permanent(heap, s, sizeof *s, TN_PERMANENT_FROZEN, &err), 0);
    struct tn_handle *frozen = handle_of(heap, &s->nodes[NODES - 1].node),
                     *node = make_node(heap, &node_type, 1, frozen);
    void *address;
    uint64_t hash = tn_handle_hash(frozen);
    assert_int_equal(tn_handle_pin(frozen, &address, &err), 0);
    assert_ptr_equal(address, &s->nodes[NODES - 1].node);
    collect_all(heap);
    assert_true(hash && hash == tn_handle_hash(frozen));
    tn_handle_unpin(frozen);
    assert_ptr_equal(tn_handle_type(frozen), &node_type);
    for (int i = NODES - 1; i >= 0; i--) {
        assert_true(step(node));
        assert_int_equal(value_of(node), i);
    }
    assert_false(step(node));
    assert_int_equal(take_census(heap).count, OBJECTS + 1);
    tn_heap_destroy(heap);
    munmap(s, size);
}

static void stored_hashes_are_read(void **state)
{
    static struct {
        uintptr_t header;
        struct node node;
        uint64_t hash;
    } hashed[2];
    struct tn_heap *heap = make_heap(state, 0);
    for (int i = 0; i < 2; i++) {
        hashed[i].header = ARMED(&node_type) | TN_GC_HASHED | TN_GC_HASH_STORED;
        hashed[i].node.next = NULL;
        hashed[i].hash = 0x1234560;
    }
    assert_int_equal(tn_heap_add_permanent(heap, hashed, sizeof hashed, 0, &err), 0);
    struct tn_handle *first = handle_of(heap, &hashed[0].node), *second = handle_of(heap, &hashed[1].node);
    assert_int_equal(tn_handle_hash(first), tn_handle_hash(second));
    store(heap, &hashed[1].node, &hashed[1].node.next, make_node(heap, &node_type, 4, NULL));
    collect_all(heap);
    assert_int_equal(tn_handle_hash(first), tn_handle_hash(second));
    assert_int_equal(take_census(heap).count, 3);
    tn_heap_destroy(heap);
}

/* Pins of objects that cannot move need no memory. */
static void pins_cost_nothing(void **state)
{
    struct tn_heap *heap = begin(state);
    struct tn_handle *node = handle_of(heap, &space->nodes[1].node);
    void *address;
    tn__os_set_faults("a1");
    assert_int_equal(tn_handle_pin(node, &address, &err), 0);
    tn__os_set_faults(NULL);
    tn_handle_unpin(node);
    tn_heap_destroy(heap);
}

/* ---- what can go wrong ---- */

static void bad_spaces_are_refused(void **state)
{
    struct tn_heap *heap = begin(state);
    char *start = (char *)space;
    static uint64_t other[4];
    const struct {
        void *start;
        size_t size;
        uint64_t flags;
    } bad[] = {
        {NULL, 64, 0},       {other, 0, 0},
        {other, 12, 0},      {(char *)other + 4, 16, 0},
        {other, 16, 2},      {other, SIZE_MAX - 7, 0},
        {start, 16, 0},      {start + sizeof *space - 8, 64, 0},
        {start - 64, 72, 0}, {start - 64, sizeof *space + 128, 0},
    };
    for (size_t i = 0; i < TN_COUNT(bad); i++)
        assert_int_equal(tn_heap_add_permanent(heap, bad[i].start, bad[i].size, bad[i].flags, &err), TN_EINVAL);
    struct tn_handle *node = make_node(heap, &node_type, 1, NULL);
    tn_managed_begin();
    assert_int_equal(tn_heap_add_permanent(heap, (char *)tn_handle_object(node) - 8, 16, 0, &err), TN_EINVAL);
    tn_managed_end();
    assert_int_equal(tn_heap_add_permanent(NULL, other, 16, 0, &err), TN_EINVAL);
    assert_int_equal(tn_heap_remove_permanent(heap, other, &err), TN_EINVAL);
    assert_int_equal(tn_heap_remove_permanent(heap, start + 8, &err), TN_EINVAL);
    assert_int_equal(tn_heap_add_permanent(heap, start + sizeof *space, 16, 0, &err), 0);
    assert_int_equal(tn_heap_add_permanent(heap, start - 16, 16, 0, &err), 0);
    assert_int_equal(stats_of(heap).permanent, sizeof *space + 32);
    assert_int_equal(tn_heap_remove_permanent(heap, start - 16, &err), 0);
    assert_int_equal(tn_heap_remove_permanent(heap, start + sizeof *space, &err), 0);
    assert_int_equal(stats_of(heap).permanent, sizeof *space);
    tn_heap_destroy(heap);
}

/* ---- images ---- */

static int ends;

static void count_end(void *owner)
{
    int *end = owner;
    *end = ++ends;
}

static int add_parts(struct tn_heap *heap, const struct tn__permanent_part *parts, size_t count, int *owner)
{
    tn__heap_lock(heap);
    int code = tn__permanent_add(heap, parts, count, owner, count_end, &err);
    tn__heap_unlock(heap);
    return code;
}

/* Spaces are found whatever the order in which they came; those of an owner come and go together. */
static void parts_have_an_owner(void **state)
{
    enum { PARTS = 8, PART = 16 };
    static uint64_t memory[PARTS][PART / 8];
    struct tn_heap *heap = begin(state);
    struct tn__permanent_part parts[PARTS];
    int first = 0, second = 0;
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = (struct tn__permanent_part){.start = (char *)memory[i * 5 % PARTS], .size = PART, .identity = 4096};
    assert_int_equal(add_parts(heap, parts, PARTS / 2, &first), 0);
    assert_int_equal(add_parts(heap, parts + 2, PARTS - 2, &second), TN_EINVAL);
    assert_int_equal(add_parts(heap, parts + PARTS / 2, PARTS / 2, &second), 0);
    for (size_t i = 0; i < PARTS; i++) {
        memory[i][0] = (uintptr_t)&leaf_type;
        assert_int_equal(tn_heap_remove_permanent(heap, parts[i].start, &err), TN_EINVAL);
    }
    struct tn_handle *moved = handle_of(heap, &memory[3][1]), *other = handle_of(heap, &space->nodes[0].node);
    assert_true(tn_handle_hash(moved) == ((uintptr_t)&memory[3][1] + 4096) * 0x9E3779B97F4A7C15u);
    assert_true(tn_handle_hash(other) == (uintptr_t)&space->nodes[0].node * 0x9E3779B97F4A7C15u);
    assert_int_equal(stats_of(heap).permanent, sizeof *space + PARTS * PART);
    tn__heap_lock(heap);
    tn__permanent_remove(heap, &first);
    tn__heap_unlock(heap);
    assert_int_equal(stats_of(heap).permanent, sizeof *space + PARTS / 2 * PART);
    assert_int_equal(add_parts(heap, parts, PARTS / 2, &first), 0);
    ends = 0;
    tn_heap_destroy(heap);
    assert_true(first == 1 && second == 2); /* the newest is the first to end */
}

static void end_child(void *context, const char *what)
{
    (void)context;
    _exit(strcmp(what, "a reference leads into a permanent object") ? 1 : 77);
}

static void refer_into_object(void **state)
{
    struct tn_heap_options options = {
        .size = sizeof options, .flags = TN_HEAP_VERIFY, .on_corruption = end_child, .collector = chosen_collector()};
    struct tn_heap *heap;
    (void)state;
    fill(space, TN_PERMANENT);
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_add_permanent(heap, space, sizeof *space, 0, &err), 0);
    handle_of(heap, &space->nodes[2].node);
    collect_all(heap);
    handle_of(heap, &space->nodes[2].node.value);
    collect_all(heap);
}

static void references_into_objects_are_found(void **state)
{
    assert_int_equal(in_child(refer_into_object, *state), 77);
}

static void removed_ones_are_no_roots(void **state)
{
    struct tn_heap *heap = begin(state);
    struct tn_handle *node = make_node(heap, &node_type, 1, NULL);
    set_word(heap, 0, node);
    tn_handle_free(node);
    collect_all(heap);
    assert_int_equal(in_heap(heap), 1);
    assert_int_equal(tn_heap_remove_permanent(heap, space, &err), 0);
    memset(space, 0xff, sizeof *space); /* nobody looks at it any more */
    collect_all(heap);
    assert_int_equal(take_census(heap).count, 0);
    fill(space, TN_PERMANENT);
    assert_int_equal(tn_heap_add_permanent(heap, space, sizeof *space, 0, &err), 0);
    assert_int_equal(take_census(heap).count, OBJECTS);
    tn_heap_destroy(heap);
}

/* A store cannot fail. */
static void lists_without_memory_lose_nothing(void **state)
{
    struct tn_heap *heap = begin(state);
    struct tn_handle *nodes[STRONG], *to[STRONG];
    for (size_t w = 0; w < STRONG; w++) {
        nodes[w] = make_node(heap, &node_type, 100 + w, NULL);
        to[w] = handle_of(heap, (char *)space + words[w].object);
    }
    for (size_t w = 0; w < STRONG; w++) {
        tn__os_set_faults("a1");
        assert_int_equal(tn_handle_store(to[w], words[w].slot - words[w].object, nodes[w], &err), 0);
        tn__os_set_faults(NULL);
        tn_handle_free(nodes[w]);
    }
    assert_int_equal(stats_of(heap).permanent_logged, 0);
    for (int i = 0; i < 3; i++) {
        collect_all(heap);
        for (size_t w = 0; w < STRONG; w++)
            assert_int_equal(word_at(w)->value, 100 + w);
        assert_int_equal(stats_of(heap).permanent_logged, STRONG - 1);
    }
    assert_int_equal(space->nodes[7].header, ARMED(&node_type));
    tn_heap_destroy(heap);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 400 };

struct storing {
    struct tn_heap *heap;
    int number;
};

static void *store_often(void *argument)
{
    const struct storing *self = argument;
    struct tn_handle *table, *node = NULL;
    tn_heap_attach(self->heap, NULL);
    tn_handle_of(self->heap, &space->table.length, &table, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t value = (uint64_t)(self->number * ROUNDS + i);
        tn_handle_new(self->heap, &node_type, 0, &node, NULL);
        tn_handle_write(node, offsetof(struct node, value), &value, sizeof value, NULL);
        tn_handle_store(table, 8 + 8 * (uint64_t)self->number, i % 3 == 2 ? NULL : node, NULL);
        if (i % 16 == self->number)
            tn_heap_collect(self->heap, i % 32 ? TN_COLLECT_PARTIAL : TN_COLLECT_FULL);
        if (i + 1 < ROUNDS)
            tn_handle_free(node);
    }
    tn_handle_store(table, 8 + 8 * (uint64_t)self->number, node, NULL);
    tn_handle_free(node);
    tn_handle_free(table);
    tn_heap_detach();
    return NULL;
}

static void threads_store_at_once(void **state)
{
    struct tn_heap *heap = begin(state);
    pthread_t threads[THREADS];
    struct storing storing[THREADS];
    for (int i = 0; i < THREADS; i++) {
        storing[i] = (struct storing){heap, i};
        assert_int_equal(pthread_create(&threads[i], NULL, store_often, &storing[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    collect_all(heap);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(space->table.items[i]->value, i * ROUNDS + ROUNDS - 1);
    assert_int_equal(in_heap(heap), THREADS);
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(references_keep_objects),
        BOTH(weak_ones_keep_nothing),
        BOTH(permanent_keys_live),
        BOTH(cycles_clear_weak_ones),
        BOTH(visitors_wait_for_each_other),
        BOTH(frozen_ones_are_not_written),
        BOTH(stored_hashes_are_read),
        BOTH(pins_cost_nothing),
        BOTH(bad_spaces_are_refused),
        BOTH(parts_have_an_owner),
        {"references_into_objects_are_found", references_into_objects_are_found, NULL, NULL, &plain},
        BOTH(removed_ones_are_no_roots),
        BOTH(lists_without_memory_lose_nothing),
        BOTH(threads_store_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
