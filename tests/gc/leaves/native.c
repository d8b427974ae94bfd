/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Native code that calls managed code without safepoints: as a host does, from a thread's start, from a callback.
 * native COUNT: meanwhile another thread collects COUNT times. Prints what was wrong. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon_heap.h"

enum { ITEMS = 64 };

void prepare(void);
void build(void);
long total(void);
int stays(void), first_is_good(void), node_is_good(void), both_are_good(void);
void set_number(long number), take_node(void), drop_node(void), exchange(void), copy_cell(void);
long get_number(void), number_at(int index), swap_atomically(long number);
int compare(const void *a, const void *b);
void *reader(void *unused);
long call_by_name(int count), call_methods(int count), pass_references(int index), through_pointer(int index);
void rest(void);

static long left; /* collections */

void rest(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void *collect(void *unused)
{
    for (; __atomic_load_n(&left, __ATOMIC_RELAXED); __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED)) {
        build();
        tn_heap_collect(tn_heap_current(), left % 2 ? TN_COLLECT_FULL : TN_COLLECT_PARTIAL);
    }
    return unused;
}

static long reads(int i)
{
    (void)i;
    return !stays() || total() != 1000 || !first_is_good();
}

static long sets(int i)
{
    set_number(i);
    long wrong = get_number() != i || swap_atomically(i + 1) != i || get_number() != i + 1;
    exchange();
    exchange();
    return wrong || get_number() != i + 1;
}

static long stores(int i)
{
    take_node();
    long wrong = !node_is_good() || !both_are_good();
    copy_cell();
    exchange();
    wrong = wrong || !node_is_good();
    if (i % 3 == 0)
        drop_node();
    return wrong || !both_are_good();
}

static long sorts(int i)
{
    int order[ITEMS];
    for (int k = 0; k < ITEMS; k++)
        order[k] = (k + i) % ITEMS;
    qsort(order, ITEMS, sizeof *order, compare);
    for (int k = 0; k < ITEMS; k++)
        if (number_at(order[k]) != k)
            return 1;
    return 0;
}

static long calls(int i)
{
    return call_by_name(10) || call_methods(10) || pass_references(i % ITEMS) ||
           through_pointer(i % ITEMS) != number_at(i % ITEMS);
}

static long starts(int i)
{
    pthread_t threads[2];
    void *wrong[2];
    (void)i;
    for (int t = 0; t < 2; t++)
        if (pthread_create(&threads[t], NULL, reader, NULL))
            abort();
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], &wrong[t]);
    return wrong[0] || wrong[1];
}

static const struct {
    const char *name;
    long (*run)(int i);
    int every; /* turns */
} tasks[] = {{"reads", reads, 1},  {"sets", sets, 1},    {"stores", stores, 1},
             {"sorts", sorts, 50}, {"calls", calls, 20}, {"starts", starts, 200}};

int main(int argc, char **argv)
{
    enum { TASKS = sizeof tasks / sizeof *tasks };
    long wrong[TASKS] = {0}, turns = 0;
    left = argc > 1 ? atol(argv[1]) : 100;
    pthread_t collector;
    prepare();
    if (pthread_create(&collector, NULL, collect, NULL))
        return 2;
    for (int i = 0; __atomic_load_n(&left, __ATOMIC_RELAXED); i = i == 1000000 ? 0 : i + 1, turns++)
        for (int t = 0; t < TASKS; t++)
            if (i % tasks[t].every == 0)
                wrong[t] += tasks[t].run(i);
    pthread_join(collector, NULL);
    for (int t = 0; t < TASKS; t++)
        if (wrong[t])
            printf("%s: %ld of %ld wrong\n", tasks[t].name, wrong[t], turns);
    puts("done");
    return 0;
}
