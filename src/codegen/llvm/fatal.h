/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls into LLVM that come back whatever happens there (fatal.cpp). */

#ifndef TENON_CODEGEN_FATAL_H
#define TENON_CODEGEN_FATAL_H

#include "base/base.h"
#include "base/mutex.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Calls `body`, on a stack of its own, and returns its result. If LLVM gives up meanwhile: TN_EFATAL with
 * LLVM's text, or TN_ENOMEM; whatever `body` had created is then abandoned, because LLVM's state is unknown. May be
 * nested, as observers may compile. */
int tn__contain(int (*body)(void *context), void *context, struct tn_error *err);
/* The same on the calling thread's stack, for short calls that do not recurse. */
int tn__contain_here(int (*body)(void *context), void *context, struct tn_error *err);
/* For a body that gives memory back: if there is no space for a stack, it runs on the calling thread's. */
void tn__contain_disposal(int (*body)(void *context), void *context);

/* A step that sets up LLVM for the whole process. */
struct tn__once {
    bool (*step)(void); /* false or bad_alloc: out of memory; it may be run again after that */
    struct tn__mutex lock;
    bool good;
};
#define TN__ONCE(step)                                                                                                 \
    {                                                                                                                  \
        step, TN__MUTEX(TN__LEVEL_ONCE), false                                                                         \
    }

/* Runs the step unless it has succeeded before. False: out of memory; nothing is abandoned then. */
bool tn__once(struct tn__once *once);

/* ---- the stack that LLVM runs on (stacks.c) ----
 * LLVM's functions recurse with the nesting of the IR, and threads of programs may have little stack. */

/* Calls `body` with TN__STACK bytes of stack below it; debuggers and exceptions pass through. TN_ENOMEM: there is no
 * space for one, and `body` was not called. A stack belongs to no thread. Idle ones are kept for later calls; their
 * memory is given back, except for the little that every call uses. */
enum { TN__STACK = 64 << 20 };
int tn__stack_call(void (*body)(void *context), void *context, struct tn_error *err);

/* Calls body(context) with the stack pointer at `top`. The frame pointer tells unwinders where the caller is. Of the
 * host: host_ARCH.c. */
void tn__stack_switch(uint64_t top, void (*body)(void *context), void *context);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
