/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collections by several threads at once: what they find, and that the threads come and go. */

#include "support.h"

#include <dirent.h>

#include "base/os.h"

enum { LISTS = 400, NODES = 500, OTHERS = 64, ROUNDS = 3 };

/* Two workers mark in tables of their own; more of them share one. */
struct mode {
    uint64_t flags;
    uint32_t workers;
};

/* ---- a heap with enough in it for all workers ---- */

struct shop {
    struct tn_heap *heap;
    struct tn_handle *lists; /* a table: list i has nodes with the values i * NODES + NODES - 1 down to i * NODES */
    struct tn_handle *weak[OTHERS];  /* to the first nodes of lists; then to others that nothing else refers to */
    struct tn_handle *pairs[OTHERS]; /* key: such a node; value: a node that nothing else refers to */
    int finalized;
    uint32_t workers;
};

static bool has_several_heaps;
static int next_word; /* of a heap's visitors; one at a time, or it would be lost */

static void visit_custom(void *object, tn_visit_slot *slot, void *context)
{
    int word = has_several_heaps ? 0 : next_word + 1;
    slot(context, (void **)object);
    if (!has_several_heaps)
        next_word = word;
}

static const struct tn_type custom_type = {
    .kind = TN_KIND_CUSTOM, .alignment = 8, .size = sizeof(struct node), .visit = visit_custom};

static void count_finalized(void *context, struct tn_handle *object)
{
    (void)object;
    ((struct shop *)context)->finalized++;
}

static struct tn_handle *make_list(struct shop *shop, uint64_t number)
{
    static const struct tn_type *const types[] = {&node_type, &aligned_type, &custom_type, &node_type};
    struct tn_handle *list = copy_of(shop->heap, NULL);
    for (uint64_t i = 0; i < NODES; i++) {
        struct tn_handle *node = make_node(shop->heap, types[(number + i) % TN_COUNT(types)], number * NODES + i, list);
        tn_handle_set(list, node);
        tn_handle_free(node);
    }
    return list;
}

static void set_list(struct shop *shop, uint64_t number)
{
    struct tn_handle *list = make_list(shop, number);
    assert_int_equal(tn_handle_store(shop->lists, 8 + 8 * number, list, &err), 0);
    tn_handle_free(list);
}

static struct tn_handle *make_pair(struct tn_heap *heap, const struct tn_type *type, struct tn_handle *first,
                                   struct tn_handle *second)
{
    struct tn_handle *pair = make(heap, type, 0);
    assert_int_equal(tn_handle_store(pair, 0, first, &err), 0);
    if (second)
        assert_int_equal(tn_handle_store(pair, 8, second, &err), 0);
    return pair;
}

static void open_shop(struct shop *shop, const struct mode *mode)
{
    const struct tn_heap_options options = {.size = sizeof options,
                                            .flags = mode->flags,
                                            .limit = 512 << 20,
                                            .collector = &tn_collector_generational,
                                            .workers = mode->workers};
    *shop = (struct shop){.workers = mode->workers};
    assert_int_equal(tn_heap_create(&options, &shop->heap, &err), 0);
    assert_int_equal(tn_heap_attach(shop->heap, &err), 0);
    shop->lists = make(shop->heap, &table_type, LISTS);
    for (uint64_t i = 0; i < LISTS; i++)
        set_list(shop, i);
    struct tn_handle *list = copy_of(shop->heap, NULL);
    for (uint64_t i = 0; i < OTHERS; i++) {
        assert_int_equal(tn_handle_load(shop->lists, 8 + 8 * i, list, &err), 0);
        struct tn_handle *other = make_node(shop->heap, &node_type, i, NULL);
        shop->weak[i] = make_pair(shop->heap, &tn_weak_type, i % 2 ? list : other, NULL);
        shop->pairs[i] = make_pair(shop->heap, &tn_ephemeron_type, list, other);
        tn_handle_free(other);
        other = make_node(shop->heap, &node_type, i, NULL);
        assert_int_equal(tn_handle_finalize(other, count_finalized, shop, &err), 0);
        tn_handle_free(other);
    }
    tn_handle_free(list);
}

static void check_shop(const struct shop *shop)
{
    struct tn_handle *at = copy_of(shop->heap, NULL);
    for (uint64_t i = 0; i < LISTS; i++) {
        assert_int_equal(tn_handle_load(shop->lists, 8 + 8 * i, at, &err), 0);
        for (uint64_t k = NODES; k-- > 0;) {
            assert_int_equal(value_of(at), i * NODES + k);
            assert_int_equal(step(at), k != 0);
        }
    }
    for (uint64_t i = 0; i < OTHERS; i++) {
        assert_int_equal(tn_handle_load(shop->weak[i], 0, at, &err), 0);
        assert_false(tn_handle_is_null(at));
        assert_int_equal(tn_handle_load(shop->pairs[i], 8, at, &err), 0);
        assert_int_equal(value_of(at), i);
    }
    tn_handle_free(at);
}

static void drop_lists(const struct shop *shop)
{
    struct tn_handle *null = copy_of(shop->heap, NULL);
    for (uint64_t i = 0; i < LISTS; i++)
        assert_int_equal(tn_handle_store(shop->lists, 8 + 8 * i, null, &err), 0);
    tn_handle_free(null);
}

static size_t count_threads(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* ---- tests ---- */

/* Weak references with odd numbers refer to lists; the others are values of pairs, too. */
static void several_threads_find_everything(void **state)
{
    struct shop shop;
    size_t before = count_threads();
    open_shop(&shop, *state);
    for (int round = 0; round < ROUNDS; round++) {
        tn_heap_collect(shop.heap, TN_COLLECT_FULL);
        check_shop(&shop);
        for (uint64_t i = OTHERS + (uint64_t)round; i < LISTS; i += ROUNDS)
            set_list(&shop, i);
    }
    assert_int_equal(count_threads(), before + shop.workers - 1);
    tn_run_pending_finalizers(shop.heap);
    assert_int_equal(shop.finalized, OTHERS);
    drop_lists(&shop);
    tn_heap_collect(shop.heap, TN_COLLECT_FULL);
    struct tn_handle *got = copy_of(shop.heap, NULL);
    for (int i = 0; i < OTHERS; i++) {
        assert_int_equal(tn_handle_load(shop.weak[i], 0, got, &err), 0);
        assert_true(tn_handle_is_null(got));
        assert_int_equal(tn_handle_load(shop.pairs[i], 8, got, &err), 0);
        assert_true(tn_handle_is_null(got));
    }
    tn_heap_destroy(shop.heap);
    assert_int_equal(count_threads(), before);
}

/* Objects that stay are found by each worker. */
static void without_memory_objects_stay(void **state)
{
    struct shop shop;
    open_shop(&shop, *state);
    tn_heap_collect(shop.heap, TN_COLLECT_FULL);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t i = OTHERS; i < LISTS; i += 2)
            set_list(&shop, i);
        assert_int_equal(tn__os_set_faults("F*"), 0);
        tn_heap_collect(shop.heap, TN_COLLECT_FULL);
        tn__os_set_faults(NULL);
        check_shop(&shop);
        tn_heap_collect(shop.heap, TN_COLLECT_FULL);
        check_shop(&shop);
    }
    tn_heap_destroy(shop.heap);
}

static void pinned_objects_stay(void **state)
{
    struct shop shop;
    struct tn_handle *nodes[OTHERS];
    void *addresses[OTHERS], *now;
    open_shop(&shop, *state);
    for (int i = 0; i < OTHERS; i++) {
        nodes[i] = make_node(shop.heap, &node_type, 7, NULL);
        assert_int_equal(tn_handle_pin(nodes[i], &addresses[i], &err), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        tn_heap_collect(shop.heap, TN_COLLECT_FULL);
        for (int i = 0; i < OTHERS; i++) {
            assert_int_equal(tn_handle_pin(nodes[i], &now, &err), 0);
            tn_handle_unpin(nodes[i]);
            assert_ptr_equal(now, addresses[i]);
        }
        check_shop(&shop);
    }
    for (int i = 0; i < OTHERS; i++)
        tn_handle_unpin(nodes[i]);
    tn_heap_destroy(shop.heap);
}

static void collect_again(void **state)
{
    const struct shop *shop = *state;
    size_t before = count_threads(); /* one, and what an emulator has */
    tn_heap_collect(shop->heap, TN_COLLECT_FULL);
    check_shop(shop);
    assert_in_range(count_threads(), before + 1, before + shop->workers - 1);
}

static void children_start_their_own(void **state)
{
    struct shop shop;
    if (HAS_TSAN)
        skip();
    open_shop(&shop, *state);
    tn_heap_collect(shop.heap, TN_COLLECT_FULL);
    assert_int_equal(in_child(collect_again, &shop), 0);
    tn_heap_collect(shop.heap, TN_COLLECT_FULL);
    check_shop(&shop);
    tn_heap_destroy(shop.heap);
}

static void *use_shop(void *mode)
{
    struct shop shop;
    open_shop(&shop, mode);
    for (int round = 0; round < ROUNDS; round++) {
        tn_heap_collect(shop.heap, TN_COLLECT_FULL);
        check_shop(&shop);
    }
    tn_heap_destroy(shop.heap);
    return NULL;
}

static void heaps_have_workers_of_their_own(void **state)
{
    pthread_t threads[2];
    has_several_heaps = true;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_shop, *state), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    has_several_heaps = false;
}

static void *do_nothing(void *unused)
{
    return unused;
}

/* ThreadSanitizer has a thread of its own from the first thread on: it is not to be counted. */
static void start_first_thread(void)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, do_nothing, NULL))
        pthread_join(thread, NULL);
}

int main(void)
{
    start_first_thread();
    static struct mode two = {0, 2}, four = {0, 4}, two_verified = {TN_HEAP_VERIFY, 2}, verified = {TN_HEAP_VERIFY, 4};
#define EACH(test)                                                                                                     \
    {#test ", two", test, NULL, NULL, &two}, {#test ", four", test, NULL, NULL, &four},                                \
        {#test ", two, verified", test, NULL, NULL, &two_verified},                                                    \
    {                                                                                                                  \
#test ", four, verified", test, NULL, NULL, &verified                                                          \
    }
    const struct CMUnitTest tests[] = {
        EACH(several_threads_find_everything), EACH(without_memory_objects_stay),     EACH(pinned_objects_stay),
        EACH(children_start_their_own),        EACH(heaps_have_workers_of_their_own),
    };
    return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}
