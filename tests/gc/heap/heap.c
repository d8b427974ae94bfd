/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The heap as a host uses it: objects of every kind by handles, what survives and what does not, limits, and threads
 * that collect at the same time. Each test runs on a plain heap and on one that moves everything at each safepoint. */

#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "gc/collect/collect.h"

/* ---- tests ---- */

static void lists_survive(void **state)
{
    enum { LENGTH = 200 };
    struct tn_heap *heap = make_heap(state, 0);
    for (int aligned = 0; aligned < 2; aligned++) {
        struct tn_handle *head = NULL;
        for (uint64_t i = 0; i < LENGTH; i++) {
            struct tn_handle *node = make_node(heap, aligned && i % 2 ? &aligned_type : &node_type, i, head);
            tn_handle_free(head);
            head = node;
        }
        tn_heap_collect(heap, TN_COLLECT_FULL);
        for (uint64_t i = LENGTH; i-- > 0;) {
            assert_int_equal(value_of(head), i);
            assert_true(tn_handle_type(head) == (aligned && i % 2 ? &aligned_type : &node_type));
            if (tn_handle_type(head) == &aligned_type)
                assert_int_equal((uintptr_t)tn_handle_object(head) % 16, 0);
            assert_int_equal(step(head), i != 0);
        }
        tn_handle_free(head);
    }
    tn_heap_destroy(heap);
}

static void arrays_of_every_size(void **state)
{
    static const uint64_t lengths[] = {0, 1, 2, 100, 8190, 8191, 8192, 33000, 100000};
    struct tn_heap *heap = make_heap(state, 0);
    for (size_t i = 0; i < TN_COUNT(lengths); i++) {
        uint64_t n = lengths[i], length;
        struct tn_handle *table = make(heap, &table_type, n), *nodes = make(heap, &nodes_type, n),
                         *bytes = make(heap, &bytes_type, n);
        for (uint64_t at = 0; at < n; at = 2 * at + 1) {
            struct tn_handle *node = make_node(heap, &node_type, at, NULL);
            assert_int_equal(tn_handle_store(table, 8 + at * 8, node, &err), 0);
            assert_int_equal(tn_handle_store(nodes, 8 + at * 16, node, &err), 0);
            assert_int_equal(tn_handle_write(bytes, 8 + at, &at, 1, &err), 0);
            tn_handle_free(node);
        }
        tn_heap_collect(heap, TN_COLLECT_FULL);
        struct tn_handle *node = make(heap, &node_type, 0), *same = make(heap, &node_type, 0);
        for (uint64_t at = 0; at < n; at = 2 * at + 1) {
            unsigned char byte;
            assert_int_equal(tn_handle_load(table, 8 + at * 8, node, &err), 0);
            assert_int_equal(tn_handle_load(nodes, 8 + at * 16, same, &err), 0);
            assert_true(tn_handle_same(node, same));
            assert_int_equal(value_of(node), at);
            assert_int_equal(tn_handle_read(bytes, 8 + at, &byte, 1, &err), 0);
            assert_int_equal(byte, at & 255);
        }
        assert_int_equal(tn_handle_read(table, 0, &length, 8, &err), 0);
        assert_int_equal(length, n);
        assert_int_equal(tn_handle_load(table, 8 + n * 8, node, &err), TN_EINVAL);
        assert_int_equal(tn_handle_load(table, 4, node, &err), TN_EINVAL);
        assert_int_equal(tn_handle_store(table, 4, node, &err), TN_EINVAL);
        assert_int_equal(tn_handle_read(bytes, 8 + n, &length, 1, &err), TN_EINVAL);
        assert_int_equal(tn_handle_read(bytes, 8 + n, NULL, 0, &err), 0);
        assert_int_equal(tn_handle_write(bytes, 8 + n, NULL, 0, &err), 0);
        struct tn_handle *all[] = {table, nodes, bytes, node, same};
        for (size_t k = 0; k < TN_COUNT(all); k++)
            tn_handle_free(all[k]);
    }
    tn_heap_destroy(heap);
}

static void pinned_objects_stay(void **state)
{
    enum { COUNT = 50 };
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *all[COUNT];
    void *address[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        all[i] = make_node(heap, i % 3 ? &node_type : &aligned_type, i, i ? all[i - 1] : NULL);
        if (i % 5 == 0)
            assert_int_equal(tn_handle_pin(all[i], &address[i], &err), 0);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(value_of(all[i]), i);
        if (i % 5 == 0)
            assert_true(tn_handle_object(all[i]) == address[i]);
    }
    assert_int_equal(take_census(heap).count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        if (i % 5 == 0)
            tn_handle_unpin(all[i]);
        tn_handle_free(all[i]);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 0);
    tn_heap_destroy(heap);
}

static void hashes_last(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *a = make(heap, &node_type, 0), *b = make(heap, &bytes_type, 100000),
                     *c = make(heap, &aligned_type, 0);
    uint64_t hashes[] = {tn_handle_hash(a), tn_handle_hash(b), tn_handle_hash(c)};
    for (int i = 0; i < 4; i++) {
        tn_heap_collect(heap, TN_COLLECT_FULL);
        assert_int_equal(tn_handle_hash(a), hashes[0]);
        assert_int_equal(tn_handle_hash(b), hashes[1]);
        assert_int_equal(tn_handle_hash(c), hashes[2]);
    }
    assert_int_equal(take_census(heap).bytes, 16 + 100008 + 16);
    assert_int_equal(tn_handle_hash(NULL), 0);
    tn_heap_destroy(heap);
}

static void weak_references_are_cleared(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *node = make_node(heap, &node_type, 7, NULL), *weak = make(heap, &tn_weak_type, 0);
    struct tn_handle *got = make(heap, &node_type, 0);
    assert_int_equal(tn_handle_store(weak, 0, node, &err), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(tn_handle_load(weak, 0, got, &err), 0);
    assert_true(tn_handle_same(got, node));
    tn_handle_set(got, NULL);
    tn_handle_free(node);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(tn_handle_load(weak, 0, got, &err), 0);
    assert_true(tn_handle_is_null(got));
    tn_heap_destroy(heap);
}

/* A chain of ephemerons, entered last one first: each value is the next one's key. */
static void ephemerons_follow_their_keys(void **state)
{
    enum { LENGTH = 20 };
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *key = make_node(heap, &node_type, 0, NULL), *first = key, *pairs[LENGTH];
    struct tn_handle *got = make(heap, &node_type, 0);
    for (int i = 0; i < LENGTH; i++) {
        struct tn_handle *value = make_node(heap, &node_type, (uint64_t)i + 1, NULL);
        pairs[i] = make(heap, &tn_ephemeron_type, 0);
        assert_int_equal(tn_handle_store(pairs[i], 0, key, &err), 0);
        assert_int_equal(tn_handle_store(pairs[i], 8, value, &err), 0);
        if (key != first)
            tn_handle_free(key);
        key = value;
    }
    tn_handle_free(key);
    for (int dead = 0; dead < 2; dead++) {
        tn_heap_collect(heap, TN_COLLECT_FULL);
        for (int i = 0; i < LENGTH; i++) {
            assert_int_equal(tn_handle_load(pairs[i], 8, got, &err), 0);
            assert_int_equal(tn_handle_is_null(got), dead);
            if (!dead)
                assert_int_equal(value_of(got), i + 1);
            tn_handle_set(got, NULL);
        }
        tn_handle_set(first, NULL);
    }
    tn_heap_destroy(heap);
}

static uint64_t finalized;

static void finalize(void *context, struct tn_handle *object)
{
    finalized += *(uint64_t *)context + value_of(object);
    struct tn_handle *another = make(tn_heap_current(), &node_type, 0); /* finalizers may allocate */
    tn_handle_free(another);
}

static void finalizers_run_once(void **state)
{
    static uint64_t thousand = 1000;
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *node = make_node(heap, &node_type, 1, NULL);
    finalized = 0;
    assert_int_equal(tn_handle_finalize(node, finalize, &thousand, &err), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(finalized, 0);
    tn_handle_free(node);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_run_pending_finalizers(heap);
    assert_int_equal(finalized, 1001);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_run_pending_finalizers(heap);
    assert_int_equal(finalized, 1001);
    assert_int_equal(take_census(heap).count, 0);
    assert_int_equal(tn_handle_finalize(NULL, finalize, NULL, &err), TN_EINVAL);
    tn_heap_destroy(heap);
}

static void scopes_end(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *outside = make(heap, &node_type, 0);
    tn_scope_begin();
    make(heap, &node_type, 0);
    tn_scope_begin();
    tn_handle_free(make(heap, &node_type, 0));
    make(heap, &node_type, 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 3);
    tn_scope_end();
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 2);
    tn_scope_end();
    tn_scope_end(); /* ending one scope too many has no effect */
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 1);
    tn_handle_free(outside);
    tn_heap_destroy(heap);
}

/* A last collection frees what it can; then running out is an error, and the heap still works. */
static void memory_runs_out(void **state)
{
    struct tn_heap *heap = make_heap(state, 1 << 20);
    struct tn_handle *head = NULL, *handle;
    int code;
    while (!(code = tn_handle_new(heap, &table_type, 1000, &handle, &err))) {
        assert_int_equal(tn_handle_store(handle, 8, head, &err), 0);
        tn_handle_free(head);
        head = handle;
    }
    assert_int_equal(code, TN_ENOMEM);
    assert_int_equal(tn_handle_new(heap, &bytes_type, 1 << 19, &handle, &err), TN_ENOMEM);
    uint64_t kept = take_census(heap).count;
    assert_in_range(kept, 60, 130);
    tn_handle_free(head);
    assert_int_equal(tn_handle_new(heap, &bytes_type, 1 << 19, &handle, &err), 0);
    assert_int_equal(tn_handle_new(heap, &bytes_type, UINT64_MAX, &head, &err), TN_ENOMEM);
    assert_int_equal(tn_handle_new(heap, &node_type, 1, &head, &err), TN_EINVAL);
    tn_heap_destroy(heap);
}

/* Without a limit, only the size of the address space limits objects. qemu-user would take gigabytes to note what was
 * reserved for them. */
static void no_limit_is_still_an_end(void **state)
{
    if (getenv("EMULATOR"))
        skip();
    static const uint64_t lengths[] = {1ull << 50, INT64_MAX - 8, UINT64_MAX / 2, UINT64_MAX - 8, UINT64_MAX};
    struct tn_heap *heap = make_heap(state, UINT64_MAX);
    struct tn_handle *handle;
    for (size_t i = 0; i < TN_COUNT(lengths); i++)
        assert_int_equal(tn_handle_new(heap, &bytes_type, lengths[i], &handle, &err), TN_ENOMEM);
    tn_handle_free(make(heap, &bytes_type, 1000));
    tn_heap_destroy(heap);
}

/* Without memory to copy to, everything stays in place, and nothing is lost. */
static void no_room_to_copy(void **state)
{
    enum { LENGTH = 500 };
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *head = NULL;
    for (uint64_t i = 0; i < LENGTH; i++) {
        struct tn_handle *node = make_node(heap, &node_type, i, head);
        tn_handle_free(head);
        head = node;
    }
    for (int i = 0; i < 2; i++) {
        tn__os_set_faults("F*");
        tn_heap_collect(heap, TN_COLLECT_FULL);
        tn__os_set_faults(NULL);
        assert_int_equal(take_census(heap).count, LENGTH);
        tn_heap_collect(heap, TN_COLLECT_FULL);
    }
    for (uint64_t i = LENGTH; i-- > 0; step(head))
        assert_int_equal(value_of(head), i);
    tn_heap_destroy(heap);
}

static void roots_are_visited(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    void *words[3] = {0};
    assert_int_equal(tn_roots_add(words, 3, &err), 0);
    struct tn_handle *node = make_node(heap, &node_type, 5, NULL), *got = make(heap, &node_type, 0);
    tn_managed_begin();
    words[1] = tn_handle_object(node);
    tn_managed_end();
    tn_handle_free(node);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_managed_begin();
    struct tn_handle *again;
    assert_int_equal(tn_handle_of(heap, words[1], &again, &err), 0);
    tn_managed_end();
    assert_int_equal(value_of(again), 5);
    tn_roots_remove(NULL);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 2); /* the range is still registered */
    tn_roots_remove(words);
    tn_handle_free(again);
    tn_handle_free(got);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 0);
    tn_heap_destroy(heap);
}

static void *churn(void *argument)
{
    struct tn_heap *heap = argument;
    struct tn_error mine;
    if (tn_heap_attach(heap, &mine))
        return NULL;
    struct tn_handle *head = NULL, *node;
    for (uint64_t i = 0; i < 500; i++) {
        tn_managed_begin();
        if (tn_handle_new(heap, &node_type, 0, &node, &mine) || tn_handle_write(node, 8, &i, 8, &mine) ||
            tn_handle_store(node, 0, i % 100 ? head : NULL, &mine))
            return NULL;
        tn_managed_end();
        tn_handle_free(head);
        head = node;
    }
    uint64_t sum = 0;
    do
        sum += value_of(head);
    while (step(head));
    tn_handle_free(head);
    tn_heap_detach();
    return (void *)(uintptr_t)sum;
}

static void threads_share_a_heap(void **state)
{
    enum { THREADS = 4 };
    struct tn_heap *heap = make_heap(state, 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, heap), 0);
    for (int i = 0; i < 50; i++)
        tn_heap_collect(heap, TN_COLLECT_FULL);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        assert_int_equal((uintptr_t)sum, 100 * (400 + 499) / 2);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 0);
    tn_heap_destroy(heap);
}

static void heaps_are_apart(void **state)
{
    struct tn_heap *a = make_heap(state, 0), *b;
    struct tn_heap_options options = {.size = sizeof options, .collector = chosen_collector()},
                           wrong = {.size = sizeof wrong, .flags = 1u << 31};
    assert_int_equal(tn_heap_create(&options, &b, &err), 0);
    assert_int_equal(tn_heap_create(&wrong, &b, &err), TN_EINVAL);
    assert_int_equal(tn_heap_attach(b, &err), TN_EINVAL);
    struct tn_handle *mine = make_node(a, &node_type, 1, NULL), *other = make(b, &node_type, 0);
    tn_heap_collect(b, TN_COLLECT_FULL);
    assert_int_equal(take_census(b).count, 1);
    struct tn_handle *wrong_one;
    void *objects[] = {tn_handle_object(mine), tn_handle_object(other)};
    assert_ptr_equal(tn_pin_object(objects[0]), objects[0]);
    tn_unpin_object(objects[0]);
    assert_null(tn_pin_object(objects[1]));              /* this thread's heap could not keep it in place */
    assert_ptr_equal(tn_pin_object(&options), &options); /* in no heap: it stays anyway */
    tn_unpin_object(&options);
    assert_int_equal(tn_handle_of(a, objects[1], &wrong_one, &err), TN_EINVAL);
    assert_int_equal(tn_handle_of(b, objects[0], &wrong_one, &err), TN_EINVAL);
    tn_handle_free(other);
    tn_heap_collect(b, TN_COLLECT_FULL);
    assert_int_equal(take_census(b).count, 0);
    assert_int_equal(value_of(mine), 1);
    tn_heap_destroy(b);
    tn_heap_destroy(a);
    assert_null(tn_heap_current());
}

/* ---- what is found to be wrong ---- */

enum { FOUND = 7, FOUND_ANOTHER };

static void end(void *context, const char *what)
{
    _exit(strstr(what, context) ? FOUND : FOUND_ANOTHER);
}

enum { NO_BARRIER, WITH_BARRIER, ONE_OF_TWO, NULL_WITHOUT, LEFT_FORWARDED, LOST_ROOT, STORES };

/* Corruption as a broken collector could leave it, made while the heap walks an object. */
static int how_broken;
static void *root;

static void visit_and_break(void *object, tn_visit_slot *slot, void *context)
{
    (void)slot, (void)context;
    if (how_broken == LEFT_FORWARDED)
        ((uint64_t *)object)[-1] |= 1; /* TN_GC_FORWARDED */
    else
        root = (char *)object + 8;
}

static const struct tn_type breaking_type = {
    .kind = TN_KIND_CUSTOM, .alignment = 8, .size = 16, .visit = visit_and_break};

/* Stores as compiled code does, with or without mistakes, and collects, in a process of its own. */
static void store_and_collect(uint64_t flags, int how, char *expected)
{
    struct tn_heap_options options = {.size = sizeof options,
                                      .collector = chosen_collector(),
                                      .flags = flags,
                                      .on_corruption = end,
                                      .context = expected};
    struct tn_heap *heap;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    struct tn_handle *a = make(heap, &node_type, 0), *b = make_node(heap, &node_type, 1, NULL),
                     *table = make(heap, &table_type, 2);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    struct node *raw = tn_handle_object(a), *other = tn_handle_object(b);
    assert_int_equal(tn_roots_add(&root, 1, &err), 0);
    how_broken = how;
    switch (how) {
    case LEFT_FORWARDED:
    case LOST_ROOT:
        make(heap, &breaking_type, 0);
        break;
    case NO_BARRIER:
        raw->next = other;
        break;
    case WITH_BARRIER:
        assert_int_equal(tn_handle_store(a, 0, b, &err), 0);
        break;
    case ONE_OF_TWO:
        assert_int_equal(tn_handle_store(table, offsetof(struct table, items[0]), b, &err), 0);
        ((struct table *)tn_handle_object(table))->items[1] = other;
        break;
    default:
        raw->next = NULL;
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    _exit(0);
}

static void verification_finds(void **state)
{
    static const struct {
        char *what;
        int status;
    } expected[STORES] = {[NO_BARRIER] = {"an object that is not logged", FOUND},
                          [WITH_BARRIER] = {"", 0},
                          [ONE_OF_TWO] = {"an object that is not logged", FOUND},
                          [NULL_WITHOUT] = {"", 0},
                          [LEFT_FORWARDED] = {"its object went elsewhere", FOUND},
                          [LOST_ROOT] = {"a reference leads to no object", FOUND}};
    for (int how = 0; how < STORES; how++) {
        int status;
        pid_t child = fork();
        if (!child)
            store_and_collect(*(uint64_t *)*state, how, expected[how].what);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), expected[how].status);
    }
}

static const struct tn_type offsets_type = {.kind = TN_KIND_FIXED,
                                            .alignment = 8,
                                            .size = 1040,
                                            .element = 8,
                                            .length = 8,
                                            .offsets = (const uint32_t[]){0, 1024},
                                            .offset_count = 2};
static const struct tn_type any_type = {.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 16, .visit = visit_and_break};

/* Words of objects that a reference is stored into: the last one that the type lists, the first that it does not. */
static const struct word {
    const struct tn_type *type;
    uint64_t offset;
    bool is_listed;
} words[] = {
    {&node_type, 0, true},        {&node_type, 8, false},        {&table_type, 0, false},
    {&table_type, 8, true},       {&table_type, 16, true},       {&table_type, 12, false},
    {&nodes_type, 0, false},      {&nodes_type, 8 + 16, true},   {&nodes_type, 8 + 8, false},
    {&bytes_type, 8, false},      {&bytes_type, 0, false},       {&tn_weak_type, 0, true},
    {&tn_weak_type, 8, false},    {&tn_ephemeron_type, 8, true}, {&tn_ephemeron_type, 16, false},
    {&offsets_type, 0, true},     {&offsets_type, 1024, true},   {&offsets_type, 1032, false},
    {&offsets_type, 1040, false}, {&any_type, 8, true},
};

/* The length of arrays is 16 at most: at offset 0, or as the types say. */
static void store_into_word(const struct word *word, uint64_t flags, char *expected)
{
    struct tn_heap_options options = {.size = sizeof options,
                                      .collector = chosen_collector(),
                                      .flags = flags,
                                      .on_corruption = end,
                                      .context = expected};
    struct tn_heap *heap;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    struct tn_handle *a = make(heap, word->type, word->type->element ? 16 : 0),
                     *b = make_node(heap, &node_type, 1, NULL);
    how_broken = LOST_ROOT; /* visits nothing */
    tn_heap_collect(heap, TN_COLLECT_FULL);
    /* As compiled code has it: a handle's offset is checked before. */
    tn__log_store(heap, tn_handle_object(a), (char *)tn_handle_object(a) + word->offset, tn_handle_object(b));
    _exit(0);
}

static void verification_knows_words(void **state)
{
    char expected[100];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int status;
        snprintf(expected, sizeof expected, "a reference is stored at offset %llu of an object of type '%s'",
                 (unsigned long long)words[i].offset, words[i].type->name ? words[i].type->name : "?");
        pid_t child = fork();
        if (!child)
            store_into_word(&words[i], *(uint64_t *)*state, expected);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != (words[i].is_listed ? 0 : FOUND))
            fail_msg("word %zu: status %d", i, WEXITSTATUS(status));
    }
}

/* Reads an object where it was before it moved. */
static void read_stale(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_handle *node = make_node(heap, &node_type, 5, NULL);
    const volatile struct node *raw = tn_handle_object(node);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    signal(SIGSEGV, SIG_DFL);
    _exit(raw->value == 5);
}

static void stale_references_fault(void **state)
{
    int status;
    pid_t child = fork();
    if (!child)
        read_stale(state);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(lists_survive),
        BOTH(arrays_of_every_size),
        BOTH(pinned_objects_stay),
        BOTH(hashes_last),
        BOTH(weak_references_are_cleared),
        BOTH(ephemerons_follow_their_keys),
        BOTH(finalizers_run_once),
        BOTH(scopes_end),
        BOTH(memory_runs_out),
        BOTH(no_limit_is_still_an_end),
        BOTH(no_room_to_copy),
        BOTH(roots_are_visited),
        BOTH(threads_share_a_heap),
        BOTH(heaps_are_apart),
        BOTH(verification_finds),
        BOTH(verification_knows_words),
        {"stale_references_fault", stale_references_fault, NULL, NULL, &stress},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
