/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removals that do not wait, and what keeps them waiting. */

#ifndef TENON_TESTS_RECLAIMING_H
#define TENON_TESTS_RECLAIMING_H

#include <pthread.h>
#include <semaphore.h>

#include "stubs.h"
#include "versions.h"

/* What one callback was told. */
struct told {
    _Atomic int calls, code; /* 1: none yet */
    int order;               /* among all that were told */
    sem_t called;
    void (*also)(struct told *told); /* what it does then; may be NULL */
    struct fixture *f;               /* for that, */
    struct tn_tracker *tracker;
};

/* The callback; its context is the struct above. */
void note_removed(void *context, const struct tn_error *err);
void retire_start(struct tn_tracker *tracker, struct told *told);
void remove_start(struct tn_library *library, struct told *told);
/* Returns what it was told; it must have been told once. */
int await_removed(struct told *told);

/* An attached thread that has found `version`, and calls it once more at the end. */
struct holder {
    pthread_t thread;
    const struct fixture *f;
    void *address;
    int answer;
    sem_t held, release;
};
void begin_holding(struct holder *h, const struct fixture *f);
void end_holding(struct holder *h, int answer);

/* A session with version 1 and a finalizer, linked and initialised. */
struct fixture open_version(struct tn_tracker **tracker);

#endif
