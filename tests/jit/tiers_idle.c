/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling for higher tiers is work that nothing waits for: it is an idle task of the session, if that has threads,
 * and a call compiles what it needs itself meanwhile. The toy's objects do not define the bodies of higher tiers, so
 * each such compilation ends with an error that is reported. */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit/tiers.h"
#include "toy.h"

static const struct tn_tier tiers[] = {{0, 1000, 0}, {2, 0, 0}};

static struct toy toy;
static struct tn_compiler compiler;

static bool is_in_time(uint64_t end)
{
    tn__os_relax();
    return tn__os_now_ns() < end;
}

#define WAIT_UNTIL(condition)                                                                                          \
    do {                                                                                                               \
        uint64_t end = tn__os_now_ns() + UINT64_C(100000000000);                                                       \
        while (!(condition))                                                                                           \
            assert_true(is_in_time(end));                                                                              \
    } while (0)

static struct tn_jit *create(struct tn_session *session, size_t threads)
{
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module module = toy_module("program");
    toy = (struct toy){0};
    toy_reported = 0;
    compiler = toy_compiler(&toy);
    struct tn_jit_options options = toy_options(&compiler, true);
    options.tiers = tiers;
    options.tier_count = 2;
    options.tiering = tn_jit_tiering();
    options.session = session;
    options.threads = threads;
    if (session)
        options.on_error = NULL;
    check(tn_jit_create(&options, &jit, &err), &err);
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
    return jit;
}

static void request(struct tn_jit *jit, const char *function)
{
    struct tn_error err;
    check(tn_jit_request_tier(jit, function, 1, &err), &err);
}

static int compiles(void)
{
    return __atomic_load_n(&toy.compiles, __ATOMIC_ACQUIRE);
}

/* ---- the client's threads ---- */

static _Atomic(struct tn_task *) given;
static atomic_int given_count;

static void take(void *context, struct tn_task *task)
{
    (void)context;
    assert_int_equal(tn_task_class(task), TN_TASK_IDLE);
    given = task;
    given_count++;
}

static struct tn_session *open_session(void)
{
    struct tn_error err;
    struct tn_session *session;
    const struct tn_session_options options = {.size = sizeof options, .dispatch = take};
    given = NULL;
    given_count = 0;
    check(tn_session_create(&options, &session, &err), &err);
    return session;
}

/* Nothing is compiled before the client runs the task, and there is one task at a time. */
static void tasks_of_the_client(void **state)
{
    (void)state;
    struct tn_session *session = open_session();
    struct tn_jit *jit = create(session, 0);
    request(jit, "first");
    request(jit, "second");
    WAIT_UNTIL(given);
    assert_int_equal(compiles(), 0);
    assert_int_equal(call_first(jit, 1), 42); /* by the caller: both functions, and the data */
    assert_int_equal(compiles(), 3);
    assert_int_equal(given_count, 1);
    for (int i = 1; i <= 2; i++) {
        WAIT_UNTIL(given);
        tn_task_run(atomic_exchange(&given, NULL));
        assert_int_equal(compiles(), 3 + i);
    }
    assert_int_equal(call_first(jit, 1), 42);
    tn_jit_destroy(jit);
    tn_session_destroy(session);
    assert_int_equal(toy.opens, toy.closes);
}

/* A task that is run after the JIT was destroyed does nothing. */
static void tasks_after_the_end(void **state)
{
    (void)state;
    struct tn_session *session = open_session();
    struct tn_jit *jit = create(session, 0);
    request(jit, "first");
    WAIT_UNTIL(given);
    tn_jit_destroy(jit);
    tn_task_run(given);
    assert_int_equal(compiles(), 0);
    tn_session_destroy(session);
    assert_int_equal(toy.opens, toy.closes);
}

/* ---- the session's threads ---- */

static atomic_bool is_inside, may_leave, was_cancelled;

static void stay(void *context, int is_cancelled)
{
    (void)context;
    is_inside = true;
    while (!may_leave)
        tn__os_relax();
    was_cancelled = is_cancelled;
}

/* The session's idle thread has something else to do: tiers wait for it, and calls do not. */
static void threads_of_the_session(void **state)
{
    (void)state;
    for (int is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
        struct tn_error err;
        is_inside = may_leave = false;
        struct tn_jit *jit = create(NULL, 1);
        check(tn_session_run_idle(tn_jit_session(jit), stay, NULL, &err), &err);
        WAIT_UNTIL(is_inside);
        request(jit, "first");
        assert_int_equal(call_first(jit, 1), 42);
        assert_int_equal(compiles(), 3);
        may_leave = true;
        if (!is_destroyed) {
            WAIT_UNTIL(__atomic_load_n(&toy_reported, __ATOMIC_ACQUIRE));
            assert_int_equal(compiles(), 4);
        }
        tn_jit_destroy(jit); /* perhaps with a task that was not begun */
        assert_int_equal(toy.opens, toy.closes);
    }
}

/* ---- calls during a compilation ---- */

static void stay_in_the_first(const char *program, long number)
{
    (void)program, (void)number;
    if (atomic_exchange(&is_inside, true))
        return;
    while (!may_leave)
        tn__os_relax();
}

/* A call of a function that is being compiled for a higher tier compiles it for the first one, and does not wait. */
static void calls_do_not_wait(void **state)
{
    (void)state;
    for (size_t threads = 0; threads < 2; threads++) {
        is_inside = may_leave = false;
        struct tn_jit *jit = create(NULL, threads);
        toy.before = stay_in_the_first;
        request(jit, "first");
        WAIT_UNTIL(is_inside);
        assert_int_equal(call_first(jit, 1), 42);
        assert_int_equal(compiles(), 4);
        assert_int_equal(toy_reported, 0);
        may_leave = true;
        WAIT_UNTIL(__atomic_load_n(&toy_reported, __ATOMIC_ACQUIRE));
        assert_int_equal(call_first(jit, 1), 42);
        tn_jit_destroy(jit);
        assert_int_equal(toy.opens, toy.closes);
    }
}

/* ---- the end of the program ---- */

static atomic_bool is_exiting, has_left;
static struct tn_jit *left;

static void leave_after_exit(const char *program, long number)
{
    (void)program, (void)number;
    is_inside = true;
    while (!is_exiting)
        tn__os_relax();
    sleep(6); /* in which exit could go on: longer than it would be patient for */
    has_left = true;
}

static void begin_exit(void)
{
    is_exiting = true;
}

/* Registered before anything is compiled, so called when static objects of a compiler are gone. */
static void check_at_exit(void)
{
    int compiled = compiles();
    if (!has_left)
        _exit(2);
    request(left, "second");
    WAIT_UNTIL(given);
    tn_task_run(given);
    _exit(compiles() == compiled ? 0 : 3);
}

static void *run_given(void *task)
{
    tn_task_run(task);
    return NULL;
}

static void exit_while_it_compiles(void)
{
    pthread_t thread;
    atexit(check_at_exit);
    left = create(open_session(), 0);
    toy.before = leave_after_exit;
    request(left, "first");
    WAIT_UNTIL(given);
    if (pthread_create(&thread, NULL, run_given, atomic_exchange(&given, NULL)) != 0 || pthread_detach(thread) != 0)
        _exit(4);
    WAIT_UNTIL(is_inside);
    atexit(begin_exit);
    exit(5);
}

/* The program ends while a function is being compiled for a higher tier: exit waits for that, and after it nothing is
 * compiled any more. */
static void the_program_ends(void **state)
{
    (void)state;
    int status;
    is_inside = false;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        exit_while_it_compiles();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_ends), /* first: what was registered last is called first at exit */
        cmocka_unit_test(tasks_of_the_client),    cmocka_unit_test(tasks_after_the_end),
        cmocka_unit_test(threads_of_the_session), cmocka_unit_test(calls_do_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
