/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Idle tasks: run when nothing is demanded, never in the way of what is. Also run under ThreadSanitizer. */

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/os.h"
#include "functions.h"

/* ---- what happens, in order ---- */

static char events[64];
static _Atomic size_t event_count;

static void note(char event)
{
    events[event_count++] = event;
}

struct gate {
    sem_t begun, may_end;
};

static void open_gate(struct gate *gate)
{
    sem_init(&gate->begun, 0, 0);
    sem_init(&gate->may_end, 0, 0);
}

static void pass(struct gate *gate)
{
    sem_post(&gate->begun);
    sem_wait(&gate->may_end);
}

/* ---- tasks and materializers ---- */

struct task {
    struct tn_session *session;
    struct gate *gate; /* NULL: ends at once */
    char event;
    int again; /* how often it gives itself again */
    _Atomic int runs, cancels;
    int priority;
};

static void run(void *context, int is_cancelled)
{
    struct task *t = context;
    struct tn_error err;
    if (is_cancelled) {
        t->cancels++;
        return;
    }
    if (t->event) {
        note(t->event);
        t->priority = getpriority(PRIO_PROCESS, 0);
    }
    if (t->again && t->again--)
        assert_ok(tn_session_run_idle(t->session, run, t, &err), &err);
    t->runs++;
    if (t->gate)
        pass(t->gate);
}

static void give(const struct fixture *f, struct task *t)
{
    struct tn_error err;
    t->session = f->session;
    assert_ok(tn_session_run_idle(f->session, run, t, &err), &err);
}

struct maker {
    const char *name;
    struct gate *gate;
    char event;
};

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    if (m->event)
        note(m->event);
    if (m->gate)
        pass(m->gate);
    struct tn_input input = input_of(m->name, function_object(m->name, 1, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static void found(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count;
    assert_null(err);
    sem_post(context);
}

/* Has a function made by the session's threads, without waiting. */
static void demand(const struct fixture *f, struct maker *m, struct tn_wanted *wanted, sem_t *done)
{
    struct tn_error err;
    const struct tn_promised symbol = {m->name, 0};
    assert_ok(tn_add_materializer(f->library,
                                  &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                            .name = m->name,
                                                            .context = m,
                                                            .symbols = &symbol,
                                                            .count = 1,
                                                            .materialize = make},
                                  &err),
              &err);
    wanted->name = m->name;
    assert_ok(tn_lookup_async(f->library, wanted, 1, found, done, &err), &err);
}

static struct fixture open_with_threads(size_t threads)
{
    const struct tn_session_options options = {.size = sizeof options, .threads = threads};
    return open_fixture(&options);
}

static void wait_for(_Atomic int *count, int wanted)
{
    while (*count < wanted)
        usleep(1000);
    assert_int_equal(*count, wanted);
}

/* ---- the tests ---- */

static int prepare(void **state)
{
    (void)state;
    memset(events, 0, sizeof events);
    event_count = 0;
    alarm(60);
    return 0;
}

/* In their own order, by threads that leave the core to others, and one may give the next. */
static void one_after_the_other(void **state)
{
    (void)state;
    struct fixture f = open_with_threads(1);
    struct task a = {.event = 'a'}, b = {.event = 'b', .again = 2}, c = {.event = 'c'};
    int own = getpriority(PRIO_PROCESS, 0);
    give(&f, &a);
    wait_for(&a.runs, 1);
    give(&f, &b);
    wait_for(&b.runs, 3);
    give(&f, &c);
    wait_for(&c.runs, 1);
    assert_string_equal(events, "abbbc");
    assert_int_equal(a.priority, 19);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
    close_fixture(&f);
    assert_true(!a.cancels && !b.cancels && !c.cancels);
}

/* The only thread makes one function, and another one waits for the thread: so the idle task waits for both. */
static void after_what_is_demanded(void **state)
{
    (void)state;
    struct fixture f = open_with_threads(1);
    struct gate first_gate, second_gate;
    sem_t done;
    open_gate(&first_gate);
    open_gate(&second_gate);
    sem_init(&done, 0, 0);
    struct maker first = {"first", &first_gate, '1'}, second = {"second", &second_gate, '2'};
    struct tn_wanted wanted[2] = {{0}};
    struct task task = {.event = 'i'};
    demand(&f, &first, &wanted[0], &done);
    sem_wait(&first_gate.begun);
    demand(&f, &second, &wanted[1], &done);
    give(&f, &task);
    usleep(20000);
    assert_int_equal(task.runs, 0);
    sem_post(&first_gate.may_end);
    sem_wait(&second_gate.begun); /* now the answer of the first lookup waits for the thread */
    usleep(20000);
    assert_int_equal(task.runs, 0);
    sem_post(&second_gate.may_end);
    sem_wait(&done);
    sem_wait(&done);
    wait_for(&task.runs, 1);
    assert_string_equal(events, "12i");
    close_fixture(&f);
}

/* Idle tasks that never end keep no demanded one from running, with or without a caller that waits. */
static void no_starvation(void **state)
{
    (void)state;
    struct fixture f = open_with_threads(2);
    struct gate gate;
    sem_t done;
    open_gate(&gate);
    sem_init(&done, 0, 0);
    struct task tasks[5] = {{.gate = &gate}, {.gate = &gate}, {.gate = &gate}, {.gate = &gate}, {.gate = &gate}};
    for (size_t i = 0; i < COUNT(tasks); i++)
        give(&f, &tasks[i]);
    sem_wait(&gate.begun);
    sem_wait(&gate.begun);
    struct maker makers[] = {{"a"}, {"b"}, {"c"}, {"d"}};
    struct tn_wanted wanted[COUNT(makers)] = {{0}};
    for (size_t i = 0; i < COUNT(makers); i++)
        demand(&f, &makers[i], &wanted[i], &done);
    for (size_t i = 0; i < COUNT(makers); i++)
        sem_wait(&done);
    assert_int_equal(call_in(f.library, "d"), 1);
    for (size_t i = 0; i < COUNT(tasks); i++)
        sem_post(&gate.may_end);
    for (size_t i = 0; i < COUNT(tasks); i++)
        wait_for(&tasks[i].runs, 1);
    close_fixture(&f);
}

static void *destroy(void *session)
{
    tn_session_destroy(session);
    return NULL;
}

/* The running one is waited for; those that no thread has begun are told, also one that is given meanwhile. */
static void destroyed_meanwhile(void **state)
{
    (void)state;
    struct tn_session_options options = {.size = sizeof options, .threads = 1};
    struct tn_error err;
    struct fixture f = {0};
    assert_ok(tn_session_create(&options, &f.session, &err), &err);
    struct gate gate;
    open_gate(&gate);
    struct task running = {.gate = &gate, .again = 1}, queued[3] = {{0}};
    give(&f, &running);
    sem_wait(&gate.begun);
    for (size_t i = 0; i < COUNT(queued); i++)
        give(&f, &queued[i]);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, destroy, f.session), 0);
    usleep(20000);
    assert_int_equal(running.cancels, 0);
    sem_post(&gate.may_end);
    sem_post(&gate.may_end); /* the session may not have been closing yet */
    pthread_join(thread, NULL);
    assert_int_equal(running.runs + running.cancels, 2);
    for (size_t i = 0; i < COUNT(queued); i++)
        assert_int_equal(queued[i].runs + queued[i].cancels, 1);
}

static void refused(void **state)
{
    (void)state;
    struct tn_error err;
    struct task task = {0};
    struct fixture f = open_fixture(NULL);
    assert_int_equal(tn_session_run_idle(f.session, run, &task, &err), TN_ENOTSUP);
    assert_int_equal(tn_session_run_idle(NULL, run, &task, &err), TN_EINVAL);
    assert_int_equal(tn_session_run_idle(f.session, NULL, &task, &err), TN_EINVAL);
    close_fixture(&f);
    f = open_with_threads(1);
    tn__os_set_faults("a1");
    assert_int_equal(tn_session_run_idle(f.session, run, &task, &err), TN_ENOMEM);
    tn__os_set_faults(NULL);
    close_fixture(&f);
    assert_true(!task.runs && !task.cancels);
    assert_int_equal(tn_task_class(NULL), TN_TASK_DEMANDED);
}

/* ---- the client's queue ---- */

struct queue {
    struct tn_task *tasks[8];
    enum tn_task_class classes[8];
    size_t count;
};

static void enqueue(void *context, struct tn_task *task)
{
    struct queue *queue = context;
    assert_true(queue->count < COUNT(queue->tasks));
    queue->classes[queue->count] = tn_task_class(task);
    queue->tasks[queue->count++] = task;
}

static void queue_of_the_client(void **state)
{
    (void)state;
    struct queue queue = {0};
    const struct tn_session_options options = {.size = sizeof options, .dispatch = enqueue, .context = &queue};
    struct fixture f = open_fixture(&options);
    sem_t done;
    sem_init(&done, 0, 0);
    struct maker maker = {"a"};
    struct tn_wanted wanted = {0};
    struct task task = {0};
    give(&f, &task);
    demand(&f, &maker, &wanted, &done);
    assert_int_equal(queue.classes[0], TN_TASK_IDLE);
    assert_int_equal(queue.classes[1], TN_TASK_DEMANDED);
    assert_int_equal(task.runs, 0);
    for (size_t i = 1; i < queue.count; i++) /* some are added meanwhile */
        tn_task_run(queue.tasks[i]);
    sem_wait(&done);
    assert_int_equal(task.runs, 0);
    tn_task_run(queue.tasks[0]);
    assert_true(task.runs == 1 && !task.cancels);
    close_fixture(&f);
}

/* ---- forks ---- */

#ifndef __SANITIZE_THREAD__ /* which starts no threads after a fork */

static void in_the_child(void **state)
{
    struct fixture *f = *state;
    struct task mine = {0};
    give(f, &mine);
    wait_for(&mine.runs, 1);
}

/* What was not begun is run in the child too; what a thread of the parent was running is not. */
static void forked(void **state)
{
    (void)state;
    struct fixture f = open_with_threads(1);
    struct gate gate;
    open_gate(&gate);
    struct task running = {.gate = &gate}, queued = {0};
    give(&f, &running);
    sem_wait(&gate.begun);
    give(&f, &queued);
    assert_int_equal(in_child(in_the_child, &f), 0);
    assert_int_equal(queued.runs, 0); /* in this process */
    sem_post(&gate.may_end);
    wait_for(&queued.runs, 1);
    close_fixture(&f);
}

#endif

/* ---- many at once ---- */

enum { THREADS = 6, ROUNDS = 300 };

struct crowd {
    struct fixture f;
    struct task task;
    _Atomic int number;
};

static void *give_and_look_up(void *context)
{
    struct crowd *crowd = context;
    char name[16];
    int number = crowd->number++;
    for (int i = 0; i < ROUNDS; i++) {
        struct tn_error err;
        assert_ok(tn_session_run_idle(crowd->f.session, run, &crowd->task, &err), &err);
        if (i % 30)
            continue;
        snprintf(name, sizeof name, "f%d_%d", number, i);
        struct maker m = {name};
        struct tn_wanted wanted = {0};
        sem_t done;
        sem_init(&done, 0, 0);
        demand(&crowd->f, &m, &wanted, &done);
        sem_wait(&done);
    }
    return NULL;
}

static void many_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct crowd crowd = {.f = open_with_threads(2)};
        crowd.task.session = crowd.f.session;
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, give_and_look_up, &crowd), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        close_fixture(&crowd.f); /* while some are queued or running */
        assert_int_equal(crowd.task.runs + crowd.task.cancels, THREADS * ROUNDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test_setup(forked, prepare),
#endif
        cmocka_unit_test_setup(one_after_the_other, prepare),
        cmocka_unit_test_setup(after_what_is_demanded, prepare),
        cmocka_unit_test_setup(no_starvation, prepare),
        cmocka_unit_test_setup(destroyed_meanwhile, prepare),
        cmocka_unit_test_setup(refused, prepare),
        cmocka_unit_test_setup(queue_of_the_client, prepare),
        cmocka_unit_test_setup(many_at_once, prepare),
    };
    return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
