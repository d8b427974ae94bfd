/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Passes that make managed code fast. They run among LLVM's, function by function (pipeline/managed.h), on IR that
 * keeps the contract:
 *     escape.c       what a function does with an object that it allocates, and whether anything else sees it
 *     allocations.c  alloc-opt: objects that nothing else sees are no objects
 *     choices.c      phis and selects of such objects are phis and selects of their fields
 *     devirtualize.c calls with an array of arguments become calls that LLVM knows
 *     spaces.c       pointers that lead to no object are pointers in space 0
 * and questions that passes ask which lower managed code:
 *     barriers.c     stores that need no barrier
 *     loops.cpp      loops that end soon, and loops in which polls need not be in each turn */

#ifndef TENON_CODEGEN_OPTIMIZE_H
#define TENON_CODEGEN_OPTIMIZE_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* True if the function has changed; its control flow stays. */
bool tn__optimize_allocations(struct tn__gc *gc, LLVMValueRef function);

/* A step of it: the same where phis and selects choose among objects, which are calls in `objects`, and what is chosen
 * is only read. */
bool tn__split_choices(struct tn__gc *gc, LLVMValueRef function, const struct tn__values *objects);

/* The same for calls with an array of arguments of functions that may be inlined. */
bool tn__devirtualize(struct tn__gc *gc, LLVMValueRef function);

/* The same for accesses through pointers in 11 and 13 that lead to no object. */
bool tn__propagate_spaces(struct tn__gc *gc, LLVMValueRef function);

/* Whether a store of a reference into `parent` needs no barrier: the value is permanent, or the object is new. To be
 * asked before the first barrier is inserted. */
bool tn__needs_no_barrier(struct tn__gc *gc, LLVMValueRef store, LLVMValueRef parent);

/* Calls `visit` for the ways on which loops go on of which it is known that they end within microseconds. */
void tn__each_short_loop(LLVMValueRef function,
                         void (*visit)(void *context, LLVMBasicBlockRef latch, LLVMBasicBlockRef header),
                         void *context);

/* `ends` are the ends of blocks from which loops go on, where polls are wanted. Loops that count are made such that the
 * end in its place in the array, which comes once in many turns, is enough: it takes microseconds from one to the next.
 * Returns how many of them there are. */
size_t tn__space_polls(LLVMValueRef function, LLVMValueRef *ends, size_t count);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
