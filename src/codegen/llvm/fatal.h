/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls into LLVM that come back whatever happens there (fatal.c). */

#ifndef TENON_CODEGEN_FATAL_H
#define TENON_CODEGEN_FATAL_H

#include <pthread.h>

#include "base/base.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)

/* Calls `body`, on a stack of its own (stack.h), and returns its result. If LLVM gives up meanwhile: TN_EFATAL with
 * LLVM's text, or TN_ENOMEM; whatever `body` had created is then abandoned, because LLVM's state is unknown. May be
 * nested, as observers may compile. */
int tn__contain(int (*body)(void *context), void *context, struct tn_error *err);
/* The same on the calling thread's stack, for short calls that do not recurse. */
int tn__contain_here(int (*body)(void *context), void *context, struct tn_error *err);
/* For a body that gives memory back: if there is no room for a stack, it runs on the calling thread's. */
void tn__contain_disposal(int (*body)(void *context), void *context);

/* A step that sets up LLVM for the whole process. */
struct tn__once {
    bool (*step)(void); /* false or bad_alloc: out of memory; it may be run again after that */
    pthread_mutex_t lock;
    bool good;
};
#define TN__ONCE(step)                                                                                                 \
    {                                                                                                                  \
        step, PTHREAD_MUTEX_INITIALIZER, false                                                                         \
    }

/* Runs the step unless it has succeeded before. False: out of memory; nothing is abandoned then. */
bool tn__once(struct tn__once *once);

#pragma GCC visibility pop
#endif
