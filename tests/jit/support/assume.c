/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "assume.h"

struct toy toy_calls;
struct tn_assumption *shared;

static struct tn_compiler compiler;

struct tn_jit_options options_for(bool lazy)
{
    toy_calls = (struct toy){0};
    compiler = toy_compiler(&toy_calls);
    toy_reported = 0;
    return toy_options(&compiler, lazy);
}

struct tn_jit *create(bool lazy)
{
    struct tn_jit_options options = options_for(lazy);
    struct tn_jit *jit;
    struct tn_error err;
    check(tn_jit_create(&options, &jit, &err), &err);
    return jit;
}

struct tn_assumption *assume(struct tn_jit *jit)
{
    struct tn_assumption *made;
    struct tn_error err;
    check(tn_assumption_create(tn_jit_session(jit), &made, &err), &err);
    return made;
}

void break_it(struct tn_assumption *assumption)
{
    struct tn_error err;
    check(tn_assumption_break(assumption, &err), &err);
}

void end(struct tn_jit *jit)
{
    tn_jit_destroy(jit);
    assert_int_equal(toy_calls.opens, toy_calls.closes);
}

long twice(long x)
{
    return 2 * x;
}

void break_shared(const char *program, long number)
{
    (void)program;
    if (number == 2)
        break_it(shared);
}
