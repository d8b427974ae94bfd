/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The program's unwinder passes through frames of loaded functions (data/unwind.c): backtraces contain them, and a
 * forced unwind runs their cleanups. */

#include "trace.h"

#include <pthread.h>
#include <stdlib.h>

static const char *const ways[] = {WAYS};

/* ---- backtraces ---- */

typedef int through(int (*function)(void *), void *context);

__attribute__((noinline)) static int trace_through(const struct fixture *f, const char *name, struct trace *trace)
{
    void *address = lookup(f, name);
    through *function;
    memcpy(&function, &address, sizeof function);
    volatile int result = function(take_trace, trace); /* not a tail call: this frame remains */
    return result;
}

static void check_trace(const struct fixture *f)
{
    struct trace trace;
    assert_int_equal(trace_through(f, "through_twice", &trace), 2);
    size_t callback = position(&trace, take_trace), inner = position(&trace, lookup(f, "through")),
           outer = position(&trace, lookup(f, "through_twice")), caller = position(&trace, trace_through);
    if (caller == SIZE_MAX || callback + 1 != inner || inner + 1 != outer || outer + 1 != caller)
        fail_msg("frames %zu %zu %zu %zu of %zu", callback, inner, outer, caller, trace.count);
}

static struct fixture open_unwind(const char *way)
{
    struct fixture f = open_fixture(NULL);
    char name[128];
    snprintf(name, sizeof name, "unwind.%s.o", way);
    add_file(&f, name);
    link_all(&f);
    return f;
}

static void a_backtrace_sees_loaded_functions(void **state)
{
    const char *way = *(const char **)*state;
    struct fixture f = open_unwind(way);
    check_trace(&f);
    close_fixture(&f);
    struct trace trace;
    take_trace(&trace); /* the tables are gone, the unwinder still works */
    assert_true(position(&trace, take_trace) != SIZE_MAX);
}

/* ---- forced unwinding ---- */

struct exit {
    const struct fixture *f;
    int cleaned;
};

static int exit_thread(void *context)
{
    (void)context;
    pthread_exit(NULL);
}

static void *run_thread(void *argument)
{
    struct exit *exit = argument;
    void *address = lookup(exit->f, "with_cleanup");
    int (*with_cleanup)(int (*)(void *), void *, int *);
    memcpy(&with_cleanup, &address, sizeof with_cleanup);
    with_cleanup(exit_thread, NULL, &exit->cleaned);
    return NULL;
}

static void a_forced_unwind_runs_cleanups(void **state)
{
    const char *way = *(const char **)*state;
    struct fixture f = open_unwind(way);
    struct exit exit = {.f = &f};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_thread, &exit), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(exit.cleaned, 1);
    close_fixture(&f);
}

/* ---- many tables ---- */

static void many_objects(void **state)
{
    (void)state;
    enum { OBJECTS = 1200, SESSIONS = 3 };
    static struct fixture f[OBJECTS];
    struct tn_session *sessions[SESSIONS];
    struct tn_error err;
    char name[128];
    snprintf(name, sizeof name, "unwind.%s.o", ways[0]);
    for (size_t i = 0; i < SESSIONS; i++)
        assert_ok(tn_session_create(NULL, &sessions[i], &err), &err);
    for (size_t i = 0; i < OBJECTS; i++) {
        f[i].session = sessions[i % SESSIONS];
        assert_int_equal(tn_library_create(f[i].session, "one", &f[i].library, &err), 0);
        assert_int_equal(tn_add_resolver(f[i].library, tn_resolve_dlsym, NULL, &err), 0);
        assert_int_equal(tn_add_file(f[i].library, data_file(name), &err), 0);
        assert_int_equal(tn_link(f[i].library, &err), 0);
        if (i % 97 == 0)
            check_trace(&f[i]);
    }
    for (size_t i = 0; i < OBJECTS; i += 7)
        check_trace(&f[i]);
    tn_session_destroy(sessions[1]);
    for (size_t i = 0; i < OBJECTS; i += 7)
        if (i % SESSIONS != 1)
            check_trace(&f[i]);
    tn_session_destroy(sessions[0]);
    tn_session_destroy(sessions[2]);
}

/* The unwind data of a discarded copy of a function must not match any address. */
static void discarded_copies_have_no_unwind_data(void **state)
{
    (void)state;
    if (!data_exists("comdat_1.o")) /* it is in x86-64's assembly */
        skip();
    struct fixture f = open_fixture(NULL);
    struct trace trace;
    add_file(&f, "comdat_1.o");
    add_file(&f, "comdat_2.o");
    link_all(&f);
    assert_int_equal(trace_through(&f, "through_2", &trace), 0);
    size_t callback = position(&trace, take_trace), caller = position(&trace, trace_through);
    assert_int_equal(position(&trace, lookup(&f, "through_2")), callback + 1);
    assert_int_equal(caller, callback + 2);
    struct dwarf_eh_bases {
        void *text, *data, *function;
    } bases;
    extern const void *_Unwind_Find_FDE(void *, struct dwarf_eh_bases *);
    assert_non_null(_Unwind_Find_FDE((char *)lookup(&f, "inlined") + 1, &bases));
    assert_ptr_equal(bases.function, lookup(&f, "inlined"));
    assert_null(_Unwind_Find_FDE((void *)1, &bases));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_objects),
        cmocka_unit_test(discarded_copies_have_no_unwind_data),
    };
    int failed = cmocka_run_group_tests_name("link/unwind", tests, NULL, NULL);
    failed += run_rows("backtrace", ways, COUNT(ways), sizeof *ways, a_backtrace_sees_loaded_functions);
    return failed + run_rows("forced unwind", ways, COUNT(ways), sizeof *ways, a_forced_unwind_runs_cleanups);
}
