/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* JITs of the toy compiler with tiers of levels 0 and 2, whose functions are raised when a test requests it. */

#ifndef TENON_TESTS_JIT_TIERED_H
#define TENON_TESTS_JIT_TIERED_H

#include "assume.h"

/* With `retires`, bodies go that have given way. */
struct tn_jit *create_tiered(bool retires);

/* Adds a program of the toy's to a library (NULL: the JIT's), for an owner or NULL. */
void add(struct tn_jit *jit, struct tn_library *library, const char *program, struct tn_tracker *owner);
/* Replaces what the JIT's library has of it; the new version rests on the assumption, if it is not NULL. */
int try_replace(struct tn_jit *jit, const char *program, struct tn_assumption *a, struct tn_error *err);
void replace(struct tn_jit *jit, const char *program, struct tn_assumption *a);

/* Of the higher tier. */
void request(struct tn_jit *jit, const char *name);
/* Of `first`: whether its body is that of the higher tier. */
bool is_raised(const void *first);

/* Returns once it holds. */
void wait_for(bool (*holds)(const void *context), const void *context);

#endif
