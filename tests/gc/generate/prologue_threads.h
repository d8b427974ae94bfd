/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Second part of the prologue: functions of the program in several threads. What they compute must not depend on who
 * comes first: each thread has its own trace, globals and lists; what they share is added up at the end. */

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

/* Each program starts threads a few times only: they take long under stress. */
enum { STARTS = 2 };

typedef node work(node a, node b, long x);

STATE work *task;
STATE long task_number;
STATE node given[THREADS][2], results[THREADS];
STATE unsigned long traces[THREADS];
STATE pthread_mutex_t lock;
STATE node shared;
STATE int starts, running;

/* Native code that waits is called in both ways: like any other function, and by tn_call_blocking. `how` says which. */
static void acquire(long how)
{
    switch (how & 3) {
    case 0:
        pthread_mutex_lock(&lock);
        break;
    case 1:
        tn_call_blocking((void *)pthread_mutex_lock, (intptr_t)&lock, 0, 0, 0);
        break;
    case 2:
        while (pthread_mutex_trylock(&lock))
            sched_yield();
        break;
    default:
        while (pthread_mutex_trylock(&lock))
            tn_call_blocking((void *)sched_yield, 0, 0, 0, 0);
    }
}

static void join(pthread_t thread, long how)
{
    if (how & 1)
        pthread_join(thread, NULL);
    else
        tn_call_blocking((void *)pthread_join, (intptr_t)thread, 0, 0, 0);
}

static __attribute__((noinline)) node copy(node list)
{
    node first = NULL;
    for (int i = 0; list && i < 6; i++, list = list->next)
        first = cons(list->value + i, first);
    return first;
}

/* A list of all threads, each of whose elements refers to a list of one of them. */
static __attribute__((noinline)) void share(node list, long number)
{
    node mine = copy(list);
    acquire(number);
    shared = cons(number, shared);
    shared->other = mine;
    pthread_mutex_unlock(&lock);
}

static long sum_shared(void)
{
    long total = 0;
    for (node n = shared; n; n = n->next)
        total += n->value * 3 + sum(n->other);
    shared = NULL;
    return total;
}

static node plain_work(node a, node b, long x)
{
    for (int i = 0; i < 5; i++) {
        a = cons(x + i, b);
        share(a, x + i);
        b = cons(i, a);
    }
    return b;
}

static void *run_task(void *argument)
{
    self = (unsigned)(uintptr_t)argument;
    results[self] = task(given[self][0], given[self][1], task_number + self);
    traces[self] = trace + (unsigned long)notes;
    return NULL;
}

/* Runs a function in all threads, unless they are running one already. The others get copies of the lists, for
 * functions change them. */
static __attribute__((noinline)) node together(work *function, node a, node b, long x)
{
    pthread_t threads[THREADS];
    if (self || running || starts++ >= STARTS)
        return b;
    running = 1;
    task = function, task_number = x;
    for (unsigned i = 1; i < THREADS; i++) {
        given[i][0] = copy(a), given[i][1] = copy(b);
        for (int k = 0; k < 4; k++)
            all_globals[i][k] = copy(globals[k]);
        pthread_create(&threads[i], NULL, run_task, (void *)(uintptr_t)i);
    }
    node result = function(a, b, x);
    for (unsigned i = 1; i < THREADS; i++) {
        join(threads[i], x + i);
        note((long)traces[i]);
        note(sum(results[i]));
        result = cons(i, result);
        result->other = results[i];
        results[i] = NULL;
    }
    running = 0;
    note(sum_shared());
    return result;
}

/* ---- a thread that mostly waits ---- */

STATE node mailbox;
STATE int question[2], answer[2];

static void wait_for(int file, long how)
{
    char byte;
    struct pollfd polled = {file, POLLIN, 0};
    if (how & 1) {
        poll(&polled, 1, -1);
        read(file, &byte, 1);
    } else {
        tn_call_blocking((void *)poll, (intptr_t)&polled, 1, -1, 0);
        tn_call_blocking((void *)read, file, (intptr_t)&byte, 1, 0);
    }
}

static void wake(int file)
{
    if (write(file, "", 1) != 1)
        abort();
}

static void *answer_all(void *argument)
{
    node kept = cons((long)(intptr_t)argument, NULL);
    self = 1;
    for (intptr_t i = (intptr_t)argument; i; i--) {
        wait_for(question[0], i >> 1);
        kept = cons(sum(mailbox), kept);
        mailbox = cons(sum(kept), mailbox);
        wake(answer[1]);
    }
    return NULL;
}

/* Another thread makes the list longer, and this one too. */
static __attribute__((noinline)) node through_thread(node list, long count)
{
    pthread_t thread;
    if (self || starts++ >= STARTS || pipe(question) || pipe(answer))
        return list;
    pthread_create(&thread, NULL, answer_all, (void *)(intptr_t)count);
    for (long i = 0; i < count; i++) {
        mailbox = cons(i, list);
        wake(question[1]);
        node meanwhile = cons(i, list);
        wait_for(answer[0], i);
        list = cons(sum(meanwhile), mailbox);
    }
    join(thread, count);
    for (int i = 0; i < 2; i++)
        close(question[i]), close(answer[i]);
    mailbox = NULL;
    return list;
}

static __attribute__((noinline)) long wait_a_little(node list, long count)
{
    struct timespec time = {0, 1000};
    while (count--)
        if (count & 1)
            nanosleep(&time, NULL);
        else
            tn_call_blocking((void *)nanosleep, (intptr_t)&time, 0, 0, 0);
    return sum(list);
}
