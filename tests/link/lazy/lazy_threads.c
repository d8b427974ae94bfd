/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy functions and threads: any number of threads call one for the first time, while others redirect it. */

#include "stubs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CALLERS = 64, ROUNDS = 20, REDIRECTIONS = 20000, REDIRECTED_CALLERS = 8, OWNERS = 8, OWNER_ROUNDS = 100 };

static void run(pthread_t *threads, size_t count, void *(*work)(void *), void *argument)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, argument), 0);
}

/* Fails if a thread returned a text. */
static void join(const pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
}

#define WRONG(text) ((void *)(uintptr_t)(text))

/* ---- one function, many threads ---- */

struct first {
    const void *stub;
    pthread_barrier_t barrier;
};

static void *call_first(void *argument)
{
    struct first *first = argument;
    pthread_barrier_wait(&first->barrier);
    return call_int(first->stub, 1) == 84 && call_int(first->stub, 2) == 86 ? NULL : WRONG("a wrong answer");
}

static void many_threads_make_the_first_call(void **state)
{
    pthread_t threads[CALLERS];
    for (int i = 0; i < ROUNDS; i++) {
        struct stubs s = open_stubs(NULL);
        struct first first = {.stub = define_lazy(&s, "twice")};
        assert_int_equal(pthread_barrier_init(&first.barrier, NULL, CALLERS), 0);
        run(threads, CALLERS, call_first, &first);
        join(threads, CALLERS);
        assert_int_equal(witnessed, 2 * CALLERS);
        assert_int_equal(failed_calls, 0);
        assert_int_equal(stats_of(&s.f).objects, 2); /* each linked once */
        pthread_barrier_destroy(&first.barrier);
        close_stubs(&s);
    }
    (void)state;
}

/* All calls fail, none hangs. */
static void *call_failing(void *argument)
{
    struct first *first = argument;
    pthread_barrier_wait(&first->barrier);
    return call_int(first->stub, 1) == -1 ? NULL : WRONG("it did not fail");
}

static void many_threads_fail(void **state)
{
    pthread_t threads[CALLERS];
    struct stubs s = open_stubs(NULL);
    struct first first = {.stub = define_lazy(&s, "missing")};
    assert_int_equal(pthread_barrier_init(&first.barrier, NULL, CALLERS), 0);
    run(threads, CALLERS, call_failing, &first);
    join(threads, CALLERS);
    assert_int_equal(failed_calls, CALLERS);
    pthread_barrier_destroy(&first.barrier);
    close_stubs(&s);
    (void)state;
}

/* ---- redirection ---- */

static int one(int n)
{
    return n + 1;
}

static int two(int n)
{
    return n + 2;
}

static _Atomic bool done;

struct redirected {
    const void *stub;
    const struct stubs *s;
};

static void *call_redirected(void *argument)
{
    const struct redirected *r = argument;
    uint64_t calls = 0;
    for (; !done || calls < 1000; calls++) {
        int answer = call_int(r->stub, 10);
        if (answer != 11 && answer != 12 && answer != 50 + 1)
            return WRONG("neither the old function nor the new one");
    }
    return call_int(r->stub, 10) == 12 ? NULL : WRONG("not the last function");
}

static void functions_change_while_they_are_called(void **state)
{
    pthread_t threads[REDIRECTED_CALLERS];
    struct stubs s = open_stubs(NULL);
    struct tn_error err;
    const void *const targets[] = {__extension__(const void *) one, NULL, __extension__(const void *) two};
    struct redirected r = {.stub = define_lazy(&s, "once"), .s = &s};
    done = false;
    run(threads, COUNT(threads), call_redirected, &r);
    for (int i = 0; i < REDIRECTIONS; i++)
        assert_int_equal(tn_redirect(s.f.library, "once", targets[i % COUNT(targets)], &err), 0);
    assert_int_equal(tn_redirect(s.f.library, "once", targets[2], &err), 0);
    done = true;
    join(threads, COUNT(threads));
    assert_int_equal(failed_calls, 0);
    close_stubs(&s);
    (void)state;
}

/* ---- definitions ---- */

static const char *define_call_remove(const struct stubs *s, int number)
{
    char name[32];
    struct tn_tracker *tracker;
    struct tn_error err;
    snprintf(name, sizeof name, "thread%d", number);
    if (tn_tracker_create(s->f.library, &tracker, &err))
        return "no tracker";
    const struct tn_stub_options options = {
        .size = sizeof options, .on_failure = stub_options.on_failure, .owner = tracker};
    const struct tn_lazy_symbol symbol = {.name = name, .target = "twice"};
    for (int i = 0; i < OWNER_ROUNDS; i++) {
        void *stub;
        if (tn_define_lazy(s->f.library, &symbol, 1, s->bodies, &options, &err) ||
            tn_lookup(s->f.library, name, &stub, &err) || call_int(stub, i) != 82 + 2 * i || call_int(stub, 0) != 82 ||
            tn_tracker_remove(tracker, &err) || tn_lookup(s->f.library, name, &stub, &err) != TN_EUNDEF)
            return "a stub of its own";
    }
    tn_tracker_destroy(tracker);
    return NULL;
}

static _Atomic int next_number;

static void *own_stubs(void *argument)
{
    return WRONG(define_call_remove(argument, next_number++));
}

static void threads_define_and_remove(void **state)
{
    pthread_t threads[OWNERS];
    struct stubs s = open_stubs(NULL);
    run(threads, OWNERS, own_stubs, &s);
    join(threads, OWNERS);
    assert_int_equal(failed_calls, 0);
    close_stubs(&s);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_make_the_first_call),
        cmocka_unit_test(many_threads_fail),
        cmocka_unit_test(functions_change_while_they_are_called),
        cmocka_unit_test(threads_define_and_remove),
    };
    return cmocka_run_group_tests_name("link/lazy_threads", tests, NULL, NULL);
}
