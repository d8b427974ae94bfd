/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Taking and releasing the lock of a session. */

#include "link/model/session.h"

enum { PATIENCE_NS = 50000 };

void tn__session_lock(struct tn_session *session) TN__LOCK_UNCHECKED
{
    for (uint64_t until = 0; !tn__mutex_lock_at_once(&session->lock);) {
        uint64_t now = tn__os_now_ns(); /* which also keeps the tries apart */
        if (!until)
            until = now + PATIENCE_NS;
        if (now >= until) {
            tn__mutex_lock(&session->lock);
            return;
        }
    }
}

void tn__session_pause(struct tn_session *session) TN__LOCK_UNCHECKED
{
    tn__mutex_unlock(&session->lock);
}

void tn__session_wait(struct tn_session *session)
{
    tn__mutex_wait(&session->lock, &session->idle, NULL);
}

void tn__session_defer(struct tn_session *session, struct tn__deferred *deferred)
{
    deferred->next = session->deferred;
    session->deferred = deferred;
}

void tn__session_unlock(struct tn_session *session) TN__LOCK_UNCHECKED
{
    struct tn__deferred *deferred = session->deferred;
    session->deferred = NULL;
    tn__mutex_unlock(&session->lock);
    while (deferred) {
        struct tn__deferred *next = deferred->next;
        deferred->free(deferred);
        deferred = next;
    }
}
