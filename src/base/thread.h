/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The attached threads: for keeping per-thread data up to date in all of them, and for waiting until none of them uses what was
 * removed (tn_quiesce). */

#ifndef TENON_THREAD_H
#define TENON_THREAD_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* On its own cache line: its thread writes `seen`, which others read only if they wait for it. */
struct tn__thread {
    uint64_t seen;     /* the epoch of its last quiescent point; see thread.c */
    uint32_t blocking; /* nesting depth of blocking regions */
    struct tn__thread *next, **link;
    uint8_t *thread_pointer;
} __attribute__((aligned(64)));

/* One lock protects the list and everything attached to it. Forks hold it; the child knows only the thread that forked. */
void tn__threads_lock(void);
void tn__threads_unlock(void);

/* Under the lock: the attached threads. */
struct tn__thread *tn__threads_first(void);

/* Under the lock: sets the hook that is called, under the lock, for every thread that attaches from now on. */
void tn__threads_on_attach(void (*hook)(struct tn__thread *thread));

/* The base of thread-local addresses. */
static inline uint8_t *tn__thread_pointer(void)
{
    return __builtin_thread_pointer();
}

#pragma GCC visibility pop
#endif
