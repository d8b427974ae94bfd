/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Time to safepoint: a thread runs loop.c's loop, and another one asks for collections. From each request until the
 * loop has stopped, in ns. Needs two cores of its own: else it is measured how long the scheduler lets the loop wait
 * for one. */

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "measure.h"
#include "tenon_heap.h"

long run_loop(const int *done, unsigned long *rounds);

enum { COLLECTIONS = 5000, ROUNDS = 50 };

static double stops[COLLECTIONS];
static size_t count;
static int done;
static unsigned long rounds;

static void note(void *context, const struct tn_collection *collection)
{
    (void)context;
    if (count < COLLECTIONS)
        stops[count++] = (double)collection->stop_ns;
}

static void *run(void *unused)
{
    run_loop(&done, &rounds);
    return unused;
}

static unsigned long rounds_now(void)
{
    return __atomic_load_n(&rounds, __ATOMIC_RELAXED);
}

int main(void)
{
    const struct tn_heap_options options = {.size = sizeof options, .on_collection = note};
    struct tn_heap *heap;
    struct tn_error err;
    pthread_t thread;
    if (tn_heap_create(&options, &heap, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    tn_heap_set_default(heap);
    if (pthread_create(&thread, NULL, run, NULL))
        return 1;
    while (count < COLLECTIONS) {
        for (unsigned long before = rounds_now(); rounds_now() < before + ROUNDS;)
            sched_yield(); /* until it runs again */
        tn_heap_collect(heap, TN_COLLECT_FULL);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    printf("stop median_ns %.0f\nstop p99_ns %.0f\nstop worst_ns %.0f\n", median(stops, count),
           quantile(stops, count, 0.99), quantile(stops, count, 1));
    return 0;
}
