/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A collection has to wait for a loop without polls. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

static int running;

long spin(struct node tn_ref *node) __attribute__((noinline));
long spin(struct node tn_ref *node)
{
    unsigned long long begin = __builtin_readcyclecounter(), cycles = 6000000000; /* more than a second */
    __atomic_store_n(&running, 1, __ATOMIC_RELEASE);
    while (__builtin_readcyclecounter() - begin < cycles)
        ;
    return node->value;
}

static void *run(void *calls_before)
{
    struct node tn_ref *mine = tn_new(struct node);
    mine->value = 42;
    if (calls_before)
        puts("called");
    printf("%ld\n", spin(mine));
    return calls_before;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (pthread_create(&thread, NULL, run, argc > 1 ? &thread : NULL))
        return 1;
    while (!__atomic_load_n(&running, __ATOMIC_ACQUIRE))
        ;
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    tn_call_blocking((void *)pthread_join, (intptr_t)thread, 0, 0, 0);
    return 0;
}
