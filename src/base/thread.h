/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The threads that the program told us about: so that what is kept per thread can be brought up to date in all of them, and
 * so that one can wait until all of them have let go of what they may be using (tn_quiesce). */

#ifndef TENON_THREAD_H
#define TENON_THREAD_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* On cache lines of its own: its thread writes `seen`, and only others that wait for it look. */
struct tn__thread {
    uint64_t seen;     /* the epoch of its last quiescent point; see thread.c */
    uint32_t blocking; /* how many blocking regions it is in */
    struct tn__thread *next, **link;
    uint8_t *thread_pointer;
} __attribute__((aligned(64)));

/* One lock for the list and for what hangs on it. */
void tn__threads_lock(void);
void tn__threads_unlock(void);

/* Under the lock: the attached threads. */
struct tn__thread *tn__threads_first(void);

/* Under the lock: called, still under it, for every thread that attaches from now on. One hook at most. */
void tn__threads_on_attach(void (*hook)(struct tn__thread *thread));

/* From now on a fork holds the lock, and its child knows only the thread that forked. Forks take locks in the opposite order
 * of registration: who locks threads while holding a lock of its own calls this before it registers that one. */
void tn__threads_watch_forks(void);

/* What thread-local addresses are measured from. */
static inline uint8_t *tn__thread_pointer(void)
{
    return __builtin_thread_pointer();
}

#pragma GCC visibility pop
#endif
