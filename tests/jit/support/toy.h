/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A compiler that knows a few programs, as the C compiler made them. Its "IR" is the name of one and, if wanted, a
 * number that `first` adds to what it returns:
 *     program    `first`, which calls `second`, and variables; also as parts. first(1) is 42
 *     alone      `first` only, in one piece
 *     opaque     the same, and added to the library at once
 *     weak       both, `second` weak, in one piece
 *     data       the variables only, in one piece
 *     begins     `begins`, which returns 42 if its initializer has run, in one piece
 *     fails      is described like the first one, and cannot be compiled
 * Everything else is "bad". */

#ifndef TENON_TESTS_JIT_TOY_H
#define TENON_TESTS_JIT_TOY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/os.h"
#include "tenon_cache.h"
#include "tenon_jit.h"

enum { TOY_DATA, TOY_FIRST, TOY_SECOND, TOY_PARTS };

/* Its calls so far, counted atomically. */
struct toy {
    int opens, closes, compiles, writes;
    int refuses;                                      /* not 0: `check` fails with this code */
    bool has_levels;                                  /* for tiers of levels 0 and 2; that of 2 adds 1000 in `first` */
    void (*before)(const char *program, long number); /* NULL, or called before something is compiled */
};

struct tn_compiler toy_compiler(struct toy *toy);
struct tn_jit_module toy_module(const char *ir);

/* Of a JIT that calls no_function for functions that cannot be had, and notes the code of the error. */
struct tn_jit_options toy_options(const struct tn_compiler *compiler, bool lazy);
extern int toy_reported;

void *find(struct tn_jit *jit, const char *name);
long call(const void *function, long x);
/* Calls `first`, which is there as soon as the module is. */
long call_first(struct tn_jit *jit, long x);
/* Fails the test if there was an error. */
void check(int code, const struct tn_error *err);

/* Of the JIT's session. */
uint64_t code_bytes(struct tn_jit *jit);

/* In place of functions that cannot be compiled; returns -1 to them. */
long no_function(void);

#endif
