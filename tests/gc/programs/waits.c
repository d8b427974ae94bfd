/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads of managed code wait in every way that the C library has, while others allocate and collect: no collection
 * waits for them, and what they keep is there afterwards. Nothing here says that a call may block. */

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "list.h"

enum { COLLECTIONS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t posted;
static int ends[2], more_ends[2], is_open, waiting;

static void collect(void)
{
#ifndef TN_UNMANAGED
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
#endif
}

/* ---- the ways to wait ---- */

static void in_mutex(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void in_rwlock(void)
{
    pthread_rwlock_rdlock(&shared);
    pthread_rwlock_unlock(&shared);
}

static void in_condition(void)
{
    pthread_mutex_lock(&door);
    while (!is_open)
        pthread_cond_wait(&opened, &door);
    pthread_mutex_unlock(&door);
}

static void in_semaphore(void)
{
    sem_wait(&posted);
}

static void in_read(void)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        puts("nothing read");
}

static void in_poll(void)
{
    struct pollfd one = {.fd = more_ends[0], .events = POLLIN};
    if (poll(&one, 1, -1) != 1)
        puts("nothing to read");
}

static void in_barrier(void)
{
    pthread_barrier_wait(&meeting);
}

static void *nothing(void *argument)
{
    in_mutex();
    return argument;
}

static void in_join(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) == 0)
        pthread_join(thread, NULL);
}

static void in_sleep(void)
{
    struct timespec ten = {.tv_nsec = 10 * 1000 * 1000};
    nanosleep(&ten, NULL);
}

static const struct way {
    void (*wait)(void);
    const char *name;
} ways[] = {
    {in_mutex, "mutex"},         {in_rwlock, "rwlock"}, {in_condition, "condition"},
    {in_semaphore, "semaphore"}, {in_read, "read"},     {in_poll, "poll"},
    {in_barrier, "barrier"},     {in_join, "join"},     {in_sleep, "sleep"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void *wait_in(void *argument)
{
    const struct way *way = argument;
    node kept = make_list(10);
    __atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE);
    way->wait();
    node after = make_list(5);
    return (void *)(intptr_t)(sum_of(kept) + sum_of(after));
}

/* The child has one thread, which collects; the other ones are not there to wait for. */
static int work_in_child(void)
{
    int status = -1;
    node kept = make_list(10);
    pid_t child = fork();
    if (child == 0) {
        collect();
        _exit((int)(sum_of(kept) + sum_of(make_list(5))));
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void let_all_go(void)
{
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&shared);
    pthread_mutex_lock(&door);
    is_open = 1;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&door);
    sem_post(&posted);
    if (write(ends[1], "x", 1) != 1 || write(more_ends[1], "x", 1) != 1)
        puts("not written");
    pthread_barrier_wait(&meeting);
}

int main(void)
{
    pthread_t threads[WAYS];
    node kept = make_list(100);
    if (pipe(ends) || pipe(more_ends) || sem_init(&posted, 0, 0) || pthread_barrier_init(&meeting, NULL, 2))
        return 1;
    pthread_mutex_lock(&lock);
    pthread_rwlock_wrlock(&shared);
    for (int i = 0; i < WAYS; i++)
        if (pthread_create(&threads[i], NULL, wait_in, (void *)&ways[i]))
            return 1;
    while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < WAYS)
        in_sleep();
    for (int i = 0; i < COLLECTIONS; i++) {
        make_list(100);
        collect();
    }
    printf("child %d\n", work_in_child());
    fflush(stdout);
    let_all_go();
    for (int i = 0; i < WAYS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("%s %ld\n", ways[i].name, (long)(intptr_t)result);
    }
    printf("kept %ld\n", sum_of(kept));
    return 0;
}
