/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Materializers that may stop, and lookups that may be cancelled. */

#ifndef TENON_TESTS_CANCELLING_H
#define TENON_TESTS_CANCELLING_H

#include <stdatomic.h>
#include <stdlib.h>

#include "functions.h"

struct maker {
    const char *name, *needs; /* `needs`: what it looks up itself, without waiting; may be NULL */
    int value;
    int (*make)(void *, struct tn_responsibility *, struct tn_error *); /* NULL: the function below */
    int code;   /* what it ends with at once; TN_LATER: the test ends it */
    bool polls; /* it waits until it is told that it is cancelled, and returns `code` */
    struct tn_responsibility *_Atomic kept;
    _Atomic int made, destroyed, answered;
    struct tn_wanted wanted;
};

/* The callback of what a materializer looks up: counts. */
void note_answer(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err);
/* Stages the function that it promised. */
int stage_made(const struct maker *m, struct tn_responsibility *responsibility, struct tn_error *err);
void promise_maker(const struct fixture *f, struct maker *m);
/* A postponed materializer stops, or makes its function. */
void stop_maker(struct maker *m, int code);
void finish_maker(struct maker *m);

struct asked {
    struct tn_wanted wanted;
    struct tn_lookup_handle *handle;
    _Atomic int calls, code;
    bool cancels; /* its callback cancels the lookup itself */
};

/* The callback of these lookups. */
void note_done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err);
void start_lookup(const struct fixture *f, struct asked *a, const char *name);
/* Afterwards it was called back once. */
void cancel_lookup(struct asked *a);

/* A session that counts the errors that are reported to it. */
struct fixture open_counting(_Atomic int *errors);
uint64_t now_ns(void);

#endif
