/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling ahead, with the toy compiler: what is compiled, when it stops, what is left when something fails. Most
 * tests run the idle tasks themselves; those with threads are also for ThreadSanitizer. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tenon_ahead.h"
#include "toy.h"

static struct toy toy;
static struct tn_compiler plain, compiler;

/* ---- compilations that are ahead ---- */

static int (*in_compilation)(void); /* NULL, or called between two "passes" of one that is ahead */
static _Atomic int ahead_parts[TOY_PARTS], called_parts[TOY_PARTS];

static int compile(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err)
{
    const struct tn_pass pass = {.size = sizeof pass, .name = "pass"};
    const struct tn_compile_observer *observer = request->observer;
    (request->cancelled ? ahead_parts : called_parts)[request->part]++;
    if (request->cancelled && in_compilation)
        in_compilation();
    if (request->cancelled && observer->before_pass(observer->context, &pass))
        return tn__fail(err, *request->cancelled ? TN_ECANCELLED : TN_EFATAL, "cancelled");
    return plain.compile(module, request, object, err);
}

/* ---- idle tasks, run when the test says so ---- */

static struct tn_task *tasks[64];
static size_t task_count, tasks_run;

static bool (*instead)(struct tn_task *task); /* NULL, or what else becomes of the next task */

static void enqueue(void *context, struct tn_task *task)
{
    (void)context;
    if (instead && instead(task))
        return;
    assert_int_equal(tn_task_class(task), TN_TASK_IDLE);
    assert_true(task_count < sizeof tasks / sizeof *tasks);
    tasks[task_count++] = task;
}

static void run_idle(void)
{
    for (size_t i = 0; i < task_count; i++, tasks_run++)
        tn_task_run(tasks[i]);
    task_count = 0;
}

/* ---- a JIT that compiles ahead ---- */

struct world {
    struct tn_session *session;
    struct tn_jit *jit;
};

static int open_world(struct world *w, const struct tn_ahead_options *given, struct tn_error *err)
{
    const struct tn_session_options session = {.size = sizeof session, .dispatch = enqueue};
    struct tn_ahead_options options = {.size = sizeof options, .callees = 1};
    *w = (struct world){0};
    int code = tn_session_create(&session, &w->session, err);
    struct tn_jit_options jit = toy_options(&compiler, true);
    jit.on_error = NULL;
    jit.session = w->session;
    if (!code)
        code = tn_jit_create(&jit, &w->jit, err);
    return code ? code : tn_jit_compile_ahead(w->jit, given ? given : &options, err);
}

static void close_world(struct world *w)
{
    tn_jit_destroy(w->jit);
    run_idle();
    tn_session_destroy(w->session);
    assert_int_equal(toy.opens, toy.closes);
}

static struct world begin(const struct tn_ahead_options *options, const char *ir)
{
    struct world w;
    struct tn_error err;
    struct tn_jit_module module = toy_module(ir);
    check(open_world(&w, options, &err), &err);
    check(tn_jit_add_module(w.jit, NULL, &module, &err), &err);
    return w;
}

static struct tn_ahead_stats stats_of(const struct tn_jit *jit)
{
    struct tn_ahead_stats stats = {.size = sizeof stats};
    tn_ahead_stats(jit, &stats);
    return stats;
}

static int prepare(void **state)
{
    (void)state;
    toy = (struct toy){0};
    plain = compiler = toy_compiler(&toy);
    compiler.compile = compile;
    toy_reported = 0;
    in_compilation = NULL;
    instead = NULL;
    for (int i = 0; i < TOY_PARTS; i++)
        ahead_parts[i] = called_parts[i] = 0;
    return 0;
}

static const struct tn_ahead_options named_only = {.size = sizeof named_only};
static const char *const both[] = {"first", "second"};

static struct tn_prefetch *prefetch(struct tn_jit *jit, const char *const *names, size_t count)
{
    struct tn_error err;
    struct tn_prefetch *handle;
    check(tn_jit_prefetch(jit, names, count, &handle, &err), &err);
    return handle;
}

/* ---- the tests ---- */

static void by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"second", "nothing", "", "second", "first"};
    struct world w = begin(&named_only, "program");
    tn_prefetch_keep(prefetch(w.jit, names, 5));
    run_idle();
    assert_true(ahead_parts[TOY_FIRST] == 1 && ahead_parts[TOY_SECOND] == 1 && ahead_parts[TOY_DATA] == 0);
    assert_int_equal(stats_of(w.jit).unused, 2);
    assert_int_equal(call_first(w.jit, 1), 42);
    assert_true(called_parts[TOY_FIRST] == 0 && called_parts[TOY_SECOND] == 0 && called_parts[TOY_DATA] == 1);
    struct tn_ahead_stats stats = stats_of(w.jit);
    assert_true(stats.compiled == 2 && stats.used == 2 && stats.unused == 0 && stats.spent_ns >= stats.used_ns);
    tn_prefetch_keep(prefetch(w.jit, names, 5)); /* has nothing left to do */
    run_idle();
    assert_int_equal(stats_of(w.jit).compiled, 2);
    close_world(&w);
}

/* What a function refers to is there when it is needed. */
static void by_calls(void **state)
{
    (void)state;
    struct world w = begin(NULL, "program");
    run_idle();
    assert_int_equal(stats_of(w.jit).compiled, 0);
    const char *const first[] = {"first"};
    tn_prefetch_keep(prefetch(w.jit, first, 1));
    run_idle(); /* what is named is not searched before it is called */
    assert_int_equal(stats_of(w.jit).compiled, 1);
    void *address;
    struct tn_error err;
    check(tn_jit_lookup(w.jit, "first$body", &address, &err), &err);
    assert_int_equal(called_parts[TOY_DATA], 1); /* linked with it */
    run_idle();
    assert_int_equal(ahead_parts[TOY_SECOND], 1);
    assert_int_equal(call_first(w.jit, 1), 42);
    assert_true(called_parts[TOY_FIRST] == 0 && called_parts[TOY_SECOND] == 0);
    close_world(&w);
}

static struct world current;

static int call_meanwhile(void)
{
    in_compilation = NULL;
    return call_first(current.jit, 1) == 42 ? 0 : -1;
}

/* A call does not wait, and what it has compiled is not wanted any more. */
static void overtaken(void **state)
{
    (void)state;
    current = begin(&named_only, "program");
    in_compilation = call_meanwhile;
    tn_prefetch_keep(prefetch(current.jit, both, 1));
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.cancelled == 1 && stats.overtaken == 1 && stats.compiled == 0);
    assert_true(ahead_parts[TOY_FIRST] == 1 && called_parts[TOY_FIRST] == 1);
    close_world(&current);
}

static struct tn_prefetch *running;

static int cancel_meanwhile(void)
{
    tn_prefetch_cancel(running);
    return 0;
}

static void cancelled_by_handle(void **state)
{
    (void)state;
    current = begin(&named_only, "program");
    in_compilation = cancel_meanwhile;
    running = prefetch(current.jit, both, 2);
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.cancelled == 1 && stats.overtaken == 0 && stats.compiled == 0);
    assert_int_equal(ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND], 1); /* the other one was not begun */
    tn_prefetch_cancel(prefetch(current.jit, both, 2));                    /* before the first */
    run_idle();
    assert_int_equal(ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND], 1);
    assert_int_equal(call_first(current.jit, 1), 42);
    tn_prefetch_cancel(NULL);
    tn_prefetch_keep(NULL);
    close_world(&current);
}

static int clear_meanwhile(void)
{
    in_compilation = NULL;
    return tn_library_clear(tn_jit_library(current.jit), NULL);
}

static void module_removed(void **state)
{
    (void)state;
    struct tn_error err;
    current = begin(&named_only, "program");
    in_compilation = clear_meanwhile;
    tn_prefetch_keep(prefetch(current.jit, both, 2));
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.cancelled == 1 && stats.overtaken == 0 && stats.compiled == 0);
    assert_int_equal(toy.opens, toy.closes);
    struct tn_jit_module module = toy_module("program 1"); /* its place is taken by another one */
    check(tn_jit_add_module(current.jit, NULL, &module, &err), &err);
    tn_prefetch_keep(prefetch(current.jit, both, 2));
    run_idle();
    assert_int_equal(stats_of(current.jit).compiled, 2);
    check(tn_library_clear(tn_jit_library(current.jit), &err), &err);
    run_idle();
    stats = stats_of(current.jit);
    assert_true(stats.unused == 2 && stats.used == 0);
    close_world(&current);
}

static int destroy_meanwhile(void)
{
    tn_jit_destroy(current.jit);
    current.jit = NULL;
    return 0;
}

/* In a session that goes on: tasks that were given are run, and do nothing. */
static void jit_destroyed(void **state)
{
    (void)state;
    for (int when = 0; when < 2; when++) {
        current = begin(&named_only, "program");
        tn_prefetch_keep(prefetch(current.jit, both, 2));
        in_compilation = destroy_meanwhile;
        if (when)
            run_idle();
        else
            destroy_meanwhile();
        run_idle();
        assert_int_equal(ahead_parts[TOY_FIRST] + ahead_parts[TOY_SECOND], when);
        close_world(&current);
    }
}

/* A call has the error, and no earlier one was reported. */
static void failures(void **state)
{
    (void)state;
    current = begin(&named_only, "fails");
    tn_prefetch_keep(prefetch(current.jit, both, 2));
    run_idle();
    tn_prefetch_keep(prefetch(current.jit, both, 2)); /* is not tried again */
    run_idle();
    struct tn_ahead_stats stats = stats_of(current.jit);
    assert_true(stats.failed == 2 && stats.compiled == 0 && stats.cancelled == 0);
    assert_int_equal(call_first(current.jit, 1), -1);
    close_world(&current);
}

static void bounds(void **state)
{
    (void)state;
    struct tn_ahead_options options = {.size = sizeof options, .parts = 1};
    for (int what = 0; what < 3; what++) {
        options.parts = what == 0;
        options.bytes = what == 1;
        options.ns = what == 2;
        struct world w = begin(&options, "program");
        tn_prefetch_keep(prefetch(w.jit, both, 2));
        run_idle();
        assert_int_equal(stats_of(w.jit).compiled, 1);
        assert_int_equal(call_first(w.jit, 1), 42);
        close_world(&w);
    }
}

static void refused(void **state)
{
    (void)state;
    struct tn_error err;
    struct world w = begin(NULL, "program");
    struct tn_ahead_options options = {.size = sizeof options};
    const struct tn_store incomplete = {.size = sizeof incomplete};
    struct tn_jit *jit;
    struct tn_jit_options without_threads = toy_options(&compiler, true);
    assert_int_equal(tn_jit_compile_ahead(w.jit, &options, &err), TN_EINVAL); /* twice */
    assert_int_equal(tn_jit_compile_ahead(NULL, &options, &err), TN_EINVAL);
    assert_int_equal(tn_jit_prefetch(NULL, both, 2, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_jit_prefetch(w.jit, NULL, 2, NULL, &err), TN_EINVAL);
    check(tn_jit_prefetch(w.jit, both, 2, NULL, &err), &err); /* without a handle */
    close_world(&w);
    check(tn_jit_create(&without_threads, &jit, &err), &err);
    assert_int_equal(tn_jit_prefetch(jit, both, 2, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_jit_compile_ahead(jit, &options, &err), TN_ENOTSUP);
    assert_true(stats_of(jit).compiled == 0 && stats_of(NULL).compiled == 0);
    tn_jit_destroy(jit);
    without_threads.threads = 1;
    check(tn_jit_create(&without_threads, &jit, &err), &err);
    options.orders = &incomplete;
    assert_int_equal(tn_jit_compile_ahead(jit, &options, &err), TN_EINVAL);
    tn_jit_destroy(jit);
    static const struct tn_tier tiers[] = {{.opt_level = 0, .calls = 10}, {.opt_level = 2}};
    struct tn_jit_options with_tiers = without_threads;
    with_tiers.tiers = tiers;
    with_tiers.tier_count = 2;
    with_tiers.tiering = tn_jit_tiering();
    options.orders = NULL;
    check(tn_jit_create(&with_tiers, &jit, &err), &err);
    assert_int_equal(tn_jit_compile_ahead(jit, &options, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "tiers"));
    tn_jit_destroy(jit);
}

/* ---- the order of the last run ---- */

static struct tn_buffer pack;
static int puts_done;

static int get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    (void)context;
    if (pack.size < 8 + TN_CACHE_KEY_SIZE || memcmp((const char *)pack.data + 8, key, TN_CACHE_KEY_SIZE) != 0)
        return TN_EUNDEF;
    return tn__buffer_fill(out, pack.data, pack.size) ? TN_OK : TN_ENOMEM;
}

static int put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    (void)context, (void)key;
    puts_done++;
    tn_buffer_free(&pack);
    return tn__buffer_fill(&pack, bytes, length) ? TN_OK : TN_ENOMEM;
}

static const struct tn_store store = {.size = sizeof store, .get = get, .put = put};
static const struct tn_ahead_options by_order = {.size = sizeof by_order, .orders = &store};

/* Runs the program, and says how many of its parts were compiled ahead. `calls` NULL: nothing is called. */
static uint64_t run_once(const char *calls)
{
    struct tn_error err;
    void *address;
    struct world w = begin(&by_order, "program");
    run_idle();
    uint64_t compiled = stats_of(w.jit).compiled;
    if (calls)
        check(tn_jit_lookup(w.jit, calls, &address, &err), &err);
    close_world(&w);
    return compiled;
}

static void by_the_last_order(void **state)
{
    (void)state;
    puts_done = 0;
    assert_int_equal(run_once("first$body"), 0); /* and the data */
    assert_int_equal(puts_done, 1);
    assert_int_equal(run_once("first$body"), 2);
    assert_int_equal(puts_done, 1); /* nothing has changed */
    assert_int_equal(run_once(NULL), 2);
    assert_int_equal(puts_done, 1); /* a run that has called nothing says nothing */
    assert_int_equal(run_once("second$body"), 2);
    assert_int_equal(run_once("second$body"), 3); /* the others were unused once, */
    assert_int_equal(run_once("second$body"), 1); /* twice */
    puts_done = 0;
    struct world ended = begin(&by_order, "program");
    assert_int_equal(call_first(ended.jit, 1), 42);
    tn_jit_end_ahead(ended.jit);
    tn_jit_end_ahead(ended.jit);
    assert_int_equal(puts_done, 1);
    tn_prefetch_keep(prefetch(ended.jit, both, 2));
    run_idle();
    close_world(&ended);
    tn_jit_end_ahead(NULL);
    assert_int_equal(puts_done, 1);
    struct world w = begin(&by_order, "program 7"); /* another module */
    run_idle();
    assert_int_equal(stats_of(w.jit).compiled, 0);
    close_world(&w);
    tn_buffer_free(&pack);
}

/* An order of which a byte is wrong, or that is cut off, is none. One whose sums are right and which makes no sense is
 * none either. */
static void damaged_orders(void **state)
{
    (void)state;
    run_once("first$body");
    struct tn_buffer good = {0};
    assert_true(tn__buffer_fill(&good, pack.data, pack.size));
    for (size_t i = 0; i <= good.size; i++) {
        tn_buffer_free(&pack);
        assert_true(tn__buffer_fill(&pack, good.data, i));
        if (i > 0 && i < good.size)
            assert_int_equal(run_once(NULL), 0);
        tn_buffer_free(&pack);
        assert_true(tn__buffer_fill(&pack, good.data, good.size));
        if (i < good.size)
            ((unsigned char *)pack.data)[i] ^= 0x10;
        assert_int_equal(run_once(NULL), i < good.size ? 0 : 2);
    }
    tn_buffer_free(&good);
    tn_buffer_free(&pack);
}

/* ---- every allocation is refused ---- */

static int attempt(int number)
{
    struct tn_error err = {0};
    struct world w;
    struct tn_jit_module module = toy_module("program");
    struct tn_ahead_options options = {.size = sizeof options, .callees = 1, .orders = &store};
    char plan[16];
    void *address;
    snprintf(plan, sizeof plan, "a%d", number);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = open_world(&w, &options, &err);
    if (!code)
        code = tn_jit_add_module(w.jit, NULL, &module, &err);
    if (!code)
        code = tn_jit_prefetch(w.jit, both, 1, NULL, &err);
    run_idle();
    if (!code)
        code = tn_jit_lookup(w.jit, "first$body", &address, &err);
    run_idle();
    if (!code)
        code = tn_jit_lookup(w.jit, "second$body", &address, &err);
    tn_jit_destroy(w.jit);
    run_idle();
    tn_session_destroy(w.session);
    tn__os_set_faults(NULL);
    assert_int_equal(toy.opens, toy.closes);
    if (code && (code != TN_ENOMEM || err.code != code))
        fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
    return code;
}

static void allocations_refused(void **state)
{
    int refused = 0;
    (void)state;
    for (int number = 1; number < 200; number++)
        refused += attempt(number) != 0;
    assert_in_range(refused, 20, 150);
    tn_buffer_free(&pack);
    assert_int_equal(attempt(10000), 0);
    tn_buffer_free(&pack);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(by_name, prepare),        cmocka_unit_test_setup(by_calls, prepare),
        cmocka_unit_test_setup(overtaken, prepare),      cmocka_unit_test_setup(cancelled_by_handle, prepare),
        cmocka_unit_test_setup(module_removed, prepare), cmocka_unit_test_setup(jit_destroyed, prepare),
        cmocka_unit_test_setup(failures, prepare),       cmocka_unit_test_setup(bounds, prepare),
        cmocka_unit_test_setup(refused, prepare),        cmocka_unit_test_setup(by_the_last_order, prepare),
        cmocka_unit_test_setup(damaged_orders, prepare), cmocka_unit_test_setup(allocations_refused, prepare),
        cmocka_unit_test_setup(many_at_once, prepare),   cmocka_unit_test_setup(end_waits, prepare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
