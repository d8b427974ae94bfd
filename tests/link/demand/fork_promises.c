/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Materializers and lookups across a fork: responsibilities of threads that do not exist in the child. */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "functions.h"

struct maker {
    const char *name;
    int value;
    bool later, delegates;
    int (*make)(void *, struct tn_responsibility *, struct tn_error *);
    struct tn_responsibility *_Atomic kept;
    _Atomic int made, destroyed;
    pid_t child;
};

static int stage(struct maker *m, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn_input input = input_of(m->name, function_object(m->name, m->value, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    if (m->delegates) {
        struct tn_responsibility *part;
        assert_ok(tn_responsibility_delegate(responsibility, &m->name, 1, &part, err), err);
        m->kept = part;
        return 0;
    }
    int code = stage(m, responsibility, err);
    m->kept = responsibility;
    return code ? code : m->later ? TN_LATER : 0;
}

static void destroy(void *context)
{
    ((struct maker *)context)->destroyed++;
}

static void promise(struct tn_library *library, struct maker *m)
{
    struct tn_error err;
    const struct tn_promised symbol = {m->name, 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "maker",
                                                 .context = m,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = m->make ? m->make : make,
                                                 .destroy = destroy};
    assert_ok(tn_add_materializer(library, &materializer, &err), &err);
}

/* ---- left for a thread of the parent ---- */

static void note(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count;
    *(_Atomic int *)context = err ? err->code : 1;
}

/* Other threads may not have stored it yet. */
static int wait_for(const _Atomic int *answer)
{
    while (!*answer)
        usleep(1000);
    return *answer;
}

/* The lookup that started it in the parent keeps waiting, in both processes. */
static struct fixture leave_for_later(struct maker *m, const struct tn_session_options *options, _Atomic int *answer)
{
    static struct tn_wanted wanted;
    struct tn_error err;
    struct fixture f = open_fixture(options);
    promise(f.library, m);
    wanted = (struct tn_wanted){.name = m->name};
    *answer = 0;
    assert_ok(tn_lookup_async(f.library, &wanted, 1, note, answer, &err), &err);
    while (!m->kept)
        usleep(1000);
    assert_int_equal(*answer, 0);
    return f;
}

static struct {
    struct fixture f;
    struct maker *maker;
    const _Atomic int *answer;
} parent;

static CMUnitTestFunction child_body;

static void in_a_minute(void **state)
{
    alarm(60); /* instead of hanging */
    child_body(state);
}

static void check_child(CMUnitTestFunction body)
{
    child_body = body;
    assert_int_equal(in_child(in_a_minute, NULL), 0);
}

static void looks_it_up(void **state)
{
    (void)state;
    struct maker *m = parent.maker;
    m->later = false;
    assert_int_equal(call_in(parent.f.library, "f"), 5);
    assert_int_equal(m->made, 2);
    assert_int_equal(wait_for(parent.answer), 1); /* the lookup that waited for it is answered too */
    close_fixture(&parent.f);
    assert_int_equal(m->destroyed, 1);
}

static void asks_for_it(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_wanted wanted = {.name = "f"};
    _Atomic int answer = 0;
    parent.maker->kept = NULL;
    assert_ok(tn_lookup_async(parent.f.library, &wanted, 1, note, &answer, &err), &err);
    struct tn_responsibility *anew;
    while (!(anew = parent.maker->kept)) /* deferred again, now by a thread of this process */
        usleep(1000);
    assert_ok(tn_responsibility_ready(anew, &err), &err);
    assert_int_equal(wait_for(&answer), 1);
    assert_int_equal(call_in(parent.f.library, "f"), 5);
}

/* Nothing in the child waits for it, so the thread that forked may end it. */
static void ends_it(void **state)
{
    (void)state;
    struct tn_error err;
    assert_ok(tn_responsibility_ready(parent.maker->kept, &err), &err);
    assert_int_equal(call_in(parent.f.library, "f"), 5);
    assert_int_equal(parent.maker->made, 1);
}

static void ends_it_too_late(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_responsibility *old = parent.maker->kept;
    parent.maker->later = false;
    assert_int_equal(call_in(parent.f.library, "f"), 5);
    assert_error(tn_responsibility_ready(old, &err), TN_EREMOVED, &err, "maker");
    assert_int_equal(call_in(parent.f.library, "f"), 5);
}

static void removes_it(void **state)
{
    (void)state;
    struct tn_error err;
    assert_ok(tn_library_clear(parent.f.library, &err), &err);
    assert_int_equal(wait_for(parent.answer), TN_EUNDEF);
    add_function(parent.f.library, "f", 6, NULL, NULL);
    assert_int_equal(call_in(parent.f.library, "f"), 6);
}

static const struct row {
    const char *name;
    CMUnitTestFunction child;
    size_t threads;
} rows[] = {
    {"looks it up", looks_it_up},
    {"asks for it", asks_for_it},
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer does not support starting threads after a fork */
    {"looks it up, with threads", looks_it_up, 2},
    {"asks for it, with threads", asks_for_it, 2},
#endif
    {"ends it itself", ends_it},
    {"ends it too late", ends_it_too_late},
    {"removes it", removes_it},
};

static void left_for_later(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {.size = sizeof options, .threads = row->threads};
    struct tn_error err;
    struct maker m = {.name = "f", .value = 5, .later = true};
    _Atomic int answer;
    parent.f = leave_for_later(&m, &options, &answer);
    parent.maker = &m;
    parent.answer = &answer;
    for (int again = 0; again < 2; again++) {
        check_child(row->child);
    }
    assert_int_equal(m.made, 1);
    assert_ok(tn_responsibility_ready(m.kept, &err), &err);
    assert_int_equal(wait_for(&answer), 1);
    assert_int_equal(call_in(parent.f.library, "f"), 5);
    close_fixture(&parent.f);
    assert_int_equal(m.destroyed, 1);
}

/* ---- delegated to one ---- */

static void cannot_have_it(void **state)
{
    (void)state;
    struct tn_error err;
    assert_error(tn_lookup(parent.f.library, "f", &(void *){NULL}, &err), TN_EREMOVED, &err, "'f'", "maker", "fork");
    assert_int_equal(wait_for(parent.answer), TN_EREMOVED);
    assert_ok(tn_library_clear(parent.f.library, &err), &err);
    add_function(parent.f.library, "f", 6, NULL, NULL);
    assert_int_equal(call_in(parent.f.library, "f"), 6);
}

/* Nobody can make it again. */
static void delegated(void **state)
{
    (void)state;
    struct tn_error err;
    struct maker m = {.name = "f", .value = 5, .delegates = true};
    _Atomic int answer;
    parent.f = leave_for_later(&m, NULL, &answer);
    parent.maker = &m;
    parent.answer = &answer;
    check_child(cannot_have_it);
    assert_ok(stage(&m, m.kept, &err), &err);
    assert_ok(tn_responsibility_ready(m.kept, &err), &err);
    assert_int_equal(wait_for(&answer), 1);
    assert_int_equal(call_in(parent.f.library, "f"), 5);
    close_fixture(&parent.f);
}

/* ---- forks inside of a materializer ---- */

static int make_and_fork(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    fflush(NULL);
    m->child = fork();
    assert_int_not_equal(m->child, -1);
    if (!m->child)
        alarm(60);
    parent.maker->later = false;
    if (m->child) /* otherwise nobody ends it */
        assert_ok(tn_responsibility_ready(parent.maker->kept, err), err);
    return stage(m, responsibility, err);
}

/* A lookup waits for two materializers; one forks after the other one was deferred. */
static void within_a_lookup(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker left = {.name = "left", .value = 5, .later = true};
    struct maker forks = {.name = "forks", .value = 6, .make = make_and_fork};
    promise(f.library, &left);
    promise(f.library, &forks);
    parent.maker = &left;
    struct tn_wanted wanted[] = {{.name = "left"}, {.name = "forks"}};
    int code = tn_lookup_all(f.library, wanted, COUNT(wanted), &err);
    bool right = !code && call_in(f.library, "left") == 5 && call_in(f.library, "forks") == 6;
    if (!forks.child)
        _exit(!(right && left.made == 2));
    int status;
    assert_int_equal(waitpid(forks.child, &status, 0), forks.child);
    assert_int_equal(status, 0);
    assert_true(right);
    assert_int_equal(left.made, 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delegated),
        cmocka_unit_test(within_a_lookup),
    };
    int failed = RUN_ROWS("left for later, and the child", rows, left_for_later);
    return failed + cmocka_run_group_tests_name("fork_promises", tests, NULL, NULL);
}
