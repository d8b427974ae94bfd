/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What has to be in order in the child of a fork. The child has one thread, the one that forked, and a copy of the
 * memory as it was at that moment: a lock that another thread held stays locked for ever, and a change that another
 * thread had begun stays as it is. So the forking thread takes every lock before the fork, and both processes release
 * them after it. */

#ifndef TENON_FORK_H
#define TENON_FORK_H

#include <pthread.h>

#include "base.h"

#pragma GCC visibility push(hidden)

/* The order in which locks are taken before a fork; they are released in the reverse order. It is the order in which
 * all other code takes them: a thread that holds a lock of one level waits only for locks of later levels. Heaps come
 * first, because their threads are stopped, and a thread may need any other lock on its way to a safepoint. */
enum tn__fork_level {
    TN__FORK_HEAPS,       /* of all heaps: their locks; their threads are stopped */
    TN__FORK_REPLACED,    /* which functions of JITs are replaced by what */
    TN__FORK_SESSIONS,    /* of all sessions: their locks; no link is writing */
    TN__FORK_ASSUMPTIONS, /* what rests on them */
    TN__FORK_INSTANCES,   /* the lock of code instances */
    TN__FORK_LOADED,      /* the list of stack maps of loaded objects */
    TN__FORK_MAPS,        /* stack maps */
    TN__FORK_HANDLES,     /* handles and pins of all heaps */
    TN__FORK_ROOTS,       /* root ranges */
    TN__FORK_OBSERVERS,   /* tables of functions */
    TN__FORK_SOURCES,     /* debug information */
    TN__FORK_MODULES,     /* modules of JITs, unless they are being compiled */
    TN__FORK_JITS,        /* lists of JITs */
    TN__FORK_TIERS,       /* what JITs compile again */
    TN__FORK_CACHES,      /* lists of what caches have to write */
    TN__FORK_TARGETS,     /* idle target machines */
    TN__FORK_IMAGES,      /* the list of loaded images */
    TN__FORK_FRAMES,      /* unwind tables of loaded images */
    TN__FORK_THREADS,     /* the list of attached threads */
    TN__FORK_ENDS,        /* what threads run at their end */
    TN__FORK_LEVELS,
};

struct tn__fork_hooks {
    pthread_mutex_t *lock; /* held meanwhile; may be NULL, and so may these: */
    void (*before)(void);  /* takes further locks */
    /* Releases them. In the child, it also forgets what belonged to other threads. Their memory may be gone. */
    void (*after)(bool in_child);
};

/* A number that changes, in both parent and child, at each fork: while all these locks are held, so what is under one
 * of them is of one generation. */
uint64_t tn__fork_generation(void);

/* From now on forks call these hooks, so each function that takes a lock calls this first. Calls after the first one do
 * nothing. Any locks may be held. */
void tn__forks_watch(enum tn__fork_level level, const struct tn__fork_hooks *hooks);

#pragma GCC visibility pop
#endif
