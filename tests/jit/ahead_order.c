/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling ahead in the order of the last run: which orders are kept, followed and refused; with such a store, every
 * allocation is refused. */

#include "ahead_world.h"

static struct tn_buffer pack;
static int puts_done;

static int get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    (void)context;
    if (pack.size < 8 + TN_CACHE_KEY_SIZE || memcmp((const char *)pack.data + 8, key, TN_CACHE_KEY_SIZE) != 0)
        return TN_EUNDEF;
    return tn__buffer_fill(out, pack.data, pack.size) ? 0 : TN_ENOMEM;
}

static int put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    (void)context, (void)key;
    puts_done++;
    tn_buffer_free(&pack);
    return tn__buffer_fill(&pack, bytes, length) ? 0 : TN_ENOMEM;
}

static const struct tn_store store = {.size = sizeof store, .get = get, .put = put};
static const struct tn_ahead_options by_order = {.size = sizeof by_order, .orders = &store};

/* Runs the program, and says how many of its parts were compiled ahead. `calls` NULL: nothing is called. */
static uint64_t run_once(const char *calls)
{
    struct tn_error err;
    void *address;
    struct world w = begin(&by_order, "program");
    run_idle();
    uint64_t compiled = stats_of(w.jit).compiled;
    if (calls)
        check(tn_jit_lookup(w.jit, calls, &address, &err), &err);
    close_world(&w);
    return compiled;
}

static void by_the_last_order(void **state)
{
    (void)state;
    puts_done = 0;
    assert_int_equal(run_once("first$body"), 0); /* and the data */
    assert_int_equal(puts_done, 1);
    assert_int_equal(run_once("first$body"), 2);
    assert_int_equal(puts_done, 1); /* nothing has changed */
    assert_int_equal(run_once(NULL), 2);
    assert_int_equal(puts_done, 1); /* a run that has called nothing says nothing */
    assert_int_equal(run_once("second$body"), 2);
    assert_int_equal(run_once("second$body"), 3); /* the others were unused once, */
    assert_int_equal(run_once("second$body"), 1); /* twice */
    puts_done = 0;
    struct world ended = begin(&by_order, "program");
    assert_int_equal(call_first(ended.jit, 1), 42);
    tn_jit_end_ahead(ended.jit);
    tn_jit_end_ahead(ended.jit);
    assert_int_equal(puts_done, 1);
    tn_prefetch_keep(prefetch(ended.jit, both, 2));
    run_idle();
    close_world(&ended);
    tn_jit_end_ahead(NULL);
    assert_int_equal(puts_done, 1);
    struct world w = begin(&by_order, "program 7"); /* another module */
    run_idle();
    assert_int_equal(stats_of(w.jit).compiled, 0);
    close_world(&w);
    tn_buffer_free(&pack);
}

/* An order of which a byte is wrong, or that is cut off, is none. One whose sums are right and which makes no sense is
 * none either. */
static void damaged_orders(void **state)
{
    (void)state;
    run_once("first$body");
    struct tn_buffer good = {0};
    assert_true(tn__buffer_fill(&good, pack.data, pack.size));
    for (size_t i = 0; i <= good.size; i++) {
        tn_buffer_free(&pack);
        assert_true(tn__buffer_fill(&pack, good.data, i));
        if (i > 0 && i < good.size)
            assert_int_equal(run_once(NULL), 0);
        tn_buffer_free(&pack);
        assert_true(tn__buffer_fill(&pack, good.data, good.size));
        if (i < good.size)
            ((unsigned char *)pack.data)[i] ^= 0x10;
        assert_int_equal(run_once(NULL), i < good.size ? 0 : 2);
    }
    tn_buffer_free(&good);
    tn_buffer_free(&pack);
}

/* ---- every allocation is refused ---- */

static int attempt(int number)
{
    struct tn_error err = {0};
    struct world w;
    struct tn_jit_module module = toy_module("program");
    struct tn_ahead_options options = {.size = sizeof options, .callees = 1, .orders = &store};
    char plan[16];
    void *address;
    snprintf(plan, sizeof plan, "a%d", number);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = open_world(&w, &options, &err);
    if (!code)
        code = tn_jit_add_module(w.jit, NULL, &module, &err);
    if (!code)
        code = tn_jit_prefetch(w.jit, both, 1, NULL, &err);
    run_idle();
    if (!code)
        code = tn_jit_lookup(w.jit, "first$body", &address, &err);
    run_idle();
    if (!code)
        code = tn_jit_lookup(w.jit, "second$body", &address, &err);
    tn_jit_destroy(w.jit);
    run_idle();
    tn_session_destroy(w.session);
    tn__os_set_faults(NULL);
    assert_int_equal(toy.opens, toy.closes);
    if (code && (code != TN_ENOMEM || err.code != code))
        fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
    return code;
}

static void allocations_refused(void **state)
{
    int refused = 0;
    (void)state;
    for (int number = 1; number < 200; number++)
        refused += attempt(number) != 0;
    assert_in_range(refused, 20, 150);
    tn_buffer_free(&pack);
    assert_int_equal(attempt(10000), 0);
    tn_buffer_free(&pack);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(by_the_last_order, prepare),
        cmocka_unit_test_setup(damaged_orders, prepare),
        cmocka_unit_test_setup(allocations_refused, prepare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
