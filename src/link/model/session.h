/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions: what all libraries of one client share, and its lock. */

#ifndef TENON_SESSION_H
#define TENON_SESSION_H

#include "base/mutex.h"
#include "base/thread_end.h"
#include "link/model/hooks.h"
#include "link/model/later.h"
#include "link/model/library.h"
#include "link/model/lock.h"

#pragma GCC visibility push(hidden)

struct tn__pool;
struct tn__dynamic_steps;
struct tn__site;

/* A range that stays until the session ends. The memory may be the client's, who is told of the end of each. */
struct tn__kept {
    struct tn__kept *next;
    struct tn__mem_range *range;
};

/* The thread that finishes removals (session/reclaim.c). */
struct tn__reclaimer {
    const struct tn__reclaim_hooks *hooks; /* NULL: there never was one */
    bool closed;                           /* no more of them: the session ends */
    bool runs;                             /* the thread exists */
    pthread_t thread;
    uint32_t stopped;            /* see tn__quiesce_unless */
    bool *outlives;              /* in the thread's frame: set if one of its callbacks destroys the session */
    pthread_cond_t wanted;       /* a removal was started, or the thread has to stop */
    uint32_t ended;              /* so many removals have; waited for */
    struct tn__removal *current; /* in no list: the thread works on it without the lock */
};

struct tn__arguments {
    int count;
    char **values, **environment;
    bool are_given;
};

/* Initializers of the session's libraries (demand/initialize.c). */
struct tn__initializing {
    bool are_manual;                /* only the client has them run */
    struct tn__arguments arguments; /* of the first tn_run_initializers */
    uint32_t unfinished;            /* libraries that are pending, and rounds; read without the lock */
    struct tn__list rounds;         /* under way, the innermost last */
    struct tn__list postponed;      /* lookups that will run some, or wait for them, when the lock is free */
    uint32_t depth;                 /* how often the lock is held, */
    pthread_t thread;               /* by this thread, */
    uint32_t thread_id;             /* which the system knows by this number */
    uint32_t given;                 /* how often it was given; waited for */
    uint64_t running;               /* the last function that was called */
};

struct tn_session {
    struct tn__mutex lock;
    pthread_cond_t idle;                    /* a link has ended */
    struct tn__list listed;                 /* among all sessions of the process */
    uint32_t building;                      /* links working without the lock */
    struct tn__seed seed;                   /* of its hash tables */
    const struct tn_format *const *formats; /* that it reads, up to NULL */
    const struct tn_allocator *allocator;   /* for everything that belongs to the session */
    struct tn__codemem memory;
    struct tn_library *libraries;
    uint32_t library_count;
    struct tn__unwind unwind;
    struct tn__tree *places;  /* of objects in whose code something was looked up by its address, */
    struct tn__list unplaced; /* and the linked objects that are not there yet */
    struct tn_stats stats;
    uint32_t variant;       /* of the code that is linked, as far as it has to be the same, */
    const char *variant_of; /* and the object that brought it; NULL: there is none (agree.c) */
    /* NULL, or what only programs contain that ask for it: first calls defer signals. Both are false where that was so
     * already. */
    const struct tn__signals {
        bool (*defer)(void), (*deliver)(void);
    } * signals;
    /* NULL, or what only programs contain that ask for it (session/check_threads.c): `note` sets the link's direct_tls,
     * for a relocation against a thread-local symbol. */
    const struct tn__threads_check {
        void (*note)(const struct tn__site *site, uint8_t flags);
        int (*check)(const char *object, struct tn_error *err);
    } * check_threads;
    const struct tn__dynamic_steps
        *dynamic; /* NULL, or what links do for dynamic thread-local variables; see dynamic.h */
    bool timings;
    bool any_threads; /* older than what they use: calls through TLS descriptors stay, because these bring threads up to
                       * date */
    bool closing;     /* being destroyed */
    void (*on_undefined)(void *context, const char *symbol, const char *needed_by);
    void (*on_error)(void *context, const struct tn_error *error);
    void (*dispatch)(void *context, struct tn_task *task);
    tn_on_delay *on_delay;
    int (*on_object)(void *context, struct tn_input *object, struct tn_error *err);
    tn_decompress *decompress;
    void *context;
    struct tn__pool *pool;                       /* NULL: no threads of its own */
    struct tn__list queries;                     /* those with a callback */
    struct tn__list runnable;                    /* queries with a callback that can continue */
    struct tn__deferred *deferred;               /* to be freed once the lock is released */
    struct tn__list later[TN__ACKNOWLEDGEMENTS]; /* what else is to be freed; see later.h */
    uint64_t links;                              /* begun so far */
    uint64_t visits;                             /* searches for cycles so far */
    uint64_t revision;             /* count of definitions removed or overridden that queries may have followed */
    struct tn__detached *detached; /* NULL unless it links for another address space; see hooks.h */
    /* What a resolver answers for may be a thread-local variable, which is bound when the output is loaded. */
    bool imports_tls;
    struct tn__observers observers;
    const struct tn__handle_hooks *handles; /* NULL: no lookup had a handle; see hooks.h */
    struct tn__list lookup_handles;         /* that the client has not given back, */
    struct tn__list cancelling;             /* and threads that wait for one's callback; see demand/cancel.c */
    struct tn__initializing initializers;
    struct tn__reclaimer reclaimer;
    struct tn__dl_hooks *dl;             /* NULL: no library was opened; see hooks.h */
    struct tn__lazy_hooks *lazy;         /* NULL: no function has a stub; see hooks.h */
    struct tn__list retirements;         /* that have hidden code, which may be found again */
    struct tn__arena arena;              /* for what stays until the session ends, */
    struct tn__unwind_table *tables;     /* its unwind tables, */
    struct tn__kept *kept;               /* and its ranges of the near window */
    struct tn__thread_ends thread_exits; /* as the owner of what threads run at their end */
};

/* The removal of code that threads may be running, of one tracker or of a library as a whole (session/retire.c).
 * Between its steps it may be anything that a removal has hidden. */
struct tn__retirement {
    struct tn_library *library;
    struct tn_tracker *tracker; /* the client's, or `going` once that is gone; NULL: the whole library */
    struct tn__list of_tracker; /* in its list, */
    struct tn__list of_session; /* and in the session's */
    bool waits;                 /* the caller does all of it, and this is in its frame */
    pthread_t caller;
    struct tn__withdrawal round;
    bool is_led_to;           /* a stub was led to the code since the last look, even if it leads elsewhere by now */
    struct tn_tracker *going; /* owns the code meanwhile */
    struct tn__places places;
    struct tn__calls_list finalizers;
};
/* Leaves the lists. */
static inline void tn__retirement_leave(struct tn__retirement *r) TN__LOCKED
{
    tn__list_remove(&r->of_tracker);
    tn__list_remove(&r->of_session);
}

/* Iterates over what a removal of one tracker, or of the library (`only` is NULL), has to look at: not over trackers
 * that are hidden, unless the session ends. NULL starts and ends the iteration. */
static inline struct tn_tracker *tn__library_next_owner(struct tn_library *library, struct tn_tracker *only,
                                                        const struct tn_tracker *previous)
{
    if (only)
        return previous ? NULL : only;
    struct tn_tracker *next = tn__library_next_tracker(library, previous);
    while (next && next->hidden && !library->session->closing)
        next = tn__library_next_tracker(library, next);
    return next;
}

/* The time, or 0 if the session does not measure times. */
static inline uint64_t tn__session_clock(const struct tn_session *session)
{
    return session->timings ? tn__os_now_ns() : 0;
}

/* True if it links for another address space, so that nothing linked runs or is read in this one. */
static inline bool tn__session_is_elsewhere(const struct tn_session *session)
{
    return session->memory.windows[TN__WINDOW_NEAR].elsewhere;
}

/* TN_ENOTSUP in that case; `what` is a plural noun. */
static inline int tn__session_check_here(const struct tn_session *session, const char *what, struct tn_error *err)
{
    return tn__session_is_elsewhere(session) ? tn__fail(err, TN_ENOTSUP, "%s work in this address space only", what)
                                             : 0;
}

/* True if tasks can run beside the caller: on threads of its own, or on the client's. */
static inline bool tn__session_has_threads(const struct tn_session *session)
{
    return session->pool || session->dispatch;
}

/* Reports a failure that no caller is waiting for to the client. */
static inline void tn__session_report(const struct tn_session *session, const struct tn_error *error) TN__UNLOCKED
{
    if (session->on_error)
        session->on_error(session->context, error);
}

static inline void tn__session_count_unfinished(struct tn_session *session, uint32_t change) TN__LOCKED
{
    uint32_t *unfinished = &session->initializers.unfinished;
    __atomic_store_n(unfinished, *unfinished + change, __ATOMIC_RELEASE);
}

static inline void tn__library_set_pending(struct tn_library *library, bool is_pending) TN__LOCKED
{
    if (library->is_pending != is_pending)
        tn__session_count_unfinished(library->session, is_pending ? 1 : UINT32_MAX); /* plus or minus one */
    library->is_pending = is_pending;
}

/* Adds the time since `start` to *ns and returns the current time. */
static inline uint64_t tn__session_spent(const struct tn_session *session, uint64_t *ns, uint64_t start)
{
    uint64_t now = tn__session_clock(session);
    *ns += now - start;
    return now;
}

#pragma GCC visibility pop
#endif
