/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that are replaced while threads call them. */

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "toy.h"
#include "resident.h"

static struct toy toy;
static struct tn_compiler compiler;

static struct tn_jit_options options_for(bool lazy)
{
    toy = (struct toy){0};
    compiler = toy_compiler(&toy);
    toy_reported = 0;
    return toy_options(&compiler, lazy);
}

static struct tn_jit *create(bool lazy)
{
    struct tn_jit_options options = options_for(lazy);
    struct tn_jit *jit;
    struct tn_error err;
    check(tn_jit_create(&options, &jit, &err), &err);
    return jit;
}

static int try_replace(struct tn_jit *jit, const char *program, struct tn_error *err)
{
    struct tn_jit_module module = toy_module(program);
    return tn_jit_replace(jit, NULL, &module, err);
}

static void replace(struct tn_jit *jit, const char *program)
{
    struct tn_error err;
    check(try_replace(jit, program, &err), &err);
}

static void replace_with(struct tn_jit *jit, const char *program, long number)
{
    char text[40];
    snprintf(text, sizeof text, "%s %ld", program, number);
    replace(jit, text);
}

/* ---- what leads where ---- */

static void addresses_stay(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit *jit = create(lazy);
        replace(jit, "program");
        void *first = find(jit, "first"), *second = find(jit, "second");
        assert_int_equal(call(first, 1), 42);
        replace(jit, "program 5");
        assert_ptr_equal(find(jit, "first"), first);
        assert_ptr_equal(find(jit, "second"), second);
        assert_int_equal(call(first, 1), 47);
        assert_int_equal(call(second, 1), 2);
        tn_jit_destroy(jit);
        assert_int_equal(toy.opens, toy.closes);
    }
}

static int lazily_nothing_is_compiled(void)
{
    struct tn_jit *jit = create(true);
    replace(jit, "program");
    replace(jit, "program 5");
    int compiles = toy.compiles;
    tn_jit_destroy(jit);
    return compiles;
}

/* A version stays as long as any of its functions is led to. Its variables are its own. */
static void apart(void **state)
{
    (void)state;
    assert_int_equal(lazily_nothing_is_compiled(), 0);
    struct tn_jit *jit = create(false);
    struct tn_error err;
    void *total;
    replace(jit, "program 3");
    assert_int_equal(call(find(jit, "first"), 1), 45);
    assert_int_equal(tn_jit_lookup(jit, "total", &total, &err), TN_EUNDEF);
    uint64_t both = code_bytes(jit);
    replace(jit, "alone 7");
    assert_int_equal(call(find(jit, "first"), 1), 9);
    assert_int_equal(call(find(jit, "second"), 1), 2);
    assert_true(code_bytes(jit) > both);
    replace(jit, "program 4"); /* both of the others go */
    assert_int_equal(call(find(jit, "first"), 1), 46);
    assert_int_equal(code_bytes(jit), both);
    tn_jit_destroy(jit);
}

/* A version sees what its library sees: definitions, and what the library searches. */
static void sees_the_library(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_error err;
    struct tn_library *other;
    struct tn_jit_module module = toy_module("program");
    check(tn_library_create(tn_jit_session(jit), "other", &other, &err), &err);
    check(tn_jit_add_module(jit, other, &module, &err), &err);
    assert_int_equal(try_replace(jit, "alone 1", &err), TN_EUNDEF);
    check(tn_library_search(tn_jit_library(jit), &(struct tn_search){other, 0}, 1, &err), &err);
    replace(jit, "alone 1");
    assert_int_equal(call(find(jit, "first"), 4), 9);
    tn_jit_destroy(jit);
}

/* What the client does to the stubs is as with all others. */
static void stubs_of_the_client(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_error err;
    replace(jit, "program");
    void *first = find(jit, "first");
    check(tn_redirect(tn_jit_library(jit), "first", find(jit, "second"), &err), &err);
    assert_int_equal(call(first, 4), 8);
    replace(jit, "program 1");
    assert_int_equal(call(first, 4), 8);
    check(tn_redirect(tn_jit_library(jit), "first", NULL, &err), &err);
    assert_int_equal(call(first, 1), 43);
    check(tn_library_clear(tn_jit_library(jit), &err), &err);
    replace(jit, "program 2");
    assert_int_equal(call(find(jit, "first"), 1), 44);
    assert_int_equal(call(find(jit, "second"), 1), 2);
    tn_jit_destroy(jit);
}

/* ---- errors ---- */

static long twice_plus_one(long x)
{
    return 2 * x + 1;
}

static void define_second(struct tn_jit *jit)
{
    struct tn_error err;
    check(tn_define(tn_jit_library(jit), "second", (const void *)twice_plus_one, &err), &err);
}

static void names_of_others(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_error err;
    void *address;
    define_second(jit);
    assert_int_equal(try_replace(jit, "program", &err), TN_EDUP);
    assert_int_equal(tn_jit_lookup(jit, "first", &address, &err), TN_EUNDEF);
    replace(jit, "alone 10");
    assert_int_equal(call(find(jit, "first"), 1), 13);
    assert_int_equal(try_replace(jit, "program", &err), TN_EDUP); /* `first` was redirected before */
    assert_int_equal(call(find(jit, "first"), 1), 13);
    uint64_t before = code_bytes(jit);
    replace(jit, "weak"); /* its own `second` is seen by itself only */
    assert_int_equal(call(find(jit, "first"), 1), 1003);
    assert_int_equal(call(find(jit, "second"), 1), 3);
    replace(jit, "alone 10");
    assert_int_equal(code_bytes(jit), before);
    tn_jit_destroy(jit);
}

static void mistakes(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_error err;
    struct tn_jit_module module = toy_module("program");
    struct tn_jit_instance instance = {0};
    replace(jit, "program");
    assert_int_equal(tn_jit_replace(NULL, NULL, &module, &err), TN_EINVAL);
    module.owner = tn_library_tracker(tn_jit_library(jit));
    assert_int_equal(tn_jit_replace(jit, NULL, &module, &err), TN_EINVAL);
    module = toy_module("program");
    module.instances = &instance;
    module.instance_count = 1;
    assert_int_equal(tn_jit_replace(jit, NULL, &module, &err), TN_EINVAL);
    module = toy_module("program");
    module.size = 0;
    assert_int_equal(tn_jit_replace(jit, NULL, &module, &err), TN_EINVAL);
    assert_int_equal(try_replace(jit, "bad", &err), TN_ECOMPILE);
    assert_int_equal(try_replace(jit, "fails", &err), TN_ECOMPILE);
    assert_int_equal(try_replace(jit, "data", &err), TN_EINVAL);
    assert_int_equal(call(find(jit, "first"), 1), 42);
    check(tn_library_remove(tn_jit_library(jit), &err), &err);
    assert_int_equal(try_replace(jit, "program", &err), TN_EREMOVED);
    tn_jit_destroy(jit);
    assert_int_equal(toy.opens, toy.closes);
}

/* In a lazy JIT a failure shows at the first call; the next version repairs it. */
static void lazy_failures(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true);
    replace(jit, "program");
    void *first = find(jit, "first");
    assert_int_equal(call(first, 1), 42);
    replace(jit, "fails");
    assert_int_equal(call(first, 1), -1);
    assert_int_equal(toy_reported, TN_ECOMPILE);
    replace(jit, "program 1");
    assert_int_equal(call(first, 1), 43);
    tn_jit_destroy(jit);
}

/* One allocation refused: the old functions are there, or the new ones. */
static int attempt(struct tn_jit *jit, long *now, int number)
{
    struct tn_error err = {0};
    char plan[16], program[40];
    snprintf(plan, sizeof plan, "a%d", number);
    snprintf(program, sizeof program, "program %d", number);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = try_replace(jit, program, &err);
    tn__os_set_faults(NULL);
    if (code && (code != TN_ENOMEM || err.code != code))
        fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
    *now = code ? *now : 42 + number;
    assert_int_equal(call(find(jit, "first"), 1), *now);
    return code;
}

static void allocations_refused(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit *jit = create(lazy);
        replace(jit, "program");
        uint64_t before = code_bytes(jit);
        long now = 42;
        int refused = 0;
        for (int number = 1, granted = 0; granted < 4; number++) {
            int code = attempt(jit, &now, number);
            refused += code != 0;
            granted = code ? 0 : granted + 1;
        }
        assert_true(refused > 15);
        replace(jit, "program"); /* with enough memory, all that was left goes */
        assert_int_equal(call(find(jit, "first"), 1), 42);
        assert_true(lazy || code_bytes(jit) == before);
        tn_jit_destroy(jit);
        assert_int_equal(toy.opens, toy.closes);
    }
}

/* ---- many ---- */

static void ten_thousand(void **state)
{
    (void)state;
    enum { WARM = 2000, ALL = 10000, LIMIT_KB = 1024 };
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit *jit = create(lazy);
        long before = 0;
        for (long i = 0; i < ALL; i++) {
            if (i == WARM)
                before = resident_kb();
            replace_with(jit, "program", i);
            assert_int_equal(call(find(jit, "first"), 1), 42 + i);
        }
        long grown = resident_kb() - before;
        if (grown > LIMIT_KB && !KEEPS_WHAT_WAS_FREED)
            fail_msg("%ld KB more", grown);
        tn_jit_destroy(jit);
    }
}

enum { THREADS = 4, VERSIONS = 200 };

struct storm {
    const void *first;
    atomic_bool ends;
    atomic_long newest, calls, wrong;
};

/* For each thread versions only go up, and none comes before its time. */
static void *call_often(void *context)
{
    struct storm *s = context;
    long last = 0;
    tn_thread_attach();
    while (!s->ends) {
        for (int i = 0; i < 100; i++) {
            long now = call(s->first, 1);
            s->wrong += now < last || now > 42 + s->newest;
            last = now;
        }
        s->calls++;
        tn_thread_quiescent();
        usleep(20); /* otherwise they would keep the thread that replaces from the processors */
    }
    tn_thread_detach();
    return NULL;
}

static void while_threads_call(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit *jit = create(lazy);
        pthread_t threads[THREADS];
        replace(jit, "program 0");
        struct storm storm = {.first = find(jit, "first")};
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, call_often, &storm), 0);
        while (storm.newest < VERSIONS || storm.calls < VERSIONS) {
            storm.newest++;
            replace_with(jit, "program", storm.newest);
        }
        storm.ends = true;
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(storm.wrong, 0);
        assert_int_equal(call(storm.first, 1), 42 + storm.newest);
        tn_jit_destroy(jit);
        assert_int_equal(toy.opens, toy.closes);
    }
}

/* ---- a first call under way ---- */

static sem_t is_held, goes_on;

static void hold_old_version(const char *program, long number)
{
    (void)program;
    if (number)
        return;
    toy.before = NULL;
    sem_post(&is_held);
    sem_wait(&goes_on);
}

/* The version has given way, and its removal waits for the thread that is held. */
static void let_it_go_on(void *context, const struct tn_delay *delay)
{
    (void)context, (void)delay;
    sem_post(&goes_on);
}

struct first_call {
    const void *function;
    long result;
};

static void *call_for_the_first_time(void *context)
{
    struct first_call *c = context;
    tn_thread_attach();
    c->result = call(c->function, 1);
    tn_thread_detach();
    return NULL;
}

/* A call that has reached a version ends in that version, although the rest of it is linked only when another one has
 * taken its place. */
static void first_call_under_way(void **state)
{
    (void)state;
    const struct tn_session_options in_session = {.size = sizeof in_session, .on_delay = let_it_go_on};
    struct tn_jit_options options = options_for(true);
    struct tn_error err;
    struct tn_jit *jit;
    pthread_t thread;
    check(tn_session_create(&in_session, &options.session, &err), &err);
    options.on_error = NULL; /* it would be the session's */
    check(tn_jit_create(&options, &jit, &err), &err);
    sem_init(&is_held, 0, 0);
    sem_init(&goes_on, 0, 0);
    replace(jit, "program 0");
    struct first_call first = {.function = find(jit, "first")};
    toy.before = hold_old_version;
    assert_int_equal(pthread_create(&thread, NULL, call_for_the_first_time, &first), 0);
    sem_wait(&is_held);
    replace(jit, "program 1");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(first.result, 42);
    assert_int_equal(call(first.function, 1), 43);
    tn_jit_destroy(jit);
    tn_session_destroy(options.session);
    assert_int_equal(toy.opens, toy.closes);
}

struct editor {
    struct tn_jit *jit;
    long from;
};

static void *replace_often(void *context)
{
    const struct editor *editor = context;
    tn_thread_attach();
    for (long i = 0; i < VERSIONS / 4; i++) {
        replace_with(editor->jit, i % 3 ? "program" : "alone", editor->from + i);
        tn_thread_quiescent();
    }
    tn_thread_detach();
    return NULL;
}

/* Several threads replace: the last one to do so has its way, whichever it is, and nothing else stays. */
static void by_several_threads(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct editor editors[THREADS];
    pthread_t threads[THREADS];
    replace(jit, "program");
    uint64_t before = code_bytes(jit);
    for (int i = 0; i < THREADS; i++) {
        editors[i] = (struct editor){jit, i * 1000};
        assert_int_equal(pthread_create(&threads[i], NULL, replace_often, &editors[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(call(find(jit, "second"), 2), 4);
    replace(jit, "program");
    assert_int_equal(call(find(jit, "first"), 1), 42);
    assert_int_equal(code_bytes(jit), before);
    tn_jit_destroy(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_stay),     cmocka_unit_test(apart),
        cmocka_unit_test(sees_the_library),   cmocka_unit_test(stubs_of_the_client),
        cmocka_unit_test(names_of_others),    cmocka_unit_test(mistakes),
        cmocka_unit_test(lazy_failures),      cmocka_unit_test(allocations_refused),
        cmocka_unit_test(ten_thousand),       cmocka_unit_test(while_threads_call),
        cmocka_unit_test(by_several_threads), cmocka_unit_test(first_call_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
