/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Initializers and several threads: who waits for whom, who runs what, and forks. Also run under ThreadSanitizer. */

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "functions.h"

static struct fixture f;
static struct tn_library *other;
static _Atomic bool has_begun, may_end, is_waited_for;
static _Atomic int runs_of_a, runs_of_b, waits;
static _Atomic uint32_t waited_for_thread;
static const void *_Atomic waited_for_code;
static pthread_t runner;

static void wait_until(const _Atomic bool *flag)
{
    while (!*flag)
        usleep(1000);
}

/* Ends when another thread says so. */
static void init_a(void)
{
    runner = pthread_self();
    has_begun = true;
    wait_until(&may_end);
    runs_of_a++;
}

static void init_b(void)
{
    runs_of_b++;
}

static void on_delay(void *context, const struct tn_delay *delay)
{
    (void)context;
    waits++;
    waited_for_thread = (uint32_t)delay->thread;
    waited_for_code = delay->code;
    is_waited_for = may_end = true;
}

static void not_called(void)
{
    fail_msg("a first call has failed");
}

static void add(struct tn_library *library, const char *name, int value, const char *callee, const char *init)
{
    struct tn_error err;
    const char *const inits[] = {init, NULL};
    struct tn_input input = input_of(name, initialized_function_object(name, value, callee, inits, NULL));
    assert_ok(tn_add_object(library, &input, &err), &err);
}

static void define_functions(struct tn_library *library)
{
    struct tn_error err;
    assert_ok(tn_define(library, "init_a", init_a, &err), &err);
    assert_ok(tn_define(library, "init_b", init_b, &err), &err);
}

/* f() is initialised by a, and then by b; lazy_f leads to it. g() in the other library is initialised by nothing, and
 * h() there by b. */
static void open_all(void)
{
    struct tn_error err;
    struct tn_session_options options = {.size = sizeof options, .on_delay = on_delay};
    const struct tn_lazy_symbol lazy = {.name = "lazy_f", .target = "f"};
    const struct tn_stub_options stubs = {.size = sizeof stubs, .on_failure = not_called};
    has_begun = may_end = is_waited_for = false;
    runs_of_a = runs_of_b = waits = 0;
    f = open_fixture(&options);
    assert_ok(tn_library_create(f.session, "other", &other, &err), &err);
    define_functions(f.library);
    define_functions(other);
    add(f.library, "f", 1, "also", "init_a");
    add(f.library, "also", 2, NULL, "init_b");
    assert_ok(tn_define_lazy(f.library, &lazy, 1, f.library, &stubs, &err), &err);
    add(other, "g", 3, NULL, NULL);
    add(other, "h", 4, NULL, "init_b");
}

static void *call_f(void *name)
{
    int value = call(&f, name);
    assert_true(runs_of_a == 1 && runs_of_b >= 1);
    return (void *)(intptr_t)value;
}

static pthread_t start(void *(*run)(void *), void *context)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, context), 0);
    return thread;
}

static void end(pthread_t thread, int value)
{
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((intptr_t)result, value);
}

/* The second thread waits until the first one's initializer ends, which happens when the wait was reported. */
static void other_threads_wait(void **state)
{
    (void)state;
    static const char *const names[] = {"f", "lazy_f"};
    for (size_t i = 0; i < COUNT(names) * COUNT(names); i++) {
        open_all();
        pthread_t first = start(call_f, (void *)names[i % 2]);
        wait_until(&has_begun);
        pthread_t second = start(call_f, (void *)names[i / 2]);
        end(first, 3);
        end(second, 3);
        assert_int_equal(runs_of_a, 1);
        assert_int_equal(runs_of_b, 1);
        assert_true(pthread_equal(runner, first));
        assert_true(is_waited_for);
        assert_ptr_equal(waited_for_code, init_a);
        assert_int_not_equal(waited_for_thread, 0);
        close_fixture(&f);
    }
}

/* What needs nothing that is being initialised does not wait; what has to initialise something itself does. */
static void other_libraries_do_not_wait(void **state)
{
    (void)state;
    open_all();
    pthread_t first = start(call_f, "f");
    wait_until(&has_begun);
    assert_int_equal(call_in(other, "g"), 3);
    assert_int_equal(waits, 0);
    assert_int_equal(runs_of_b, 0);
    assert_int_equal(call_in(other, "h"), 4);
    assert_int_equal(waits, 1);
    assert_int_equal(runs_of_b, 2);
    end(first, 3);
    close_fixture(&f);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void not_beyond_a_deadline(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_wanted wanted = {"f", 0, NULL};
    open_all();
    pthread_t first = start(call_f, "f");
    wait_until(&has_begun);
    assert_error(tn_lookup_until(f.library, &wanted, 1, now_ns() + 5000000, &err), TN_ECANCELLED, &err, "deadline");
    may_end = true;
    end(first, 3);
    assert_ok(tn_lookup_until(f.library, &wanted, 1, 0, &err), &err);
    close_fixture(&f);
}

/* ---- many threads ---- */

enum { THREADS = 8, ROUNDS = 40 };

static _Atomic int phase;

static void *call_when_told(void *name)
{
    while (!phase)
        sched_yield();
    return call_f(name);
}

static void each_runs_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        open_all();
        may_end = true;
        phase = 0;
        for (int i = 0; i < THREADS; i++)
            threads[i] = start(call_when_told, i % 2 ? "f" : "lazy_f");
        phase = 1;
        for (int i = 0; i < THREADS; i++)
            end(threads[i], 3);
        assert_int_equal(runs_of_a, 1);
        assert_int_equal(runs_of_b, 1);
        close_fixture(&f);
    }
}

/* Two libraries that need each other: a lock for each would deadlock. */
static void *call_f_of(void *library)
{
    return (void *)(intptr_t)call_in(library, "f");
}

static void no_order_of_libraries_deadlocks(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct tn_error err;
        open_all();
        may_end = true;
        add(other, "f", 5, NULL, "init_a");
        assert_ok(tn_library_search(f.library, &(struct tn_search){other, 0}, 1, &err), &err);
        assert_ok(tn_library_search(other, &(struct tn_search){f.library, 0}, 1, &err), &err);
        pthread_t first = start(call_f_of, f.library), second = start(call_f_of, other);
        end(first, 3);
        end(second, 5);
        assert_int_equal(runs_of_a, 2);
        close_fixture(&f);
    }
}

/* ---- materializers ---- */

/* `made` is made by a thread that an initializer waits for; meanwhile that thread goes on with a lookup whose answer
 * needs the initializer lock. */
static struct tn_responsibility *_Atomic kept;
static _Atomic bool is_done, is_made;

static void done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)context, (void)symbols, (void)count;
    assert_null(err);
    assert_int_equal(runs_of_a, 2);
    is_done = true;
}

static int keep(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    (void)context, (void)err;
    kept = responsibility;
    return TN_LATER;
}

static int make_q(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    (void)context;
    struct tn_input input = input_of("q", function_object("q", 7, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static int make_p(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    (void)context;
    void *address;
    struct tn_input late = input_of("late", function_object("late", 8, "f"));
    is_made = true;
    wait_until(&has_begun); /* the other thread is in an initializer */
    assert_ok(tn_responsibility_add_object(kept, &late, err), err);
    assert_ok(tn_responsibility_ready(kept, err), err);
    assert_ok(tn_lookup(f.library, "q", &address, err), err); /* waits, so it goes on with other lookups first */
    assert_false(is_done);
    struct tn_input input = input_of("p", function_object("p", 9, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static void promise(const char *name, int (*make)(void *, struct tn_responsibility *, struct tn_error *))
{
    struct tn_error err;
    const struct tn_promised symbol = {name, 0};
    const struct tn_materializer materializer = {
        .size = sizeof materializer, .name = name, .symbols = &symbol, .count = 1, .materialize = make};
    assert_ok(tn_add_materializer(f.library, &materializer, &err), &err);
}

static void init_needs_p(void)
{
    has_begun = true;
    assert_int_equal(call(&f, "p"), 9);
    assert_false(is_done);
    runs_of_a++;
}

static void *make_it(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)call(&f, "p");
}

static void a_thread_that_makes_something_waits_for_no_initializer(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_wanted wanted = {"late", 0, NULL};
    open_all();
    is_done = is_made = false;
    assert_ok(tn_define(f.library, "init_needs_p", init_needs_p, &err), &err);
    add(f.library, "needs_p", 1, NULL, "init_needs_p");
    may_end = true;
    promise("late", keep);
    promise("q", make_q);
    promise("p", make_p);
    assert_ok(tn_lookup_async(f.library, &wanted, 1, done, NULL, &err), &err);
    pthread_t maker = start(make_it, NULL);
    wait_until(&is_made);
    assert_int_equal(call(&f, "needs_p"), 1);
    end(maker, 9);
    assert_true(is_done); /* by one of the two threads */
    close_fixture(&f);
}

/* ---- forks ---- */

static void *call_f_and_stay(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)call(&f, "f");
}

/* The child has no thread that is in a, and goes on with b. */
static void a_fork_beside_an_initializer(void **state)
{
    (void)state;
    open_all();
    pthread_t first = start(call_f_and_stay, NULL);
    wait_until(&has_begun);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(call(&f, "f") == 3 && runs_of_a == 0 && runs_of_b == 1 && call(&f, "lazy_f") == 3 && runs_of_b == 1 ? 0
                                                                                                                  : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    may_end = true;
    end(first, 3);
    assert_int_equal(runs_of_a, 1);
    assert_int_equal(runs_of_b, 1);
    close_fixture(&f);
}

static _Atomic int child_status;

/* The child's thread is in the initializer itself, and holds the lock there. */
static void init_forks(void)
{
    pid_t child = fork();
    if (!child)
        _exit(call_in(other, "h") == 4 && runs_of_b == 1 ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    child_status = status;
}

static void a_fork_in_an_initializer(void **state)
{
    (void)state;
    struct tn_error err;
    open_all();
    child_status = 1;
    assert_ok(tn_define(f.library, "init_forks", init_forks, &err), &err);
    add(f.library, "forks", 6, NULL, "init_forks");
    assert_int_equal(call(&f, "forks"), 6);
    assert_int_equal(child_status, 0);
    close_fixture(&f);
}

static void init_ends(void)
{
    pthread_exit((void *)5);
}

/* Natively, a thread that does so in dlopen keeps the loader's lock. */
static void a_thread_may_end_in_an_initializer(void **state)
{
    (void)state;
    struct tn_error err;
    open_all();
    assert_ok(tn_define(f.library, "init_ends", init_ends, &err), &err);
    add(f.library, "leaves", 6, "remains", "init_ends");
    add(f.library, "remains", 1, NULL, "init_b");
    end(start(call_f, "leaves"), 5);
    assert_int_equal(call(&f, "leaves"), 7);
    assert_int_equal(runs_of_b, 1);
    assert_int_equal(waits, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_threads_wait),
        cmocka_unit_test(other_libraries_do_not_wait),
        cmocka_unit_test(not_beyond_a_deadline),
        cmocka_unit_test(each_runs_once),
        cmocka_unit_test(no_order_of_libraries_deadlocks),
        cmocka_unit_test(a_thread_that_makes_something_waits_for_no_initializer),
        cmocka_unit_test(a_fork_beside_an_initializer),
        cmocka_unit_test(a_fork_in_an_initializer),
        cmocka_unit_test(a_thread_may_end_in_an_initializer),
    };
    return cmocka_run_group_tests_name("link/initializers_threads", tests, NULL, NULL);
}
