/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Definitions that are made when somebody needs them, and the lookups that wait for them.
 *
 *     lodge      a link meets promised symbols and steps back; its query takes note of what it waits for     query.c
 *     dispatch   the materializers are run, by the waiting thread, a pool, or the client's queue             dispatch.c
 *     keep       they end with objects, which are entered like any others, or fail                           promise.c
 *     again      the query links what is there now
 *
 * So a link never waits for a materializer, no lock is held while one runs, and dependencies need no graph: what a link
 * reaches is linked together, and what it cannot reach yet it waits for. */

#ifndef TENON_PROMISE_H
#define TENON_PROMISE_H

#include "link.h"

#pragma GCC visibility push(hidden)

enum tn__promise_state {
    TN__PROMISE_NEW = 0, /* nobody needs it yet */
    TN__PROMISE_RUNNING, /* its materializer was called, or is about to be */
    TN__PROMISE_KEPT,    /* or removed meanwhile */
    TN__PROMISE_FAILED,  /* its symbols stay failed until its tracker is removed */
};

/* One use of a materializer: the symbols that it still owes. Guarded by the session's lock, but for `staged`, which
 * belongs to whoever holds the responsibility. */
struct tn_responsibility {
    struct tn_library *library;
    struct tn_tracker *owner; /* NULL: removed, or ended */
    struct tn__list owned;    /* in the owner's promises */
    uint8_t state;
    uint32_t users; /* 1 until it has been kept, or was removed, and one for everybody who holds on to it */
    struct tn_materializer client;
    struct tn__generator *generator; /* set instead: asks it for `names`, which nobody defines */
    const char **names;
    size_t name_count;
    char *name;
    struct tn__entry **entries; /* those that say PROMISED or FAILED and lead back here are owed */
    size_t count;
    uint64_t noted;                  /* the link that has it in its list */
    struct tn__list waits;           /* struct tn__wait: queries that wait for it */
    struct tn__list queries;         /* struct tn__query: by its materializer; cut off when it ends */
    struct tn_responsibility *below; /* running: the next one on the thread's stack of materializers, */
    struct tn_responsibility *above; /* and what keeps it from going on: the next one of this session */
    pthread_t runner;                /* the thread, */
    bool on_stack;                   /* while the materializer has not returned */
    bool left_behind;                /* by a fork: who would end it may be a thread that this process lacks */
    struct tn_responsibility *visit; /* worklist of the search for cycles */
    uint64_t visited;
    struct tn__staged *staged; /* objects that it will be kept with */
    struct tn__arena arena;    /* name, entries and what is staged */
    struct tn_error *failure;  /* FAILED: the cause; NULL: memory was out */
};

static inline bool tn__promise_owes(const struct tn_responsibility *promise, const struct tn__entry *entry)
{
    return (entry->kind == TN__ENTRY_PROMISED || entry->kind == TN__ENTRY_FAILED) && entry->promise == promise;
}

/* An object that a materializer made, until it is entered. */
struct tn__staged {
    struct tn__staged *next;
    struct tn__object_data data;
};

/* Names that a link needs and generators have not been asked for yet. */
struct tn__missing {
    struct tn_library *library;
    struct tn__entry *entry;
};

/* A reference that a link could not follow to its end. */
struct tn__open {
    struct tn_library *library;
    struct tn__entry *entry;
    unsigned how;
};

/* What a link stepped back for. The next round begins with the references that were open, and skips the objects that the
 * query has seen before: so a chain of promises costs time in its length, not in its square. Only when nothing is open any more
 * everything is looked at again, and linked. */
struct tn__needs {
    uint64_t query;                /* its number */
    const struct tn__open *resume; /* begin with these, and link nothing; NULL: with what was asked for */
    size_t resume_count;
    struct tn__open *open;
    size_t open_count, open_capacity;
    struct tn_responsibility **promises;
    size_t promise_count, promise_capacity;
    struct tn__missing *missing;
    size_t missing_count, missing_capacity;
};

/* What a query wants. Exactly one of the three. */
struct tn__request {
    struct tn_library *library;
    struct tn_wanted *symbols; /* these, */
    size_t count;
    bool everything;               /* every object of the library, */
    const struct tn__roots *roots; /* or that without what these do not lead to */
};

static inline bool tn__wanted_sees(const struct tn_wanted *wanted, const struct tn__entry *entry)
{
    return !entry->hidden || wanted->flags & TN_WANTED_HIDDEN;
}

struct tn__wait {
    struct tn__list listed; /* in the promise's waits */
    struct tn_responsibility *promise;
    struct tn__query *query;
};

/* A lookup from first to last. On the stack of a blocking one, allocated for the others. */
struct tn__query {
    struct tn_session *session;
    struct tn__request request;
    uint64_t number;
    struct tn_responsibility *from; /* whose materializer asks; NULL: none, or it has ended */
    struct tn__list asked;          /* in its queries */
    struct tn__open *open;          /* where the last round ended */
    size_t open_count;
    uint64_t revision; /* the session's then */
    struct tn__wait *waits;
    size_t wait_count, pending;   /* pending of them have not ended */
    struct tn__missing *asked_of; /* names that generators were asked for */
    size_t asked_count, asked_capacity;
    pthread_cond_t *settled; /* blocking: signalled when nothing is pending */
    pthread_t asker;         /* blocking: who waits */
    struct tn__list listed;  /* in the session's queries */
    /* Those with a callback: */
    struct tn__list runnable; /* in its runnable ones, when nothing is pending */
    bool announced;           /* and a task goes on with it, or with one before */
    tn_lookup_done *done;
    void *context;
};

/* ---- promise.c ---- */

/* A new one of nobody's, with room for `count` symbols; needs no lock. NULL when memory is out. */
struct tn_responsibility *tn__promise_new(struct tn_library *library, const char *name, size_t count);
/* Under the lock: this tracker owns it. */
void tn__promise_give(struct tn_responsibility *promise, struct tn_tracker *owner);
/* Under the lock: it owes this entry. */
void tn__promise_take(struct tn_responsibility *promise, struct tn__entry *entry);
void tn__promise_hold(struct tn_responsibility *promise);
/* Under the lock; frees it after the last one. */
void tn__promise_drop(struct tn_responsibility *promise);
/* Under the lock: takes a new promise for the calling thread to run. False if somebody else has. */
bool tn__promise_claim(struct tn_responsibility *promise);
/* Under the lock: has what was left behind by a fork made anew, by a promise of its own; who waits looks again. False if this
 * is not one of them. */
bool tn__promise_renew(struct tn_responsibility *promise);
/* Without the lock: calls the materializer of a claimed promise; it has ended or will be ended later. */
void tn__promise_run(struct tn_responsibility *promise);
/* The innermost promise whose materializer the calling thread runs in this session; NULL: none. */
struct tn_responsibility *tn__promise_current(const struct tn_session *session);
/* Under the lock: a new promise that this generator answers for those of the names for which it is the next to be asked; the
 * first one is. NULL when memory is out. */
struct tn_responsibility *tn__promise_generate(struct tn__generator *generator, const struct tn__missing *missing,
                                               size_t count);
/* Under the lock: takes the tracker's promises away; who waits for them looks again. */
void tn__promises_remove(struct tn_tracker *owner);
/* The session ends: nobody will end those that were removed before they had ended. */
void tn__promises_drop_removed(struct tn_session *session);
/* In the child of a fork, under the lock: who was making, or going to end, something may not be here. */
void tn__promises_after_fork(struct tn_session *session);
/* The error of a failed promise. */
int tn__promise_fail_with(const struct tn_responsibility *promise, const char *symbol, struct tn_error *err);

/* ---- materializer.c ---- */

/* Copies and checks what a client says of its materializer. */
int tn__materializer_take(const struct tn_library *library, const struct tn_materializer *given,
                          struct tn_materializer *m, struct tn_error *err);
/* Under the lock, which is given up meanwhile: tells the materializers of what `journal` overrode. */
void tn__promises_discard(struct tn_session *session, struct tn__journal *journal);

/* ---- query.c ---- */

/* Under the lock: TN_EUNDEF with the names that nothing defines or that are hidden, so that nothing is linked for the others. */
int tn__request_check(const struct tn__request *request, struct tn_error *err);

/* Links what is asked for on behalf of `from`, which may be NULL, and waits for what it needs. Takes the lock. */
int tn__query_run(const struct tn__request *request, struct tn_responsibility *from, struct tn_error *err);
/* The same, with a callback instead of waiting. TN_ENOMEM: it is not called. */
int tn__query_start(const struct tn__request *request, struct tn_responsibility *from, tn_lookup_done *done,
                    void *context, struct tn_error *err);
/* lookup.c: runs a query for the materializer that the calling thread runs, if it runs one. */
int tn__query_link(const struct tn__request *request, struct tn_error *err);
/* Under the lock: this promise has ended or its symbols are in other hands. */
void tn__query_wake(struct tn_responsibility *promise);
/* Without the lock: one round of the next query with a callback that nothing holds back, of this promise's materializer (NULL:
 * of any). False if there is none. */
bool tn__query_step_one(struct tn_session *session, const struct tn_responsibility *only_of);
/* Without the lock: goes on with the queries that nothing holds back any more. Inside of a materializer with its own only: a
 * thread does not begin what may have to wait for that materializer. */
void tn__query_continue(struct tn_session *session);
/* Under the lock: its queries are nobody's now. */
void tn__query_disown(struct tn_responsibility *promise);
/* In the child of a fork, under the lock: nobody waits but this thread. */
void tn__queries_after_fork(struct tn_session *session);
/* The session ends. */
void tn__query_abandon(struct tn_session *session);

/* ---- search.c ---- */

/* The generator that is to be asked for it next; NULL if none is left, or it is being asked. */
struct tn__generator *tn__generator_for(const struct tn__missing *missing);

/* ---- dispatch.c ---- */

/* Without the lock: has these promises, which the caller holds and gives back, run: by the session's threads or the client's
 * queue where there is one. A caller that is going to wait takes part. */
void tn__dispatch(struct tn_session *session, struct tn_responsibility *const *promises, size_t count, bool waits);
/* The same for a round of a query. False if the caller has to do it. */
bool tn__dispatch_step(struct tn_session *session);
int tn__pool_open(struct tn_session *session, size_t threads, struct tn_error *err);
/* Around a fork; the child has none of the threads, and starts new ones when there is something to do. */
void tn__pool_before_fork(struct tn__pool *pool);
void tn__pool_after_fork(struct tn__pool *pool, bool in_child);
/* Waits for what its threads are doing; drops what they have not begun. */
void tn__pool_close(struct tn_session *session);

#pragma GCC visibility pop
#endif
