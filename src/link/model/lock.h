/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The lock of a session, which guards everything that several threads share in it. Attributes of base/locked.h say
 * which functions need it. */

#ifndef TENON_LOCK_H
#define TENON_LOCK_H

#include "base/locked.h"

#pragma GCC visibility push(hidden)

struct tn_session;

/* Something that is freed without the lock, by calling the client for example. */
struct tn__deferred {
    struct tn__deferred *next;
    void (*free)(struct tn__deferred *deferred);
};

/* Takes the lock, after retrying for a while: it is held for microseconds at a time, and waking up a sleeping thread
 * takes longer. */
void tn__session_lock(struct tn_session *session) TN__LOCKS;
/* Releases the lock at the end of an operation, and then frees what was deferred until now. */
void tn__session_unlock(struct tn_session *session) TN__UNLOCKS;
/* Releases the lock in the middle of an operation. Nothing is freed: the client's functions that are told of it might
 * wait for this operation. */
void tn__session_pause(struct tn_session *session) TN__UNLOCKS;
/* Waits until a link has ended; the lock is released meanwhile. */
void tn__session_wait(struct tn_session *session) TN__LOCKED;
/* Has `deferred->free` called once the lock is released. */
void tn__session_defer(struct tn_session *session, struct tn__deferred *deferred) TN__LOCKED;

#pragma GCC visibility pop
#endif
