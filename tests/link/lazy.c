/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy and redirectable functions: what is linked when, where calls go, what may be defined, removed and redirected. */

#include "stubs.h"

#include <errno.h>
#include <stdlib.h>

#include "link/lazy.h"

struct row {
    const char *name;
    enum tn_strategy strategy;
};

static const struct row rows[] = {
    {"dual", TN_STRATEGY_DUAL}, {"sealed", TN_STRATEGY_SEALED}, {"mprotect", TN_STRATEGY_MPROTECT}};

static struct stubs open_row(void **state)
{
    const struct row *row = *state;
    return open_stubs(
        &(struct tn_session_options){.size = sizeof(struct tn_session_options), .strategy = row->strategy});
}

static uint64_t linked(const struct stubs *s)
{
    return stats_of(&s->f).objects;
}

static void *body(const struct stubs *s, const char *name)
{
    void *address = NULL;
    struct tn_error err;
    assert_ok(tn_lookup(s->bodies, name, &address, &err), &err);
    return address;
}

static int one(int n)
{
    return n + 1;
}

static int two(int n)
{
    return n + 2;
}

static const void *address_of(int (*function)(int))
{
    return __extension__(const void *) function;
}

/* ---- calls ---- */

static void the_first_call_links(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "once");
    assert_int_equal(linked(&s), 0);
    assert_int_equal(call_int(stub, 1), 42);
    assert_int_equal(linked(&s), 1);
    assert_int_equal(call_int(stub, 2), 43);
    assert_int_equal(linked(&s), 1);
    assert_int_equal(witnessed, 2);
    assert_ptr_equal(lookup(&s.f, "once"), stub);
    assert_ptr_not_equal(body(&s, "once"), stub);
    check_maps();
    close_stubs(&s);
}

/* `twice` needs `once`, which is lazy in the same library. */
static void first_calls_nest(void **state)
{
    struct stubs s = open_row(state);
    const struct tn_lazy_symbol symbols[] = {{.name = "lazy_twice", .target = "twice"},
                                             {.name = "lazy_once", .target = "once"}};
    struct tn_error err;
    assert_ok(tn_define_lazy(s.bodies, symbols, COUNT(symbols), s.bodies, &stub_options, &err), &err);
    assert_int_equal(call_int(body(&s, "lazy_twice"), 1), 84);
    assert_int_equal(call_int(body(&s, "lazy_once"), 1), 42);
    close_stubs(&s);
}

static void errno_is_kept(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "read_errno");
    errno = EXDEV;
    int (*function)(void);
    memcpy(&function, &stub, sizeof function);
    assert_int_equal(function(), EXDEV);
    close_stubs(&s);
}

/* ---- failures ---- */

static struct tn_error reported;

static void note(void *context, const struct tn_error *err)
{
    assert_ptr_equal(context, &reported);
    reported = *err;
}

static void watch_errors(const struct stubs *s)
{
    s->f.session->on_error = note;
    s->f.session->on_error_context = &reported;
    reported.code = 0;
}

static void failures_are_told_and_tried_again(void **state)
{
    struct stubs s = open_row(state);
    watch_errors(&s);
    void *stub = define_lazy(&s, "missing");
    for (int i = 1; i <= 3; i++) {
        reported.code = 0;
        assert_int_equal(call_int(stub, 5), -1);
        assert_int_equal(failures, i);
        assert_error(reported.code, TN_EUNDEF, &reported, "'missing'", "bodies");
        assert_null(*tn__lazy_frames());
    }
    struct tn_error err;
    assert_ok(tn_define(s.bodies, "missing", address_of(one), &err), &err);
    assert_int_equal(call_int(stub, 5), 6);
    assert_int_equal(failures, 3);
    close_stubs(&s);
}

/* ---- redirectable functions ---- */

static void redirect_at(const struct stubs *s, const char *name, const void *address)
{
    struct tn_error err;
    assert_ok(tn_redirect(s->f.library, name, address, &err), &err);
}

static void redirectable_functions_lead_elsewhere(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    watch_errors(&s);
    assert_ok(tn_define_redirectable(s.f.library, "f", address_of(one), &stub_options, &err), &err);
    const void *f = lookup(&s.f, "f");
    assert_int_equal(call_int(f, 5), 6);
    redirect_at(&s, "f", address_of(two));
    assert_int_equal(call_int(f, 5), 7);
    redirect_at(&s, "f", NULL);
    assert_int_equal(call_int(f, 5), -1);
    assert_error(reported.code, TN_EUNDEF, &reported, "'f'", "nowhere");
    redirect_at(&s, "f", address_of(one));
    assert_int_equal(call_int(f, 5), 6);
    assert_ok(tn_define_redirectable(s.f.library, "g", NULL, &stub_options, &err), &err);
    assert_int_equal(call_int(lookup(&s.f, "g"), 5), -1);
    assert_int_equal(failures, 2);
    assert_ptr_equal(lookup(&s.f, "f"), f);
    close_stubs(&s);
}

static void lazy_functions_can_be_redirected(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "once");
    redirect_at(&s, "once", address_of(two));
    assert_int_equal(call_int(stub, 1), 3);
    assert_int_equal(linked(&s), 0);
    redirect_at(&s, "once", NULL);
    assert_int_equal(call_int(stub, 1), 42);
    assert_int_equal(linked(&s), 1);
    redirect_at(&s, "once", address_of(one));
    assert_int_equal(call_int(stub, 1), 2);
    close_stubs(&s);
}

/* Called under the session's lock, so the slot is set as tn_redirect would. */
static void redirect_now(void)
{
    (*tn__lazy_frames())->slot->target = (uintptr_t)address_of(two);
}

static void a_redirection_wins_over_a_first_call(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "once");
    while_linking = redirect_now;
    assert_int_equal(call_int(stub, 1), 3);
    assert_int_equal(linked(&s), 1);
    close_stubs(&s);
}

static void circles_are_refused(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    const struct tn_lazy_symbol a = {.name = "a", .target = "b"}, b = {.name = "b", .target = "a"};
    watch_errors(&s);
    assert_error(tn_define_lazy(s.bodies, &(struct tn_lazy_symbol){.name = "self"}, 1, s.bodies, &stub_options, &err),
                 TN_EINVAL, &err, "'self'", "itself");
    assert_ok(tn_define_lazy(s.f.library, &a, 1, s.bodies, &stub_options, &err), &err);
    assert_ok(tn_define_lazy(s.bodies, &b, 1, s.f.library, &stub_options, &err), &err);
    assert_int_equal(call_int(lookup(&s.f, "a"), 1), -1); /* which finds that b leads back */
    assert_error(reported.code, TN_EINVAL, &reported, "'b'", "itself");
    assert_ok(tn_define_redirectable(s.f.library, "f", address_of(one), &stub_options, &err), &err);
    assert_ok(tn_define_redirectable(s.f.library, "g", lookup(&s.f, "f"), &stub_options, &err), &err);
    assert_error(tn_redirect(s.f.library, "f", lookup(&s.f, "g"), &err), TN_EINVAL, &err, "'f'", "itself");
    assert_error(tn_redirect(s.f.library, "f", lookup(&s.f, "f"), &err), TN_EINVAL, &err, "'f'", "itself");
    assert_int_equal(call_int(lookup(&s.f, "g"), 1), 2);
    close_stubs(&s);
}

int main(void)
{
    int failed = RUN_ROWS("the first call links", rows, the_first_call_links);
    failed += RUN_ROWS("first calls nest", rows, first_calls_nest);
    failed += RUN_ROWS("errno is kept", rows, errno_is_kept);
    failed += RUN_ROWS("failures are told and tried again", rows, failures_are_told_and_tried_again);
    failed += RUN_ROWS("redirectable functions lead elsewhere", rows, redirectable_functions_lead_elsewhere);
    failed += RUN_ROWS("lazy functions can be redirected", rows, lazy_functions_can_be_redirected);
    failed += RUN_ROWS("a redirection wins over a first call", rows, a_redirection_wins_over_a_first_call);
    return failed + RUN_ROWS("circles are refused", rows, circles_are_refused);
}
