/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The attached threads: for keeping per-thread data up to date in all of them, and for waiting until none of them uses
 * what was removed (tn_quiesce). */

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
    uint32_t id; /* in the system */
} __attribute__((aligned(64)));

/* One lock protects the list and everything attached to it. Forks hold it; the child knows only the thread that
 * forked. */
void tn__threads_lock(void);
void tn__threads_unlock(void);

/* Under the lock: the attached threads. */
struct tn__thread *tn__threads_first(void);

/* Under the lock: sets the hook that is called, under the lock, for every thread that attaches from now on. */
void tn__threads_on_attach(void (*hook)(struct tn__thread *thread));

/* ---- threads of the library (os_linux_start.c) ---- */

/* One will be started, has begun, or could not be started. */
void tn__own_thread_announce(void);
void tn__own_thread_begun(void);

/* Waits until all that were announced have begun, and answers how many were ever announced. Without the lock. */
uint64_t tn__own_threads_await(void);

/* The number of a thread of this process that is not attached, not the caller and not one of the library's; 0: there is
 * none. Returns an error number if the system does not say. */
int tn__threads_find_stranger(uint32_t *stranger);

/* tn_quiesce_watched that another thread can end early: false if it did, by tn__quiesce_stop with the same word, which
 * is 0 before. */
bool tn__quiesce_unless(const uint32_t *stopped, tn_on_delay *on_delay, void *context);
void tn__quiesce_stop(uint32_t *stopped);

/* What is called when the calling thread ends, in this order (thread_detach.c). */
enum tn__end { TN__END_HEAP, TN__END_LEASES, TN__END_QUIESCENCE, TN__END_VARIABLES, TN__ENDS };

/* Has `function` called when the calling thread ends: first as soon as destructors of thread-specific data begin to
 * run, and again, with `last`, when as many of them have run as possible, because these may still use what the function
 * ends. False: the system has no space. */
bool tn__thread_at_end(enum tn__end which, void (*function)(bool last));

/* True if the calls with `last` have begun: nothing will be called any more. */
bool tn__thread_has_ended(void);

/* The base of thread-local addresses. */
static inline uint8_t *tn__thread_pointer(void)
{
    return __builtin_thread_pointer();
}

#pragma GCC visibility pop
#endif
