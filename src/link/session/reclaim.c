/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removals that do not wait: tn_tracker_retire_start, tn_library_remove_start. The call takes the names away; a thread
 * of the session's own, which the first such call starts, does the rest. A removal waits for
 *
 *     TN__ACK_CALL         the call, which continues lookups first: afterwards the session may be gone
 *     TN__ACK_NONE         the thread, which leads away what leads to the code (retire.c); if there is nothing that
 *                          threads may have found it by, it runs the finalizers, frees the code, and tells the client
 *     TN__ACK_QUIESCENCE   attached threads, one wait for all that are here; then for the thread again
 *
 * All of it is under the session's lock, but for the wait, finalizers and the client's callback. A removal is in none
 * of the lists while its finalizers run, and is freed before the client is told: so the callback may do anything, even
 * destroy the session: tests/models/reclaim.pml. */

#include "base/os.h"
#include "base/thread.h"
#include "link/session/contents.h"

struct tn__removal {
    struct tn__retirement retirement;
    struct tn__list listed;
    tn_removed *done;
    void *context;
    bool finalized; /* its finalizers run, or have run */
};

/* ---- the thread's steps ---- */

static struct tn__removal *take_first(struct tn_session *session, enum tn__acknowledgement what) TN__LOCKED
{
    struct tn__list *list = &session->later[what];
    if (tn__list_is_empty(list))
        return NULL;
    struct tn__removal *removal = tn__container_of(list->next, struct tn__removal, listed);
    tn__list_remove(&removal->listed);
    return removal;
}

static void wait_for(struct tn__removal *removal, enum tn__acknowledgement what) TN__LOCKED
{
    tn__list_remove(&removal->listed);
    tn__list_append(&removal->retirement.library->session->later[what], &removal->listed);
}

/* False if the session is gone afterwards. */
static bool finish(struct tn_session *session, struct tn__removal *removal) TN__UNLOCKS
{
    struct tn__reclaimer *reclaimer = &session->reclaimer;
    const struct tn_allocator *from = session->allocator;
    struct tn__supplier *resolvers = NULL;
    bool gone = false, finalized = removal->finalized;
    removal->finalized = true;
    reclaimer->current = removal;
    tn__session_pause(session);
    if (!finalized)
        tn__retirement_finalize(&removal->retirement);
    tn__session_lock(session);
    tn__retirement_end(&removal->retirement, &resolvers);
    const struct tn__removal ended = *removal;
    reclaimer->current = NULL;
    reclaimer->outlives = &gone;
    __atomic_add_fetch(&reclaimer->ended, 1, __ATOMIC_RELAXED);
    tn__os_wake(&reclaimer->ended);
    tn__free(from, removal); /* under the lock, so that a fork finds all of it or nothing */
    tn__session_unlock(session);
    tn__suppliers_free(from, resolvers);
    ended.done(ended.context, NULL);
    return !gone;
}

/* False if the thread has to stop. Releases the lock meanwhile; what was begun then comes after this. */
static bool wait_for_threads(struct tn_session *session) TN__LOCKED
{
    struct tn__list *waiting = &session->later[TN__ACK_QUIESCENCE];
    tn__session_pause(session);
    bool passed = tn__quiesce_unless(&session->reclaimer.stopped, session->on_delay, session->context);
    tn__session_lock(session);
    struct tn__list *next = session->later[TN__ACK_NONE].next;
    while (passed && !tn__list_is_empty(waiting)) {
        struct tn__list *first = waiting->next;
        tn__list_remove(first);
        tn__list_append(next, first); /* before it */
    }
    return passed;
}

/* One step. False: the session is gone, or the thread has to stop. */
static bool step(struct tn_session *session) TN__UNLOCKS
{
    struct tn__removal *removal;
    if ((removal = take_first(session, TN__ACK_NONE))) {
        if (removal->finalized || !tn__retirement_look(&removal->retirement))
            return finish(session, removal);
        wait_for(removal, TN__ACK_QUIESCENCE);
    } else if (!tn__list_is_empty(&session->later[TN__ACK_QUIESCENCE])) {
        if (!wait_for_threads(session)) {
            tn__session_unlock(session);
            return false;
        }
    } else
        tn__mutex_wait(&session->lock, &session->reclaimer.wanted, NULL);
    tn__session_unlock(session);
    return true;
}

static void *work(void *argument)
{
    struct tn_session *session = argument;
    do {
        tn__session_lock(session);
        if (session->reclaimer.closed) {
            tn__session_unlock(session);
            break;
        }
    } while (step(session));
    return NULL;
}

/* ---- the life of the thread ---- */

/* In the child, the removals of which finalizers were running go on without these. */
static void reclaimer_after_fork(struct tn_session *session) TN__LOCKED
{
    struct tn__reclaimer *reclaimer = &session->reclaimer;
    pthread_cond_init(&reclaimer->wanted, NULL);
    for (TN_EACH_TO_REMOVE(struct tn__removal, removal, &session->later[TN__ACK_CALL], listed))
        if (!pthread_equal(removal->retirement.caller, pthread_self()))
            wait_for(removal, TN__ACK_NONE);
    if (reclaimer->runs && pthread_equal(reclaimer->thread, pthread_self()))
        return;
    reclaimer->runs = false;
    if (reclaimer->current)
        wait_for(reclaimer->current, TN__ACK_NONE);
    reclaimer->current = NULL;
}

static void stop_reclaimer(struct tn_session *session)
{
    struct tn__reclaimer *reclaimer = &session->reclaimer;
    tn__session_lock(session);
    bool runs = reclaimer->runs;
    tn__quiesce_stop(&reclaimer->stopped);
    pthread_cond_signal(&reclaimer->wanted);
    tn__session_unlock(session);
    if (!runs)
        return;
    if (pthread_equal(reclaimer->thread, pthread_self())) {
        *reclaimer->outlives = true;
        pthread_detach(reclaimer->thread);
    } else
        pthread_join(reclaimer->thread, NULL);
}

/* The rest is removed now, without its finalizers, in the order in which it was begun. */
static void close_reclaimer(struct tn_session *session)
{
    static const enum tn__acknowledgement lists[] = {TN__ACK_QUIESCENCE, TN__ACK_NONE};
    struct tn_error why;
    tn__fail(&why, TN_ECANCELLED, "the session was destroyed before finalizers could run");
    for (size_t i = 0; i < TN_COUNT(lists); i++)
        for (struct tn__removal *removal;;) {
            struct tn__supplier *resolvers = NULL;
            tn__session_lock(session);
            removal = take_first(session, lists[i]);
            if (removal)
                tn__retirement_end(&removal->retirement, &resolvers);
            tn__session_unlock(session);
            if (!removal)
                break;
            const struct tn__removal ended = *removal;
            tn__free(session->allocator, removal);
            tn__suppliers_free(session->allocator, resolvers);
            ended.done(ended.context, &why);
        }
    pthread_cond_destroy(&session->reclaimer.wanted);
}

static int start_thread(struct tn_session *session, struct tn_error *err) TN__LOCKED
{
    static const struct tn__reclaim_hooks hooks = {reclaimer_after_fork, stop_reclaimer, close_reclaimer};
    struct tn__reclaimer *reclaimer = &session->reclaimer;
    if (reclaimer->closed)
        return tn__fail(err, TN_ECANCELLED, "the session is being destroyed");
    if (!reclaimer->hooks) {
        pthread_cond_init(&reclaimer->wanted, NULL);
        reclaimer->hooks = &hooks;
    }
    if (reclaimer->runs)
        return 0;
    reclaimer->runs = tn__os_start_thread(&reclaimer->thread, work, session);
    return reclaimer->runs ? 0 : tn__fail(err, TN_ENOMEM, "no thread to finish removals");
}

bool tn__removals_go_on(struct tn_session *session)
{
    static const enum tn__acknowledgement lists[] = {TN__ACK_CALL, TN__ACK_NONE, TN__ACK_QUIESCENCE};
    bool any = session->reclaimer.current;
    for (size_t i = 0; i < TN_COUNT(lists); i++)
        any |= !tn__list_is_empty(&session->later[lists[i]]);
    return any && !start_thread(session, NULL);
}

/* ---- public ---- */

/* Releases the lock only between `take` and the end, while links need what was taken. */
static int begin(struct tn__retirement *r, const struct tn__taking *taking, struct tn_error *err) TN__LOCKED
{
    int code = taking ? taking->take(taking->context, r->tracker, err) : 0;
    if (code)
        return code;
    code = tn__retirement_begin(r, err);
    if (code && taking)
        taking->give_back(taking->context);
    return code;
}

static int start(const struct tn__retirement *given, const struct tn__taking *taking, tn_removed *done, void *context,
                 struct tn_error *err)
{
    struct tn_session *session = given->library->session;
    if (!done)
        return tn__fail(err, TN_EINVAL, "a removal that does not wait needs a function to call");
    struct tn__removal *removal = tn__alloc(session->allocator, sizeof *removal);
    if (!removal)
        return tn__no_memory(err, given->library->name);
    *removal = (struct tn__removal){.retirement = *given, .done = done, .context = context};
    removal->retirement.caller = pthread_self();
    tn__list_init(&removal->listed);
    tn__session_lock(session);
    int code = start_thread(session, err);
    if (!code)
        code = begin(&removal->retirement, taking, err);
    if (!code)
        wait_for(removal, TN__ACK_CALL);
    tn__session_unlock(session);
    tn__query_continue(session);
    if (code) {
        tn__free(session->allocator, removal);
        return code;
    }
    tn__session_lock(session);
    wait_for(removal, TN__ACK_NONE);
    pthread_cond_signal(&session->reclaimer.wanted);
    tn__session_unlock(session); /* the callback may destroy the session from here on */
    return 0;
}

int tn_tracker_retire_start(struct tn_tracker *tracker, tn_removed *done, void *context, struct tn_error *err)
{
    int code = tn__tracker_check_closed(tracker, err);
    if (code)
        return code;
    return start(&(struct tn__retirement){.library = tracker->library, .tracker = tracker}, NULL, done, context, err);
}

int tn__tracker_retire_these(struct tn_tracker *tracker, const struct tn__taking *taking, tn_removed *done,
                             void *context, struct tn_error *err)
{
    return start(&(struct tn__retirement){.library = tracker->library, .tracker = tracker}, taking, done, context, err);
}

int tn__library_remove_start(struct tn_library *library, tn_removed *done, void *context, struct tn_error *err)
{
    return start(&(struct tn__retirement){.library = library}, NULL, done, context, err);
}

int tn_library_remove_start(struct tn_library *library, tn_removed *done, void *context, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    int code = tn__library_check_closed(library, true, err);
    return code ? code : tn__library_remove_start(library, done, context, err);
}
