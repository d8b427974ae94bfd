/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* JITs with tiers, and what they say of a function. */

#ifndef TENON_TESTS_CODEGEN_TIERED_H
#define TENON_TESTS_CODEGEN_TIERED_H

#include "support.h"

enum { SECONDS = 100 }; /* after which a child that hangs is ended */

extern const struct tn_tier two[2], three[3];

/* sum(n) has a loop, call(n) one call of it. */
extern const char program[];

struct setup {
    const struct tn_tier *tiers;
    size_t count;
    const struct tn_compiler *compiler; /* NULL: LLVM */
    size_t bytes;
    size_t threads;
};

extern int errors; /* reported since the last `create` */

/* In place of functions that cannot be compiled; returns -1. */
long no_function(void);

void check(int code, const struct tn_error *err);
struct tn_jit_options options_for(const struct setup *s);
void add(struct tn_jit *jit, struct tn_library *library, const char *ir, struct tn_tracker *owner);
/* `ir` NULL: without a module. */
struct tn_jit *create(const struct setup *s, const char *ir);

typedef long function(long);
function *find(struct tn_jit *jit, const char *name);

struct tn_jit_function about(struct tn_jit *jit, const char *name);
void rest(void);
void wait_for_tier(struct tn_jit *jit, const char *name, int tier);

#endif
