/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Fills a stack: of the first thread, of another one, of a child, or with native code in between; or does something
 * else that faults. */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

static long calls;

long descend(struct node tn_ref *above, long depth) __attribute__((noinline));
long descend(struct node tn_ref *above, long depth)
{
    struct node tn_ref *mine = tn_new(struct node);
    mine->next = depth % 1000 ? above : NULL; /* few objects live */
    mine->value = depth;
    calls++;
    return descend(mine, depth + 1) + mine->value;
}

/* A leaf, which has no stack map. */
static __attribute__((noinline)) long descend_leaf(long depth)
{
    volatile char frame[200];
    frame[depth % 200] = (char)depth;
    return descend_leaf(depth + 1) + frame[0];
}

static void *in_leaf(void *calls_before)
{
    struct node tn_ref *mine = tn_new(struct node);
    if (calls_before)
        getppid();
    mine->value = descend_leaf(1);
    return mine->value ? calls_before : NULL;
}

static int compare(const void *a, const void *b)
{
    int pair[2] = {*(const int *)a, *(const int *)b};
    struct node tn_ref *mine = tn_new(struct node);
    mine->value = 1;
    qsort(pair, 2, sizeof *pair, compare);
    return (int)mine->value;
}

static void *in_thread(void *unused)
{
    descend(NULL, 1);
    return unused;
}

/* Ends like the child. */
static void *in_child(void *unused)
{
    int status;
    pid_t child = fork();
    if (!child)
        descend(NULL, 1);
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    return unused;
}

static void *in_thread_of_child(void *unused)
{
    pthread_t thread;
    int status;
    pid_t child = fork();
    if (!child) {
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    return unused;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int pair[2] = {2, 1};
    pthread_t thread;
    if (strcmp(what, "main") == 0)
        descend(NULL, 1);
    if (strcmp(what, "thread") == 0 && !pthread_create(&thread, NULL, in_thread, NULL))
        tn_call_blocking((void *)pthread_join, (intptr_t)thread, 0, 0, 0);
    if (strcmp(what, "child") == 0)
        in_child(NULL);
    if (strcmp(what, "thread of a child") == 0)
        in_thread_of_child(NULL);
    if (strcmp(what, "child of a thread") == 0 && !pthread_create(&thread, NULL, in_child, NULL))
        pthread_join(thread, NULL);
    if (strcmp(what, "native") == 0)
        qsort(pair, 2, sizeof *pair, compare);
    if (strncmp(what, "leaf", 4) == 0 && !pthread_create(&thread, NULL, in_leaf, what[4] ? &thread : NULL))
        pthread_join(thread, NULL);
    return *(volatile int *)(uintptr_t)(argc > 2);
}
