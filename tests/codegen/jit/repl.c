/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A session at a prompt: functions that call each other are redefined again and again, and what they were before is
 * removed. Every call is right, and memory stays where it is. */

#include "support.h"
#include "resident.h"

enum { FUNCTIONS = 12, REDEFINITIONS = 10000, WARM = 2500, LIMIT_KB = 2048 };

/* f(x) = x * factor + g(x), where g is a function of a higher number, or 0. */
struct definition {
    long factor;
    int callee; /* FUNCTIONS: none */
    struct tn_tracker *tracker;
};

struct prompt {
    struct tn_jit *jit;
    struct definition now[FUNCTIONS];
    struct tn_error err;
};

static void check(struct prompt *p, int code)
{
    if (code)
        fail_msg("%s", p->err.text);
}

static long expected(const struct prompt *p, int number, long x)
{
    if (number == FUNCTIONS)
        return 0;
    return x * p->now[number].factor + expected(p, p->now[number].callee, x);
}

static long call(struct prompt *p, int number, long x)
{
    char name[20];
    void *address;
    long (*function)(long);
    snprintf(name, sizeof name, "f%d", number);
    check(p, tn_jit_lookup(p->jit, name, &address, &p->err));
    memcpy(&function, &address, sizeof function);
    return function(x);
}

/* Callers see `fN`, which stays; its code is `fN.a` and `fN.b` in turn. */
static void redefine(struct prompt *p, int round)
{
    int number = round % FUNCTIONS;
    struct definition *d = &p->now[number];
    struct tn_tracker *old = d->tracker;
    char stub[20], name[20], ir[500];
    d->factor = round * 7 + 1;
    d->callee = number + 1 + round / FUNCTIONS % (FUNCTIONS - number);
    snprintf(stub, sizeof stub, "f%d", number);
    snprintf(name, sizeof name, "f%d.%c", number, round / FUNCTIONS % 2 ? 'a' : 'b');
    if (d->callee == FUNCTIONS)
        snprintf(ir, sizeof ir, "define i64 @%s(i64 %%x) {\n  %%a = mul i64 %%x, %ld\n  ret i64 %%a\n}\n", name,
                 d->factor);
    else
        snprintf(ir, sizeof ir,
                 "declare i64 @f%d(i64)\ndefine i64 @%s(i64 %%x) {\n  %%a = mul i64 %%x, %ld\n"
                 "  %%b = call i64 @f%d(i64 %%x)\n  %%c = add i64 %%a, %%b\n  ret i64 %%c\n}\n",
                 d->callee, name, d->factor, d->callee);
    check(p, tn_tracker_create(tn_jit_library(p->jit), &d->tracker, &p->err));
    struct tn_jit_module module = {
        .size = sizeof module, .name = name, .ir = ir, .length = strlen(ir), .owner = d->tracker};
    void *address;
    check(p, tn_jit_add_module(p->jit, NULL, &module, &p->err));
    check(p, tn_jit_lookup(p->jit, name, &address, &p->err));
    check(p, tn_redirect(tn_jit_library(p->jit), stub, address, &p->err));
    if (old)
        check(p, tn_tracker_remove(old, &p->err));
    tn_tracker_destroy(old);
}

static void redefined(bool lazy)
{
    static const struct tn_compile_options compile = {DEFAULTS, .opt_level = 0};
    struct tn_jit_options options = {.size = sizeof options, .compile = &compile, .lazy = lazy, .on_failure = abort};
    struct prompt p = {0};
    check(&p, tn_jit_create(&options, &p.jit, &p.err));
    for (int i = 0; i < FUNCTIONS; i++) {
        char stub[20];
        struct tn_stub_options stubs = {.size = sizeof stubs, .on_failure = abort};
        snprintf(stub, sizeof stub, "f%d", i);
        check(&p, tn_define_redirectable(tn_jit_library(p.jit), stub, NULL, &stubs, &p.err));
    }
    for (int i = FUNCTIONS - 1; i >= 0; i--) /* whom they call comes first */
        redefine(&p, i);
    long warm = 0;
    for (int round = FUNCTIONS; round < REDEFINITIONS; round++) {
        redefine(&p, round);
        int number = round * 5 % FUNCTIONS;
        assert_int_equal(call(&p, number, round), expected(&p, number, round));
        if (round == WARM)
            warm = resident_kb();
    }
    long end = resident_kb();
    print_message("lazy %d: resident %ld KB after %d redefinitions, %ld KB after %d\n", lazy, warm, WARM, end,
                  REDEFINITIONS);
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer keeps what was freed for a while */
    assert_true(end <= warm + LIMIT_KB);
#endif
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(tn_jit_session(p.jit), &stats);
    assert_true(stats.code_bytes < 64 << 10);
    for (int i = 0; i < FUNCTIONS; i++)
        tn_tracker_destroy(p.now[i].tracker);
    tn_jit_destroy(p.jit);
}

static void redefined_in_one_piece(void **state)
{
    (void)state;
    redefined(false);
}

static void redefined_lazily(void **state)
{
    (void)state;
    redefined(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redefined_in_one_piece),
        cmocka_unit_test(redefined_lazily),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
