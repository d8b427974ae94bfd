/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A function that exit calls waits until nothing is compiled in the background any more. Functions that were registered
 * last are called first, and a compiler makes static objects, whose destructors are called then, when it needs one for
 * the first time. So the function is registered again and again, at ever greater distances: most often at the
 * beginning, when compilers make their objects, and seldom enough for a program that compiles for days. */

#include "jit/background.h"

#include <stdlib.h>

#include "base/os.h"

/* The process in the upper half, in the lower one how many compile. After a fork, those of the parent do not count. */
static uint64_t running;
static uint32_t ended, begun;
static __thread uint32_t inside;

static uint32_t count_in(uint64_t word)
{
    return word >> 32 == tn__os_process_id() ? (uint32_t)word : 0;
}

static void change(int by)
{
    uint64_t old = __atomic_load_n(&running, __ATOMIC_SEQ_CST), next;
    do
        next = (uint64_t)tn__os_process_id() << 32 | (uint32_t)(count_in(old) + (uint32_t)by);
    while (!__atomic_compare_exchange_n(&running, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

/* Not for ever: a thread may wait for a lock that the one has which ends the program. */
static void wait_at_exit(void)
{
    enum { MILLISECOND = 1000000, MOST = 5000 };
    static const uint32_t word;
    __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < MOST && count_in(__atomic_load_n(&running, __ATOMIC_SEQ_CST)) > inside; i++)
        tn__os_wait(&word, 0, MILLISECOND);
}

bool tn__background_begin(void)
{
    change(1);
    inside++;
    if (__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) {
        tn__background_end();
        return false;
    }
    uint32_t count = __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
    if (!(count & (count - 1)))
        atexit(wait_at_exit); /* where that fails, there is nothing better */
    return true;
}

void tn__background_end(void)
{
    inside--;
    change(-1);
}

bool tn__background_is_over(void)
{
    return inside && __atomic_load_n(&ended, __ATOMIC_RELAXED);
}
