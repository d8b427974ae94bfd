/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling ahead, with the toy compiler: what is compiled, when it stops, what is left when something fails. */

#include "ahead_world.h"

/* ---- the tests ---- */

static void by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"second", "nothing", "", "second", "first"};
    struct world w = begin(&named_only, "program");
    tn_prefetch_keep(prefetch(w.jit, names, 5));
    run_idle();
    assert_true(ahead_parts[TOY_FIRST] == 1 && ahead_parts[TOY_SECOND] == 1 && ahead_parts[TOY_DATA] == 0);
    assert_int_equal(stats_of(w.jit).unused, 2);
    assert_int_equal(call_first(w.jit, 1), 42);
    assert_true(called_parts[TOY_FIRST] == 0 && called_parts[TOY_SECOND] == 0 && called_parts[TOY_DATA] == 1);
    struct tn_ahead_stats stats = stats_of(w.jit);
    assert_true(stats.compiled == 2 && stats.used == 2 && stats.unused == 0 && stats.spent_ns >= stats.used_ns);
    tn_prefetch_keep(prefetch(w.jit, names, 5)); /* has nothing left to do */
    run_idle();
    assert_int_equal(stats_of(w.jit).compiled, 2);
    close_world(&w);
}

/* What a function refers to is there when it is needed. */
static void by_calls(void **state)
{
    (void)state;
    struct world w = begin(NULL, "program");
    run_idle();
    assert_int_equal(stats_of(w.jit).compiled, 0);
    const char *const first[] = {"first"};
    tn_prefetch_keep(prefetch(w.jit, first, 1));
    run_idle(); /* what is named is not searched before it is called */
    assert_int_equal(stats_of(w.jit).compiled, 1);
    void *address;
    struct tn_error err;
    check(tn_jit_lookup(w.jit, "first$body", &address, &err), &err);
    assert_int_equal(called_parts[TOY_DATA], 1); /* linked with it */
    run_idle();
    assert_int_equal(ahead_parts[TOY_SECOND], 1);
    assert_int_equal(call_first(w.jit, 1), 42);
    assert_true(called_parts[TOY_FIRST] == 0 && called_parts[TOY_SECOND] == 0);
    close_world(&w);
}

static struct world current;

static int call_meanwhile(void)
{
    in_compilation = NULL;
    return call_first(current.jit, 1) == 42 ? 0 : -1;
}

/* A call does not wait, and what it has compiled is not wanted any more. */
static void overtaken(void **state)
{
    (void)state;
    current = begin(&named_only, "program");
    in_compilation = call_meanwhile;
    tn_prefetch_keep(prefetch(current.jit, both, 1));
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.cancelled == 1 && stats.overtaken == 1 && stats.compiled == 0);
    assert_true(ahead_parts[TOY_FIRST] == 1 && called_parts[TOY_FIRST] == 1);
    close_world(&current);
}

static struct tn_prefetch *running;

static int cancel_meanwhile(void)
{
    tn_prefetch_cancel(running);
    return 0;
}

static void cancelled_by_handle(void **state)
{
    (void)state;
    current = begin(&named_only, "program");
    in_compilation = cancel_meanwhile;
    running = prefetch(current.jit, both, 2);
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.cancelled == 1 && stats.overtaken == 0 && stats.compiled == 0);
    assert_int_equal(ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND], 1); /* the other one was not begun */
    tn_prefetch_cancel(prefetch(current.jit, both, 2));                    /* before the first */
    run_idle();
    assert_int_equal(ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND], 1);
    assert_int_equal(call_first(current.jit, 1), 42);
    tn_prefetch_cancel(NULL);
    tn_prefetch_keep(NULL);
    close_world(&current);
}

static int clear_meanwhile(void)
{
    in_compilation = NULL;
    return tn_library_clear(tn_jit_library(current.jit), NULL);
}

static void module_removed(void **state)
{
    (void)state;
    struct tn_error err;
    current = begin(&named_only, "program");
    in_compilation = clear_meanwhile;
    tn_prefetch_keep(prefetch(current.jit, both, 2));
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.cancelled == 1 && stats.overtaken == 0 && stats.compiled == 0);
    assert_int_equal(toy.opens, toy.closes);
    struct tn_jit_module module = toy_module("program 1"); /* its place is taken by another one */
    check(tn_jit_add_module(current.jit, NULL, &module, &err), &err);
    tn_prefetch_keep(prefetch(current.jit, both, 2));
    run_idle();
    assert_int_equal(stats_of(current.jit).compiled, 2);
    check(tn_library_clear(tn_jit_library(current.jit), &err), &err);
    run_idle();
    stats = stats_of(current.jit);
    assert_true(stats.unused == 2 && stats.used == 0);
    close_world(&current);
}

static int destroy_meanwhile(void)
{
    tn_jit_destroy(current.jit);
    current.jit = NULL;
    return 0;
}

/* In a session that goes on: tasks that were given are run, and do nothing. */
static void jit_destroyed(void **state)
{
    (void)state;
    for (int when = 0; when < 2; when++) {
        current = begin(&named_only, "program");
        tn_prefetch_keep(prefetch(current.jit, both, 2));
        in_compilation = destroy_meanwhile;
        if (when)
            run_idle();
        else
            destroy_meanwhile();
        run_idle();
        assert_int_equal(ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND], when);
        close_world(&current);
    }
}

/* A call has the error, and no earlier one was reported. */
static void failures(void **state)
{
    (void)state;
    current = begin(&named_only, "fails");
    tn_prefetch_keep(prefetch(current.jit, both, 2));
    run_idle();
    tn_prefetch_keep(prefetch(current.jit, both, 2)); /* is not tried again */
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.failed == 2 && stats.compiled == 0 && stats.cancelled == 0);
    assert_int_equal(call_first(current.jit, 1), -1);
    close_world(&current);
}

static void bounds(void **state)
{
    (void)state;
    struct tn_ahead_options options = {.size = sizeof options, .parts = 1};
    for (int what = 0; what < 3; what++) {
        options.parts = what == 0;
        options.bytes = what == 1;
        options.ns = what == 2;
        struct world w = begin(&options, "program");
        tn_prefetch_keep(prefetch(w.jit, both, 2));
        run_idle();
        assert_int_equal(stats_of(w.jit).compiled, 1);
        assert_int_equal(call_first(w.jit, 1), 42);
        close_world(&w);
    }
}

static void refused(void **state)
{
    (void)state;
    struct tn_error err;
    struct world w = begin(NULL, "program");
    struct tn_ahead_options options = {.size = sizeof options};
    const struct tn_store incomplete = {.size = sizeof incomplete};
    struct tn_jit *jit;
    struct tn_jit_options without_threads = toy_options(&compiler, true);
    assert_int_equal(tn_jit_compile_ahead(w.jit, &options, &err), TN_EINVAL); /* twice */
    assert_int_equal(tn_jit_compile_ahead(NULL, &options, &err), TN_EINVAL);
    assert_int_equal(tn_jit_prefetch(NULL, both, 2, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_jit_prefetch(w.jit, NULL, 2, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_jit_prefetch(w.jit, (const char *const[]){"first", NULL}, 2, NULL, &err), TN_EINVAL);
    check(tn_jit_prefetch(w.jit, NULL, 0, NULL, &err), &err);
    check(tn_jit_prefetch(w.jit, both, 2, NULL, &err), &err); /* without a handle */
    close_world(&w);
    check(tn_jit_create(&without_threads, &jit, &err), &err);
    assert_int_equal(tn_jit_prefetch(jit, both, 2, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_jit_compile_ahead(jit, &options, &err), TN_ENOTSUP);
    assert_true(stats_of(jit).compiled == 0 && stats_of(NULL).compiled == 0);
    tn_jit_destroy(jit);
    without_threads.threads = 1;
    check(tn_jit_create(&without_threads, &jit, &err), &err);
    options.orders = &incomplete;
    assert_int_equal(tn_jit_compile_ahead(jit, &options, &err), TN_EINVAL);
    tn_jit_destroy(jit);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(by_name, prepare),        cmocka_unit_test_setup(by_calls, prepare),
        cmocka_unit_test_setup(overtaken, prepare),      cmocka_unit_test_setup(cancelled_by_handle, prepare),
        cmocka_unit_test_setup(module_removed, prepare), cmocka_unit_test_setup(jit_destroyed, prepare),
        cmocka_unit_test_setup(failures, prepare),       cmocka_unit_test_setup(bounds, prepare),
        cmocka_unit_test_setup(refused, prepare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
