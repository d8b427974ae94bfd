/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The threads that the program told us about, so that what is kept per thread can be brought up to date in all of them. */

#ifndef TENON_THREAD_H
#define TENON_THREAD_H

#include "base.h"

#pragma GCC visibility push(hidden)

struct tn__thread {
    struct tn__thread *next, **link; /* `link` is NULL while it is not attached */
    uint8_t *thread_pointer;
};

/* One lock for the list and for what hangs on it. */
void tn__threads_lock(void);
void tn__threads_unlock(void);

/* Under the lock: the attached threads. */
struct tn__thread *tn__threads_first(void);

/* Under the lock: called, still under it, for every thread that attaches from now on. One hook at most. */
void tn__threads_on_attach(void (*hook)(struct tn__thread *thread));

/* What thread-local addresses are measured from. */
static inline uint8_t *tn__thread_pointer(void)
{
    return __builtin_thread_pointer();
}

#pragma GCC visibility pop
#endif
