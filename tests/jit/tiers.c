/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tiers below LLVM: the queue of what counters tell, the function that tells, and every refused allocation. What is
 * compiled again is tested with LLVM (tests/codegen/jit/tiers.c). */

#include <pthread.h>

#include "jit/tiers.h"
#include "toy.h"

enum { PLACES = 1024, THREADS = 4, EACH = 20000 };

static bool push(uint64_t module, uint32_t part)
{
    return tn__told_push(&(struct tn__told){.module = module, .part = part});
}

/* ---- the queue ---- */

static void queue_is_bounded(void **state)
{
    (void)state;
    struct tn__told told;
    assert_false(tn__told_pop(&told));
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < PLACES; i++)
            assert_true(push(1, i));
        assert_false(push(1, PLACES));
        assert_true(tn__told_pop(&told));
        assert_int_equal(told.part, 0);
        assert_true(push(1, PLACES));
        for (uint32_t i = 1; i <= PLACES; i++) {
            assert_true(tn__told_pop(&told));
            assert_int_equal(told.part, i);
        }
        assert_false(tn__told_pop(&told));
    }
}

static void *push_many(void *context)
{
    uint64_t module = *(const uint64_t *)context;
    for (uint32_t i = 0; i < EACH;)
        i += push(module, i);
    return NULL;
}

/* What each thread pushes comes out once, in its order. */
static void queue_of_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint64_t modules[THREADS];
    uint32_t next[THREADS + 1] = {0};
    struct tn__told told;
    for (uint64_t i = 0; i < THREADS; i++) {
        modules[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, push_many, &modules[i]), 0);
    }
    for (int left = THREADS * EACH; left > 0;)
        if (tn__told_pop(&told)) {
            assert_in_range(told.module, 1, THREADS);
            assert_int_equal(told.part, next[told.module]++);
            left--;
        }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_false(tn__told_pop(&told));
}

/* ---- counters ---- */

static void enter(struct tn__counter *c)
{
    if (--c->calls < 0)
        tn__told(c, 0);
}

static void turn(struct tn__counter *c)
{
    if (--c->loops < 0)
        tn__told(c, 1);
}

static int told_so_far(void)
{
    struct tn__told told;
    int count = 0;
    while (tn__told_pop(&told))
        count++;
    return count;
}

/* After so many calls; then after twice as many, and so on. */
static void calls_tell(void **state)
{
    (void)state;
    struct tn__counter c = {.limits = 10, .module = 7, .part = 3, .level = 1};
    struct tn__told told;
    for (int i = 0; i < 10; i++)
        enter(&c);
    assert_int_equal(told_so_far(), 0);
    enter(&c);
    assert_true(tn__told_pop(&told));
    assert_true(told.module == 7 && told.part == 3 && told.level == 1 && told.times == 1);
    for (int i = 0; i < 20; i++)
        enter(&c);
    assert_int_equal(told_so_far(), 0);
    enter(&c);
    assert_true(tn__told_pop(&told));
    assert_int_equal(told.times, 2);
    for (int i = 0; i < 1000; i++)
        turn(&c); /* do not count */
    assert_int_equal(told_so_far(), 0);
    c = (struct tn__counter){.limits = INT32_MAX};
    enter(&c);
    for (int i = 0; i < 40; i++) {
        c.calls = 0;
        enter(&c);
        assert_true(c.calls > 0);
    }
    assert_int_equal(told_so_far(), 40);
}

/* 16 calls, of 5 turns each: an eighth of the calls is charged at a time. */
static void turns_tell(void **state)
{
    (void)state;
    struct tn__counter c = {.limits = 16 | UINT64_C(5) << 32, .module = 7};
    int turns = 0;
    enter(&c);
    for (int i = 0; i < 1000 && !told_so_far(); i++, turns++)
        turn(&c);
    assert_in_range(turns, 15 * 5, 18 * 5);
    for (int i = 0; i < 2 * 15 * 5; i++)
        turn(&c);
    assert_int_equal(told_so_far(), 0);
    for (int i = 0; i < 2 * 16 * 5; i++)
        turn(&c);
    assert_int_equal(told_so_far(), 1);
}

/* ---- refused allocations ---- */

static const struct tn_tier tiers[] = {{0, 1000, 0}, {1, 1000, 0}, {2, 0, 0}};

static int attempt(struct toy *toy, int number)
{
    struct tn_compiler compiler = toy_compiler(toy);
    struct tn_error err = {0};
    struct tn_jit *jit = NULL;
    struct tn_jit_module module = toy_module("program");
    struct tn_jit_options options = toy_options(&compiler, true);
    options.tiers = tiers;
    options.tier_count = 3;
    options.tiering = tn_jit_tiering();
    char plan[16];
    snprintf(plan, sizeof plan, "a%d", number);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = tn_jit_create(&options, &jit, &err);
    if (!code)
        code = tn_jit_add_module(jit, NULL, &module, &err);
    tn__os_set_faults(NULL);
    if (code && (code != TN_ENOMEM || err.code != code))
        fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
    if (jit && code) { /* nothing was left behind */
        check(tn_jit_add_module(jit, NULL, &module, &err), &err);
        assert_int_equal(call_first(jit, 1), 42);
    }
    tn_jit_destroy(jit);
    assert_int_equal(toy->opens, toy->closes);
    return code;
}

static void allocations_refused(void **state)
{
    (void)state;
    struct toy toy = {0};
    int refused = 0;
    for (int number = 1, granted = 0; granted < 4; number++) { /* some are made once, or not needed */
        int code = attempt(&toy, number);
        refused += code != 0;
        granted = code ? 0 : granted + 1;
    }
    assert_true(refused > 30);
}

/* A tier that the compiler's object does not define is an error of that tier only. */
static void objects_without_the_body(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct tn_compiler compiler = toy_compiler(&toy);
    struct tn_jit_options options = toy_options(&compiler, true);
    options.tiers = tiers;
    options.tier_count = 3;
    options.tiering = tn_jit_tiering();
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module module = toy_module("program");
    toy_reported = 0;
    check(tn_jit_create(&options, &jit, &err), &err);
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
    assert_int_equal(call_first(jit, 1), 42);
    check(tn_jit_request_tier(jit, "first", 2, &err), &err);
    for (uint64_t end = tn__os_now_ns() + UINT64_C(100000000000);
         !__atomic_load_n(&toy_reported, __ATOMIC_ACQUIRE) && tn__os_now_ns() < end;)
        tn__os_relax();
    assert_int_not_equal(toy_reported, 0);
    assert_int_equal(call_first(jit, 1), 42);
    tn_jit_destroy(jit);
    assert_int_equal(toy.opens, toy.closes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_is_bounded),    cmocka_unit_test(queue_of_threads),
        cmocka_unit_test(calls_tell),          cmocka_unit_test(turns_tell),
        cmocka_unit_test(allocations_refused), cmocka_unit_test(objects_without_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
