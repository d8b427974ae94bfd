/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Deadlines of lookups; lookups that are cancelled by several threads, and around forks. Also run under
 * ThreadSanitizer. */

#include <pthread.h>
#include <unistd.h>

#include "cancelling.h"

/* ---- deadlines ---- */

static void too_late(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 9, .code = TN_LATER};
    struct tn_wanted wanted = {.name = "f"};
    promise_maker(&f, &m);
    uint64_t before = now_ns();
    assert_error(tn_lookup_until(f.library, &wanted, 1, before + 20 * MS, &err), TN_ECANCELLED, &err, "deadline");
    assert_true(now_ns() - before >= 20 * MS);
    assert_int_equal(m.made, 1);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    finish_maker(&m);
    assert_ok(tn_lookup_until(f.library, &wanted, 1, 0, &err), &err);
    assert_int_equal(((int (*)(void))wanted.address)(), 9);
    close_fixture(&f);
}

/* A deadline that has passed begins nothing. */
static void never_in_time(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 9};
    struct tn_wanted wanted = {.name = "f"};
    promise_maker(&f, &m);
    assert_error(tn_lookup_until(f.library, &wanted, 1, 0, &err), TN_ECANCELLED, &err, "deadline");
    assert_int_equal(m.made, 0);
    assert_ok(tn_lookup_until(f.library, &wanted, 1, UINT64_MAX, &err), &err);
    close_fixture(&f);
}

/* The waiting thread runs the materializer itself, which learns that no lookup waits any more, and stops. */
static void told_by_the_clock(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    struct tn_error err;
    _Atomic int errors = 0;
    struct fixture f = open_counting(&errors);
    struct maker m = {.name = "f", .value = 10, .polls = true, .code = TN_ECANCELLED};
    struct tn_wanted wanted = {.name = "f"};
    promise_maker(&f, &m);
    assert_error(tn_lookup_until(f.library, &wanted, 1, now_ns() + 5 * MS, &err), TN_ECANCELLED, &err, "deadline");
    assert_int_equal(m.made, 1);
    m.polls = false;
    m.code = 0;
    assert_int_equal(call(&f, "f"), 10);
    assert_int_equal(errors, 0);
    close_fixture(&f);
}

/* ---- threads ---- */

/* Two callbacks, each of which cancels the other's lookup: one is told instead of waiting for ever. */
struct meeting {
    struct asked asked;
    struct meeting *other;
    _Atomic int arrived, result;
    struct maker maker;
};

static void cancel_the_other(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    struct meeting *m = context;
    struct tn_error error;
    (void)symbols, (void)count, (void)err;
    m->arrived = 1;
    while (!m->other->arrived)
        usleep(100);
    m->result = tn_lookup_cancel(m->other->asked.handle, &error);
}

static void *finish_in_thread(void *maker)
{
    finish_maker(maker);
    return NULL;
}

static void cancelling_each_other(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct meeting a = {.maker = {.name = "a", .code = TN_LATER}, .other = NULL};
    struct meeting b = {.maker = {.name = "b", .code = TN_LATER}, .other = &a};
    struct meeting *both[] = {&a, &b};
    pthread_t threads[2];
    a.other = &b;
    for (size_t i = 0; i < 2; i++) {
        promise_maker(&f, &both[i]->maker);
        both[i]->asked.wanted = (struct tn_wanted){.name = both[i]->maker.name};
        assert_ok(tn_lookup_start(f.library, &both[i]->asked.wanted, 1, cancel_the_other, both[i],
                                  &both[i]->asked.handle, &err),
                  &err);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, finish_in_thread, &both[i]->maker), 0);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(a.result + b.result, TN_ECYCLE);
    assert_ok(tn_lookup_cancel((a.result ? b : a).asked.handle, &err), &err);
    close_fixture(&f);
}

/* Lookups are cancelled at every moment of their lives while other threads make what they wait for. */
enum { ROUNDS = 3000 };

struct storm {
    struct fixture f;
    struct maker makers[ROUNDS];
    char names[ROUNDS][16];
};

static void storms(void **state)
{
    (void)state;
    const struct tn_session_options options = {.size = sizeof options, .threads = 2};
    struct storm *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->f = open_fixture(&options);
    int in_time = 0;
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(s->names[i], sizeof s->names[i], "f%d", i);
        s->makers[i] = (struct maker){.name = s->names[i], .value = i};
        promise_maker(&s->f, &s->makers[i]);
        struct asked a = {0};
        start_lookup(&s->f, &a, s->names[i]);
        for (volatile int spin = i % 100 * 200; spin; spin--)
            ;
        cancel_lookup(&a);
        assert_true(a.code == 0 || a.code == TN_ECANCELLED);
        in_time += a.code != 0;
    }
    assert_true(in_time > 0);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(call(&s->f, s->names[i]), i);
    close_fixture(&s->f);
    free(s);
}

/* ---- forks ---- */

struct forked {
    struct fixture *f;
    struct asked *asked;
    int code; /* that the child's callback gets; 1: it is not called there */
};

static void cancel_in_child(void **state)
{
    struct forked *forked = *state;
    struct tn_error err;
    int before = forked->asked->calls;
    assert_ok(tn_lookup_cancel(forked->asked->handle, &err), &err);
    assert_int_equal(forked->asked->calls - before, forked->code != 1);
    if (forked->code != 1)
        assert_int_equal(forked->asked->code, forked->code);
}

static void waiting_at_a_fork(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 1, .code = TN_LATER};
    struct asked a = {0};
    promise_maker(&f, &m);
    start_lookup(&f, &a, "f");
    assert_int_equal(in_child(cancel_in_child, &(struct forked){&f, &a, TN_ECANCELLED}), 0);
    finish_maker(&m);
    assert_int_equal(a.code, 0);
    cancel_lookup(&a);
    close_fixture(&f);
}

/* The callback runs in another thread of the parent: in the child it does not, and no thread waits for it. */
static _Atomic int in_callback, go_on;

static void slow_done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    in_callback = 1;
    while (!go_on)
        usleep(100);
    note_done(context, symbols, count, err);
}

static void answering_at_a_fork(void **state)
{
    (void)state;
    struct tn_error err;
    pthread_t thread;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 1, .code = TN_LATER};
    struct asked a = {.wanted = {.name = "f"}};
    promise_maker(&f, &m);
    assert_ok(tn_lookup_start(f.library, &a.wanted, 1, slow_done, &a, &a.handle, &err), &err);
    assert_int_equal(pthread_create(&thread, NULL, finish_in_thread, &m), 0);
    while (!in_callback)
        usleep(100);
    assert_int_equal(in_child(cancel_in_child, &(struct forked){&f, &a, 1}), 0);
    go_on = 1;
    pthread_join(thread, NULL);
    cancel_lookup(&a);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_late),
        cmocka_unit_test(never_in_time),
        cmocka_unit_test(told_by_the_clock),
        cmocka_unit_test(cancelling_each_other),
        cmocka_unit_test(storms),
        cmocka_unit_test(waiting_at_a_fork),
        cmocka_unit_test(answering_at_a_fork),
    };
    return cmocka_run_group_tests_name("cancel_threads", tests, NULL, NULL);
}
