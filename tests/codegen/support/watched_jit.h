/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* JITs that tell what they compile, for the tests of the JIT. */

#ifndef TENON_TESTS_CODEGEN_WATCHED_JIT_H
#define TENON_TESTS_CODEGEN_WATCHED_JIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "support.h"

/* What happened since the last JIT was created. */
extern struct seen {
    pthread_mutex_t lock;
    char compiled[4000];         /* names, each in blanks */
    atomic_int errors, failures; /* failures: calls of functions that could not be compiled */
    char error[2100];
} seen;

/* Notes what is compiled in `seen`. */
extern const struct tn_compile_observer watching;

/* @caller calls @callee, which multiplies by 3, and adds 100. */
extern const char caller[], callee[];

struct tn_jit *create_jit(bool lazy, size_t threads, int level);
int add_ir(struct tn_jit *jit, const char *name, const char *ir, struct tn_error *err);
/* The same for IR that has to be accepted. */
void add_good(struct tn_jit *jit, const char *name, const char *ir);

typedef long function(long);

/* Of a name that has to be there. */
function *look_up(struct tn_jit *jit, const char *name);

#define assert_compiled(name)                                                                                          \
    do {                                                                                                               \
        if (!strstr(seen.compiled, " " name " "))                                                                      \
            fail_msg("'%s' was not compiled, but:%s", name, seen.compiled);                                            \
    } while (0)
#define assert_not_compiled(name) assert_null(strstr(seen.compiled, " " name " "))

#endif
