/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Who runs materializers: the caller, the session's threads, or the client's queue. Also run under ThreadSanitizer. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "functions.h"
#include "waits.h"

/* ---- a materializer that may be run by any thread ---- */

struct maker {
    char name[16], callee[16];
    int value, code;
    _Atomic int made;
    _Atomic int *meeting; /* counts arrivals; all wait until there are `party` */
    int party;
    pthread_t thread;
};

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    m->thread = pthread_self();
    if (m->meeting) {
        ++*m->meeting;
        while (*m->meeting < m->party)
            usleep(1000);
    }
    if (m->code) {
        snprintf(err->text, sizeof err->text, "%s cannot be made", m->name);
        return m->code;
    }
    struct tn_input input = input_of(m->name, function_object(m->name, m->value, *m->callee ? m->callee : NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static int promise(struct tn_library *library, struct maker *m, struct tn_tracker *owner, struct tn_error *err)
{
    const struct tn_promised symbol = {m->name, 0};
    return tn_add_materializer(library,
                               &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                         .name = m->name,
                                                         .context = m,
                                                         .symbols = &symbol,
                                                         .count = 1,
                                                         .materialize = make,
                                                         .owner = owner},
                               err);
}

static void must_promise(struct tn_library *library, struct maker *m)
{
    struct tn_error err;
    assert_ok(promise(library, m, NULL, &err), &err);
}

/* ---- the tests ---- */

/* Two materializers needed by one lookup meet, so they ran at the same time. */
static void side_by_side(void **state)
{
    (void)state;
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .threads = 2};
    struct fixture f = open_fixture(&options);
    _Atomic int meeting = 0;
    struct maker a = {.name = "a", .value = 1, .meeting = &meeting, .party = 2};
    struct maker b = {.name = "b", .value = 2, .meeting = &meeting, .party = 2};
    must_promise(f.library, &a);
    must_promise(f.library, &b);
    struct tn_wanted wanted[] = {{.name = "a"}, {.name = "b"}};
    assert_ok(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), &err);
    assert_int_equal(meeting, 2);
    assert_int_equal(a.made + b.made, 2);
    assert_false(pthread_equal(a.thread, b.thread));
    close_fixture(&f);
}

/* More materializers wait for each other than there are threads: waiting threads run what they wait for. */
static int chain(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    void *address;
    m->made++;
    int code = *m->callee ? tn_lookup(tn_responsibility_library(responsibility), m->callee, &address, err) : 0;
    struct tn_input input = input_of(m->name, function_object(m->name, m->value, *m->callee ? m->callee : NULL));
    return code ? code : tn_responsibility_add_object(responsibility, &input, err);
}

static void more_waiting_than_threads(void **state)
{
    (void)state;
    enum { LENGTH = 40 };
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .threads = 1};
    struct fixture f = open_fixture(&options);
    struct maker makers[LENGTH] = {0};
    for (int i = 0; i < LENGTH; i++) {
        makers[i].value = 1;
        snprintf(makers[i].name, sizeof makers[i].name, "f%d", i);
        if (i + 1 < LENGTH)
            snprintf(makers[i].callee, sizeof makers[i].callee, "f%d", i + 1);
        const struct tn_promised symbol = {makers[i].name, 0};
        assert_ok(tn_add_materializer(f.library,
                                      &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                                .name = makers[i].name,
                                                                .context = &makers[i],
                                                                .symbols = &symbol,
                                                                .count = 1,
                                                                .materialize = chain},
                                      &err),
                  &err);
    }
    assert_int_equal(call_in(f.library, "f0"), LENGTH);
    close_fixture(&f);
}

/* A materializer makes an asynchronous lookup of what is queued behind the only thread. That thread waits for the
 * materializer, and runs the queued task meanwhile. */
struct relay {
    struct tn_responsibility *responsibility;
    struct tn_wanted wanted;
};

static void relay_on(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    struct relay *relay = context;
    struct tn_error error;
    (void)symbols, (void)count;
    if (err)
        tn_responsibility_fail(relay->responsibility, err);
    else
        tn_responsibility_ready(relay->responsibility, &error);
}

static int make_relay(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct relay *relay = context;
    relay->responsibility = responsibility;
    struct tn_input input = input_of("relay", function_object("relay", 1, relay->wanted.name));
    int code = tn_responsibility_add_object(responsibility, &input, err);
    if (!code)
        code = tn_responsibility_lookup(responsibility, tn_responsibility_library(responsibility), &relay->wanted, 1,
                                        relay_on, relay, err);
    return code ? code : TN_LATER;
}

static void note_code(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count;
    *(_Atomic int *)context = err ? err->code : 1;
}

static void waiting_for_the_queue(void **state)
{
    (void)state;
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .threads = 1};
    struct fixture f = open_fixture(&options);
    struct maker first = {.name = "first", .callee = "relay", .value = 1}, last = {.name = "last", .value = 1};
    struct relay relay = {.wanted = {.name = "last"}};
    static const struct tn_promised names[] = {{"first", 0}, {"relay", 0}};
    struct tn_materializer m = {.size = sizeof m, .name = "first", .context = &first, .symbols = names, .count = 1};
    m.materialize = chain;
    assert_ok(tn_add_materializer(f.library, &m, &err), &err);
    m = (struct tn_materializer){
        .size = sizeof m, .name = "relay", .context = &relay, .symbols = &names[1], .count = 1};
    m.materialize = make_relay;
    assert_ok(tn_add_materializer(f.library, &m, &err), &err);
    must_promise(f.library, &last);
    struct tn_wanted wanted = {.name = "first"};
    _Atomic int answer = 0;
    assert_ok(tn_lookup_async(f.library, &wanted, 1, note_code, (void *)&answer, &err), &err);
    while (!answer)
        usleep(1000);
    assert_int_equal(answer, 1);
    assert_int_equal(call_in(f.library, "first"), 3);
    close_fixture(&f);
}

/* ---- the client's queue ---- */

struct queue {
    struct tn_task *tasks[64];
    size_t count;
};

static void enqueue(void *context, struct tn_task *task)
{
    struct queue *queue = context;
    assert_true(queue->count < COUNT(queue->tasks));
    queue->tasks[queue->count++] = task;
}

static void note(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)count;
    *(int *)context = err ? err->code : 1 + (symbols[0].address == NULL);
}

static void queue_of_the_client(void **state)
{
    (void)state;
    struct tn_error err;
    struct queue queue = {0};
    const struct tn_session_options options = {.size = sizeof options, .dispatch = enqueue, .context = &queue};
    struct fixture f = open_fixture(&options);
    struct maker a = {.name = "a", .value = 1, .callee = "b"}, b = {.name = "b", .value = 2};
    must_promise(f.library, &a);
    must_promise(f.library, &b);
    struct tn_wanted wanted = {.name = "a"};
    int answer = 0;
    assert_ok(tn_lookup_async(f.library, &wanted, 1, note, &answer, &err), &err);
    assert_int_equal(a.made, 0);
    for (size_t i = 0; i < queue.count; i++) {
        assert_int_equal(answer, 0);
        tn_task_run(queue.tasks[i]);
    }
    assert_int_equal(answer, 1);
    assert_int_equal(call_in(f.library, "a"), 3);
    close_fixture(&f);
}

/* A blocking lookup does not depend on the queue; tasks queued for it find nothing left to do. */
static void waiting_beside_the_queue(void **state)
{
    (void)state;
    struct queue queue = {0};
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .dispatch = enqueue, .context = &queue};
    struct fixture f = open_fixture(&options);
    struct maker a = {.name = "a", .value = 1}, b = {.name = "b", .value = 2};
    must_promise(f.library, &a);
    must_promise(f.library, &b);
    struct tn_wanted wanted[] = {{.name = "a"}, {.name = "b"}};
    assert_ok(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), &err);
    assert_int_equal(a.made + b.made, 2);
    for (size_t i = 0; i < queue.count; i++)
        tn_task_run(queue.tasks[i]);
    assert_int_equal(a.made + b.made, 2);
    close_fixture(&f);
}

/* ---- storms ---- */

enum { THREADS = 8, MAKERS = 48, ROUNDS = 40 };

struct storm {
    struct fixture f;
    struct maker makers[MAKERS];
    _Atomic int wrong, threads;
    pthread_barrier_t start;
};

/* f(i) returns 1 + f(i + 1) and so on; every third one fails, and with it all that depend on it. */
static void prepare(struct storm *s, bool failing)
{
    for (int i = 0; i < MAKERS; i++) {
        struct maker *m = &s->makers[i];
        m->value = 1;
        snprintf(m->name, sizeof m->name, "f%d", i);
        if (i % 6 != 5)
            snprintf(m->callee, sizeof m->callee, "f%d", i + 1);
        m->code = failing && i % 3 == 2 ? TN_EIO : 0;
    }
}

static int wanted_answer(int i)
{
    return 6 - i % 6;
}

static void look_up_some(struct storm *s, unsigned seed, bool failing)
{
    struct tn_error err;
    for (int round = 0; round < ROUNDS; round++) {
        struct tn_wanted wanted[3];
        char names[3][16];
        bool fails = false;
        int numbers[3];
        for (int i = 0; i < 3; i++) {
            seed = seed * 1103515245 + 12345;
            numbers[i] = (int)(seed >> 16) % MAKERS;
            snprintf(names[i], sizeof names[i], "f%d", numbers[i]);
            wanted[i] = (struct tn_wanted){.name = names[i]};
            fails |= failing; /* each depends on a failing one */
        }
        int code = tn_lookup_all(s->f.library, wanted, 3, &err);
        if (fails ? code != TN_EIO : code != 0)
            s->wrong++;
        for (int i = 0; !code && i < 3; i++) {
            int (*function)(void);
            memcpy(&function, &wanted[i].address, sizeof function);
            if (function() != wanted_answer(numbers[i]))
                s->wrong++;
        }
    }
}

static void *storm_good(void *context)
{
    struct storm *s = context;
    unsigned seed = (unsigned)s->threads++;
    pthread_barrier_wait(&s->start);
    look_up_some(s, seed, false);
    return NULL;
}

static void *storm_failing(void *context)
{
    struct storm *s = context;
    unsigned seed = (unsigned)s->threads++;
    pthread_barrier_wait(&s->start);
    look_up_some(s, seed, true);
    return NULL;
}

static void run_threads(struct storm *s, void *(*body)(void *))
{
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&s->start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, s), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&s->start);
}

static void storm(void *(*body)(void *), bool failing, size_t pool)
{
    const struct tn_session_options options = {.size = sizeof options, .threads = pool};
    struct storm s = {.f = open_fixture(&options)};
    prepare(&s, failing);
    for (int i = 0; i < MAKERS; i++)
        must_promise(s.f.library, &s.makers[i]);
    run_threads(&s, body);
    assert_int_equal(s.wrong, 0);
    for (int i = 0; i < MAKERS; i++)
        assert_true(s.makers[i].made <= 1);
    close_fixture(&s.f);
}

static void storms(void **state)
{
    (void)state;
    for (size_t pool = 0; pool <= 2; pool++) {
        storm(storm_good, false, pool);
        storm(storm_failing, true, pool);
    }
}

/* Promises, looks up, calls and removes a function that calls one of the shared ones. */
static bool come_and_go_once(struct storm *s, struct tn_tracker *tracker, int thread, int round)
{
    struct tn_error err;
    struct maker m = {.value = round};
    int shared = (thread * 7 + round) % MAKERS;
    snprintf(m.name, sizeof m.name, "g%d_%d", thread, round);
    snprintf(m.callee, sizeof m.callee, "f%d", shared);
    void *address;
    int (*function)(void);
    if (promise(s->f.library, &m, tracker, &err) || tn_lookup(s->f.library, m.name, &address, &err))
        return false;
    memcpy(&function, &address, sizeof function);
    return function() == round + wanted_answer(shared) && !tn_tracker_remove(tracker, &err);
}

static void *come_and_go(void *context)
{
    struct storm *s = context;
    struct tn_error err;
    struct tn_tracker *tracker = NULL;
    int thread = s->threads++;
    pthread_barrier_wait(&s->start);
    bool right = !tn_tracker_create(s->f.library, &tracker, &err);
    for (int round = 0; right && round < ROUNDS; round++)
        right = come_and_go_once(s, tracker, thread, round);
    s->wrong += !right;
    return NULL;
}

static void coming_and_going(void **state)
{
    (void)state;
    struct storm s = {.f = open_fixture(NULL)};
    prepare(&s, false);
    for (int i = 0; i < MAKERS; i++)
        must_promise(s.f.library, &s.makers[i]);
    run_threads(&s, come_and_go);
    assert_int_equal(s.wrong, 0);
    close_fixture(&s.f);
}

/* ---- circles ---- */

/* Looks up `other` while it is being made. */
struct cyclic {
    const char *name, *other;
    struct tn_library *library;
    pthread_barrier_t *start;
    _Atomic int made;
    int code;
};

static int make_cyclic(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct cyclic *c = context;
    void *address;
    c->made++;
    int code = c->other ? tn_lookup(c->library, c->other, &address, err) : 0;
    if (code)
        return code;
    struct tn_input input = input_of(c->name, function_object(c->name, 1, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static void *look_up_cyclic(void *context)
{
    struct cyclic *c = context;
    struct tn_error err;
    void *address;
    pthread_barrier_wait(c->start);
    c->code = tn_lookup(c->library, c->name, &address, &err);
    return NULL;
}

static void promise_cyclic(struct cyclic *c)
{
    struct tn_error err;
    const struct tn_promised symbol = {c->name, 0};
    assert_ok(tn_add_materializer(c->library,
                                  &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                            .name = c->name,
                                                            .context = c,
                                                            .symbols = &symbol,
                                                            .count = 1,
                                                            .materialize = make_cyclic},
                                  &err),
              &err);
}

/* Two threads, each of which makes what the other one needs: neither waits forever, and both get the reason. If only
 * one needs the other, both succeed. */
static void two_in_a_circle(void **state)
{
    (void)state;
    enum { TIMES = 100 };
    alarm(120);
    for (int i = 0; i < TIMES; i++) {
        const struct tn_session_options options = {.size = sizeof options, .threads = (size_t)(i % 3)};
        struct fixture f = open_fixture(&options);
        pthread_barrier_t start;
        assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
        bool circle = i % 2;
        struct cyclic c[] = {{"a", "b", f.library, &start}, {"b", circle ? "a" : NULL, f.library, &start}};
        pthread_t threads[2];
        promise_cyclic(&c[0]);
        promise_cyclic(&c[1]);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, look_up_cyclic, &c[k]), 0);
        for (int k = 0; k < 2; k++) {
            pthread_join(threads[k], NULL);
            assert_int_equal(c[k].code, circle ? TN_ECYCLE : 0);
            assert_int_equal(c[k].made, 1);
        }
        pthread_barrier_destroy(&start);
        close_fixture(&f);
    }
    alarm(0);
}

/* ---- forks ---- */

static _Atomic int let_go;

static int make_slowly(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    while (!let_go)
        usleep(1000);
    struct tn_input input = input_of(m->name, function_object(m->name, m->value, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static sem_t waiting;

static void *look_it_up(void *library)
{
    tell_when_waiting(&waiting);
    return (void *)(intptr_t)call_in(library, "slow");
}

static void in_the_child(void **state)
{
    let_go = 1;
    assert_int_equal(call_in(*state, "slow"), 5); /* made again, by the calling thread */
    add_function(*state, "more", 1, "slow", NULL);
    assert_int_equal(call_in(*state, "more"), 6);
}

/* The process forks while other threads make something and wait for it; the child can make it too. */
static void fork_while_making(void **state)
{
    (void)state;
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .threads = 2};
    struct fixture f = open_fixture(&options);
    struct maker m = {.name = "slow", .value = 5};
    const struct tn_promised symbol = {"slow", 0};
    assert_ok(tn_add_materializer(f.library,
                                  &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                            .name = "slow",
                                                            .context = &m,
                                                            .symbols = &symbol,
                                                            .count = 1,
                                                            .materialize = make_slowly},
                                  &err),
              &err);
    pthread_t threads[3];
    let_go = 0;
    sem_init(&waiting, 0, 0);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_it_up, f.library), 0);
    while (!m.made)
        usleep(1000);
    for (size_t i = 1; i < COUNT(threads); i++) /* all but the one that makes it */
        await(&waiting);
    assert_int_equal(in_child(in_the_child, f.library), 0);
    let_go = 1;
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *answer;
        pthread_join(threads[i], &answer);
        assert_int_equal((intptr_t)answer, 5);
    }
    assert_int_equal(m.made, 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_for_the_queue),
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(more_waiting_than_threads),
        cmocka_unit_test(queue_of_the_client),
        cmocka_unit_test(waiting_beside_the_queue),
        cmocka_unit_test(fork_while_making),
        cmocka_unit_test(storms),
        cmocka_unit_test(coming_and_going),
        cmocka_unit_test(two_in_a_circle),
    };
    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
