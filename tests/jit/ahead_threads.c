/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling ahead on threads, also for ThreadSanitizer. */

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ahead_world.h"

/* ---- a task that starts the next one ---- */

static struct {
    pthread_t thread, other;
    _Atomic int compilations;
    atomic_bool is_inside, may_leave, has_left;
} second;

static int stay_in_second(void)
{
    if (++second.compilations == 2) {
        second.is_inside = true;
        while (!second.may_leave)
            usleep(1000);
        second.has_left = true;
    }
    return 0;
}

static void *run_task(void *task)
{
    tn_task_run(task);
    return NULL;
}

static bool run_elsewhere(struct tn_task *task)
{
    instead = NULL;
    assert_int_equal(pthread_create(&second.thread, NULL, run_task, task), 0);
    while (!second.is_inside)
        usleep(1000);
    return true;
}

static void *release(void *unused)
{
    (void)unused;
    usleep(50000);
    second.may_leave = true;
    return NULL;
}

/* The first task has started the second one on another thread, and is over: the second still compiles. */
static void end_waits(void **state)
{
    (void)state;
    struct world w = begin(&named_only, "program");
    run_idle();
    tn_prefetch_keep(prefetch(w.jit, both, 2));
    in_compilation = stay_in_second;
    instead = run_elsewhere;
    run_idle();
    assert_true(second.is_inside && !second.has_left);
    assert_int_equal(pthread_create(&second.other, NULL, release, NULL), 0);
    tn_jit_end_ahead(w.jit);
    assert_true(second.has_left);
    pthread_join(second.thread, NULL);
    pthread_join(second.other, NULL);
    close_world(&w);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 60 };

struct crowd {
    struct tn_jit *jit;
    struct tn_library *libraries[THREADS];
    _Atomic int number, wrong;
};

static int slowly(void)
{
    usleep(100);
    return 0;
}

/* Adds, names, calls, cancels and removes. */
static void *come_and_go(void *context)
{
    struct crowd *crowd = context;
    struct tn_library *library = crowd->libraries[crowd->number++];
    for (int i = 0; i < ROUNDS; i++) {
        struct tn_error err;
        struct tn_prefetch *handle = NULL;
        struct tn_jit_module module = toy_module("program");
        void *address = NULL;
        long (*first)(long);
        int code = tn_jit_add_module(crowd->jit, library, &module, &err);
        if (!code)
            code = tn_jit_prefetch(crowd->jit, both, 2, i % 3 ? &handle : NULL, &err);
        if (i % 4 == 0)
            usleep(300);
        if (i % 3 == 1)
            tn_prefetch_cancel(handle);
        if (!code && i % 5)
            code = tn_lookup(library, "first", &address, &err);
        memcpy(&first, &address, sizeof first);
        crowd->wrong += code || (first && first(1) != 42);
        if (i % 3 == 2)
            tn_prefetch_keep(handle);
        crowd->wrong += tn_library_clear(library, &err) != 0;
    }
    return NULL;
}

static void many_at_once(void **state)
{
    (void)state;
    struct crowd crowd = {0};
    struct tn_error err;
    struct tn_jit_options options = toy_options(&compiler, true);
    struct tn_ahead_options ahead = {.size = sizeof ahead, .callees = 1};
    pthread_t threads[THREADS];
    options.threads = 2;
    in_compilation = slowly;
    check(tn_jit_create(&options, &crowd.jit, &err), &err);
    check(tn_jit_compile_ahead(crowd.jit, &ahead, &err), &err);
    for (int i = 0; i < THREADS; i++)
        check(tn_library_create(tn_jit_session(crowd.jit), "own", &crowd.libraries[i], &err), &err);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &crowd), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd.wrong, 0);
    tn_jit_destroy(crowd.jit);
    assert_int_equal(toy.opens, toy.closes);
}

/* ---- the end of the program ---- */

static struct {
    atomic_bool is_inside, is_exiting, has_left;
} ending;

static int leave_after_exit(void)
{
    ending.is_inside = true;
    while (!ending.is_exiting)
        usleep(1000);
    usleep(100000);
    ending.has_left = true;
    return 0;
}

static void begin_exit(void)
{
    ending.is_exiting = true;
}

/* Registered before anything is compiled, so called when static objects of a compiler are gone. */
static void check_at_exit(void)
{
    int compiled = ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND];
    if (!ending.has_left)
        _exit(2);
    run_idle();
    _exit(compiled == 1 && ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND] == 1 ? 0 : 3);
}

static bool run_detached(struct tn_task *task)
{
    pthread_t thread;
    instead = NULL;
    if (pthread_create(&thread, NULL, run_task, task) != 0 || pthread_detach(thread) != 0)
        _exit(4);
    return true;
}

static void exit_while_it_compiles(void)
{
    atexit(check_at_exit);
    in_compilation = leave_after_exit;
    struct world w = begin(&named_only, "program");
    run_idle();
    instead = run_detached;
    tn_prefetch_keep(prefetch(w.jit, both, 2));
    while (!ending.is_inside)
        usleep(1000);
    atexit(begin_exit);
    exit(5);
}

/* As with tiers (tiers_idle.c): exit waits for the compilation that has begun, and after it nothing is compiled. */
static void the_program_ends(void **state)
{
    (void)state;
    int status;
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
        cmocka_unit_test_setup(the_program_ends, prepare), /* first: what was registered last is called first at exit */
        cmocka_unit_test_setup(end_waits, prepare),
        cmocka_unit_test_setup(many_at_once, prepare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
