/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the sessions of a process have in common: the list of them, forks, and code instances. */

#include "base/fork.h"
#include "link/process/process.h"
#include "tenon/thread.h"

/* ---- all sessions ---- */

static struct tn__mutex all_lock = TN__MUTEX(TN__LEVEL_SESSIONS);
static struct tn__list all_sessions = {&all_sessions, &all_sessions};

/* ---- forks ---- */

/* A fork must not copy a session in the middle of a change: it waits for links that are writing and holds every lock
 * meanwhile, so that the child can go on using its sessions. */
static void before_fork(void)
{
    for (TN_EACH(struct tn_session, session, &all_sessions, listed)) {
        tn__mutex_lock(&session->lock);
        while (session->building)
            tn__mutex_wait(&session->lock, &session->idle, NULL);
    }
    for (TN_EACH(struct tn_session, session, &all_sessions, listed))
        tn__pool_before_fork(session->pool);
}

/* Those of threads that the child does not have lay in their frames. What they have hidden goes with the session. */
static void retirements_after_fork(struct tn_session *session) TN__LOCKED
{
    for (TN_EACH_TO_REMOVE(struct tn__retirement, r, &session->retirements, of_session))
        if (r->waits && !pthread_equal(r->caller, pthread_self()))
            tn__retirement_leave(r);
}

static void after_fork(bool in_child) TN__LOCKED
{
    for (TN_EACH(struct tn_session, session, &all_sessions, listed)) {
        if (in_child) { /* which has one thread, and that does not wait */
            pthread_cond_init(&session->idle, NULL);
            tn__queries_after_fork(session);
            tn__promises_after_fork(session);
            retirements_after_fork(session);
            tn__initializers_after_fork(session);
            if (session->dl)
                session->dl->after_fork(session);
            if (session->reclaimer.hooks)
                session->reclaimer.hooks->after_fork(session);
        }
        tn__pool_after_fork(session->pool, in_child);
        tn__mutex_unlock(&session->lock);
    }
}

/* ---- the list ---- */

void tn__sessions_lock(void)
{
    tn__mutex_lock(&all_lock);
}

void tn__sessions_unlock(void)
{
    tn__mutex_unlock(&all_lock);
}

struct tn_session *tn__sessions_next(const struct tn_session *session)
{
    struct tn__list *next = session ? session->listed.next : all_sessions.next;
    return next == &all_sessions ? NULL : tn__container_of(next, struct tn_session, listed);
}

void tn__sessions_add(struct tn_session *session)
{
    static const struct tn__fork_hooks hooks = {&all_lock, before_fork, after_fork};
    tn__forks_watch(TN__LEVEL_SESSIONS, &hooks);
    tn__mutex_lock(&all_lock);
    tn__list_append(&all_sessions, &session->listed);
    tn__mutex_unlock(&all_lock);
}

void tn__sessions_remove(struct tn_session *session)
{
    tn__mutex_lock(&all_lock);
    tn__list_remove(&session->listed);
    tn__mutex_unlock(&all_lock);
}

/* ---- removing code that threads may be running ---- */

static const struct tn__instances *_Atomic all_instances;

const struct tn__instances *tn__instances(void)
{
    return all_instances;
}

void tn__instances_announce(const struct tn__instances *instances)
{
    all_instances = instances;
}

void tn__session_quiesce(const struct tn_session *session)
{
    tn_quiesce_watched(session->on_delay, session->context);
}
