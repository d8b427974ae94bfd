/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lookups that are cancelled or have a deadline: callbacks are called once, materializers that nobody needs learn of it
 * and can stop without having failed. Also run under ThreadSanitizer. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "functions.h"

/* ---- materializers ---- */

struct maker {
    const char *name, *needs; /* `needs`: what it looks up itself, without waiting; may be NULL */
    int value;
    int (*make)(void *, struct tn_responsibility *, struct tn_error *); /* NULL: the function below */
    int code;   /* what it ends with at once; TN_LATER: the test ends it */
    bool polls; /* it waits until it is told that it is cancelled, 5 s at most, and returns `code` */
    struct tn_responsibility *_Atomic kept;
    _Atomic int made, destroyed, answered;
    struct tn_wanted wanted;
};

static int stage(const struct maker *m, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn_input input = input_of(m->name, function_object(m->name, m->value, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static void note_answer(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count, (void)err;
    ((struct maker *)context)->answered++;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    if (m->needs) {
        m->wanted = (struct tn_wanted){.name = m->needs};
        assert_ok(tn_lookup_async(tn_responsibility_library(responsibility), &m->wanted, 1, note_answer, m, err), err);
    }
    for (int i = 0; m->polls && !tn_responsibility_is_cancelled(responsibility) && i < 5000; i++)
        usleep(1000);
    if (m->code < 0)
        snprintf(err->text, sizeof err->text, "%s stops", m->name);
    m->kept = responsibility;
    return m->code ? m->code : stage(m, responsibility, err);
}

static void destroy(void *context)
{
    ((struct maker *)context)->destroyed++;
}

static void promise(const struct fixture *f, struct maker *m)
{
    struct tn_error err;
    const struct tn_promised symbol = {m->name, 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = m->name,
                                                 .context = m,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = m->make ? m->make : make,
                                                 .destroy = destroy};
    assert_ok(tn_add_materializer(f->library, &materializer, &err), &err);
}

/* A postponed materializer stops. */
static void stop(struct maker *m, int code)
{
    struct tn_error why = {.code = code, .text = "stopped"};
    tn_responsibility_fail(m->kept, &why);
}

static void finish(struct maker *m)
{
    struct tn_error err;
    assert_ok(stage(m, m->kept, &err), &err);
    assert_ok(tn_responsibility_ready(m->kept, &err), &err);
}

/* ---- lookups ---- */

struct asked {
    struct tn_wanted wanted;
    struct tn_lookup_handle *handle;
    _Atomic int calls, code;
    bool cancels; /* its callback cancels the lookup itself */
};

static void done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    struct asked *a = context;
    assert_ptr_equal(symbols, &a->wanted);
    assert_int_equal(count, 1);
    a->code = err ? err->code : 0;
    if (a->cancels)
        assert_int_equal(tn_lookup_cancel(a->handle, NULL), 0);
    a->calls++;
}

static void start(const struct fixture *f, struct asked *a, const char *name)
{
    struct tn_error err;
    a->wanted = (struct tn_wanted){.name = name};
    assert_ok(tn_lookup_start(f->library, &a->wanted, 1, done, a, &a->handle, &err), &err);
    assert_non_null(a->handle);
}

static void cancel(struct asked *a)
{
    struct tn_error err;
    assert_ok(tn_lookup_cancel(a->handle, &err), &err);
    assert_int_equal(a->calls, 1);
}

static void count_error(void *context, const struct tn_error *error)
{
    (void)error;
    ++*(_Atomic int *)context;
}

static struct fixture open_counting(_Atomic int *errors)
{
    const struct tn_session_options options = {.size = sizeof options, .on_error = count_error, .context = errors};
    return open_fixture(&options);
}

/* ---- cancelled while waiting ---- */

static void stopped_and_made_again(void **state)
{
    (void)state;
    _Atomic int errors = 0;
    struct fixture f = open_counting(&errors);
    struct maker m = {.name = "f", .value = 3, .code = TN_LATER};
    struct asked a = {0};
    promise(&f, &m);
    start(&f, &a, "f");
    assert_int_equal(m.made, 1);
    assert_false(tn_responsibility_is_cancelled(m.kept));
    cancel(&a);
    assert_int_equal(a.code, TN_ECANCELLED);
    assert_null(a.wanted.address);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    stop(&m, TN_ECANCELLED);
    assert_int_equal(m.destroyed, 0);
    m.code = 0;
    assert_int_equal(call(&f, "f"), 3);
    assert_int_equal(m.made, 2);
    assert_int_equal(m.destroyed, 1);
    assert_int_equal(errors, 0);
    assert_int_equal(a.calls, 1);
    close_fixture(&f);
}

/* One that does not look, or goes on, has made the symbol for later lookups. */
static void made_all_the_same(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 4, .code = TN_LATER};
    struct asked a = {0};
    promise(&f, &m);
    start(&f, &a, "f");
    cancel(&a);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    finish(&m);
    assert_int_equal(call(&f, "f"), 4);
    assert_int_equal(m.made, 1);
    close_fixture(&f);
}

/* TN_ECANCELLED from one that was not told so is a failure like any other: it is not called again and again. */
static void stopped_without_reason(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .code = TN_ECANCELLED};
    void *address;
    promise(&f, &m);
    assert_error(tn_lookup(f.library, "f", &address, &err), TN_ECANCELLED, &err, "'f'", "f stops");
    assert_error(tn_lookup(f.library, "f", &address, &err), TN_ECANCELLED, &err, "'f'", "f stops");
    assert_int_equal(m.made, 1);
    close_fixture(&f);
}

static void needed_by_another(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 5, .code = TN_LATER};
    struct asked a = {0}, b = {0};
    promise(&f, &m);
    start(&f, &a, "f");
    start(&f, &b, "f");
    cancel(&a);
    assert_false(tn_responsibility_is_cancelled(m.kept));
    finish(&m);
    assert_int_equal(b.calls, 1);
    assert_int_equal(b.code, 0);
    assert_non_null(b.wanted.address);
    cancel(&b);
    close_fixture(&f);
}

/* A lookup that comes after the materializer was told waits until it has stopped, and has it called again. */
static void needed_again(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 6, .code = TN_LATER};
    struct asked a = {0}, b = {0};
    promise(&f, &m);
    start(&f, &a, "f");
    cancel(&a);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    start(&f, &b, "f");
    assert_false(tn_responsibility_is_cancelled(m.kept));
    m.code = 0;
    stop(&m, TN_ECANCELLED);
    assert_int_equal(m.made, 2);
    assert_int_equal(b.calls, 1);
    assert_int_equal(b.code, 0);
    cancel(&b);
    close_fixture(&f);
}

/* a needs b needs c: when nobody waits for a any more, c is cancelled too; not while somebody waits for b. */
static void needed_through_others(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker a = {.name = "a", .needs = "b", .code = TN_LATER}, b = {.name = "b", .needs = "c", .code = TN_LATER};
    struct maker c = {.name = "c", .code = TN_LATER};
    struct asked first = {0}, second = {0};
    promise(&f, &a);
    promise(&f, &b);
    promise(&f, &c);
    start(&f, &first, "a");
    start(&f, &second, "b");
    assert_int_equal(c.made, 1);
    cancel(&first);
    assert_true(tn_responsibility_is_cancelled(a.kept));
    assert_false(tn_responsibility_is_cancelled(b.kept));
    assert_false(tn_responsibility_is_cancelled(c.kept));
    cancel(&second);
    assert_true(tn_responsibility_is_cancelled(b.kept));
    assert_true(tn_responsibility_is_cancelled(c.kept));
    stop(&c, TN_ECANCELLED); /* and is not called again for b */
    assert_int_equal(c.made, 1);
    assert_int_equal(b.answered, 1);
    stop(&b, TN_ECANCELLED);
    assert_int_equal(a.answered, 1);
    stop(&a, TN_ECANCELLED);
    close_fixture(&f);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One that waits itself learns of it from its lookup, and fails with what that returns. */
static int wait_for_needs(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    void *address;
    m->made++;
    int code = tn_lookup(tn_responsibility_library(responsibility), m->needs, &address, err);
    m->answered++;
    return code ? code : stage(m, responsibility, err);
}

static void waiting_itself(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    struct tn_error err;
    _Atomic int errors = 0;
    struct fixture f = open_counting(&errors);
    struct maker a = {.name = "a", .needs = "b", .value = 20, .make = wait_for_needs};
    struct maker b = {.name = "b", .polls = true, .code = TN_ECANCELLED};
    struct tn_wanted wanted = {.name = "a"};
    promise(&f, &a);
    promise(&f, &b);
    assert_error(tn_lookup_until(f.library, &wanted, 1, now_ns() + 5 * MS, &err), TN_ECANCELLED, &err, "deadline");
    assert_int_equal(a.made, 1);
    assert_int_equal(b.made, 1);
    b.polls = false;
    b.code = 0;
    assert_int_equal(call(&f, "a"), 20);
    assert_int_equal(errors, 0);
    close_fixture(&f);
}

/* A failure ends a lookup at once; what else it waited for is not needed any more. */
static void left_by_a_failure(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker a = {.name = "a", .code = TN_LATER}, b = {.name = "b", .code = TN_LATER};
    promise(&f, &a);
    promise(&f, &b);
    struct maker asker = {.name = "asker"};
    struct tn_wanted wanted[] = {{.name = "a"}, {.name = "b"}};
    assert_ok(tn_lookup_async(f.library, wanted, COUNT(wanted), note_answer, &asker, &err), &err);
    assert_false(tn_responsibility_is_cancelled(b.kept));
    stop(&a, TN_EIO);
    assert_int_equal(asker.answered, 1);
    assert_true(tn_responsibility_is_cancelled(b.kept));
    stop(&b, TN_ECANCELLED);
    close_fixture(&f);
}

/* What is only queued when nobody needs it any more is not begun. */
static void put_in_queue(void *context, struct tn_task *task)
{
    *(struct tn_task **)context = task;
}

static void never_begun(void **state)
{
    (void)state;
    struct tn_task *task = NULL;
    const struct tn_session_options options = {.size = sizeof options, .dispatch = put_in_queue, .context = &task};
    struct fixture f = open_fixture(&options);
    struct maker m = {.name = "f", .value = 7};
    struct asked a = {0};
    promise(&f, &m);
    start(&f, &a, "f");
    assert_non_null(task);
    cancel(&a);
    tn_task_run(task);
    assert_int_equal(m.made, 0);
    assert_int_equal(call(&f, "f"), 7);
    close_fixture(&f);
}

/* ---- handles ---- */

static void answered_before(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 8};
    struct asked a = {0};
    promise(&f, &m);
    start(&f, &a, "f");
    assert_int_equal(a.calls, 1);
    cancel(&a);
    assert_int_equal(a.code, 0);
    assert_int_equal(((int (*)(void))a.wanted.address)(), 8);
    close_fixture(&f);
}

static void cancelled_in_its_callback(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .code = TN_LATER};
    struct asked at_once = {.cancels = true}, later = {.cancels = true};
    define(&f, "g", &tn_version);
    promise(&f, &m);
    start(&f, &later, "f");
    finish(&m);
    assert_int_equal(later.calls, 1);
    at_once.wanted = (struct tn_wanted){.name = "g"};
    struct tn_error err;
    assert_ok(tn_lookup_start(f.library, &at_once.wanted, 1, done, &at_once, &at_once.handle, &err), &err);
    assert_int_equal(at_once.calls, 1);
    close_fixture(&f);
}

/* The session ends all lookups, and frees handles that were not taken back. */
static void ended_by_the_session(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .code = TN_LATER};
    struct asked waiting = {0}, cancels = {.cancels = true}, answered = {0};
    define(&f, "g", &tn_version);
    promise(&f, &m);
    start(&f, &waiting, "f");
    start(&f, &cancels, "f");
    start(&f, &answered, "g");
    close_fixture(&f);
    assert_int_equal(waiting.calls, 1);
    assert_int_equal(waiting.code, TN_EREMOVED);
    assert_int_equal(cancels.calls, 1);
    assert_int_equal(answered.calls, 1);
}

static void wrong_arguments(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct asked a = {0};
    struct tn_lookup_handle *handle = (struct tn_lookup_handle *)&f;
    struct tn_wanted unknown = {.name = "f", .flags = 1u << 30};
    assert_error(tn_lookup_start(f.library, &a.wanted, 1, NULL, &a, &handle, &err), TN_EINVAL, &err, "function");
    assert_error(tn_lookup_start(f.library, &a.wanted, 1, done, &a, NULL, &err), TN_EINVAL, &err, "handle");
    assert_error(tn_lookup_start(NULL, &a.wanted, 1, done, &a, &handle, &err), TN_EINVAL, &err, "library");
    assert_error(tn_lookup_start(f.library, &unknown, 1, done, &a, &handle, &err), TN_EINVAL, &err, "flags");
    assert_null(handle);
    assert_error(tn_lookup_until(f.library, &unknown, 1, 0, &err), TN_EINVAL, &err, "flags");
    assert_int_equal(tn_lookup_cancel(NULL, &err), 0);
    assert_int_equal(a.calls, 0);
    close_fixture(&f);
}

/* ---- deadlines ---- */

static void too_late(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 9, .code = TN_LATER};
    struct tn_wanted wanted = {.name = "f"};
    promise(&f, &m);
    uint64_t before = now_ns();
    assert_error(tn_lookup_until(f.library, &wanted, 1, before + 20 * MS, &err), TN_ECANCELLED, &err, "deadline");
    assert_true(now_ns() - before >= 20 * MS);
    assert_int_equal(m.made, 1);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    finish(&m);
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
    promise(&f, &m);
    assert_error(tn_lookup_until(f.library, &wanted, 1, 0, &err), TN_ECANCELLED, &err, "deadline");
    assert_int_equal(m.made, 0);
    assert_ok(tn_lookup_until(f.library, &wanted, 1, UINT64_MAX, &err), &err);
    close_fixture(&f);
}

/* The waiting thread runs the materializer itself, which learns that nobody waits any more, and stops. */
static void told_by_the_clock(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    struct tn_error err;
    _Atomic int errors = 0;
    struct fixture f = open_counting(&errors);
    struct maker m = {.name = "f", .value = 10, .polls = true, .code = TN_ECANCELLED};
    struct tn_wanted wanted = {.name = "f"};
    promise(&f, &m);
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

static void *finish_maker(void *maker)
{
    finish(maker);
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
        promise(&f, &both[i]->maker);
        both[i]->asked.wanted = (struct tn_wanted){.name = both[i]->maker.name};
        assert_ok(tn_lookup_start(f.library, &both[i]->asked.wanted, 1, cancel_the_other, both[i],
                                  &both[i]->asked.handle, &err),
                  &err);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, finish_maker, &both[i]->maker), 0);
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
        promise(&s->f, &s->makers[i]);
        struct asked a = {0};
        start(&s->f, &a, s->names[i]);
        for (volatile int spin = i % 100 * 200; spin; spin--)
            ;
        cancel(&a);
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
    promise(&f, &m);
    start(&f, &a, "f");
    assert_int_equal(in_child(cancel_in_child, &(struct forked){&f, &a, TN_ECANCELLED}), 0);
    finish(&m);
    assert_int_equal(a.code, 0);
    cancel(&a);
    close_fixture(&f);
}

/* The callback runs in another thread of the parent: in the child it does not, and nobody waits for it. */
static _Atomic int in_callback, go_on;

static void slow_done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    in_callback = 1;
    while (!go_on)
        usleep(100);
    done(context, symbols, count, err);
}

static void answering_at_a_fork(void **state)
{
    (void)state;
    struct tn_error err;
    pthread_t thread;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 1, .code = TN_LATER};
    struct asked a = {.wanted = {.name = "f"}};
    promise(&f, &m);
    assert_ok(tn_lookup_start(f.library, &a.wanted, 1, slow_done, &a, &a.handle, &err), &err);
    assert_int_equal(pthread_create(&thread, NULL, finish_maker, &m), 0);
    while (!in_callback)
        usleep(100);
    assert_int_equal(in_child(cancel_in_child, &(struct forked){&f, &a, 1}), 0);
    go_on = 1;
    pthread_join(thread, NULL);
    cancel(&a);
    close_fixture(&f);
}

/* ---- no memory ---- */

static void no_memory(void **state)
{
    (void)state;
    struct tn_error err;
    char plan[16];
    int codes[2] = {0}; /* how often it succeeded, and failed */
    for (int i = 1; !codes[0]; i++) {
        struct fixture f = open_fixture(NULL);
        struct maker m = {.name = "f", .code = TN_LATER};
        struct asked a = {.wanted = {.name = "f"}};
        promise(&f, &m);
        snprintf(plan, sizeof plan, "a%d", i);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_lookup_start(f.library, &a.wanted, 1, done, &a, &a.handle, &err);
        tn__os_set_faults(NULL);
        assert_true(code == 0 || code == TN_ENOMEM);
        if (code) {
            assert_null(a.handle);
            assert_int_equal(a.calls, 0);
        } else {
            cancel(&a);
            assert_true(a.code == TN_ECANCELLED || a.code == TN_ENOMEM);
        }
        codes[code || a.code == TN_ENOMEM]++;
        if (m.kept)
            stop(&m, TN_EIO);
        close_fixture(&f);
    }
    assert_in_range(codes[1], 3, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_and_made_again),
        cmocka_unit_test(made_all_the_same),
        cmocka_unit_test(stopped_without_reason),
        cmocka_unit_test(needed_by_another),
        cmocka_unit_test(needed_again),
        cmocka_unit_test(needed_through_others),
        cmocka_unit_test(waiting_itself),
        cmocka_unit_test(left_by_a_failure),
        cmocka_unit_test(never_begun),
        cmocka_unit_test(answered_before),
        cmocka_unit_test(cancelled_in_its_callback),
        cmocka_unit_test(ended_by_the_session),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(too_late),
        cmocka_unit_test(never_in_time),
        cmocka_unit_test(told_by_the_clock),
        cmocka_unit_test(cancelling_each_other),
        cmocka_unit_test(storms),
        cmocka_unit_test(waiting_at_a_fork),
        cmocka_unit_test(answering_at_a_fork),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
