/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What sanitized.c loads. The names of functions say what is wrong with them; the line of each mistake is marked. */

#include <stdlib.h>

int table[10], shared;
volatile int last = 9, sum;

void no_mistake(void)
{
    volatile int *block = malloc(10 * sizeof *block);
    block[last] = table[last];
    __atomic_fetch_add(&sum, block[last], __ATOMIC_RELAXED);
    free((void *)block);
}

void heap_overflow(void)
{
    volatile int *block = malloc(10 * sizeof *block);
    block[last + 1] = 1; /* heap-overflow */
    free((void *)block);
}

void after_free(void)
{
    volatile int *block = malloc(10 * sizeof *block);
    free((void *)block);
    block[last] = 1; /* after-free */
}

void stack_overflow(void)
{
    volatile int array[10];
    array[last] = 1;
    array[last + 1] = 1; /* stack-overflow */
}

void global_overflow(void)
{
    table[last + 1] = 1; /* global-overflow */
}

void data_race(void)
{
    for (int i = 0; i < 1000; i++)
        shared++; /* data-race */
}

static __attribute__((noinline)) void fill(volatile int *array, int count)
{
    for (int i = 0; i < count; i++)
        array[i] = i;
}

void all_written(void)
{
    volatile int array[10];
    fill(array, last + 1);
    if (array[last] != last)
        abort();
}

void never_written(void)
{
    volatile int array[10];
    fill(array, last);
    if (array[last] == last) /* never-written */
        abort();
}
