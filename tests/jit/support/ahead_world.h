/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A JIT with the toy compiler that compiles ahead. The test runs its idle tasks, or gives it threads. */

#ifndef TENON_TESTS_JIT_AHEAD_WORLD_H
#define TENON_TESTS_JIT_AHEAD_WORLD_H

#include <stdatomic.h>

#include "tenon_ahead.h"
#include "toy.h"

extern struct toy toy;
extern struct tn_compiler compiler;

/* Before each test: everything is as in the beginning. */
int prepare(void **state);

extern int (*in_compilation)(void); /* NULL, or called between two "passes" of one that is ahead */
extern _Atomic int ahead_parts[TOY_PARTS], called_parts[TOY_PARTS]; /* compilations so far: ahead, and by calls */

extern bool (*instead)(struct tn_task *task); /* NULL, or what else becomes of the next idle task */
void run_idle(void);                          /* all that were handed out, and those that they start */

struct world {
    struct tn_session *session;
    struct tn_jit *jit;
};

/* `given` NULL: callees are compiled ahead. */
int open_world(struct world *w, const struct tn_ahead_options *given, struct tn_error *err);
void close_world(struct world *w);
/* Opens one with a module. */
struct world begin(const struct tn_ahead_options *options, const char *ir);

struct tn_ahead_stats stats_of(const struct tn_jit *jit);

extern const struct tn_ahead_options named_only;
extern const char *const both[2]; /* functions of "program" */
struct tn_prefetch *prefetch(struct tn_jit *jit, const char *const *names, size_t count);

#endif
