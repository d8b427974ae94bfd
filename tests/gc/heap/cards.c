/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Large arrays among permanent objects: of those, collections visit the parts that were stored to. */

#include "support.h"

#include "base/os.h"
#include "gc/collect/collect.h"
#include "tenon_gc.h"

enum { BYTES = 20 << 10, WORDS = BYTES / 8, LARGE = 8 << 10 };

/* An element of 24 bytes whose references are its first and last words: some lie in two cards. */
static const struct tn_type triples_type = {
    .kind = TN_KIND_STRUCTS, .alignment = 8, .size = 8, .element = 24, .references = 5};

/* Arrays that lie behind each other: the last small one, the first large one, one of structs, one of each kind of
 * start. */
static struct {
    struct {
        uintptr_t header;
        uint64_t length;
        struct node *items[LARGE / 8 - 1];
    } small;
    struct {
        uintptr_t header;
        uint64_t length;
        struct node *items[LARGE / 8];
    } large;
    struct {
        uintptr_t header;
        uint64_t length;
        struct node *items[3 * (WORDS / 3)];
    } structs;
    struct {
        uintptr_t header;
        uint64_t length;
        struct node *items[WORDS];
    } table;
} space;

static struct tn_heap *begin(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    memset(&space, 0, sizeof space);
    space.small.header = (uintptr_t)&table_type + TN_PERMANENT;
    space.small.length = TN_COUNT(space.small.items);
    space.large.header = (uintptr_t)&table_type + TN_PERMANENT;
    space.large.length = TN_COUNT(space.large.items);
    space.structs.header = (uintptr_t)&triples_type + TN_PERMANENT;
    space.structs.length = TN_COUNT(space.structs.items) / 3;
    space.table.header = (uintptr_t)&table_type + TN_PERMANENT;
    space.table.length = WORDS;
    assert_int_equal(tn_heap_add_permanent(heap, &space, sizeof space, 0, &err), 0);
    return heap;
}

static void store(struct tn_heap *heap, void *object, struct node **slot, const struct tn_handle *value)
{
    struct tn_handle *handle;
    assert_int_equal(tn_handle_of(heap, object, &handle, &err), 0);
    assert_int_equal(tn_handle_store(handle, (uint64_t)((char *)slot - (char *)object), value, &err), 0);
    tn_handle_free(handle);
}

static void collect_all(struct tn_heap *heap)
{
    tn_heap_collect(heap, TN_COLLECT_PARTIAL);
    tn_heap_collect(heap, TN_COLLECT_FULL);
}

static uint64_t logged(struct tn_heap *heap)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_stats(heap, &stats);
    return stats.permanent_logged;
}

static void every_word_is_noticed(void **state)
{
    struct {
        void *object;
        uintptr_t *header;
        struct node **items;
        size_t count, each;
    } cases[] = {
        {&space.small.length, &space.small.header, space.small.items, TN_COUNT(space.small.items), 1},
        {&space.large.length, &space.large.header, space.large.items, TN_COUNT(space.large.items), 1},
        {&space.structs.length, &space.structs.header, space.structs.items, TN_COUNT(space.structs.items), 3},
        {&space.table.length, &space.table.header, space.table.items, TN_COUNT(space.table.items), 1},
    };
    struct tn_heap *heap = begin(state);
    for (size_t i = 0; i < TN_COUNT(cases); i++)
        for (size_t word = 0; word < cases[i].count; word += 1 + word % 7) {
            if (cases[i].each == 3 && word % 3 == 1)
                continue; /* no reference */
            uintptr_t armed = *cases[i].header;
            struct tn_handle *node = make_node(heap, &node_type, word, NULL);
            if (word % 2)
                collect_all(heap);
            store(heap, cases[i].object, &cases[i].items[word], node);
            tn_handle_free(node);
            assert_true((*cases[i].header == armed) == (i > 0)); /* large ones stay armed */
            assert_int_equal(logged(heap), 1);
            tn_heap_collect(heap, word % 3 == 0);
            tn_heap_collect(heap, word % 5 == 0);
            assert_int_equal(cases[i].items[word]->value, word);
            store(heap, cases[i].object, &cases[i].items[word], NULL);
            tn_heap_collect(heap, word % 2);
            assert_int_equal(logged(heap), 0);
            assert_true(*cases[i].header == armed);
        }
    tn_heap_destroy(heap);
}

/* Many words of several arrays at once; half of them are cleared again. */
static void all_of_them_are_kept(void **state)
{
    struct tn_heap *heap = begin(state);
    uint64_t count = 0;
    for (size_t i = 0; i < WORDS; i += 5) {
        struct tn_handle *node = make_node(heap, &node_type, i, NULL);
        store(heap, &space.table.length, &space.table.items[i], node);
        store(heap, &space.large.length, &space.large.items[i % TN_COUNT(space.large.items)], node);
        tn_handle_free(node);
        if (i % 100 == 0)
            tn_heap_collect(heap, TN_COLLECT_PARTIAL);
    }
    assert_int_equal(logged(heap), 2);
    collect_all(heap);
    for (size_t i = 0; i < WORDS; i += 10)
        store(heap, &space.table.length, &space.table.items[i], NULL);
    for (int round = 0; round < 3; round++, collect_all(heap))
        for (size_t i = 5; i < WORDS; i += 10)
            assert_int_equal(space.table.items[i]->value, i);
    for (size_t i = 0; i < TN_COUNT(space.large.items); i++)
        count += space.large.items[i] != NULL;
    assert_true(count > 100);
    assert_int_equal(tn_heap_remove_permanent(heap, &space, &err), 0);
    assert_int_equal(logged(heap), 0);
    collect_all(heap);
    assert_int_equal(take_census(heap).count, 0);
    tn_heap_destroy(heap);
}

/* A store of which the word is not known; and references to what is not in the heap. */
static void unknown_words_are_all_words(void **state)
{
    struct tn_heap *heap = begin(state);
    struct tn_handle *node = make_node(heap, &node_type, 1, NULL);
    tn_managed_begin();
    tn__gc_log(&space.table.length, NULL, NULL);
    space.table.items[0] = tn_handle_object(node);
    space.table.items[WORDS - 1] = tn_handle_object(node);
    tn_managed_end();
    tn_handle_free(node);
    for (int i = 0; i < 2; i++) {
        collect_all(heap);
        assert_true(space.table.items[0]->value == 1 && space.table.items[WORDS - 1] == space.table.items[0]);
    }
    space.table.items[0] = space.table.items[WORDS - 1] = NULL;
    collect_all(heap);
    struct tn_handle *permanent;
    assert_int_equal(tn_handle_of(heap, &space.small.length, &permanent, &err), 0);
    store(heap, &space.table.length, &space.table.items[0], permanent);
    assert_int_equal(logged(heap), 0);
    tn_handle_free(permanent);
    tn_heap_destroy(heap);
}

/* Without memory for cards, the array is logged as small objects are. */
static void memory_may_be_out(void **state)
{
    for (int at = 1; at < 5; at++) {
        struct tn_heap *heap = begin(state);
        struct tn_handle *node = make_node(heap, &node_type, 1, NULL), *table;
        assert_int_equal(tn_handle_of(heap, &space.table.length, &table, &err), 0);
        for (size_t i = 0; i < WORDS; i += WORDS / 4) {
            const char *const plans[] = {"a1", "a2", "a1 a2", "a1 a2 a3"};
            tn__os_set_faults(plans[at - 1]);
            assert_int_equal(tn_handle_store(table, 8 + 8 * i, node, &err), 0);
            tn__os_set_faults(NULL);
        }
        tn_handle_free(node);
        for (int round = 0; round < 3; round++) {
            collect_all(heap);
            for (size_t i = 0; i < WORDS; i += WORDS / 4)
                assert_int_equal(space.table.items[i]->value, 1);
        }
        memset(space.table.items, 0, sizeof space.table.items);
        collect_all(heap);
        assert_int_equal(logged(heap), 0);
        assert_int_equal(space.table.header, (uintptr_t)&table_type + TN_PERMANENT);
        tn_heap_destroy(heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(every_word_is_noticed),
        BOTH(all_of_them_are_kept),
        BOTH(unknown_words_are_all_words),
        BOTH(memory_may_be_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
