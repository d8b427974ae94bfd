/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Promises: definitions made on demand, and queries: the lookups that wait for them.
 *
 *     wait       a link meets promised symbols and backs out; its query records what it waits for      waits.c
 *     dispatch   the materializers are run by the waiting thread, a pool, or the client's threads      dispatch.c,
 *                which also run idle tasks                                                              idle.c
 *     keep       they end by providing objects, which are entered like any others, or by failing       promise.c
 *     again      the query links what is there now                                                     query.c
 *
 * A link therefore never waits for a materializer, no lock is held while one runs, and no dependency graph is needed: a
 * query links everything it can reach together, and waits for what it cannot reach yet. */

#ifndef TENON_PROMISE_H
#define TENON_PROMISE_H

#include "link/passes/link.h"

#pragma GCC visibility push(hidden)

/* A promise: the symbols that a materializer still has to provide. Guarded by the session's lock, except `staged`,
 * which belongs to the holder of the responsibility. */
struct tn_responsibility {
    struct tn__promise seen;
    struct tn_library *library;
    struct tn_tracker *owner;     /* NULL once removed or ended */
    struct tn__list owned;        /* in the owner's promises */
    struct tn__deferred deferred; /* without references it is freed */
    uint32_t users;               /* references: one until it is fulfilled or removed, and one for each holder */
    struct tn_materializer client;
    struct tn__supplier *generator; /* set instead of `client`: it is asked for `names`, which nothing defines */
    const char **names;
    size_t name_count;
    bool is_kept;               /* by the generator, which ends it */
    struct tn__entry **entries; /* those of kind PROMISED or FAILED that point back here are owed */
    size_t count;
    struct tn__list waits;           /* struct tn__wait: queries that wait for it */
    struct tn__list queries;         /* struct tn__query: made by its materializer; disowned when it ends */
    struct tn_responsibility *below; /* while running: the outer materializer on the thread's stack */
    struct tn_responsibility *above; /* the inner materializer of this session, which it has to wait for */
    pthread_t runner;                /* the thread that runs it, while on_stack */
    bool on_stack;                   /* the materializer has not returned yet */
    bool left_behind;                /* in a fork: the thread that would end it may not exist in this process */
    bool unneeded;                   /* the last query that waited for it was cancelled, or has failed */
    bool told_unneeded;              /* tn__promise_is_needed has returned false */
    struct tn_responsibility *visit; /* the worklist of searches for cycles */
    uint64_t visited;
    struct tn__staged *staged; /* objects that fulfil it */
    struct tn__arena arena;    /* name, entries and what is staged */
    struct tn_error *failure;  /* FAILED: the cause; NULL: out of memory */
};

static inline bool tn__promise_owes(const struct tn_responsibility *promise, const struct tn__entry *entry)
{
    return (entry->kind == TN__ENTRY_PROMISED || entry->kind == TN__ENTRY_FAILED) && entry->promise == &promise->seen;
}

/* Puts a promise on the worklist of search `number`, unless it was there before. */
static inline void tn__promise_visit(struct tn_responsibility *promise, struct tn_responsibility **work,
                                     uint64_t number)
{
    if (promise->visited == number)
        return;
    promise->visited = number;
    promise->visit = *work;
    *work = promise;
}

static inline struct tn_responsibility *tn__promise_of(struct tn__promise *seen)
{
    return tn__container_of(seen, struct tn_responsibility, seen);
}

/* An object made by a materializer, until it is entered. */
struct tn__staged {
    struct tn__staged *next;
    struct tn__object_data data;
};

struct tn__wait {
    struct tn__list listed; /* in the promise's waits */
    struct tn_responsibility *promise;
    struct tn__query *query;
};

/* A lookup from start to end. On the stack for blocking lookups, otherwise allocated. */
struct tn__query {
    struct tn_session *session;
    struct tn__request request;
    uint64_t number;
    struct tn_responsibility *from; /* the promise whose materializer asks; NULL: none, or it has ended */
    struct tn__list asked;          /* in the queries of `from` */
    struct tn__open *open;          /* open references after the last round */
    size_t open_count;
    uint64_t revision; /* of the session at that time */
    bool given_back;   /* something that it waited for was given back, because no lookup seemed to need it */
    struct tn__wait *waits;
    size_t wait_count, pending;   /* `pending` of them have not ended */
    struct tn__missing *asked_of; /* names that generators have been asked for */
    size_t asked_count, asked_capacity;
    pthread_cond_t *settled; /* blocking lookups: signalled when nothing is pending */
    pthread_t asker;         /* blocking lookups: the waiting thread */
    struct tn__list listed;  /* in the session's queries */
    /* Only lookups with a callback: */
    struct tn__list runnable; /* in the session's list, when nothing is pending */
    bool announced;           /* a task has been made to continue it or an earlier one */
    bool stepping;            /* a thread does a round, and answers the client if that was the last; */
    pthread_t stepper;        /* this one */
    bool cancelled;           /* the round ends it, whatever it waits for */
    tn_lookup_done *done;
    void *context;
};

/* ---- promise_life.c ---- */

/* A new promise without owner, with space for `count` symbols; needs no lock. NULL when memory is out. */
struct tn_responsibility *tn__promise_new(struct tn_library *library, const char *name, size_t count);
/* Sets its owner, and its place among the inputs unless it has one. */
void tn__promise_give(struct tn_responsibility *promise, struct tn_tracker *owner) TN__LOCKED;
/* Makes it owe this entry. */
void tn__promise_take(struct tn_responsibility *promise, struct tn__entry *entry) TN__LOCKED;
void tn__promise_hold(struct tn_responsibility *promise) TN__LOCKED;
/* Gives up a reference; the last one frees the promise. */
void tn__promise_drop(struct tn_responsibility *promise) TN__LOCKED;
/* By the holder of the responsibility: gives up what is staged. */
void tn__promise_unstage(struct tn_responsibility *promise);
/* The error of a failed promise. */
int tn__promise_fail_with(const struct tn_responsibility *promise, const char *symbol, struct tn_error *err);

/* ---- promise.c ---- */

/* Claims a new promise for the calling thread to run. False if another thread has. */
bool tn__promise_claim(struct tn_responsibility *promise) TN__LOCKED;
/* Replaces a promise left behind by a fork with a new one; queries that wait for it try again. False if it was not left
 * behind. */
bool tn__promise_renew(struct tn_responsibility *promise) TN__LOCKED;
/* Calls the materializer of a claimed promise, which has then ended or will be ended later. */
void tn__promise_run(struct tn_responsibility *promise) TN__UNLOCKED;
/* The innermost promise of this session whose materializer the calling thread is running; NULL: none. */
struct tn_responsibility *tn__promise_current(const struct tn_session *session);
/* A new promise, for which this generator is asked for names in `missing`: for the first one, and for all others whose
 * next generator it is. NULL when memory is out. */
struct tn_responsibility *tn__promise_generate(struct tn__supplier *generator, const struct tn__missing *missing,
                                               size_t count) TN__LOCKED;
/* Removes the tracker's promises; queries that wait for them try again. */
void tn__promises_remove(struct tn_tracker *owner) TN__LOCKED;
/* At the end of the session: drops promises that were removed while being made. */
void tn__promises_drop_removed(struct tn_session *session) TN__LOCKED;
/* In the child of a fork: marks promises whose threads may not exist here. */
void tn__promises_after_fork(struct tn_session *session) TN__LOCKED;

/* ---- materializer.c ---- */

/* Copies and checks a client's materializer. */
int tn__materializer_take(const struct tn_library *library, const struct tn_materializer *given,
                          struct tn_materializer *m, struct tn_error *err);
/* Releases the lock meanwhile. Tells materializers which of their symbols the changes in `journal` overrode. */
void tn__promises_discard(struct tn_session *session, struct tn__journal *journal) TN__LOCKED;

/* ---- query.c ---- */

/* Links what is requested on behalf of `from`, which may be NULL, waiting for materializers. Takes the lock. */
int tn__query_run(const struct tn__request *request, struct tn_responsibility *from, struct tn_error *err) TN__UNLOCKED;
/* The same, with a callback instead of waiting. TN_ENOMEM: it is not called. `out`, which may be NULL, is set under the
 * lock before the callback can be called; the query lives until that has returned. */
int tn__query_start(const struct tn__request *request, struct tn_responsibility *from, tn_lookup_done *done,
                    void *context, struct tn__query **out, struct tn_error *err) TN__UNLOCKED;
/* Cancels a query with a callback that has not been called. True: it has ended, and the caller answers. False: a thread
 * is doing a round, and answers at its end. */
bool tn__query_cancel(struct tn__query *query) TN__LOCKED;
/* Calls back for a query that has ended, with this error, and frees it. */
void tn__query_answer(struct tn__query *query, const struct tn_error *err) TN__UNLOCKED;
/* sweep.c: removes unused names from the library's table. The caller has no pointers to its entries. */
void tn__library_sweep(struct tn_library *library) TN__LOCKED;

static inline void tn__library_sweep_if_due(struct tn_library *library) TN__LOCKED
{
    const struct tn__symtab *table = &library->symtab;
    if (table->count >= table->sweep_at && table->swept_revision != library->session->revision)
        tn__library_sweep(library);
}

/* Answers without a query where the symbol has an address already, and all that the library needs is initialised. */
bool tn__query_answer_at_once(struct tn_library *library, struct tn_wanted *wanted) TN__LOCKED;

/* lookup.c: runs a query on behalf of the materializer that the calling thread is running, if any. */
int tn__query_link(const struct tn__request *request, struct tn_error *err) TN__UNLOCKED;
/* lookup.c: the argument checks of all lookups. */
int tn__wanted_check(const struct tn_library *library, const struct tn_wanted *symbols, size_t count,
                     struct tn_error *err);
/* Does one round of the next runnable query, of this promise's materializer (NULL: of any). False if there is none. */
bool tn__query_step_one(struct tn_session *session, const struct tn_responsibility *only_of) TN__UNLOCKED;
/* Continues runnable queries. Inside a materializer only its own, because others might have to wait for it. */
void tn__query_continue(struct tn_session *session) TN__UNLOCKED;
/* Its queries no longer belong to a promise. */
void tn__query_disown(struct tn_responsibility *promise) TN__LOCKED;
/* In the child of a fork: ends the lookups of threads that do not exist here. */
void tn__queries_after_fork(struct tn_session *session) TN__LOCKED;
/* At the end of the session: fails all queries with a callback. */
void tn__query_abandon(struct tn_session *session);

/* lookup.c: tn_lookup_all that leaves initializers to calls and lookups of other threads; for workers. */
int tn__lookup_only(struct tn_library *library, struct tn_wanted *symbols, size_t count,
                    struct tn_error *err) TN__UNLOCKED;

/* ---- initialize.c ---- */

/* Appends the library and all that it needs, itself or through others, to a list that is linked by
 * `order.next`: each after those that it needs, except in a circle, whose libraries come in the order in which they are
 * reached. Those that were reached with this number of session->visits before are left out. The list is valid until the
 * lock is given up. */
void tn__library_append_needed(struct tn_library *library, uint64_t number, struct tn_library **first) TN__LOCKED;

/* Runs what the library, and libraries that it needs, have to initialise, or waits until another thread has. Without a
 * lock. TN_ECANCELLED: it takes until the deadline, if that is not 0; TN_ENOMEM. */
int tn__library_initialize_now(struct tn_library *library, uint64_t deadline, struct tn_error *err) TN__UNLOCKED;

/* False for most calls: nothing of the session has to be initialised. */
static inline bool tn__session_has_pending(const struct tn_session *session)
{
    const struct tn__initializing *state = &session->initializers;
    return __atomic_load_n(&state->unfinished, __ATOMIC_ACQUIRE) && !state->are_manual;
}

static inline int tn__library_initialize(struct tn_library *library, uint64_t deadline,
                                         struct tn_error *err) TN__UNLOCKED
{
    return tn__session_has_pending(library->session) ? tn__library_initialize_now(library, deadline, err) : 0;
}

/* tn_run_initializers without arguments: they remain those of the client's first call. */
int tn__library_run_initializers(struct tn_library *library, struct tn_error *err) TN__UNLOCKED;
/* True if tn__library_initialize would do nothing. */
bool tn__library_is_initialized(struct tn_library *library) TN__LOCKED;
/* True if this thread cannot get an address of the library for another one's lookup now. It is in an initializer that
 * the library needs; or it is making something (is_making), which an initializer that it would wait for may need. */
bool tn__library_must_be_left(struct tn_library *library, bool is_making) TN__LOCKED;
/* In the child of a fork. */
void tn__initializers_after_fork(struct tn_session *session) TN__LOCKED;
/* At the end of the session. */
void tn__initializers_free(struct tn_session *session);

/* ---- waits.c ---- */

/* Records that the query waits for all promises in `needs`. TN_ECYCLE: one of them waits, itself or through others, for
 * the materializer that made the query; nothing is recorded. */
int tn__query_begin_waiting(struct tn__query *query, const struct tn__needs *needs, struct tn_error *err) TN__LOCKED;
/* Drops these records. The failure of a generator is the failure of the query, because it leaves no failed symbols. */
int tn__query_end_waiting(struct tn__query *query, struct tn_error *err) TN__LOCKED;
int tn__query_fail_cancelled(struct tn_error *err);
/* TN_ECANCELLED if the answer is not wanted any more: the query was cancelled, its deadline has passed, or it is a
 * materializer's own, waits for a lookup that was cancelled, and no other lookup waits for that materializer. */
int tn__query_check_worth_waiting(const struct tn__query *query, struct tn_error *err) TN__LOCKED;
/* Of what the query waits for, itself or through others, the first promise that fits; NULL: none. */
struct tn_responsibility *tn__query_find_behind(const struct tn__query *query,
                                                bool (*fits)(const struct tn_responsibility *, const void *),
                                                const void *context) TN__LOCKED;
/* Wakes the queries of a promise that has ended or given its symbols away. */
void tn__query_wake(struct tn_responsibility *promise) TN__LOCKED;
/* False if no lookup waits for it, neither itself nor through the lookups of other materializers. */
bool tn__promise_is_needed(struct tn_responsibility *promise) TN__LOCKED;

/* ---- dispatch.c ---- */

/* What a thread of the session or of the client does at some time. */
struct tn_task {
    struct tn__list queued;
    struct tn_session *session;
    struct tn_responsibility *promise;             /* held; NULL: a round of whichever query can go on */
    void (*idle)(void *context, int is_cancelled); /* set: an idle task, which does this */
    void *context;
};

/* Has a copy of the task run. False if the session has neither threads nor a queue, or no memory for it. */
bool tn__dispatch_task(const struct tn_task *made) TN__UNLOCKED;
/* Has these promises run, by the session's threads or the client's if there are any. A caller that is going to wait
 * runs some itself. The caller's references are consumed. */
void tn__dispatch(struct tn_session *session, struct tn__promise *const *promises, size_t count,
                  bool waits) TN__UNLOCKED;
/* Has a round of a runnable query run. False if the caller has to do that itself. */
bool tn__dispatch_step(struct tn_session *session);
int tn__pool_open(struct tn_session *session, size_t threads, struct tn_error *err);
/* Around a fork; the child has none of the pool's threads, and starts new ones when needed. */
void tn__pool_before_fork(struct tn__pool *pool);
void tn__pool_after_fork(struct tn__pool *pool, bool in_child);
/* Waits for running tasks and drops those not started; idle ones are told. */
void tn__pool_close(struct tn_session *session);

#pragma GCC visibility pop
#endif
