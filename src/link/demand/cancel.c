/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lookups whose answer is not wanted any more: cancelled by their handle, or past their deadline.
 *
 * A handle outlives its query: it is WAITING until the client's callback is called, and ANSWERED when that has
 * returned. The thread that ends the query under the session's lock calls back, so a callback is called once however a
 * cancellation and the last round meet: tests/models/cancel.pml. */

#include "link/demand/promise.h"

enum state { WAITING, ANSWERING, ANSWERED };

struct tn_lookup_handle {
    struct tn_session *session;
    struct tn__list listed;  /* in the session's handles */
    struct tn__query *query; /* until ANSWERED */
    tn_lookup_done *done;
    void *context;
    enum state state;
    pthread_t answerer;      /* ANSWERING: the thread */
    pthread_cond_t answered; /* signalled with ANSWERED */
    bool taken_back;         /* the client has given it back in `done`: it is freed when that returns */
};

/* A thread that waits for a callback which another thread is running. */
struct waiter {
    struct tn__list listed; /* in the session's list */
    pthread_t thread;
    const struct tn_lookup_handle *handle;
};

/* ---- the life of handles ---- */

static void free_handle(struct tn_lookup_handle *handle)
{
    pthread_cond_destroy(&handle->answered);
    tn__free(handle->session->allocator, handle);
}

/* Stands between a query and the client's callback. */
static void answer(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    struct tn_lookup_handle *handle = context;
    struct tn_session *session = handle->session;
    tn__session_lock(session);
    handle->state = ANSWERING;
    handle->answerer = pthread_self();
    tn__session_unlock(session);
    handle->done(handle->context, symbols, count, err);
    tn__session_lock(session);
    handle->state = ANSWERED;
    handle->query = NULL;
    bool taken_back = handle->taken_back;
    if (taken_back)
        tn__list_remove(&handle->listed);
    pthread_cond_broadcast(&handle->answered);
    tn__session_unlock(session);
    if (taken_back)
        free_handle(handle);
}

/* In the child of a fork: a callback of another thread is not called here, or not to its end. */
static void handles_after_fork(struct tn_session *session)
{
    tn__list_init(&session->cancelling);
    for (TN_EACH(struct tn_lookup_handle, handle, &session->lookup_handles, listed)) {
        pthread_cond_init(&handle->answered, NULL);
        struct tn__query *query = handle->query;
        if (!query || !tn__list_is_empty(&query->listed) || pthread_equal(query->stepper, pthread_self()))
            continue;
        handle->state = ANSWERED;
        handle->query = NULL;
        tn__free(session->allocator, query);
    }
}

static void close_handles(struct tn_session *session)
{
    while (!tn__list_is_empty(&session->lookup_handles)) {
        struct tn__list *listed = session->lookup_handles.next;
        tn__list_remove(listed);
        free_handle(tn__container_of(listed, struct tn_lookup_handle, listed));
    }
}

static void add_handle(struct tn_lookup_handle *handle)
{
    static const struct tn__handle_hooks hooks = {handles_after_fork, close_handles};
    pthread_cond_init(&handle->answered, NULL);
    tn__session_lock(handle->session);
    handle->session->handles = &hooks;
    tn__list_append(&handle->session->lookup_handles, &handle->listed);
    tn__session_unlock(handle->session);
}

static void drop_handle(struct tn_lookup_handle *handle)
{
    tn__session_lock(handle->session);
    tn__list_remove(&handle->listed);
    tn__session_unlock(handle->session);
    free_handle(handle);
}

int tn_lookup_start(struct tn_library *library, struct tn_wanted *symbols, size_t count, tn_lookup_done *done,
                    void *context, struct tn_lookup_handle **out, struct tn_error *err)
{
    if (!done || !out)
        return tn__fail(err, TN_EINVAL,
                        "a lookup that can be cancelled needs a function to call and a place for the "
                        "handle");
    *out = NULL;
    int code = tn__wanted_check(library, symbols, count, err);
    if (code)
        return code;
    struct tn_session *session = library->session;
    struct tn_lookup_handle *handle = tn__alloc_zeroed(session->allocator, 1, sizeof *handle);
    if (!handle)
        return tn__no_memory(err, NULL);
    handle->session = session;
    handle->done = done;
    handle->context = context;
    add_handle(handle);
    *out = handle;
    const struct tn__request request = {.library = library, .symbols = symbols, .count = count};
    code = tn__query_start(&request, tn__promise_current(session), answer, handle, &handle->query, err);
    if (code) {
        *out = NULL;
        drop_handle(handle);
    }
    return code;
}

/* ---- cancelling ---- */

/* True if this thread would wait for itself: it does the lookup's round, or the thread that calls back is waiting,
 * itself or through others, for a callback of this one. */
static bool would_wait_for_itself(const struct tn_lookup_handle *handle)
{
    const struct tn_session *session = handle->session;
    const struct tn__list *all = &session->cancelling;
    while (handle && handle->state == ANSWERING) {
        const struct tn_lookup_handle *next = NULL;
        for (TN_EACH(struct waiter, waiter, all, listed))
            if (pthread_equal(waiter->thread, handle->answerer))
                next = waiter->handle;
        if (next && next->state == ANSWERING && pthread_equal(next->answerer, pthread_self()))
            return true;
        handle = next;
    }
    return handle && handle->state == WAITING && pthread_equal(handle->query->stepper, pthread_self());
}

/* Waits until the callback has returned, unless this thread is in it. */
static int wait_for_answer(struct tn_lookup_handle *handle, struct tn_error *err) TN__LOCKED
{
    while (handle->state != ANSWERED) {
        if (handle->state == ANSWERING && pthread_equal(handle->answerer, pthread_self()))
            return 0;
        if (would_wait_for_itself(handle))
            return tn__fail(err, TN_ECYCLE, "the callback of this lookup waits for one that this thread is in");
        struct waiter here = {.thread = pthread_self(), .handle = handle};
        tn__list_append(&handle->session->cancelling, &here.listed);
        tn__mutex_wait(&handle->session->lock, &handle->answered, NULL);
        tn__list_remove(&here.listed);
    }
    return 0;
}

int tn_lookup_cancel(struct tn_lookup_handle *handle, struct tn_error *err)
{
    if (!handle)
        return 0;
    struct tn_session *session = handle->session;
    tn__session_lock(session);
    if (handle->state == WAITING && tn__query_cancel(handle->query)) {
        struct tn_error why;
        tn__query_fail_cancelled(&why);
        tn__session_unlock(session);
        tn__query_answer(handle->query, &why);
        tn__session_lock(session);
    }
    int code = wait_for_answer(handle, err);
    bool answered = !code && handle->state == ANSWERED;
    if (answered)
        tn__list_remove(&handle->listed);
    else if (!code)
        handle->taken_back = true;
    tn__session_unlock(session);
    if (answered)
        free_handle(handle);
    return code;
}

/* ---- deadlines ---- */

int tn_lookup_until(struct tn_library *library, struct tn_wanted *symbols, size_t count, uint64_t deadline,
                    struct tn_error *err)
{
    int code = tn__wanted_check(library, symbols, count, err);
    if (code)
        return code;
    const struct tn__request request = {
        .library = library, .symbols = symbols, .count = count, .deadline = deadline ? deadline : 1};
    code = tn__query_link(&request, err);
    return code || tn__promise_current(library->session) ? code : tn__library_initialize(library, deadline, err);
}

/* ---- what a materializer sees of it ---- */

int tn_responsibility_is_cancelled(struct tn_responsibility *promise)
{
    struct tn_session *session = promise->library->session;
    tn__session_lock(session);
    bool needed = tn__promise_is_needed(promise);
    tn__session_unlock(session);
    return !needed;
}
