/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The stack that LLVM runs on. LLVM's functions recurse with the nesting of the IR, and threads of programs may have
 * little stack, so calls of LLVM run on a stack of their own. */

#ifndef TENON_CODEGEN_STACK_H
#define TENON_CODEGEN_STACK_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Calls `body` with TN__STACK bytes of stack below it; debuggers and exceptions pass through. TN_ENOMEM: there is no
 * room for one, and `body` was not called. A stack belongs to no thread. Idle ones are kept for later calls; their
 * memory is given back, except for the little that every call uses. */
enum { TN__STACK = 64 << 20 };
int tn__stack_call(void (*body)(void *context), void *context, struct tn_error *err);

#pragma GCC visibility pop
#endif
