/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tiers together with compiling ahead (doc/TIERS.md, doc/SESSION.md): functions are compiled ahead for the tier with
 * which they begin. */

#include "tenon_ahead.h"
#include "tiered.h"

static const char *const both[] = {"call", "sum"};

static struct tn_ahead_stats stats_of(const struct tn_jit *jit)
{
    struct tn_ahead_stats stats = {.size = sizeof stats};
    tn_ahead_stats(jit, &stats);
    return stats;
}

/* A JIT that has compiled both functions of this module ahead. */
static struct tn_jit *create_ahead(const struct tn_tier *tiers, size_t count, const char *ir)
{
    struct tn_error err;
    struct tn_jit *jit = create(&(struct setup){.tiers = tiers, .count = count, .threads = 1}, NULL);
    const struct tn_ahead_options options = {.size = sizeof options};
    check(tn_jit_compile_ahead(jit, &options, &err), &err);
    add(jit, NULL, ir, NULL);
    check(tn_jit_prefetch(jit, both, COUNT(both), NULL, &err), &err);
    while (stats_of(jit).compiled < COUNT(both))
        rest();
    assert_int_equal(stats_of(jit).compiled, COUNT(both));
    return jit;
}

/* What was compiled ahead counts calls, and gives way. */
static void counts_and_gives_way(void **state)
{
    (void)state;
    struct tn_jit *jit = create_ahead(three, COUNT(three), program);
    function *call = find(jit, "call");
    for (int i = 0; i < 51; i++)
        assert_int_equal(call(3), 6);
    assert_int_equal(stats_of(jit).used, COUNT(both));
    wait_for_tier(jit, "call", 1);
    wait_for_tier(jit, "sum", 1);
    for (int i = 0; i < 51; i++)
        assert_int_equal(call(4), 10);
    wait_for_tier(jit, "call", 2);
    const struct tn_jit_function now = about(jit, "call");
    assert_true(now.swaps == 2 && now.opt_level == 3);
    assert_int_equal(errors, 0);
    tn_jit_destroy(jit);
}

/* A higher tier is asked for before the first call: it is compiled, and not what was compiled ahead. */
static void higher_tiers_are_not_taken(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit = create_ahead(two, COUNT(two), program);
    check(tn_jit_request_tier(jit, "call", 1, &err), &err);
    wait_for_tier(jit, "call", 1);
    const struct tn_jit_function now = about(jit, "call");
    assert_true(now.tiers[0].bytes == 0 && now.tiers[1].bytes > 0);
    assert_int_equal(stats_of(jit).used, 0);
    assert_int_equal(find(jit, "call")(10), 55);
    assert_int_equal(stats_of(jit).used, 1); /* the other one, which it calls */
    assert_int_equal(errors, 0);
    tn_jit_destroy(jit);
}

/* A function that begins in a higher tier is compiled ahead for that one. */
static void begins_higher(void **state)
{
    (void)state;
    static const char begins[] = "define i64 @call(i64 %x) \"tenon.optlevel\"=\"2\" {\n  ret i64 %x\n}\n"
                                 "define i64 @sum(i64 %x) \"tenon.optlevel\"=\"1\" {\n  ret i64 %x\n}\n";
    struct tn_jit *jit = create_ahead(three, COUNT(three), begins);
    assert_true(find(jit, "call")(7) == 7 && find(jit, "sum")(8) == 8);
    const struct tn_jit_function call = about(jit, "call"), sum = about(jit, "sum");
    assert_true(call.tier == 2 && call.tiers[2].bytes > 0 && sum.tier == 1 && sum.tiers[1].bytes > 0);
    assert_int_equal(stats_of(jit).used, COUNT(both));
    tn_jit_destroy(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_gives_way),
        cmocka_unit_test(higher_tiers_are_not_taken),
        cmocka_unit_test(begins_higher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
