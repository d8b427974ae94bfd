/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that a thread runs when it ends: destructors of thread_local objects, which C++ compilers register with
 * __cxa_thread_atexit. The host's C library would keep addresses that dangle once the code is gone. Here, each function
 * belongs to an owner of code, which is told when it has run. */

#ifndef TENON_THREAD_END_H
#define TENON_THREAD_END_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Makes the key by which ends are noticed, so that functions run before destructors of keys that are made later. If
 * memory is out or no key is left, the first function tries again. */
void tn__thread_ends_prepare(void);

/* An owner; it stays in place. `part` is what it gave with the function. */
struct tn__thread_ends {
    /* `ran`: the function has run; called by its thread, without a lock. Otherwise it will not run, because its thread
     * does not exist in the child of a fork; called by the fork's handlers, under the locks of all subsystems. True if
     * the owner does not exist any more. */
    bool (*ended)(struct tn__thread_ends *owner, void *part, bool ran);
};

/* Registers a function for the end of the calling thread, where the newest runs first. False: memory is out, or the
 * system has no key left to notice the end with. */
bool tn__thread_end_add(struct tn__thread_ends *owner, void *part, void (*function)(void *argument), void *argument);

/* True if functions wait for the end of the calling thread, of any owner. */
bool tn__thread_end_waits(void);

/* To run functions earlier: takes the newest one of the calling thread and this owner that `wanted` selects (NULL:
 * any); NULL: none. What was taken is run, without a lock that `ended` takes. */
struct tn__thread_end *tn__thread_end_take(const struct tn__thread_ends *owner,
                                           bool (*wanted)(void *context, void *part), void *context);
void tn__thread_end_run(struct tn__thread_end *end);

/* The owner's functions will not run. Waits for those that other threads are running. */
void tn__thread_end_abandon(struct tn__thread_ends *owner);

#pragma GCC visibility pop
#endif
