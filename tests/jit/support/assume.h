/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* JITs of the toy compiler, and assumptions of their sessions. */

#ifndef TENON_TESTS_JIT_ASSUME_H
#define TENON_TESTS_JIT_ASSUME_H

#include "toy.h"

extern struct toy toy_calls; /* that of the JIT that was created last */

struct tn_jit_options options_for(bool lazy);
struct tn_jit *create(bool lazy);
/* Destroys it, and checks that all modules were closed. */
void end(struct tn_jit *jit);

struct tn_assumption *assume(struct tn_jit *jit);
void break_it(struct tn_assumption *assumption);

/* For toy_calls.before: breaks this one in the middle of the compilation of number 2. */
extern struct tn_assumption *shared;
void break_shared(const char *program, long number);

/* A function of the client's. */
long twice(long x);

#endif
