/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Quiescence: which threads are waited for, forks, and a storm of removals. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "base/os.h"
#include "base/thread.h"

/* ---- a thread that does what it is told ---- */

typedef void action(void);

struct worker {
    pthread_t thread;
    pthread_barrier_t barrier; /* before and after each order */
    action *order;             /* NULL: end */
};

static void *work(void *argument)
{
    struct worker *w = argument;
    for (;;) {
        pthread_barrier_wait(&w->barrier);
        if (!w->order)
            return NULL;
        w->order();
        pthread_barrier_wait(&w->barrier);
    }
}

static void start(struct worker *w)
{
    pthread_barrier_init(&w->barrier, NULL, 2);
    assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
}

static void order(struct worker *w, action *what)
{
    w->order = what;
    pthread_barrier_wait(&w->barrier);
    if (what)
        pthread_barrier_wait(&w->barrier);
}

static void stop(struct worker *w)
{
    order(w, tn_thread_detach);
    order(w, NULL);
    pthread_join(w->thread, NULL);
    pthread_barrier_destroy(&w->barrier);
}

/* ---- who is waited for ---- */

static void nothing(void)
{
}

static void block_and_go_on(void)
{
    tn_thread_begin_blocking();
    tn_thread_end_blocking();
}

static void nest(void)
{
    tn_thread_begin_blocking();
    tn_thread_begin_blocking();
    tn_thread_end_blocking();
}

static void attach_anew(void)
{
    tn_thread_detach();
    tn_thread_attach();
}

static void attach_and_block(void)
{
    tn_thread_attach();
    tn_thread_begin_blocking();
}

static void nest_and_leave(void)
{
    nest();
    tn_thread_end_blocking();
    tn_thread_end_blocking(); /* ending once too often has no effect */
}

static void block_then_quiescent(void)
{
    tn_thread_begin_blocking();
    tn_thread_quiescent();
}

static void leave_what_was_not_entered(void)
{
    tn_thread_end_blocking();
}

static void block_before_attaching(void)
{
    tn_thread_begin_blocking();
    tn_thread_attach();
    tn_thread_end_blocking();
}

/* What a thread did before the wait began, what it did afterwards, and whether it is still waited for. */
static const struct row {
    const char *name;
    action *before, *since;
    bool waited_for;
} rows[] = {
    {"not attached", nothing, nothing, false},
    {"not attached, a point", nothing, tn_thread_quiescent, false},
    {"attached since", nothing, tn_thread_attach, false},
    {"attached", tn_thread_attach, nothing, true},
    {"attached twice", tn_thread_attach, tn_thread_attach, true},
    {"attached, a point", tn_thread_attach, tn_thread_quiescent, false},
    {"attached, blocks", tn_thread_attach, tn_thread_begin_blocking, false},
    {"attached, has blocked", tn_thread_attach, block_and_go_on, false},
    {"attached, blocks in a blocking region", tn_thread_attach, nest, false},
    {"attached, leaves what it has not entered", tn_thread_attach, leave_what_was_not_entered, true},
    {"attached, detaches", tn_thread_attach, tn_thread_detach, false},
    {"attached, attaches anew", tn_thread_attach, attach_anew, false},
    {"attached, waits itself", tn_thread_attach, tn_quiesce, false},
    {"blocks", attach_and_block, nothing, false},
    {"blocks, a point", attach_and_block, tn_thread_quiescent, false},
    {"blocks, leaves", attach_and_block, tn_thread_end_blocking, false},
    {"blocks, leaves and leaves", attach_and_block, nest_and_leave, false},
    {"a point in a blocking region", tn_thread_attach, block_then_quiescent, false},
    {"blocks before it attaches", block_before_attaching, nothing, true},
};

static void is_waited_for(void **state)
{
    const struct row *row = *state;
    struct worker worker;
    start(&worker);
    order(&worker, row->before);
    uint64_t ticket = tn_quiesce_begin();
    order(&worker, row->since);
    assert_int_equal(tn_quiesce_ended(ticket), !row->waited_for);
    order(&worker, row->waited_for ? tn_thread_quiescent : nothing);
    assert_true(tn_quiesce_ended(ticket));
    stop(&worker);
}

/* ---- being woken ---- */

static void *quiesce(void *unused)
{
    tn_quiesce();
    return unused;
}

/* Starts a thread that waits, and returns once it has marked the one attached thread. */
static void start_waiter(pthread_t *waiter)
{
    assert_int_equal(pthread_create(waiter, NULL, quiesce, NULL), 0);
    for (bool marked = false; !marked; sched_yield()) {
        tn__threads_lock();
        marked = __atomic_load_n(&tn__threads_first()->seen, __ATOMIC_RELAXED) & 1;
        tn__threads_unlock();
    }
}

static void wakes_who_waits(void **state)
{
    const struct row *row = *state;
    struct worker worker;
    pthread_t waiter;
    start(&worker);
    order(&worker, tn_thread_attach);
    start_waiter(&waiter);
    order(&worker, row->since);
    pthread_join(waiter, NULL);
    stop(&worker);
}

static void points_of_the_past_do_not_count(void **state)
{
    struct worker worker;
    (void)state;
    start(&worker);
    order(&worker, tn_thread_attach);
    for (int i = 0; i < 3; i++) {
        order(&worker, tn_thread_quiescent);
        uint64_t first = tn_quiesce_begin(), second = tn_quiesce_begin();
        assert_false(tn_quiesce_ended(first));
        order(&worker, tn_thread_quiescent);
        assert_true(tn_quiesce_ended(first));
        assert_true(tn_quiesce_ended(second));
    }
    order(&worker, tn_thread_begin_blocking);
    order(&worker, tn_thread_end_blocking);
    assert_false(tn_quiesce_ended(tn_quiesce_begin()));
    stop(&worker);
}

static void the_caller_counts_as_quiescent(void **state)
{
    (void)state;
    tn_quiesce();
    tn_thread_attach();
    tn_quiesce();
    assert_true(tn_quiesce_ended(tn_quiesce_begin()));
    tn_thread_begin_blocking();
    tn_quiesce();
    tn_thread_end_blocking();
    tn_quiesce();
    tn_thread_detach();
    tn_quiesce();
}

/* ---- waiting for several, and by several ---- */

static void all_are_waited_for(void **state)
{
    enum { THREADS = 5 };
    struct worker workers[THREADS];
    (void)state;
    for (size_t i = 0; i < THREADS; i++) {
        start(&workers[i]);
        order(&workers[i], tn_thread_attach);
    }
    uint64_t ticket = tn_quiesce_begin();
    for (size_t i = 0; i < THREADS; i++) {
        static action *const ways[] = {tn_thread_quiescent, tn_thread_begin_blocking, tn_thread_detach};
        assert_false(tn_quiesce_ended(ticket));
        order(&workers[i], ways[i % TN_COUNT(ways)]);
    }
    assert_true(tn_quiesce_ended(ticket));
    for (size_t i = 0; i < THREADS; i++)
        stop(&workers[i]);
}

/* Attached threads that wait at the same time do not wait for each other. */
static void *quiesce_often(void *unused)
{
    tn_thread_attach();
    for (int i = 0; i < 300; i++)
        tn_quiesce();
    tn_thread_detach();
    return unused;
}

static void several_wait_at_once(void **state)
{
    pthread_t threads[4];
    (void)state;
    for (size_t i = 0; i < TN_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, quiesce_often, NULL), 0);
    for (size_t i = 0; i < TN_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

/* ---- forks ---- */

static int exit_status_of_child(int (*run)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        alarm(30);
        _exit(run());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

#ifdef __SANITIZE_THREAD__ /* ThreadSanitizer does not support threads in such a child */
static bool waits_for_new_threads(void)
{
    return true;
}
#else
static bool waits_for_new_threads(void)
{
    struct worker worker;
    start(&worker);
    order(&worker, tn_thread_attach);
    bool waited = !tn_quiesce_ended(tn_quiesce_begin());
    stop(&worker);
    return waited;
}
#endif

/* The parent's threads do not exist in the child; its own do. */
static int in_child(void)
{
    tn_quiesce();
    bool waited = waits_for_new_threads();
    tn_quiesce();
    tn_thread_detach();
    tn_thread_attach();
    tn_quiesce();
    return waited ? 0 : 1;
}

static void forks(void **state)
{
    struct worker worker;
    pthread_t waiter;
    (void)state;
    start(&worker);
    for (int attached = 0; attached < 2; attached++) {
        order(&worker, tn_thread_attach);
        start_waiter(&waiter);
        if (attached)
            tn_thread_attach();
        assert_int_equal(exit_status_of_child(in_child), 0);
        tn_thread_detach();
        assert_false(tn_quiesce_ended(tn_quiesce_begin()));
        order(&worker, tn_thread_detach);
        pthread_join(waiter, NULL);
    }
    stop(&worker);
}

/* ---- a storm ---- */

/* Readers follow a pointer that writers replace; after tn_quiesce, the replaced object is overwritten and freed. Only
 * quiescence orders reads and overwrites, so ThreadSanitizer reports any missing order. */

enum { READERS = 4, WRITERS = 2, ROUNDS = 500, WORDS = 8 };

struct thing {
    uint64_t words[WORDS];
};

static struct thing *published;
static uint32_t writers_left, wrong;

static struct thing *make(uint64_t value)
{
    struct thing *thing = malloc(sizeof *thing);
    for (size_t i = 0; thing && i < WORDS; i++)
        thing->words[i] = value;
    return thing;
}

static void spoil(struct thing *thing)
{
    memset(thing, 0xee, sizeof *thing);
    free(thing);
}

static void *write_often(void *number)
{
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct thing *old = __atomic_exchange_n(&published, make(i + ((uintptr_t)number << 32)), __ATOMIC_ACQ_REL);
        if (i % 4) {
            tn_quiesce();
        } else {
            uint64_t ticket = tn_quiesce_begin();
            while (!tn_quiesce_ended(ticket))
                sched_yield();
        }
        spoil(old);
    }
    __atomic_sub_fetch(&writers_left, 1, __ATOMIC_ACQ_REL);
    return NULL;
}

static void look(void)
{
    const struct thing *thing = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
    for (size_t i = 1; i < WORDS; i++)
        if (thing->words[i] != thing->words[0])
            __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static void *read_often(void *number)
{
    static action *const ways[] = {tn_thread_quiescent, block_and_go_on, attach_anew, tn_quiesce};
    uintptr_t way = (uintptr_t)number;
    tn_thread_attach();
    while (__atomic_load_n(&writers_left, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < 10; i++)
            look();
        ways[way++ % TN_COUNT(ways)]();
        sched_yield(); /* there may be fewer cores than readers, all of which are waited for */
    }
    tn_thread_detach();
    return NULL;
}

/* Always blocked or detached; never passes a quiescent point. */
static void *sleep_often(void *unused)
{
    while (__atomic_load_n(&writers_left, __ATOMIC_ACQUIRE)) {
        tn_thread_attach();
        look();
        tn_thread_begin_blocking();
        usleep(500);
        tn_thread_end_blocking();
        look();
        tn_thread_detach();
        usleep(500);
    }
    return unused;
}

static void a_storm_of_removals(void **state)
{
    pthread_t threads[READERS + WRITERS + 1];
    size_t n = 0;
    (void)state;
    published = make(1);
    wrong = 0;
    writers_left = WRITERS;
    for (uintptr_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[n++], NULL, read_often, (void *)i), 0);
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[n++], NULL, write_often, (void *)i), 0);
    assert_int_equal(pthread_create(&threads[n++], NULL, sleep_often, NULL), 0);
    while (n)
        pthread_join(threads[--n], NULL);
    assert_false(wrong);
    free(published);
}

/* ---- the other direction ---- */

/* What was done before a wait began is visible to other threads after their quiescent point. `done` itself orders
 * nothing. */

enum { NOTES = 3000 };

static uint64_t notes[NOTES];
static size_t done;

static void *note_often(void *unused)
{
    for (size_t i = 0; i < NOTES; i++) {
        notes[i] = ~i;
        uint64_t ticket = tn_quiesce_begin();
        while (!tn_quiesce_ended(ticket)) /* does not mark the thread, so the lock orders nothing either */
            sched_yield();
        __atomic_store_n(&done, i + 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void *read_notes(void *way)
{
    tn_thread_attach();
    for (size_t n = 0; n < NOTES; sched_yield()) {
        n = __atomic_load_n(&done, __ATOMIC_RELAXED);
        if (n && notes[n - 1] != ~(n - 1))
            __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
        (*(action **)way)();
    }
    tn_thread_detach();
    return NULL;
}

static void what_was_left_is_seen_after_a_point(void **state)
{
    static action *ways[] = {tn_thread_quiescent, block_and_go_on};
    pthread_t writer, readers[TN_COUNT(ways)];
    (void)state;
    wrong = 0;
    for (size_t i = 0; i < TN_COUNT(ways); i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_notes, &ways[i]), 0);
    assert_int_equal(pthread_create(&writer, NULL, note_often, NULL), 0);
    pthread_join(writer, NULL);
    for (size_t i = 0; i < TN_COUNT(ways); i++)
        pthread_join(readers[i], NULL);
    assert_false(wrong);
}

/* ---- waits that take long ---- */

static struct {
    unsigned count;
    uint64_t thread, waited_ns;
} delay;

static _Atomic uint32_t late_thread;

static void note_delay(void *context, const struct tn_delay *d)
{
    assert_ptr_equal(context, &delay);
    delay.thread = d->thread;
    delay.waited_ns = d->waited_ns;
    __atomic_add_fetch(&delay.count, 1, __ATOMIC_RELEASE);
    tn_thread_attach(); /* there is no lock */
}

static void *be_late(void *argument)
{
    (void)argument;
    tn_thread_attach();
    late_thread = tn__os_thread_id();
    while (!__atomic_load_n(&delay.count, __ATOMIC_ACQUIRE))
        usleep(1000);
    tn_thread_quiescent();
    tn_thread_detach();
    return NULL;
}

static void a_late_thread_is_reported(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, be_late, NULL), 0);
    while (!late_thread)
        usleep(1000);
    tn_quiesce_watched(note_delay, &delay);
    pthread_join(thread, NULL);
    assert_true(delay.count >= 1);
    assert_int_equal(delay.thread, late_thread);
    assert_true(delay.waited_ns >= 1000000000);
    tn_thread_detach();
}

/* ---- threads that end without detaching ---- */

static void *end_attached(void *block)
{
    tn_thread_attach();
    if (block)
        tn_thread_begin_blocking();
    return NULL;
}

static void ending_detaches(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, end_attached, i % 2 ? &thread : NULL), 0);
        pthread_join(thread, NULL);
        tn__threads_lock();
        bool none = !tn__threads_first();
        tn__threads_unlock();
        assert_true(none);
        tn_quiesce();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_the_past_do_not_count),
        cmocka_unit_test(the_caller_counts_as_quiescent),
        cmocka_unit_test(all_are_waited_for),
        cmocka_unit_test(several_wait_at_once),
        cmocka_unit_test(forks),
        cmocka_unit_test(a_late_thread_is_reported),
        cmocka_unit_test(ending_detaches),
        cmocka_unit_test(a_storm_of_removals),
        cmocka_unit_test(what_was_left_is_seen_after_a_point),
    };
    struct CMUnitTest row_tests[2 * TN_COUNT(rows)];
    size_t n = 0;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        row_tests[n++] = (struct CMUnitTest){rows[i].name, is_waited_for, NULL, NULL, (void *)&rows[i]};
        if (rows[i].before == tn_thread_attach && !rows[i].waited_for)
            row_tests[n++] = (struct CMUnitTest){rows[i].name, wakes_who_waits, NULL, NULL, (void *)&rows[i]};
    }
    int failed = cmocka_run_group_tests_name("base/thread", tests, NULL, NULL);
    return failed + _cmocka_run_group_tests("who is waited for", row_tests, n, NULL, NULL);
}
