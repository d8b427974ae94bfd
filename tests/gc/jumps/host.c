/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A host leaves managed code by longjmp, through several levels of it, and continues: where it landed and, after
 * tn_managed_end, from frames at addresses where managed ones were. */

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "tenon_heap.h"

long be_left(long depth), work(long n);

static jmp_buf landing;

/* Called by managed code; recurses before it jumps. */
void leave(long depth)
{
    if (depth)
        be_left(depth - 1);
    longjmp(landing, 1);
}

/* Overwrites the abandoned frames. */
__attribute__((noinline)) static long work_deeper(long n)
{
    volatile char below[8192];
    memset((void *)below, 0x55, sizeof below);
    long result = work(n);
    return result + below[100] - 0x55;
}

static void *collect(void *unused)
{
    struct tn_heap *heap;
    struct tn_error err;
    if (!tn_heap_default(&heap, &err))
        tn_heap_collect(heap, TN_COLLECT_FULL);
    return unused;
}

static void collect_elsewhere(void)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, collect, NULL))
        pthread_join(thread, NULL);
}

int main(void)
{
    for (volatile long depth = 0; depth < 4; depth++) {
        if (!setjmp(landing))
            be_left(depth);
        printf("%ld", work(20)); /* an entry from here drops the abandoned levels itself */
        if (!setjmp(landing))
            be_left(depth);
        tn_managed_end();
        collect_elsewhere(); /* would wait for this thread otherwise */
        printf(" %ld\n", work_deeper(30));
    }
    return 0;
}
