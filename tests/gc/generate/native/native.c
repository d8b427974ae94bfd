/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The native part of each generated program. It calls managed code without safepoints (prologue_leaves.h): by its
 * names, through pointers, as callbacks of the C library, and as what threads start with. */

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

long leaf_get(void), leaf_value(void);
void leaf_set(long number), leaf_give(long which);

/* Other threads run between two calls. */
long native_get(long count)
{
    long total = 0;
    while (count-- > 0) {
        total += leaf_get() * 3 + leaf_value();
        sched_yield();
    }
    return total % 1000003;
}

long native_set(long number)
{
    leaf_set(number);
    leaf_give(number);
    sched_yield();
    return leaf_get() + leaf_value();
}

long native_call(long (*getter)(void), void (*setter)(long number), long number)
{
    long before = getter();
    setter(before % 1000 + number % 1000);
    sched_yield();
    return getter();
}

void native_sort(int *numbers, int count, int (*compare)(const void *a, const void *b))
{
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
}

static _Thread_local pthread_t started;

/* Returns when the thread has begun, and tells it so. */
void native_start(void *(*start)(void *argument), long argument, int *phase)
{
    __atomic_store_n(phase, 0, __ATOMIC_RELAXED);
    if (pthread_create(&started, NULL, start, (void *)argument))
        abort();
    while (__atomic_load_n(phase, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    __atomic_store_n(phase, 2, __ATOMIC_RELEASE);
}

long native_join(void)
{
    void *result;
    if (pthread_join(started, &result))
        abort();
    return (long)result;
}
