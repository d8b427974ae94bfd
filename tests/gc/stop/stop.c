/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A thread runs a loop that does not allocate, while another one collects. The loop stops at its polls. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

static int running, done;

static void *run(void *unused)
{
    struct node tn_ref *mine = tn_new(struct node);
    long count = 0;
    mine->value = 42;
    __atomic_store_n(&running, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
        count++;
    printf("%ld %d\n", mine->value, count > 0);
    return unused;
}

int main(void)
{
    enum { COLLECTIONS = 200 };
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL))
        return 1;
    while (!__atomic_load_n(&running, __ATOMIC_ACQUIRE))
        ;
    for (int i = 0; i < COLLECTIONS; i++)
        tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    tn_call_blocking((void *)pthread_join, (intptr_t)thread, 0, 0, 0);
    return 0;
}
