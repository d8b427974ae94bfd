/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The locks of the library, and their order. In checking builds each lock knows its level, and a thread that would wait
 * for one against the order is found, whether it has to wait this time or not (mutex_check.c). In other builds these
 * are the system's mutexes and nothing else. */

#ifndef TENON_MUTEX_H
#define TENON_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* The order: a thread that holds a lock waits only for locks of later levels. Two of the same level are only taken by a
 * thread that holds the lock of their list: one of the level before, or that of all heaps. Forks take those that have
 * hooks (fork.h) in this order too. Heaps come first, because their threads are stopped, and a thread may need any
 * other lock on its way to a safepoint. */
enum tn__level {
    TN__LEVEL_HEAPS,       /* the list of all heaps; at a fork their locks too, and their threads are stopped */
    TN__LEVEL_HEAP,        /* a heap */
    TN__LEVEL_BESIDE,      /* its objects, for work beside its threads */
    TN__LEVEL_VISITORS,    /* its types' functions that visit references */
    TN__LEVEL_SESSIONS,    /* the list of all sessions; at a fork their locks too, and no link is writing */
    TN__LEVEL_SESSION,     /* a session */
    TN__LEVEL_POOL,        /* its threads */
    TN__LEVEL_CALLBACKS,   /* what loaded code has registered for forks and quick_exit */
    TN__LEVEL_ASSUMPTIONS, /* what rests on them */
    TN__LEVEL_INSTANCES,   /* code instances */
    TN__LEVEL_LOADED,      /* the list of stack maps of loaded objects */
    TN__LEVEL_TYPES,       /* the types of code and of open images */
    TN__LEVEL_MAPS,        /* stack maps */
    TN__LEVEL_HANDLES,     /* handles and pins of a heap; at a fork of all heaps, and the default heap too */
    TN__LEVEL_DEFAULT,     /* the default heap */
    TN__LEVEL_RANGES,      /* addresses of all heaps */
    TN__LEVEL_ROOTS,       /* root ranges */
    TN__LEVEL_OBSERVERS,   /* tables of functions */
    TN__LEVEL_SOURCES,     /* debug information */
    TN__LEVEL_MODULES,     /* the list of modules of JITs; at a fork also those that are not being compiled */
    TN__LEVEL_MODULE,      /* a module of a JIT */
    TN__LEVEL_BUILD,       /* what threads that make an image together share */
    TN__LEVEL_JITS,        /* lists of JITs */
    TN__LEVEL_TIERS,       /* what JITs compile again */
    TN__LEVEL_CACHES,      /* lists of what caches have to write */
    TN__LEVEL_REMOTE,      /* the workers of a compile server */
    TN__LEVEL_CONTROL,     /* the connection with it */
    TN__LEVEL_TARGETS,     /* idle target machines */
    TN__LEVEL_ONCE,        /* steps that set up LLVM */
    TN__LEVEL_IMAGES,      /* the list of loaded images */
    TN__LEVEL_FRAMES,      /* unwind tables of loaded images */
    TN__LEVEL_ENTRIES,     /* the list of images with functions that were redirected */
    TN__LEVEL_THREADS,     /* the list of attached threads */
    TN__LEVEL_ENDS,        /* what threads run at their end */
    TN__LEVEL_SNAPSHOT,    /* what verification was told of */
    TN__LEVEL_PERMANENT,   /* a heap's permanent objects */
    TN__LEVEL_LOG,         /* what barriers have logged */
    TN__LEVEL_TEAM,        /* what the workers of a collection share */
    TN__LEVEL_EXIT,        /* what runs at exit */
    TN__LEVELS,
};

struct tn__mutex {
    pthread_mutex_t system;
#ifdef TN_CHECKING
    enum tn__level level;
    bool is_recursive;
    const void *holder; /* the address of a variable of that thread; NULL: none. Accessed atomically */
    unsigned depth;     /* how often it holds it */
#endif
};

#ifdef TN_CHECKING
#define TN__MUTEX(level)                                                                                               \
    {                                                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, level                                                                               \
    }

/* Called instead of a trap for a mistake: a lock of level `wanted` is waited for by a thread that holds one of level
 * `held`; or one is released that the thread does not hold, and both are its level. For tests. */
extern void (*tn__on_disorder)(enum tn__level wanted, enum tn__level held);

void tn__mutex_check(const struct tn__mutex *mutex);      /* before it is waited for */
void tn__mutex_check_wait(const struct tn__mutex *mutex); /* before it is released and waited for again */
void tn__mutex_note_made(struct tn__mutex *mutex, enum tn__level level, bool is_recursive);
void tn__mutex_note_taken(struct tn__mutex *mutex);
void tn__mutex_note_given(struct tn__mutex *mutex);
/* In the child of a fork: before a lock that this thread may hold is initialised anew. */
void tn__mutex_forget(struct tn__mutex *mutex);
#else
#define TN__MUTEX(level)                                                                                               \
    {                                                                                                                  \
        PTHREAD_MUTEX_INITIALIZER                                                                                      \
    }
#define tn__mutex_check(mutex)                          ((void)0)
#define tn__mutex_check_wait(mutex)                     ((void)0)
#define tn__mutex_note_made(mutex, level, is_recursive) ((void)(level))
#define tn__mutex_note_taken(mutex)                     ((void)0)
#define tn__mutex_note_given(mutex)                     ((void)0)
#define tn__mutex_forget(mutex)                         ((void)0)
#endif

/* Returns 0 or an errno value. A static one is initialized with TN__MUTEX(level). */
static inline int tn__mutex_init(struct tn__mutex *mutex, enum tn__level level)
{
    tn__mutex_note_made(mutex, level, false);
    return pthread_mutex_init(&mutex->system, NULL);
}

/* One that its holder may lock again. */
static inline void tn__mutex_init_recursive(struct tn__mutex *mutex, enum tn__level level)
{
    pthread_mutexattr_t attributes;
    tn__mutex_note_made(mutex, level, true);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex->system, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static inline void tn__mutex_destroy(struct tn__mutex *mutex)
{
    pthread_mutex_destroy(&mutex->system);
}

static inline void tn__mutex_lock(struct tn__mutex *mutex)
{
    tn__mutex_check(mutex);
    pthread_mutex_lock(&mutex->system);
    tn__mutex_note_taken(mutex);
}

/* Against the order: the caller has taken care that the holders of this lock do not wait for it. */
static inline void tn__mutex_lock_unordered(struct tn__mutex *mutex)
{
    pthread_mutex_lock(&mutex->system);
    tn__mutex_note_taken(mutex);
}

/* False: another thread holds it. For callers that do without it then, so it may be taken against the order. */
static inline bool tn__mutex_try(struct tn__mutex *mutex)
{
    if (pthread_mutex_trylock(&mutex->system))
        return false;
    tn__mutex_note_taken(mutex);
    return true;
}

/* The same for callers that then wait for the lock: it is taken in order. */
static inline bool tn__mutex_lock_at_once(struct tn__mutex *mutex)
{
    tn__mutex_check(mutex);
    return tn__mutex_try(mutex);
}

static inline void tn__mutex_unlock(struct tn__mutex *mutex)
{
    tn__mutex_note_given(mutex);
    pthread_mutex_unlock(&mutex->system);
}

/* Waits for the condition, at most until then, by its clock. NULL: without a limit. */
static inline void tn__mutex_wait(struct tn__mutex *mutex, pthread_cond_t *condition, const struct timespec *until)
{
    tn__mutex_check_wait(mutex);
    tn__mutex_note_given(mutex);
    if (until)
        pthread_cond_timedwait(condition, &mutex->system, until);
    else
        pthread_cond_wait(condition, &mutex->system);
    tn__mutex_note_taken(mutex);
}

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
