/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What queries wait for: the graph of queries and promises, which is followed before a query waits, when it helps, and
 * when a materializer asks whether its symbols are still needed. */

#include "link/demand/promise.h"

/* Notes what the query waits for. */
static void visit_waits(const struct tn__query *query, struct tn_responsibility **work, uint64_t number)
{
    for (size_t i = 0; i < query->wait_count; i++) {
        if (!tn__list_is_empty(&query->waits[i].listed)) /* else it has ended */
            tn__promise_visit(query->waits[i].promise, work, number);
    }
}

struct tn_responsibility *tn__query_find_behind(const struct tn__query *query,
                                                bool (*fits)(const struct tn_responsibility *, const void *),
                                                const void *context)
{
    struct tn_responsibility *work = NULL;
    uint64_t number = ++query->session->visits;
    visit_waits(query, &work, number);
    while (work && !fits(work, context)) {
        const struct tn_responsibility *promise = work;
        work = promise->visit;
        if (promise->above)
            tn__promise_visit(promise->above, &work, number);
        for (TN_EACH(struct tn__query, own, &promise->queries, asked))
            visit_waits(own, &work, number);
    }
    return work;
}

static bool is_same(const struct tn_responsibility *promise, const void *target)
{
    return promise == target;
}

/* Before the promise has ended: the query does not need it any more. */
static void stop_waiting(struct tn__wait *wait)
{
    if (tn__list_is_empty(&wait->listed))
        return;
    tn__list_remove(&wait->listed);
    wait->promise->unneeded = tn__list_is_empty(&wait->promise->waits);
}

int tn__query_end_waiting(struct tn__query *query, struct tn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < query->wait_count; i++) {
        struct tn__wait *wait = &query->waits[i];
        struct tn_responsibility *promise = wait->promise;
        if (!code && promise->generator && promise->seen.state == TN__PROMISE_FAILED)
            code = tn__promise_fail_with(promise, promise->names[0], err);
        stop_waiting(wait);
        tn__promise_drop(promise);
    }
    tn__free(query->session->allocator, query->waits);
    query->waits = NULL;
    query->wait_count = query->pending = 0;
    return code;
}

/* Wakes the threads that wait, because they may have work to do now: see help. */
static void wake_helpers(const struct tn_session *session)
{
    for (TN_EACH(struct tn__query, query, &session->queries, listed))
        if (query->settled)
            pthread_cond_signal(query->settled);
}

int tn__query_begin_waiting(struct tn__query *query, const struct tn__needs *needs, struct tn_error *err)
{
    query->waits = tn__alloc(query->session->allocator, needs->promise_count * sizeof *query->waits);
    if (!query->waits)
        return tn__no_memory(err, NULL);
    for (; query->wait_count < needs->promise_count; query->wait_count++) {
        struct tn__wait *wait = &query->waits[query->wait_count];
        wait->promise = tn__promise_of(needs->promises[query->wait_count]);
        wait->query = query;
        tn__promise_hold(wait->promise);
        wait->promise->unneeded = false;
        tn__list_append(&wait->promise->waits, &wait->listed);
    }
    query->pending = query->wait_count;
    if (!query->from)
        return 0;
    if (!tn__query_find_behind(query, is_same, query->from)) {
        if (!query->settled)
            wake_helpers(query->session);
        return 0;
    }
    tn__query_end_waiting(query, NULL);
    return tn__fail(err, TN_ECYCLE, "%s looks up what can only be made once it has ended itself",
                    query->from->seen.name);
}

void tn__query_wake(struct tn_responsibility *promise)
{
    struct tn_session *session = promise->library->session;
    while (!tn__list_is_empty(&promise->waits)) {
        struct tn__wait *wait = tn__container_of(promise->waits.next, struct tn__wait, listed);
        struct tn__query *query = wait->query;
        tn__list_remove(&wait->listed);
        query->pending--;
        if (promise->seen.state == TN__PROMISE_FAILED) { /* for the rest it is too late */
            for (size_t i = 0; i < query->wait_count; i++)
                stop_waiting(&query->waits[i]);
            query->pending = 0;
        }
        if (query->pending)
            continue;
        if (query->settled)
            pthread_cond_signal(query->settled);
        else {
            tn__list_append(&session->runnable, &query->runnable);
            if (query->from)
                wake_helpers(session);
        }
    }
}

static bool is_over(const struct tn__query *query, uint64_t now)
{
    return query->request.deadline && query->request.deadline <= now;
}

bool tn__promise_is_needed(struct tn_responsibility *promise)
{
    struct tn_session *session = promise->library->session;
    struct tn_responsibility *work = NULL;
    uint64_t number = ++session->visits, now = tn__os_now_ns();
    tn__promise_visit(promise, &work, number);
    while (work) {
        const struct tn_responsibility *at = work;
        work = at->visit;
        if (!at->unneeded && tn__list_is_empty(&at->waits)) /* the lookup is between two rounds */
            return true;
        for (TN_EACH(struct tn__wait, wait, &at->waits, listed)) {
            if (is_over(wait->query, now))
                continue;
            if (!wait->query->from)
                return true;
            tn__promise_visit(wait->query->from, &work, number);
        }
    }
    promise->told_unneeded = true;
    return false;
}

int tn__query_fail_cancelled(struct tn_error *err)
{
    return tn__fail(err, TN_ECANCELLED, "the lookup was cancelled");
}

int tn__query_check_worth_waiting(const struct tn__query *query, struct tn_error *err)
{
    if (query->cancelled || (query->given_back && query->from && !tn__promise_is_needed(query->from)))
        return tn__query_fail_cancelled(err);
    if (query->request.deadline && tn__os_now_ns() >= query->request.deadline)
        return tn__fail(err, TN_ECANCELLED, "the lookup's deadline has passed");
    return 0;
}
