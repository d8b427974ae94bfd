/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Fills a stack: of the first thread, of another one, or with native code in between; or does something else that faults. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int pair[2] = {2, 1};
    pthread_t thread;
    if (strcmp(what, "main") == 0)
        descend(NULL, 1);
    if (strcmp(what, "thread") == 0 && !pthread_create(&thread, NULL, in_thread, NULL))
        tn_call_blocking((void *)pthread_join, (intptr_t)thread, 0, 0, 0);
    if (strcmp(what, "native") == 0)
        qsort(pair, 2, sizeof *pair, compare);
    return *(volatile int *)(uintptr_t)(argc > 2);
}
