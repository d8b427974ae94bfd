/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Assumptions that are broken: functions fall to what is below, and what is being compiled is discarded. Code
 * instances: assumption_instances.c. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "assume.h"
#include "resident.h"

/* On up to two assumptions, or none. */
static int try_replace(struct tn_jit *jit, const char *program, struct tn_assumption *a, struct tn_assumption *b,
                       struct tn_error *err)
{
    struct tn_assumption *const on[] = {a, b};
    struct tn_jit_module module = toy_module(program);
    module.assumptions = a ? on : NULL;
    module.assumption_count = !!a + !!b;
    return tn_jit_replace(jit, NULL, &module, err);
}

static void replace(struct tn_jit *jit, const char *program, struct tn_assumption *a, struct tn_assumption *b)
{
    struct tn_error err;
    check(try_replace(jit, program, a, b, &err), &err);
}

static void add(struct tn_jit *jit, const char *program, struct tn_tracker *owner)
{
    struct tn_error err;
    struct tn_jit_module module = toy_module(program);
    module.owner = owner;
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
}

/* ---- functions ---- */

static void falls_back(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit *jit = create(lazy);
        struct tn_error err;
        struct tn_assumption *a = assume(jit);
        replace(jit, "program 1", NULL, NULL);
        void *first = find(jit, "first"), *second = find(jit, "second");
        replace(jit, "program 2", a, NULL);
        assert_int_equal(call(first, 1), 44);
        break_it(a);
        assert_int_equal(call(first, 1), 43);
        assert_int_equal(call(second, 3), 6);
        assert_ptr_equal(find(jit, "first"), first);
        break_it(a);
        assert_int_equal(call(first, 1), 43);
        assert_int_equal(try_replace(jit, "program 3", a, NULL, &err), TN_ECANCELLED);
        assert_int_equal(call(first, 1), 43);
        replace(jit, "program 4", NULL, NULL);
        assert_int_equal(call(first, 1), 46);
        tn_assumption_destroy(a);
        assert_int_equal(toy_reported, 0);
        end(jit);
    }
}

/* What was broken goes with the next replacement; what is below stays until then. */
static void code_goes(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    replace(jit, "program 1", NULL, NULL);
    uint64_t one = code_bytes(jit);
    struct tn_assumption *a = assume(jit);
    replace(jit, "program 2", a, NULL);
    uint64_t two = code_bytes(jit);
    assert_true(two > one);
    replace(jit, "program 3", a, NULL);
    assert_true(code_bytes(jit) > two);
    break_it(a);
    replace(jit, "program 4", NULL, NULL);
    assert_int_equal(code_bytes(jit), one);
    tn_assumption_destroy(a);
    end(jit);
}

/* One on top of the other, broken in either order, or at once. */
static void stacked(void **state)
{
    (void)state;
    static const struct {
        int first, second;
        long then, at_last;
    } rows[] = {{0, 1, 45, 43}, {1, 0, 44, 43}, {2, 2, 43, 43}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tn_jit *jit = create(i & 1);
        struct tn_assumption *a[] = {assume(jit), assume(jit), assume(jit)};
        replace(jit, "program 1", NULL, NULL);
        replace(jit, "program 2", a[0], a[2]);
        replace(jit, "program 3", a[1], a[2]);
        assert_int_equal(call_first(jit, 1), 45);
        break_it(a[rows[i].first]);
        assert_int_equal(call_first(jit, 1), rows[i].then);
        break_it(a[rows[i].second]);
        assert_int_equal(call_first(jit, 1), rows[i].at_last);
        for (int j = 0; j < 3; j++)
            tn_assumption_destroy(a[j]);
        end(jit);
    }
}

/* A version that rests on nothing takes the place of all. */
static void replaced_by_general_code(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_assumption *a = assume(jit);
    replace(jit, "program 1", NULL, NULL);
    uint64_t one = code_bytes(jit);
    replace(jit, "program 2", a, NULL);
    replace(jit, "program 3", NULL, NULL);
    assert_int_equal(code_bytes(jit), one);
    break_it(a);
    assert_int_equal(call_first(jit, 1), 45);
    tn_assumption_destroy(a);
    end(jit);
}

/* Lazy functions of a module that was added: their first call is there still, or was before. */
static void over_lazy_functions(void **state)
{
    (void)state;
    for (int called = 0; called < 2; called++) {
        struct tn_jit *jit = create(true);
        struct tn_error err;
        struct tn_assumption *a = assume(jit);
        add(jit, "program 1", NULL);
        void *first = find(jit, "first");
        if (called)
            assert_int_equal(call(first, 1), 43);
        replace(jit, "program 2", a, NULL);
        assert_int_equal(call(first, 1), 44);
        assert_int_equal(try_replace(jit, "program 3", NULL, NULL, &err), TN_EDUP); /* as without all this */
        int compiles = toy_calls.compiles;
        break_it(a);
        assert_int_equal(toy_calls.compiles, compiles);
        assert_int_equal(call(first, 1), 43);
        assert_true(called == (toy_calls.compiles == compiles));
        assert_ptr_equal(find(jit, "first"), first);
        tn_assumption_destroy(a);
        end(jit);
    }
}

/* The module below goes, and with it the stub. Another module may have the name then. */
static void below_is_removed(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true);
    struct tn_error err;
    struct tn_tracker *owner;
    struct tn_assumption *a = assume(jit);
    void *address;
    check(tn_tracker_create(tn_jit_library(jit), &owner, &err), &err);
    add(jit, "program 1", owner);
    replace(jit, "program 2", a, NULL);
    check(tn_tracker_retire(owner, &err), &err);
    assert_int_equal(tn_jit_lookup(jit, "first", &address, &err), TN_EUNDEF);
    assert_int_equal(try_replace(jit, "program 3", a, NULL, &err), TN_EUNDEF);
    add(jit, "program 4", NULL);
    assert_int_equal(call_first(jit, 1), 46);
    break_it(a);
    assert_int_equal(call_first(jit, 1), 46);
    tn_tracker_destroy(owner);
    tn_assumption_destroy(a);
    end(jit);
}

static void redirections_win(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true);
    struct tn_error err;
    struct tn_assumption *a = assume(jit);
    add(jit, "program 1", NULL);
    void *first = find(jit, "first"), *second = find(jit, "second");
    replace(jit, "program 2", a, NULL);
    check(tn_redirect(tn_jit_library(jit), "first", second, &err), &err);
    break_it(a);
    assert_int_equal(call(first, 5), 10);
    check(tn_redirect(tn_jit_library(jit), "first", NULL, &err), &err);
    assert_int_equal(call(first, 1), 43);
    tn_assumption_destroy(a);
    end(jit);
}

static void mistakes(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true), *other = create(true);
    struct tn_error err;
    struct tn_assumption *a = assume(jit), *foreign = assume(other), *unset = NULL;
    struct tn_jit_module module = toy_module("program");
    assert_int_equal(tn_assumption_create(NULL, &unset, &err), TN_EINVAL);
    assert_int_equal(tn_assumption_create(tn_jit_session(jit), NULL, &err), TN_EINVAL);
    assert_int_equal(tn_assumption_break(NULL, &err), TN_EINVAL);
    tn_assumption_destroy(NULL);
    assert_int_equal(try_replace(jit, "program", a, NULL, &err), TN_EUNDEF); /* nothing is below */
    module.assumptions = &a;
    module.assumption_count = 1;
    assert_int_equal(tn_jit_add_module(jit, NULL, &module, &err), TN_EINVAL); /* no instances */
    replace(jit, "program 1", NULL, NULL);
    assert_int_equal(try_replace(jit, "program", foreign, NULL, &err), TN_EINVAL);
    assert_int_equal(try_replace(jit, "program", a, foreign, &err), TN_EINVAL);
    module.assumptions = NULL;
    assert_int_equal(tn_jit_replace(jit, NULL, &module, &err), TN_EINVAL);
    module.assumptions = &unset;
    assert_int_equal(tn_jit_replace(jit, NULL, &module, &err), TN_EINVAL);
    assert_int_equal(try_replace(jit, "bad", a, NULL, &err), TN_ECOMPILE);
    assert_int_equal(try_replace(jit, "data", a, NULL, &err), TN_EINVAL);
    break_it(a);
    assert_int_equal(call_first(jit, 1), 43);
    tn_assumption_destroy(a);
    tn_assumption_destroy(foreign);
    tn_jit_destroy(other);
    end(jit);
}

/* A weak function that the library has from elsewhere stays that. */
static void weak_functions(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_error err;
    struct tn_assumption *a = assume(jit);
    check(tn_define(tn_jit_library(jit), "second", (const void *)twice, &err), &err);
    replace(jit, "alone 7", NULL, NULL);
    replace(jit, "weak", a, NULL);
    assert_int_equal(call_first(jit, 1), 1003);
    assert_int_equal(call(find(jit, "second"), 1), 2);
    break_it(a);
    assert_int_equal(call_first(jit, 1), 9);
    tn_assumption_destroy(a);
    end(jit);
}

/* ---- in any order ---- */

static void orders_of_ends(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true);
    struct tn_assumption *a = assume(jit), *b = assume(jit), *unused = assume(jit);
    replace(jit, "program 1", NULL, NULL);
    replace(jit, "program 2", a, b);
    tn_assumption_destroy(a); /* before what rests on it */
    break_it(b);
    assert_int_equal(call_first(jit, 1), 43);
    end(jit);
    tn_assumption_destroy(b); /* after all else */
    tn_assumption_destroy(unused);
}

/* The JIT is gone, its session is not: code stays, and so does what it rests on. */
static void without_the_jit(void **state)
{
    (void)state;
    struct tn_jit_options options = options_for(true);
    struct tn_error err;
    struct tn_jit *jit;
    check(tn_session_create(NULL, &options.session, &err), &err);
    options.on_error = NULL;
    check(tn_jit_create(&options, &jit, &err), &err);
    struct tn_assumption *a = assume(jit);
    replace(jit, "program 1", NULL, NULL);
    replace(jit, "program 2", a, NULL);
    void *first = find(jit, "first");
    tn_jit_destroy(jit);
    assert_int_equal(call(first, 1), 44);
    break_it(a);
    assert_int_equal(call(first, 1), 43);
    tn_session_destroy(options.session);
    tn_assumption_destroy(a);
    assert_int_equal(toy_calls.opens, toy_calls.closes);
}

/* ---- under way ---- */

static void replacement_under_way(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_error err;
    shared = assume(jit);
    replace(jit, "program 1", NULL, NULL);
    uint64_t one = code_bytes(jit);
    toy_calls.before = break_shared;
    assert_int_equal(try_replace(jit, "program 2", shared, NULL, &err), TN_ECANCELLED);
    assert_int_equal(call_first(jit, 1), 43);
    assert_int_equal(code_bytes(jit), one);
    tn_assumption_destroy(shared);
    end(jit);
}

/* ---- refused allocations ---- */

/* The old function, or the new one until the assumption is broken. */
static int attempt(struct tn_jit *jit, int number)
{
    struct tn_error err = {0};
    struct tn_assumption *a = NULL;
    char plan[16], program[40];
    snprintf(plan, sizeof plan, "a%d", number);
    snprintf(program, sizeof program, "program %d", number);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = tn_assumption_create(tn_jit_session(jit), &a, &err);
    if (!code)
        code = try_replace(jit, program, a, NULL, &err);
    tn__os_set_faults(NULL);
    if (code && (code != TN_ENOMEM || err.code != code))
        fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
    assert_int_equal(call_first(jit, 1), code ? 42 : 42 + number);
    if (a) {
        assert_int_equal(tn__os_set_faults("a1"), 0); /* breaking needs no memory */
        check(tn_assumption_break(a, &err), &err);
        tn__os_set_faults(NULL);
    }
    assert_int_equal(call_first(jit, 1), 42);
    tn_assumption_destroy(a);
    return code;
}

static void allocations_refused(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit *jit = create(lazy);
        replace(jit, "program", NULL, NULL);
        assert_int_equal(call_first(jit, 1), 42);
        int refused = 0;
        for (int number = 1, granted = 0; granted < 4; number++) {
            int code = attempt(jit, number);
            refused += code != 0;
            granted = code ? 0 : granted + 1;
        }
        assert_true(refused > 15);
        end(jit);
    }
}

/* ---- many ---- */

static void ten_thousand(void **state)
{
    (void)state;
    enum { WARM = 2000, ALL = 10000, LIMIT_KB = 1024 };
    struct tn_jit *jit = create(true);
    long before = 0;
    replace(jit, "program", NULL, NULL);
    for (long i = 0; i < ALL; i++) {
        char program[40];
        struct tn_assumption *a = assume(jit);
        if (i == WARM)
            before = resident_kb();
        snprintf(program, sizeof program, "program %ld", i);
        replace(jit, program, a, NULL);
        assert_int_equal(call_first(jit, 1), 42 + i);
        break_it(a);
        assert_int_equal(call_first(jit, 1), 42);
        tn_assumption_destroy(a);
    }
    long grown = resident_kb() - before;
    if (grown > LIMIT_KB && !KEEPS_WHAT_WAS_FREED)
        fail_msg("%ld KB more", grown);
    end(jit);
}

enum { THREADS = 8, VERSIONS = 200 };

struct storm {
    const void *first;
    atomic_bool ends;
    atomic_long broken, newest, calls, wrong; /* versions are counted from 1; 0 rests on nothing */
};

/* No call that begins reaches a version that was broken. */
static void *call_often(void *context)
{
    struct storm *s = context;
    tn_thread_attach();
    while (!s->ends) {
        for (int i = 0; i < 20; i++) {
            long broken = s->broken, version = call(s->first, 1) - 42;
            s->wrong += (version && version <= broken) || version > s->newest;
        }
        s->calls++;
        tn_thread_quiescent();
        usleep(20); /* otherwise they would keep the others from the processors */
    }
    tn_thread_detach();
    return NULL;
}

static void *break_again(void *context)
{
    break_it(context);
    return NULL;
}

/* Two threads break each. */
static void while_threads_call(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true);
    pthread_t threads[THREADS], breaker;
    replace(jit, "program", NULL, NULL);
    struct storm storm = {.first = find(jit, "first")};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &storm), 0);
    while (storm.newest < VERSIONS || storm.calls < VERSIONS) {
        char program[40];
        struct tn_assumption *a = assume(jit);
        snprintf(program, sizeof program, "program %ld", ++storm.newest);
        replace(jit, program, a, NULL);
        assert_int_equal(pthread_create(&breaker, NULL, break_again, a), 0);
        break_it(a);
        storm.broken = storm.newest;
        pthread_join(breaker, NULL);
        tn_assumption_destroy(a);
    }
    storm.ends = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(storm.wrong, 0);
    assert_int_equal(call(storm.first, 1), 42);
    end(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(falls_back),
        cmocka_unit_test(code_goes),
        cmocka_unit_test(stacked),
        cmocka_unit_test(replaced_by_general_code),
        cmocka_unit_test(over_lazy_functions),
        cmocka_unit_test(below_is_removed),
        cmocka_unit_test(redirections_win),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(weak_functions),
        cmocka_unit_test(orders_of_ends),
        cmocka_unit_test(without_the_jit),
        cmocka_unit_test(replacement_under_way),
        cmocka_unit_test(allocations_refused),
        cmocka_unit_test(ten_thousand),
        cmocka_unit_test(while_threads_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
