/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Cycles of marking beside threads: what they free, what drops them, threads, forks, and lack of memory. */

#include "cycles.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

enum { MB = 1 << 20 };

/* Dead objects of a cycle are free after it; what a cycle counts is what a stopped collection counts. */
static void memory_is_reclaimed(void **state)
{
    enum { COUNT = 40000 };
    struct tn_heap *heap = open_marked_heap(1, TN_HEAP_VERIFY, 0);
    struct tn_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    struct tn_handle *list = copy_of(heap, NULL);
    (void)state;
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_heap_stats(heap, &before);
    for (int i = 0; i < COUNT; i++) {
        struct tn_handle *node = make_node(heap, &node_type, (uint64_t)i, list);
        tn_handle_set(list, node);
        tn_handle_free(node);
    }
    begin_cycle(heap);
    end_cycle(heap);
    tn_heap_stats(heap, &after);
    assert_true(after.in_use >= before.in_use + COUNT * 24ull);
    tn_handle_set(list, NULL);
    begin_cycle(heap);
    end_cycle(heap);
    tn_heap_stats(heap, &after);
    assert_true(after.in_use < before.in_use + 4 * MB / 10);
    assert_int_equal(after.marked > 0, 1);
    tn_heap_destroy(heap);
}

/* A collection that is asked for drops the cycle: nothing that died since it began stays. */
static void full_collections_drop_a_cycle(void **state)
{
    struct scene s = open_scene(state);
    load_next(s.grey, s.moved);
    struct tn_handle *weak = make_weak(s.heap, s.moved);
    mark(s.heap);
    store_next(s.grey, NULL);
    tn_handle_set(s.moved, NULL);
    tn_heap_collect(s.heap, TN_COLLECT_FULL);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_true(tn_handle_is_null(s.moved));
    begin_cycle(s.heap);
    mark(s.heap);
    tn_heap_trim(s.heap);
    begin_cycle(s.heap);
    end_cycle(s.heap);
    assert_int_equal(value_of(s.black), 1);
    tn_heap_destroy(s.heap);
}

/* A pause may end a cycle and then collect everything, because memory is short: it has freed what both have. */
static void both_count_what_they_free(void **state)
{
    enum { COUNT = 40000 };
    struct tn_heap *heap = open_marked_heap(1, 0, 0);
    struct tn_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    struct tn_handle *list = copy_of(heap, NULL);
    (void)state;
    make_node(heap, &node_type, 1, NULL); /* more than the limit will be */
    for (int i = 0; i < COUNT; i++) {
        struct tn_handle *node = make_node(heap, &node_type, (uint64_t)i, list);
        tn_handle_set(list, node);
        tn_handle_free(node);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_handle_set(list, NULL);
    begin_cycle(heap);
    mark(heap);
    tn_heap_stats(heap, &before);
    uint64_t full = seen.full, limit = heap->options.limit;
    heap->options.limit = 0;
    pause_now(heap);
    heap->options.limit = limit;
    tn_heap_stats(heap, &after);
    assert_int_equal(seen.full, full + 1);
    assert_false(is_marking(heap));
    assert_true(after.swept - before.swept >= COUNT * 24ull);
    tn_heap_destroy(heap);
}

/* ---- threads, forks ---- */

/* A list whose nodes change places all the time; a lost or a doubled one changes the sum. */
static void churn(struct tn_heap *heap, uint64_t rounds)
{
    enum { SLOTS = 512 };
    struct tn_handle *table = make(heap, &table_type, SLOTS), *a = copy_of(heap, NULL), *b = copy_of(heap, NULL);
    uint64_t random = 1, sum = 0;
    for (uint64_t i = 0; i < SLOTS; i++) {
        struct tn_handle *node = make_node(heap, &node_type, i, NULL);
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * i, node, &err), 0);
        tn_handle_free(node);
    }
    for (uint64_t i = 0; i < rounds; i++) {
        if (i % 500 == 0)
            pause_now(heap);
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t x = sizeof(struct table) + (random >> 33) % SLOTS * 8,
                 y = sizeof(struct table) + (random >> 45) % SLOTS * 8;
        assert_int_equal(tn_handle_load(table, x, a, &err), 0);
        assert_int_equal(tn_handle_load(table, y, b, &err), 0);
        assert_int_equal(tn_handle_store(table, x, b, &err), 0);
        assert_int_equal(tn_handle_store(table, y, a, &err), 0);
        if (i % 4 == 0) { /* the same node anew, with the old one behind it for a while */
            struct tn_handle *node = make_node(heap, &node_type, value_of(a), a);
            assert_int_equal(tn_handle_store(table, y, node, &err), 0);
            store_next(node, NULL);
            tn_handle_free(node);
        }
    }
    for (uint64_t i = 0; i < SLOTS; i++) {
        assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * i, a, &err), 0);
        sum += value_of(a);
    }
    assert_int_equal(sum, SLOTS * (SLOTS - 1) / 2);
    tn_handle_free(a);
    tn_handle_free(b);
    tn_handle_free(table);
}

/* Until a cycle has ended. The marker may not get a core for a long time; the caller bounds the wait by an alarm. */
static void churn_until_marked(struct tn_heap *heap, uint64_t before)
{
    while (seen.concurrent == before)
        churn(heap, 500);
}

static void *run_thread(void *heap)
{
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    churn(heap, 60000);
    tn_heap_detach();
    return NULL;
}

static void threads_beside_the_marker(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    (void)state;
    struct tn_heap *heap = open_marked_heap(2, TN_HEAP_VERIFY, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, heap), 0);
    churn(heap, 20000);
    struct tn_gc_anchor *outside = tn__outside_begin();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tn__outside_end(outside);
    alarm(60);
    churn_until_marked(heap, 0);
    alarm(0);
    tn_heap_destroy(heap);
}

static void a_fork_while_marking(void **state)
{
    (void)state;
    if (HAS_TSAN)
        skip();
    struct tn_heap *heap = open_marked_heap(2, TN_HEAP_VERIFY, 0);
    for (int i = 0; i < 6; i++) {
        churn(heap, 3000);
        begin_cycle(heap);
        pid_t child = fork();
        if (!child) {
            alarm(60);
            uint64_t before = seen.concurrent;
            churn(heap, 20000);
            tn_heap_collect(heap, TN_COLLECT_FULL);
            churn(heap, 3000);
            churn_until_marked(heap, before);
            tn_heap_destroy(heap);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    churn(heap, 20000);
    tn_heap_destroy(heap);
}

/* The thread cannot be started, or there is no memory for what marking needs at some time: all the same. */
static void without_memory(void **state)
{
    char plan[16];
    (void)state;
    for (int n = 1; n < 40; n++) {
        struct tn_heap *heap = open_marked_heap(1 + (uint64_t)n % 2, TN_HEAP_VERIFY, 0);
        struct tn_handle *list = copy_of(heap, NULL);
        for (uint64_t i = 0; i < 3000; i++) {
            struct tn_handle *node = make_node(heap, &node_type, i, list);
            tn_handle_set(list, node);
            tn_handle_free(node);
        }
        begin_cycle(heap);
        snprintf(plan, sizeof plan, n % 3 ? "a%d" : "F*", n / 3 + 1);
        assert_int_equal(tn__os_set_faults(plan), 0);
        for (int i = 0; i < 3; i++)
            pause_now(heap);
        assert_int_equal(tn__os_set_faults(NULL), 0);
        uint64_t count = 0;
        for (struct tn_handle *at = copy_of(heap, list); !tn_handle_is_null(at); step(at))
            count++;
        assert_int_equal(count, 3000);
        tn_heap_destroy(heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_reclaimed),       VERIFIED(full_collections_drop_a_cycle),
        cmocka_unit_test(both_count_what_they_free), cmocka_unit_test(threads_beside_the_marker),
        cmocka_unit_test(a_fork_while_marking),      cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
