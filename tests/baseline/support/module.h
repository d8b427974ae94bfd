/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A module that tests build by tenon_build.h, of a bit of everything. */

#ifndef TENON_TESTS_BASELINE_MODULE_H
#define TENON_TESTS_BASELINE_MODULE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tenon_build.h"
#include "tenon_jit.h"

/* Builds it. Its functions, of i64 and i32:
 *     sum(n)           0 + ... + n - 1, by a loop; weak
 *     twice(i32)       local; by the address in the constant `callee`
 *     pick(i32)        a switch: 0 -> twice(21), 1 -> what `outside`(1) gives, 5 -> -1, else the i32 in `word`
 *     next()           adds 1 to `word` atomically, and gives what was there
 *     exchange(p, a, b) whether *p was a, and is b now
 *     clamp(i32, i32)  the sum, or -1 if that is too large
 *     half(double)     x / 2 as a double, by way of the frame
 *     missing()        whether the weak symbol `nowhere` has an address */
int build_module(struct tn_buffer *flat, struct tn_error *err);

/* A JIT for such modules, in whose library `outside` is defined: it adds 41. */
struct tn_jit *create_jit(bool lazy, const struct tn_compiler *compiler);

/* The error, if there is one, fails the test. */
void check(int code, const struct tn_error *err);
void *find(struct tn_jit *jit, const char *name);
void add(struct tn_jit *jit, const struct tn_buffer *flat);

/* Calls all functions of the module, after it was added once. */
void call_all(struct tn_jit *jit);

#endif
