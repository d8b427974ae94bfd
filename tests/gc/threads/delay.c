/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collections that wait for a thread: the collector sleeps, says after a second which thread it is, and goes on soon
 * after that has stopped, however it stops. Threads that end are no longer waited for. */

#include "support.h"

#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"

enum { MS = 1000000 };

static uint64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* ---- a thread that takes long to stop ---- */

static intptr_t leave(intptr_t go_on, intptr_t b, intptr_t c, intptr_t d)
{
    (void)b, (void)c, (void)d;
    sem_wait((sem_t *)go_on);
    return 0;
}

static void end_region(sem_t *go_on)
{
    tn_managed_end();
    sem_wait(go_on);
}

static void block(sem_t *go_on)
{
    tn_call_blocking((void *)(intptr_t)leave, (intptr_t)go_on, 0, 0, 0);
    tn_managed_end();
}

static void collect_too(sem_t *go_on)
{
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    tn_managed_end();
    sem_wait(go_on);
}

static void detach(sem_t *go_on)
{
    tn_heap_detach();
    sem_wait(go_on);
}

/* The thread ends in managed code. */
static void end(sem_t *go_on)
{
    (void)go_on;
    pthread_exit(NULL);
}

static const struct row {
    const char *name;
    void (*stop)(sem_t *go_on);
} rows[] = {
    {"end of managed code", end_region},
    {"blocking call", block},
    {"collection", collect_too},
    {"detaching", detach},
    {"ending", end},
};

struct late {
    struct tn_heap *heap;
    const struct row *row;
    uint32_t thread;
    bool is_reported; /* it stops after that, else after 20 ms */
    sem_t here, go_on;
    _Atomic uint64_t stopped; /* when */
};

static struct {
    unsigned count;
    struct tn_delay last;
} reported;

static void *be_late(void *argument)
{
    struct late *late = argument;
    assert_int_equal(tn_heap_attach(late->heap, &err), 0);
    late->thread = tn__os_thread_id();
    tn_managed_begin();
    sem_post(&late->here);
    do
        usleep(20000);
    while (late->is_reported && !__atomic_load_n(&reported.count, __ATOMIC_ACQUIRE));
    late->stopped = tn__os_now_ns();
    late->row->stop(&late->go_on);
    return NULL;
}

/* ---- what is reported ---- */

static void note(void *context, const struct tn_delay *delay)
{
    assert_ptr_equal(context, &reported);
    assert_true(delay->waited_ns >= 1000ull * MS << reported.count);
    reported.last = *delay;
    __atomic_add_fetch(&reported.count, 1, __ATOMIC_RELEASE);
}

struct figures {
    uint64_t processor_ns, after_ns;
};

/* Collects while a thread takes long to stop, until that is reported, or a short time. */
static struct figures wait_for_one(const struct row *row, bool is_reported, uint32_t *thread)
{
    struct tn_heap_options options = {
        .size = sizeof options, .collector = chosen_collector(), .on_delay = note, .context = &reported};
    struct late late = {.row = row, .is_reported = is_reported};
    pthread_t made;
    memset(&reported, 0, sizeof reported);
    sem_init(&late.here, 0, 0);
    sem_init(&late.go_on, 0, 0);
    assert_int_equal(tn_heap_create(&options, &late.heap, &err), 0);
    assert_int_equal(pthread_create(&made, NULL, be_late, &late), 0);
    sem_wait(&late.here);
    uint64_t before = processor_ns();
    tn_heap_collect(late.heap, TN_COLLECT_FULL);
    struct figures figures = {processor_ns() - before, tn__os_now_ns() - late.stopped};
    assert_true(late.stopped);
    sem_post(&late.go_on);
    pthread_join(made, NULL);
    *thread = late.thread;
    tn_heap_destroy(late.heap);
    sem_destroy(&late.here);
    sem_destroy(&late.go_on);
    return figures;
}

static void the_collector_sleeps_and_reports(void **state)
{
    const struct row *row = *state;
    uint32_t thread;
    struct figures figures = wait_for_one(row, true, &thread);
    assert_true(reported.count >= 1); /* more if the system is busy */
    assert_int_equal(reported.last.thread, thread);
    assert_null(reported.last.code); /* it was in no managed function */
    assert_true(reported.last.system_call >= -1);
    assert_true(figures.processor_ns < 200 * MS);
    assert_true(figures.after_ns < 700 * MS);
}

static void short_waits_are_not_reported(void **state)
{
    uint32_t thread;
    wait_for_one(*state, false, &thread);
    assert_int_equal(reported.count, 0);
}

/* ---- the end of threads ---- */

static pthread_key_t keys[8];
static _Atomic int used, refused;

/* Destructors of a client's data, before and after ours, as often as they are called. */
static void use_heap(void *value)
{
    struct tn_heap *heap = value;
    struct tn_error e;
    int code = tn_heap_attach(heap, &e);
    if (code) {
        refused++;
        assert_int_equal(code, TN_EINVAL);
        assert_non_null(strstr(e.text, "ending"));
        return;
    }
    tn_scope_begin();
    tn_handle_free(make_node(heap, &node_type, 1, NULL));
    tn_managed_begin();
    tn_managed_end();
    tn_scope_end();
    if (++used % 2)
        tn_heap_detach();
    for (size_t i = 0; i < TN_COUNT(keys); i++)
        pthread_setspecific(keys[i], heap);
}

static void *leave_data(void *argument)
{
    for (size_t i = 0; i < TN_COUNT(keys) / 2; i++)
        pthread_setspecific(keys[i], argument);
    assert_int_equal(tn_heap_attach(argument, &err), 0);
    for (size_t i = 0; i < TN_COUNT(keys); i++)
        pthread_setspecific(keys[i], argument);
    return NULL;
}

static void destructors_may_use_the_heap(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    for (size_t i = 0; i < TN_COUNT(keys); i++)
        assert_int_equal(pthread_key_create(&keys[i], use_heap), 0);
    used = refused = 0;
    for (int i = 0; i < 20; i++) {
        struct tn_heap_stats stats = {.size = sizeof stats};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, leave_data, heap), 0);
        pthread_join(thread, NULL);
        tn_heap_collect(heap, TN_COLLECT_FULL);
        tn_heap_stats(heap, &stats);
        assert_int_equal(stats.threads, 1);
    }
    assert_true(used >= 20 * (int)TN_COUNT(keys)); /* at least one round of each */
    for (size_t i = 0; i < TN_COUNT(keys); i++)
        pthread_key_delete(keys[i]);
    tn_heap_destroy(heap);
}

int main(void)
{
    struct CMUnitTest tests[2 * TN_COUNT(rows) + 2];
    size_t n = 0;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        tests[n++] = (struct CMUnitTest){rows[i].name, short_waits_are_not_reported, NULL, NULL, (void *)&rows[i]};
        tests[n++] = (struct CMUnitTest){rows[i].name, the_collector_sleeps_and_reports, NULL, NULL, (void *)&rows[i]};
    }
    const struct CMUnitTest ends[] = {BOTH(destructors_may_use_the_heap)};
    memcpy(tests + n, ends, sizeof ends);
    n += TN_COUNT(ends);
    return _cmocka_run_group_tests("delay", tests, n, NULL, NULL);
}
