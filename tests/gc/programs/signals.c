/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Handlers of signals that are managed code: one allocates, and one is a leaf that reads an object. They run while
 * their thread waits in native code, as doc/GC.md ("Signals") permits, and others allocate. What the thread keeps, and
 * what a handler has made, is there afterwards. */

#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>

#include "list.h"

enum { SIGNALS = 24, LENGTH = 20, THREADS = 2 };

static node made; /* by the handler; newest first */
static long seen; /* by the leaf */
static int over;
static sem_t handled;
static pthread_t receiver;

static void make(int number)
{
    node mine = make_list(LENGTH), sum = tn_new(struct node);
    sum->value = number ? sum_of(mine) : 0;
    sum->next = made;
    made = sum;
}

static void look(int number)
{
    seen += number ? made->value : 0;
}

/* ---- the ways to wait, with this mask ---- */

static void in_sigsuspend(const sigset_t *mask)
{
    sigsuspend(mask);
}

static void in_ppoll(const sigset_t *mask)
{
    ppoll(NULL, 0, NULL, mask);
}

static void in_pselect(const sigset_t *mask)
{
    pselect(0, NULL, NULL, NULL, NULL, mask);
}

static void (*const ways[])(const sigset_t *mask) = {in_sigsuspend, in_ppoll, in_pselect};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- the other threads ---- */

static void *send(void *unused)
{
    for (int i = 0; i < SIGNALS; i++) {
        pthread_kill(receiver, i % 2 ? SIGUSR2 : SIGUSR1);
        sem_wait(&handled);
    }
    return unused;
}

static void *allocate(void *unused)
{
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
        make_list(30);
    return unused;
}

static int install(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    handler(0); /* no first call in a handler */
    return sigaction(number, &action, NULL);
}

int main(void)
{
    pthread_t threads[THREADS], sender;
    sigset_t both, before;
    node kept = make_list(100);
    receiver = pthread_self();
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    if (install(SIGUSR1, make) || install(SIGUSR2, look) || sem_init(&handled, 0, 0) ||
        pthread_sigmask(SIG_BLOCK, &both, &before))
        return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, allocate, NULL))
            return 1;
    if (pthread_create(&sender, NULL, send, NULL))
        return 1;
    for (int i = 0; i < SIGNALS; i++) {
        ways[i % WAYS](&before);
        make_list(10);
        sem_post(&handled);
    }
    pthread_join(sender, NULL);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("kept %ld, made %ld, seen %ld\n", sum_of(kept), sum_of(made), seen);
    return 0;
}
