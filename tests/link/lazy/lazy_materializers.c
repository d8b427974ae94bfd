/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy functions whose bodies the client makes when they are first called. Also run under ThreadSanitizer. */

#include "functions.h"
#include "stubs.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { CALLERS = 16, FUNCTIONS = 12, ROUNDS = 10 };

/* Makes `name`, an int function without parameters that returns `value`. */
struct maker {
    const char *name;
    int value;
    int fails;         /* the code that it fails with; 0: succeeds */
    const void *calls; /* calls this int function first, and adds its result */
    int raises;        /* a signal, or 0; */
    int handled;       /* how many have been handled behind that */
    int cancels;       /* the calling thread */
    struct tn_tracker *owner;
    _Atomic int made;
};

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    if (m->raises)
        raise(m->raises);
    m->handled = handled;
    if (m->cancels)
        pthread_cancel(pthread_self());
    int more = m->calls ? call_int(m->calls, 0) : 0;
    if (m->fails) {
        snprintf(err->text, sizeof err->text, "no way to make it");
        return m->fails;
    }
    const struct tn_input input = input_of(m->name, function_object(m->name, m->value + more, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static void promise(struct tn_library *library, struct maker *m)
{
    const struct tn_promised symbol = {.name = m->name};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "maker",
                                                 .context = m,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make,
                                                 .owner = m->owner};
    struct tn_error err;
    assert_ok(tn_add_materializer(library, &materializer, &err), &err);
}

static struct tn_error reported;

static void note(void *context, const struct tn_error *err)
{
    (void)context;
    reported = *err;
}

static struct stubs open_promising(void)
{
    return open_stubs(&(struct tn_session_options){.size = sizeof(struct tn_session_options), .on_error = note});
}

static void made_at_the_first_call(void **state)
{
    struct stubs s = open_promising();
    struct maker m = {.name = "f", .value = 7}, unused = {.name = "unused"};
    promise(s.bodies, &m);
    promise(s.bodies, &unused);
    void *f = define_lazy(&s, "f");
    define_lazy(&s, "unused");
    link_all(&s.f);
    assert_int_equal(m.made, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(call_int(f, 0), 7);
    assert_int_equal(m.made, 1);
    assert_int_equal(unused.made, 0);
    close_stubs(&s);
    (void)state;
}

/* A failed promise is not asked again; one that replaces it is. */
static void a_failure_lasts_until_the_promise_is_removed(void **state)
{
    struct stubs s = open_promising();
    struct tn_error err;
    struct maker m = {.name = "f", .fails = TN_ENOTSUP}, again = {.name = "f", .value = 5};
    assert_ok(tn_tracker_create(s.bodies, &m.owner, &err), &err);
    promise(s.bodies, &m);
    void *f = define_lazy(&s, "f");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(call_int(f, 0), -1);
        assert_error(reported.code, TN_ENOTSUP, &reported, "'f'", "maker", "no way");
    }
    assert_int_equal(m.made, 1);
    assert_ok(tn_tracker_remove(m.owner, &err), &err);
    promise(s.bodies, &again);
    assert_int_equal(call_int(f, 0), 5);
    close_stubs(&s);
    (void)state;
}

/* Making it calls the function itself: that call fails instead of waiting forever. */
static void a_cycle_is_a_failure(void **state)
{
    struct stubs s = open_promising();
    struct maker a = {.name = "a", .value = 10}, b = {.name = "b", .value = 20};
    promise(s.bodies, &a);
    promise(s.bodies, &b);
    void *stub_a = define_lazy(&s, "a");
    a.calls = define_lazy(&s, "b");
    b.calls = stub_a;
    assert_int_equal(call_int(stub_a, 0), 10 + 20 - 1); /* the call of a within b returned -1 */
    assert_int_equal(reported.code, TN_ECYCLE);
    assert_int_equal(failed_calls, 1);
    assert_int_equal(call_int(stub_a, 0), 29);
    assert_int_equal(a.made + b.made, 2);
    close_stubs(&s);
    (void)state;
}

static int five(int n)
{
    return n + 5;
}

/* A body that cannot be made does not matter if the function was redirected meanwhile. */
static int redirect_and_fail(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const struct stubs *s = context;
    (void)responsibility;
    int code = tn_redirect(s->f.library, "f", __extension__(const void *) five, err);
    return code ? code : TN_ENOTSUP;
}

static void a_redirection_wins_over_a_failure(void **state)
{
    struct stubs s = open_promising();
    const struct tn_promised symbol = {.name = "f"};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "maker",
                                                 .context = &s,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = redirect_and_fail};
    struct tn_error err;
    assert_ok(tn_add_materializer(s.bodies, &materializer, &err), &err);
    assert_int_equal(call_int(define_lazy(&s, "f"), 1), 6);
    assert_int_equal(failed_calls, 0);
    close_stubs(&s);
    (void)state;
}

/* ---- threads ---- */

struct calls {
    const void *stubs[FUNCTIONS];
    pthread_barrier_t barrier;
    _Atomic int next;
};

/* Every third function cannot be made. */
static bool fails(size_t i)
{
    return i % 3 == 0;
}

/* Each thread begins with a different one. */
static void *call_all(void *argument)
{
    struct calls *calls = argument;
    size_t first = (size_t)calls->next++;
    bool good = true;
    pthread_barrier_wait(&calls->barrier);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        size_t at = (first + i) % FUNCTIONS;
        good &= call_int(calls->stubs[at], 0) == (fails(at) ? -1 : (int)at);
    }
    return good ? NULL : argument;
}

static void threads_make_functions(void **state)
{
    static char names[FUNCTIONS][8];
    for (int round = 0; round < ROUNDS; round++) {
        struct stubs s = open_stubs(NULL);
        struct maker makers[FUNCTIONS];
        struct calls calls = {.next = 0};
        pthread_t threads[CALLERS];
        for (size_t i = 0; i < FUNCTIONS; i++) {
            snprintf(names[i], sizeof names[i], "f%zu", i);
            makers[i] = (struct maker){.name = names[i], .value = (int)i, .fails = fails(i) ? TN_ENOTSUP : 0};
            promise(s.bodies, &makers[i]);
            calls.stubs[i] = define_lazy(&s, names[i]);
        }
        assert_int_equal(pthread_barrier_init(&calls.barrier, NULL, CALLERS), 0);
        for (size_t i = 0; i < CALLERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, call_all, &calls), 0);
        for (size_t i = 0; i < CALLERS; i++) {
            void *wrong;
            assert_int_equal(pthread_join(threads[i], &wrong), 0);
            assert_null(wrong);
        }
        for (size_t i = 0; i < FUNCTIONS; i++)
            assert_int_equal(makers[i].made, 1);
        pthread_barrier_destroy(&calls.barrier);
        close_stubs(&s);
    }
    (void)state;
}

/* ... if the session says so; what the caller blocks stays blocked. */
static void signals_wait_for_first_calls(void **state)
{
    static const struct {
        bool defers;
        int raises, meanwhile;
    } cases[] = {{false, SIGUSR1, 1}, {true, SIGUSR1, 0}, {true, SIGFPE, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sigset_t blocked, after;
        struct stubs s = open_promising();
        if (cases[i].defers)
            tn_session_defer_signals(s.f.session);
        struct maker m = {.name = "f", .value = 7, .raises = cases[i].raises};
        promise(s.bodies, &m);
        void *f = define_lazy(&s, "f");
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &blocked, NULL);
        handled = 0;
        signal(m.raises, handle);
        assert_int_equal(call_int(f, 0), 7);
        assert_int_equal(m.handled, cases[i].meanwhile);
        assert_int_equal(handled, 1);
        signal(m.raises, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &blocked, &after);
        assert_true(sigismember(&after, SIGUSR2));
        assert_false(sigismember(&after, SIGUSR1));
        close_stubs(&s);
    }
    (void)state;
}

static void *call_at_any_time(void *f)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    return (void *)(intptr_t)call_int(f, 0);
}

/* A thread that may be cancelled anywhere ends after the call is made, as if it had been cancelled elsewhere. */
static void an_asynchronous_cancellation_waits(void **state)
{
    struct stubs s = open_promising();
    struct maker m = {.name = "f", .value = 7, .cancels = 1};
    pthread_t thread;
    void *result;
    promise(s.bodies, &m);
    void *f = define_lazy(&s, "f");
    assert_int_equal(pthread_create(&thread, NULL, call_at_any_time, f), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(call_int(f, 0), 7);
    assert_int_equal(m.made, 1);
    close_stubs(&s);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_at_the_first_call),
        cmocka_unit_test(a_failure_lasts_until_the_promise_is_removed),
        cmocka_unit_test(a_cycle_is_a_failure),
        cmocka_unit_test(a_redirection_wins_over_a_failure),
        cmocka_unit_test(threads_make_functions),
        cmocka_unit_test(signals_wait_for_first_calls),
        cmocka_unit_test(an_asynchronous_cancellation_waits),
    };
    return cmocka_run_group_tests_name("link/lazy_materializers", tests, NULL, NULL);
}
