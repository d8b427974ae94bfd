/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Litmus programs: two threads, each in a loop of its own, that look for an order of memory accesses which must not be
 * seen. They run for LITMUS_MS milliseconds (environment; 200). tests/models/weak enumerates what the memory models
 * allow; these run the code of the runtime itself, on whichever processor or emulator. */

#ifndef TENON_TESTS_LITMUS_H
#define TENON_TESTS_LITMUS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#include <pthread.h>

static _Atomic bool litmus_over;
static _Atomic(const char *) litmus_wrong;

/* Asked before each turn of a loop. A thread that gets no core in all the time has one turn. */
static inline bool litmus_goes_on(void)
{
    static _Thread_local bool has_begun;
    bool is_first = !has_begun;
    has_begun = true;
    return is_first || !atomic_load_explicit(&litmus_over, memory_order_relaxed);
}

/* What must not be seen was seen. */
static inline void litmus_check(bool good, const char *what)
{
    if (!good)
        atomic_store_explicit(&litmus_wrong, what, memory_order_relaxed);
}

static inline uint64_t litmus_load(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

static inline void litmus_store(_Atomic uint64_t *to, uint64_t value)
{
    atomic_store_explicit(to, value, memory_order_relaxed);
}

/* Each returns how often its loop ran. */
static inline void litmus_run(void *(*first)(void *), void *(*second)(void *), void *argument)
{
    const char *given = getenv("LITMUS_MS");
    long ms = given ? atol(given) : 200;
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    pthread_t threads[2];
    void *turns[2];
    atomic_store(&litmus_over, false);
    atomic_store(&litmus_wrong, NULL);
    assert_int_equal(pthread_create(&threads[0], NULL, first, argument), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, second, argument), 0);
    nanosleep(&time, NULL);
    atomic_store(&litmus_over, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], &turns[i]), 0);
    if (atomic_load(&litmus_wrong))
        fail_msg("%s", atomic_load(&litmus_wrong));
    assert_non_null(turns[0]);
    assert_non_null(turns[1]);
}

#endif
