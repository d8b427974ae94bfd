/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finalizers that do unusual things, and the threads that run them. */

#include "support.h"

#include <setjmp.h>

static uint64_t run, within, deepest;
static struct tn_heap *heap;
static jmp_buf start;

static void count(void *context, struct tn_handle *object)
{
    (void)context;
    assert_false(tn_handle_is_null(object));
    run++;
}

static void set_finalizers(uint64_t number, void (*function)(void *context, struct tn_handle *object))
{
    run = 0;
    for (uint64_t i = 0; i < number; i++) {
        struct tn_handle *node = make(heap, &node_type, 0);
        assert_int_equal(tn_handle_finalize(node, function, NULL, &err), 0);
        tn_handle_free(node);
    }
}

static void collect(void)
{
    tn_heap_collect(heap, TN_COLLECT_FULL);
}

static void trim(void)
{
    tn_heap_trim(heap);
}

static void collect_and_allocate(void)
{
    collect();
    tn_handle_free(make(heap, &node_type, 0));
}

static void (*const occasions[])(void) = {collect, trim, collect_and_allocate};

/* A thread that is attached to no heap, or to another one, runs them too. */
static void any_thread_runs_them(void **state)
{
    heap = make_heap(state, 0);
    tn_heap_detach();
    for (size_t i = 0; i < TN_COUNT(occasions); i++) {
        set_finalizers(3, count);
        occasions[i]();
        assert_int_equal(run, 3);
    }
    struct tn_heap *other = make_heap(state, 0);
    for (size_t i = 0; i < TN_COUNT(occasions); i++) {
        set_finalizers(3, count);
        occasions[i]();
        assert_int_equal(run, 3);
    }
    tn_heap_destroy(other);
    tn_heap_destroy(heap);
}

static void allocate_within(void *context, struct tn_handle *object)
{
    (void)context;
    (void)object;
    run++;
    if (++within > deepest)
        deepest = within;
    collect_and_allocate();
    within--;
}

static void none_runs_within_another(void **state)
{
    heap = make_heap(state, 0);
    within = deepest = 0;
    set_finalizers(100, allocate_within);
    collect();
    assert_int_equal(run, 100);
    assert_int_equal(deepest, 1);
    tn_heap_destroy(heap);
}

static void leave(void *context, struct tn_handle *object)
{
    (void)context;
    (void)object;
    run++;
    longjmp(start, 1);
}

/* One that a longjmp has left is over: its object dies, and the others run. As when it has no memory, and the heap's
 * out_of_memory leaves it. */
static void those_left_are_over(void **state)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    heap = make_heap(state, 0);
    volatile uint64_t returns = 0;
    if (setjmp(start))
        returns++;
    else
        set_finalizers(5, leave);
    if (returns < 5)
        collect();
    assert_int_equal(run, returns);
    tn_run_pending_finalizers(heap);
    set_finalizers(3, count);
    collect();
    assert_int_equal(run, 3);
    tn_heap_stats(heap, &stats);
    assert_int_equal(stats.finalizers, 0);
    assert_int_equal(stats.finalizers_waiting, 0);
    collect();
    assert_int_equal(take_census(heap).count, 0);
    tn_heap_destroy(heap);
}

static void detach(void *context, struct tn_handle *object)
{
    count(context, object);
    tn_heap_detach();
}

static void they_may_detach(void **state)
{
    heap = make_heap(state, 0);
    for (size_t i = 0; i < TN_COUNT(occasions); i++) {
        set_finalizers(2, detach);
        occasions[i]();
        assert_int_equal(run, 2);
        assert_null(tn_heap_current());
        assert_int_equal(tn_heap_attach(heap, &err), 0);
    }
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"any_thread_runs_them", any_thread_runs_them, NULL, NULL, &plain},
        {"none_runs_within_another", none_runs_within_another, NULL, NULL, &plain},
        {"those_left_are_over", those_left_are_over, NULL, NULL, &plain},
        {"they_may_detach", they_may_detach, NULL, NULL, &plain},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
