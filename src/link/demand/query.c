/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lookups: a query links what is there, waits for what is promised, and tries again. See promise.h.
 *
 * No wait can deadlock: a query made by a materializer is recorded with its promise, and before it waits, the chain of
 * what it would wait for is followed. If that leads back to the promise, the query fails instead. Other queries cannot
 * close a cycle. */

#include <time.h>

#include "link/demand/promise.h"

/* ---- what was asked for ---- */

static bool has_address(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_LINKED || entry->kind == TN__ENTRY_ABSOLUTE || entry->kind == TN__ENTRY_HOST;
}

/* The entry that a symbol leads to; NULL if nothing does, or it is hidden. */
static struct tn__entry *find_wanted(const struct tn__request *request, size_t i) TN__LOCKED
{
    struct tn__entry *entry = tn__symtab_find(&request->library->symtab, request->symbols[i].name);
    return entry && tn__wanted_sees(&request->symbols[i], entry) ? entry : NULL;
}

/* True if it leads to an address, through aliases that are still valid. */
static bool is_in_place(const struct tn__entry *entry)
{
    for (; entry->kind == TN__ENTRY_ALIAS; entry = entry->target)
        if (tn__entry_is_outdated(entry))
            return false;
    return has_address(entry);
}

static bool is_answered(const struct tn__request *request) TN__LOCKED
{
    if (request->everything || request->initializers)
        return false;
    for (size_t i = 0; i < request->count; i++) {
        const struct tn__entry *entry = find_wanted(request, i);
        if (!entry || !is_in_place(entry))
            return false;
    }
    return request->count;
}

/* Some symbols may have been removed while others were linked. */
static int answer(const struct tn__request *request, struct tn_error *err) TN__LOCKED
{
    int code = tn__request_check(request, &(struct tn__needs){0}, err);
    for (size_t i = 0; !code && i < request->count; i++) {
        struct tn__entry *entry = find_wanted(request, i);
        const struct tn__entry *target = entry ? tn__entry_target(entry) : NULL;
        request->symbols[i].address = target && has_address(target) ? (void *)(uintptr_t)target->address : NULL;
    }
    return code;
}

bool tn__query_answer_at_once(struct tn_library *library, struct tn_wanted *wanted)
{
    const struct tn__request request = {.library = library, .symbols = wanted, .count = 1};
    struct tn__entry *entry = tn__library_check(library, NULL) ? NULL : find_wanted(&request, 0);
    if (!entry || !is_in_place(entry) || !tn__library_is_initialized(library))
        return false;
    wanted->address = (void *)(uintptr_t)tn__entry_target(entry)->address;
    return true;
}

/* ---- one round ---- */

/* Of the names that generators have to be asked for, those that go to the same one become one promise. */
static int generate(struct tn__query *query, struct tn__needs *needs, struct tn_error *err) TN__LOCKED
{
    const struct tn_allocator *from = query->session->allocator;
    size_t count = needs->missing_count;
    if (!tn__grow(from, &query->asked_of, &query->asked_capacity, query->asked_count + count,
                  sizeof *query->asked_of) ||
        !tn__grow(from, &needs->promises, &needs->promise_capacity, needs->promise_count + count,
                  sizeof(struct tn__promise *)))
        return tn__no_memory(err, NULL);
    for (size_t i = 0; i < count; i++) {
        struct tn__supplier *generator = tn__generator_for(&needs->missing[i]);
        query->asked_of[query->asked_count++] = needs->missing[i];
        tn__library_use(needs->missing[i].library);
        if (!generator)
            continue; /* it is being asked, with one before */
        struct tn_responsibility *promise = tn__promise_generate(generator, &needs->missing[i], count - i);
        if (!promise)
            return tn__no_memory(err, NULL);
        needs->promises[needs->promise_count++] = &promise->seen;
    }
    return 0;
}

/* The references that the link could not follow are where the next round begins. */
static void take_open(struct tn__query *query, struct tn__needs *needs)
{
    tn__free(query->session->allocator, query->open);
    query->open = needs->open;
    query->open_count = needs->open_count;
    needs->open = NULL;
    needs->open_count = needs->open_capacity = 0;
}

/* Follows what the last round left open; when all is there, links. */
static int link_round(struct tn__query *query, struct tn__needs *needs, struct tn_error *err) TN__LOCKED
{
    const struct tn_session *session = query->session;
    if (query->revision == session->revision) { /* else the objects that refer to them may be gone */
        needs->resume = query->open;
        needs->resume_count = query->open_count;
    }
    query->revision = session->revision;
    int code = needs->resume ? tn__link_run(&query->request, needs, err) : TN__EXPLORED;
    if (code == TN__EXPLORED) {
        needs->resume = NULL;
        code = tn__link_run(&query->request, needs, err);
    }
    take_open(query, needs);
    return code;
}

/* TN__WAIT: the query is recorded, and `needs` lists what it waits for, with references. */
static int attempt(struct tn__query *query, struct tn__needs *needs, struct tn_error *err) TN__LOCKED
{
    const struct tn__request *request = &query->request;
    *needs = (struct tn__needs){.query = query->number};
    int code = tn__library_check(request->library, err);
    if (!code && !is_answered(request))
        code = link_round(query, needs, err);
    if (!code)
        return answer(request, err);
    if (code == TN__FAILED)
        return tn__promise_fail_with(tn__promise_of(needs->failed->promise), needs->failed->name, err);
    if (code != TN__WAIT)
        return code;
    code = needs->resume ? 0 : tn__request_check(request, needs, err); /* all names were looked at */
    if (!code)
        code = tn__query_check_worth_waiting(query, err);
    if (!code)
        code = generate(query, needs, err);
    if (!code)
        code = tn__query_begin_waiting(query, needs, err);
    for (size_t i = 0; !code && i < needs->promise_count; i++)
        tn__promise_hold(tn__promise_of(needs->promises[i]));
    return code ? code : TN__WAIT;
}

/* The query is one of the session's, and its materializer's. */
static void begin_query(struct tn__query *query) TN__LOCKED
{
    query->number = ++query->session->links;
    tn__library_use(query->request.library);
    tn__list_append(&query->session->queries, &query->listed);
    if (query->from)
        tn__list_append(&query->from->queries, &query->asked);
}

void tn__query_disown(struct tn_responsibility *promise)
{
    while (!tn__list_is_empty(&promise->queries)) {
        struct tn__query *query = tn__container_of(promise->queries.next, struct tn__query, asked);
        tn__list_remove(&query->asked);
        query->from = NULL;
    }
}

/* Generators may be asked again by the next query. */
static void end_query(struct tn__query *query) TN__LOCKED
{
    tn__list_remove(&query->listed);
    tn__list_remove(&query->asked);
    tn__free(query->session->allocator, query->open);
    for (size_t i = 0; i < query->asked_count; i++) {
        if (!query->asked_of[i].library->removed)
            query->asked_of[i].entry->asked = 0;
        tn__library_release(query->asked_of[i].library);
    }
    tn__free(query->session->allocator, query->asked_of);
}

/* Afterwards the library may be gone. Names that were looked for in vain have entries, too. */
static void leave_library(const struct tn__request *request, int code) TN__LOCKED
{
    if (code)
        request->library->symtab.swept_revision = UINT64_MAX;
    tn__library_sweep_if_due(request->library);
    tn__library_release(request->library);
}

/* ---- going on ---- */

static void step(struct tn__query *query);

/* Where the calling thread goes on with queries. What becomes runnable meanwhile is left to the loop that is running:
 * so the stack does not grow with the number of rounds. */
static __thread struct level {
    const struct tn_session *session;
    const struct tn_responsibility *inside;
    struct level *outer;
} * level __attribute__((tls_model("initial-exec")));

static void begin_step(struct tn__query *query) TN__LOCKED
{
    query->stepping = true;
    query->stepper = pthread_self();
}

static struct tn__query *find_runnable(struct tn_session *session, const struct tn_responsibility *only_of)
{
    if (!only_of)
        return tn__list_is_empty(&session->runnable)
                   ? NULL
                   : tn__container_of(session->runnable.next, struct tn__query, runnable);
    for (TN_EACH(struct tn__query, query, &only_of->queries, asked))
        if (!tn__list_is_empty(&query->runnable))
            return query;
    return NULL;
}

bool tn__query_step_one(struct tn_session *session, const struct tn_responsibility *only_of)
{
    tn__session_lock(session);
    struct tn__query *query = find_runnable(session, only_of);
    if (query) {
        tn__list_remove(&query->runnable);
        begin_step(query);
    }
    tn__session_unlock(session);
    if (query)
        step(query);
    return query;
}

/* Counts the runnable queries for which there is no task yet. A task runs the next query, not a certain one, so it may
 * come late. */
static size_t announce_all(struct tn_session *session)
{
    size_t count = 0;
    tn__session_lock(session);
    for (TN_EACH(struct tn__query, query, &session->runnable, runnable)) {
        count += !query->announced;
        query->announced = true;
    }
    tn__session_unlock(session);
    return count;
}

static void go_on(struct tn_session *session, const struct tn_responsibility *inside, bool own_only)
{
    struct level here = {session, inside, level};
    level = &here;
    bool shared = session->dispatch || session->pool;
    for (size_t count = shared ? announce_all(session) : 0; count; count--)
        if (!tn__dispatch_step(session))
            tn__query_step_one(session, NULL);
    while (!shared && tn__query_step_one(session, own_only ? inside : NULL))
        ;
    level = here.outer;
}

/* Releases the lock meanwhile. A thread that is going to wait leaves nothing to loops further down. */
static void go_on_before_waiting(struct tn_session *session) TN__LOCKED
{
    if (tn__list_is_empty(&session->runnable))
        return;
    tn__session_unlock(session);
    go_on(session, tn__promise_current(session), false);
    tn__session_lock(session);
}

/* ---- blocking ---- */

static bool has_work(const struct tn_responsibility *promise, const void *unused)
{
    (void)unused;
    for (TN_EACH(struct tn__query, query, &promise->queries, asked))
        if (!tn__list_is_empty(&query->runnable))
            return true;
    return promise->seen.state == TN__PROMISE_NEW ||
           (promise->seen.state == TN__PROMISE_RUNNING && promise->left_behind);
}

/* Runs a materializer or a query that this one waits for, directly or through others, and that no thread has begun: all
 * threads that could begin it may be waiting too. Under the lock, which is released meanwhile. False if there is
 * none. */
static bool help(const struct tn__query *query) TN__LOCKED
{
    struct tn_session *session = query->session;
    struct tn_responsibility *promise = tn__query_find_behind(query, has_work, NULL);
    if (!promise)
        return false;
    if (tn__promise_renew(promise))
        return true;
    bool claimed = tn__promise_claim(promise);
    if (!claimed)
        tn__promise_hold(promise);
    tn__session_unlock(session);
    if (claimed)
        tn__promise_run(promise);
    else
        tn__query_step_one(session, promise);
    tn__session_lock(session);
    if (!claimed)
        tn__promise_drop(promise);
    return true;
}

/* Sleeps until there may be something to do, or until the deadline. */
static void wait_for_news(const struct tn__query *query)
{
    uint64_t deadline = query->request.deadline;
    const struct timespec until = {(time_t)(deadline / 1000000000), (long)(deadline % 1000000000)};
    tn__mutex_wait(&query->session->lock, query->settled, deadline ? &until : NULL);
}

/* Returns when what the query waits for has ended or was removed. */
static int wait_until_settled(struct tn__query *query, struct tn_error *err) TN__LOCKED
{
    if (query->pending)
        go_on_before_waiting(query->session);
    int code = 0;
    while (!code && query->pending) {
        code = tn__query_check_worth_waiting(query, err);
        if (!code && !help(query))
            wait_for_news(query);
    }
    int failed = tn__query_end_waiting(query, code ? NULL : err);
    return code ? code : failed;
}

/* Deadlines are of the clock that never goes back. */
static void init_settled(pthread_cond_t *settled)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(settled, &attributes);
    pthread_condattr_destroy(&attributes);
}

int tn__query_run(const struct tn__request *request, struct tn_responsibility *from, struct tn_error *err)
{
    struct tn_session *session = request->library->session;
    pthread_cond_t settled = PTHREAD_COND_INITIALIZER;
    if (request->deadline)
        init_settled(&settled);
    struct tn__query query = {
        .session = session, .request = *request, .from = from, .settled = &settled, .asker = pthread_self()};
    tn__list_init(&query.asked);
    tn__list_init(&query.runnable);
    tn__session_lock(session);
    begin_query(&query);
    int code;
    do {
        struct tn__needs needs;
        code = attempt(&query, &needs, err);
        if (code == TN__WAIT) {
            tn__session_unlock(session);
            tn__dispatch(session, needs.promises, needs.promise_count, true);
            tn__session_lock(session);
            int failed = wait_until_settled(&query, err);
            code = failed ? failed : code;
        }
        tn__free(session->allocator, needs.promises);
        tn__free(session->allocator, needs.missing);
    } while (code == TN__WAIT);
    end_query(&query);
    leave_library(request, code);
    tn__session_unlock(session);
    tn__query_continue(session);
    pthread_cond_destroy(&settled);
    return code;
}

/* ---- with a callback ---- */

void tn__query_answer(struct tn__query *query, const struct tn_error *err)
{
    query->done(query->context, query->request.symbols, query->request.count, err);
    tn__free(query->session->allocator, query);
}

enum { POSTPONED = TN__EXPLORED + 1 }; /* beside the outcomes of rounds */

/* Whether the query goes on later, when no thread runs initializers. */
static bool postpone(struct tn__query *query) TN__LOCKED
{
    struct tn_session *session = query->session;
    if (!tn__library_must_be_left(query->request.library, tn__promise_current(session)))
        return false;
    query->stepping = false;
    tn__list_append(&session->initializers.postponed, &query->runnable);
    return true;
}

/* Before it answers, for a query that has linked everything. The library may be gone afterwards. */
static int initialize(struct tn_library *library, struct tn_error *err)
{
    struct tn_session *session = library->session;
    int code = tn__library_initialize_now(library, 0, err);
    tn__session_lock(session);
    tn__library_release(library);
    tn__session_unlock(session);
    return code;
}

static void step(struct tn__query *query)
{
    struct tn_session *session = query->session;
    struct tn_library *library = query->request.library;
    struct tn__needs needs;
    struct tn_error err;
    tn__session_lock(session);
    query->announced = false;
    int code = tn__query_end_waiting(query, &err);
    if (!code)
        code = attempt(query, &needs, &err);
    else
        needs = (struct tn__needs){0};
    query->stepping = code != TN__WAIT;
    bool initializes = !code && !query->from && tn__session_has_pending(session);
    if (initializes && postpone(query))
        code = POSTPONED;
    else if (initializes)
        tn__library_use(library);
    if (code <= 0) {
        end_query(query);
        leave_library(&query->request, code);
    }
    tn__session_unlock(session);
    if (!code && initializes)
        code = initialize(library, &err);
    if (code == TN__WAIT)
        tn__dispatch(session, needs.promises, needs.promise_count, false); /* the query may have ended behind it */
    else if (code != POSTPONED)
        tn__query_answer(query, code ? &err : NULL);
    tn__free(session->allocator, needs.promises);
    tn__free(session->allocator, needs.missing);
}

void tn__query_continue(struct tn_session *session)
{
    const struct tn_responsibility *inside = tn__promise_current(session);
    if (!level || level->session != session || level->inside != inside)
        go_on(session, inside, inside && !tn__session_has_threads(session));
}

static void end_early(struct tn__query *query) TN__LOCKED
{
    tn__list_remove(&query->runnable);
    tn__query_end_waiting(query, NULL);
    end_query(query);
    tn__library_release(query->request.library);
}

bool tn__query_cancel(struct tn__query *query)
{
    query->cancelled = true;
    if (query->stepping)
        return false;
    end_early(query);
    return true;
}

void tn__queries_after_fork(struct tn_session *session)
{
    for (TN_EACH_TO_REMOVE(struct tn__query, query, &session->queries, listed)) {
        if (query->settled ? pthread_equal(query->asker, pthread_self())
                           : !query->stepping || pthread_equal(query->stepper, pthread_self()))
            continue;
        if (query->settled)
            end_early(query);
        else { /* the round was another thread's: it begins again */
            query->stepping = query->announced = false;
            tn__query_end_waiting(query, NULL);
            tn__list_append(&session->runnable, &query->runnable);
        }
    }
    if (session->handles)
        session->handles->after_fork(session);
}

void tn__query_abandon(struct tn_session *session)
{
    while (!tn__list_is_empty(&session->queries)) {
        struct tn__query *query = tn__container_of(session->queries.next, struct tn__query, listed);
        struct tn_error err;
        tn__fail(&err, TN_EREMOVED, "the session ends");
        tn__session_lock(session);
        end_early(query);
        tn__session_pause(session);
        tn__query_answer(query, &err);
    }
    if (session->handles)
        session->handles->close(session);
}

int tn__query_start(const struct tn__request *request, struct tn_responsibility *from, tn_lookup_done *done,
                    void *context, struct tn__query **out, struct tn_error *err)
{
    struct tn_session *session = request->library->session;
    struct tn__query *query = tn__alloc_zeroed(session->allocator, 1, sizeof *query);
    if (!query)
        return tn__no_memory(err, NULL);
    query->session = session;
    query->request = *request;
    query->from = from;
    query->done = done;
    query->context = context;
    tn__list_init(&query->asked);
    tn__list_init(&query->runnable);
    tn__session_lock(session);
    begin_query(query);
    begin_step(query);
    if (out)
        *out = query;
    tn__session_unlock(session);
    struct level here = {session, tn__promise_current(session), level};
    level = &here;
    step(query);
    level = here.outer;
    tn__query_continue(session);
    return 0;
}
