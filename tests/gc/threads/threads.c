/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Several threads share one heap: a graph that all of them modify, with pins, weak references, ephemerons and
 * finalizers from all of them; threads that attach and detach; threads for which no collection may wait. A failure here
 * is usually a hang. */

#include "base/os.h"
#include "gc/threads/threads.h"
#include "support.h"

#include <semaphore.h>

enum { THREADS = 4 };

/* ---- a graph that all change ---- */

enum { SLOTS = 32, ROUNDS = 300 };

struct graph {
    struct tn_heap *heap;
    struct tn_handle *table; /* array of SLOTS lists; each thread works on its own handle to it */
};

static _Atomic uint64_t finalizers_set, finalizers_run;

static void count_finalizer(void *context, struct tn_handle *object)
{
    assert_ptr_equal(context, &finalizers_run);
    assert_true(tn_handle_type(object) == &node_type);
    finalizers_run++;
}

/* Checks that a slot is either null or a list whose values decrease by one. */
static void check_list(struct tn_handle *list)
{
    if (tn_handle_is_null(list))
        return;
    uint64_t value = value_of(list);
    while (step(list))
        assert_int_equal(value_of(list), --value);
    assert_int_equal(value, 0);
}

static void load(struct tn_handle *from, uint64_t slot, struct tn_handle *to)
{
    assert_int_equal(tn_handle_load(from, 8 + 8 * slot, to, &err), 0);
}

/* Stores a longer list in this slot. Another thread's change may be lost, as in any program without locks. */
static void lengthen(const struct graph *g, struct tn_handle *table, uint64_t slot)
{
    struct tn_handle *list = copy_of(g->heap, NULL);
    load(table, slot, list);
    uint64_t value = tn_handle_is_null(list) ? 0 : value_of(list) + 1;
    struct tn_handle *node = make_node(g->heap, &node_type, value, value ? list : NULL);
    if (value % 8 == 0) {
        assert_int_equal(tn_handle_finalize(node, count_finalizer, &finalizers_run, &err), 0);
        finalizers_set++;
    }
    assert_int_equal(tn_handle_store(table, 8 + 8 * slot, value < 20 ? node : NULL, &err), 0);
}

static void use_weakly(const struct graph *g, struct tn_handle *table, uint64_t slot)
{
    struct tn_handle *list = copy_of(g->heap, NULL), *got = copy_of(g->heap, NULL);
    load(table, slot, list);
    if (tn_handle_is_null(list))
        return;
    uint64_t value = value_of(list);
    struct tn_handle *weak = make(g->heap, &tn_weak_type, 0), *pair = make(g->heap, &tn_ephemeron_type, 0);
    assert_int_equal(tn_handle_store(weak, 0, list, &err), 0);
    assert_int_equal(tn_handle_store(pair, 0, list, &err), 0);
    assert_int_equal(tn_handle_store(pair, 8, make_node(g->heap, &node_type, value, NULL), &err), 0);
    struct tn_handle *garbage = make(g->heap, &node_type, 0);
    assert_false(tn_handle_is_null(garbage));
    assert_int_equal(tn_handle_load(weak, 0, got, &err), 0);
    assert_true(tn_handle_same(got, list));
    assert_int_equal(tn_handle_load(pair, 8, got, &err), 0);
    assert_int_equal(value_of(got), value);
}

/* A pinned object stays in place, and raw references to it remain valid. */
static void use_pinned(const struct graph *g, struct tn_handle *table, uint64_t slot)
{
    struct tn_handle *list = copy_of(g->heap, NULL);
    void *address;
    load(table, slot, list);
    if (tn_handle_is_null(list))
        return;
    uint64_t value = value_of(list);
    assert_int_equal(tn_handle_pin(list, &address, &err), 0);
    for (int i = 0; i < 3; i++) {
        make(g->heap, &bytes_type, 100);
        assert_int_equal(__atomic_load_n(&((struct node *)address)->value, __ATOMIC_RELAXED), value);
    }
    assert_ptr_equal(tn_handle_object(list), address);
    tn_handle_unpin(list);
}

static void *change_graph(void *argument)
{
    static _Atomic uint64_t numbers;
    const struct graph *g = argument;
    uint64_t random = ++numbers * 0x9E3779B97F4A7C15u;
    assert_int_equal(tn_heap_attach(g->heap, &err), 0);
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t slot = (random >> 33) % SLOTS, what = random >> 61;
        tn_scope_begin();
        struct tn_handle *table = copy_of(g->heap, g->table);
        if (what < 5)
            lengthen(g, table, slot);
        else if (what < 6)
            use_weakly(g, table, slot);
        else if (what < 7)
            use_pinned(g, table, slot);
        else
            load(table, slot, table), check_list(table);
        tn_scope_end();
    }
    tn_heap_detach();
    return NULL;
}

static void run_threads(void *(*function)(void *), void *argument)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, function, argument), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void a_graph_is_shared(void **state)
{
    struct graph g = {.heap = make_heap(state, 0)};
    g.table = make(g.heap, &table_type, SLOTS);
    finalizers_set = finalizers_run = 0;
    run_threads(change_graph, &g);
    for (uint64_t slot = 0; slot < SLOTS; slot++) {
        struct tn_handle *list = copy_of(g.heap, NULL);
        load(g.table, slot, list);
        check_list(list);
        tn_handle_free(list);
    }
    tn_handle_free(g.table);
    while (take_census(g.heap).count) { /* objects reachable only from finalizers live until those have run */
        tn_heap_collect(g.heap, TN_COLLECT_FULL);
        tn_run_pending_finalizers(g.heap);
    }
    assert_int_equal(finalizers_run, finalizers_set);
    assert_true(finalizers_set > 10);
    tn_heap_destroy(g.heap);
}

/* ---- threads that come and go ---- */

enum { LIVES = 40 };

/* Half of the threads end without detaching. */
static void *live(void *argument)
{
    struct tn_heap *heap = argument;
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0); /* already attached */
    tn_scope_begin();
    struct tn_handle *list = NULL;
    for (uint64_t i = 0; i < 10; i++)
        list = make_node(heap, &node_type, i, list);
    check_list(list);
    if ((uintptr_t)&heap / 4096 % 2)
        tn_heap_detach();
    return NULL;
}

static void *give_life(void *heap)
{
    for (int i = 0; i < LIVES; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, live, heap), 0);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void threads_come_and_go(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_heap_stats stats = {.size = sizeof stats};
    run_threads(give_life, heap);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_heap_stats(heap, &stats);
    assert_int_equal(stats.threads, 1);
    assert_int_equal(take_census(heap).count, 0);
    tn_heap_destroy(heap);
}

/* ---- threads that nobody waits for ---- */

struct meeting {
    struct tn_heap *heap;
    sem_t arrived, go_on;
    struct tn_handle *kept;
};

static void open_meeting(struct meeting *m, void **state)
{
    m->heap = make_heap(state, 0);
    m->kept = make_node(m->heap, &node_type, 5, NULL);
    sem_init(&m->arrived, 0, 0);
    sem_init(&m->go_on, 0, 0);
}

static void close_meeting(struct meeting *m)
{
    sem_destroy(&m->arrived);
    sem_destroy(&m->go_on);
    tn_heap_destroy(m->heap);
}

static void wait_here(struct meeting *m)
{
    sem_post(&m->arrived);
    sem_wait(&m->go_on);
}

/* Blocks, then uses objects as a callback from managed code would, and blocks again. Collections wait for neither. */
static intptr_t block(intptr_t argument, intptr_t depth, intptr_t unused, intptr_t unused_too)
{
    struct meeting *m = (struct meeting *)argument;
    (void)unused, (void)unused_too;
    wait_here(m);
    tn_managed_begin();
    tn_managed_begin();
    assert_int_equal(((struct node *)tn_handle_object(m->kept))->value, 5);
    if (depth)
        tn_call_blocking((void *)(intptr_t)block, argument, depth - 1, 0, 0);
    tn_managed_end();
    assert_int_equal(((struct node *)tn_handle_object(m->kept))->value, 5);
    tn_managed_end();
    wait_here(m);
    return 7 + depth;
}

enum { DEPTH = 2 };

static void *block_in_managed_code(void *argument)
{
    struct meeting *m = argument;
    assert_int_equal(tn_heap_attach(m->heap, &err), 0);
    tn_managed_begin();
    assert_int_equal(tn_call_blocking((void *)(intptr_t)block, (intptr_t)m, DEPTH, 0, 0), 7 + DEPTH);
    assert_int_equal(((struct node *)tn_handle_object(m->kept))->value, 5);
    tn_managed_end();
    wait_here(m); /* outside managed code */
    return NULL;
}

static void blocked_threads_stop_nobody(void **state)
{
    struct meeting m;
    pthread_t thread;
    open_meeting(&m, state);
    assert_int_equal(pthread_create(&thread, NULL, block_in_managed_code, &m), 0);
    for (int i = 0; i < 2 * (DEPTH + 1) + 1; i++) {
        sem_wait(&m.arrived);
        tn_heap_collect(m.heap, TN_COLLECT_FULL);
        make(m.heap, &node_type, 0);
        sem_post(&m.go_on);
    }
    pthread_join(thread, NULL);
    close_meeting(&m);
}

/* Outside managed code, so that it might come back without a fence. */
static void *wait_outside(void *argument)
{
    struct meeting *m = argument;
    assert_int_equal(tn_heap_attach(m->heap, &err), 0);
    wait_here(m);
    return (void *)(uintptr_t)tn__gc_block.fences;
}

static void *fences_of_another(void *heap)
{
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return (void *)(uintptr_t)tn__gc_block.fences;
}

/* Where the system refuses to fence all threads, from now on or from the beginning, each thread has to do it. */
static void threads_execute_the_fences_that_the_system_refuses(void **state)
{
    struct meeting m;
    pthread_t thread;
    void *fences;
    if (tn__os_fence_threads())
        skip();
    open_meeting(&m, state);
    assert_false(m.heap->fences);
    assert_int_equal(pthread_create(&thread, NULL, wait_outside, &m), 0);
    sem_wait(&m.arrived);
    assert_int_equal(tn__os_set_faults("m"), 0);
    tn_heap_collect(m.heap, TN_COLLECT_FULL);
    assert_true(m.heap->fences);
    tn_heap_collect(m.heap, TN_COLLECT_FULL);
    sem_post(&m.go_on);
    pthread_join(thread, &fences);
    assert_non_null(fences);
    assert_int_equal(pthread_create(&thread, NULL, fences_of_another, m.heap), 0);
    pthread_join(thread, &fences);
    assert_non_null(fences);
    close_meeting(&m);
    struct tn_heap *heap = make_heap(state, 0);
    assert_true(heap->fences);
    tn_heap_destroy(heap);
    tn__os_set_faults(NULL);
}

/* A thread waiting for the heap's lock counts as stopped: all threads collect, and none waits for another. */
static void *collect_often(void *argument)
{
    struct tn_heap *heap = argument;
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    tn_managed_begin();
    for (int i = 0; i < 30; i++)
        tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_managed_end();
    return NULL;
}

static void all_collect(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct tn_heap_stats stats = {.size = sizeof stats};
    struct tn_handle *node = make_node(heap, &node_type, 5, NULL);
    run_threads(collect_often, heap);
    tn_heap_stats(heap, &stats);
    assert_true(stats.collections >= 30 * THREADS);
    assert_int_equal(value_of(node), 5);
    tn_heap_destroy(heap);
}

/* Objects read between begin and end do not move, however these nest and whoever collects. */
static void *read_raw(void *argument)
{
    struct meeting *m = argument;
    assert_int_equal(tn_heap_attach(m->heap, &err), 0);
    while (sem_trywait(&m->go_on)) {
        tn_managed_begin();
        tn_managed_begin();
        tn_managed_end();
        const struct node *node = tn_handle_object(m->kept);
        for (int i = 0; i < 50; i++)
            assert_int_equal(((const volatile struct node *)node)->value, 5);
        assert_int_equal(value_of(m->kept), 5); /* not a safepoint, even if another thread has the heap's lock */
        assert_ptr_equal(tn_handle_object(m->kept), node);
        tn_managed_end();
    }
    return NULL;
}

static void raw_references_hold(void **state)
{
    struct meeting m;
    pthread_t threads[THREADS];
    open_meeting(&m, state);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_raw, &m), 0);
    for (int i = 0; i < 300; i++)
        tn_heap_collect(m.heap, TN_COLLECT_FULL);
    for (int i = 0; i < THREADS; i++)
        sem_post(&m.go_on);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_meeting(&m);
}

/* Threads of two heaps that use each other's: each stays in managed code of its own heap meanwhile. */
struct neighbours {
    struct tn_heap *own, *other;
};

static void *use_other(void *argument)
{
    const struct neighbours *n = argument;
    assert_int_equal(tn_heap_attach(n->own, &err), 0);
    for (int i = 0; i < 200; i++) {
        tn_managed_begin();
        tn_handle_free(make_node(n->other, &node_type, 1, NULL));
        tn_heap_collect(n->other, TN_COLLECT_FULL);
        tn_managed_end();
    }
    return NULL;
}

static void heaps_do_not_wait_for_each_other(void **state)
{
    struct tn_heap *first = make_heap(state, 0), *second;
    struct tn_heap_options options = {
        .size = sizeof options, .collector = chosen_collector(), .flags = *(uint64_t *)*state};
    assert_int_equal(tn_heap_create(&options, &second, &err), 0);
    struct neighbours pairs[] = {{first, second}, {second, first}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_other, &pairs[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    tn_heap_destroy(second);
    tn_heap_destroy(first);
}

static void *make_and_leave(void *argument)
{
    struct meeting *m = argument;
    assert_int_equal(tn_heap_attach(m->heap, &err), 0);
    m->kept = make_node(m->heap, &node_type, 6, m->kept);
    return NULL;
}

static void objects_outlive_threads(void **state)
{
    struct meeting m;
    pthread_t thread;
    open_meeting(&m, state);
    assert_int_equal(pthread_create(&thread, NULL, make_and_leave, &m), 0);
    pthread_join(thread, NULL);
    assert_int_equal(take_census(m.heap).count, 2);
    assert_int_equal(value_of(m.kept), 6);
    close_meeting(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_graph_is_shared),
        BOTH(threads_come_and_go),
        BOTH(blocked_threads_stop_nobody),
        BOTH(threads_execute_the_fences_that_the_system_refuses),
        BOTH(all_collect),
        BOTH(raw_references_hold),
        BOTH(objects_outlive_threads),
        BOTH(heaps_do_not_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
