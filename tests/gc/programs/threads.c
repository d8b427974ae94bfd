/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Four threads build and change one graph; a fifth waits all the while in a call that no collection waits for. The
 * threads are the C library's: they are attached when they first call managed code, and leave the heap when they
 * end. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "tenon_managed.h"

enum { THREADS = 4, ROUNDS = 150, SLOTS = 16 };

struct node {
    struct node tn_ref *next, *other;
    long value;
};
TN_TYPE(struct node, next, other);

typedef struct node tn_ref *node;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static node shared[SLOTS];
static int ends[2];

static node cons(long value, node next, node other)
{
    node n = tn_new(struct node);
    n->value = value;
    n->next = next;
    n->other = other;
    return n;
}

static long length(node list)
{
    long count = 0;
    for (; list; list = list->next)
        count++;
    return count;
}

/* Each round makes one list of SLOTS longer by one; its elements point to what is in the slot beside it. */
static void *build(void *argument)
{
    long mine = (long)(intptr_t)argument;
    for (long i = 0; i < ROUNDS; i++) {
        long slot = (i * 7 + mine) % SLOTS;
        node private = cons(i, cons(mine, NULL, NULL), NULL);
        tn_call_blocking((void *)pthread_mutex_lock, (intptr_t)&lock, 0, 0, 0);
        node beside = shared[(slot + 1) % SLOTS];
        shared[slot] = cons(i, shared[slot], beside);
        pthread_mutex_unlock(&lock);
        if (private->value != i || private->next->value != mine)
            puts("a private object has changed");
    }
    return NULL;
}

static void *wait_in_native(void *argument)
{
    node kept = cons(77, NULL, NULL);
    static char byte;
    tn_call_blocking((void *)read, ends[0], (intptr_t)&byte, 1, 0);
    printf("waited %d, kept %ld\n", byte, kept->value);
    return argument;
}

int main(void)
{
    pthread_t threads[THREADS], waiting;
    char byte = 5;
    if (pipe(ends) || pthread_create(&waiting, NULL, wait_in_native, NULL))
        return 1;
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, build, (void *)(intptr_t)i))
            return 1;
    for (int i = 0; i < THREADS; i++)
        tn_call_blocking((void *)pthread_join, (intptr_t)threads[i], 0, 0, 0);
    if (write(ends[1], &byte, 1) != 1)
        return 1;
    tn_call_blocking((void *)pthread_join, (intptr_t)waiting, 0, 0, 0);
    long all = 0, values = 0;
    for (int i = 0; i < SLOTS; i++) {
        all += length(shared[i]);
        for (node n = shared[i]; n; n = n->next)
            values += n->value;
    }
    printf("%ld nodes, sum %ld\n", all, values);
    return 0;
}
