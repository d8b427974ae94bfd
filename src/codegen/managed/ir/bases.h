/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The reference that each derived pointer was derived from. */

#ifndef TENON_CODEGEN_BASES_H
#define TENON_CODEGEN_BASES_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)

struct tn__bases;

struct tn__bases *tn__bases_begin(struct tn__gc *gc, LLVMValueRef function, LLVMBuilderRef builder);

/* The reference, a value in 10, of the object that a managed pointer points into. NULL: none in the heap, or one that
 * nobody in this function knows. May insert phis, selects and casts. */
LLVMValueRef tn__base_of(struct tn__bases *bases, LLVMValueRef value);

/* The instruction where the way from a pointer in 11 or 13 to its base ends, if it yields a pointer that may point into
 * any object: assembly, for example. NULL: the base is known, or there is no object, or the caller keeps it. */
LLVMValueRef tn__unknown_origin(struct tn__bases *bases, LLVMValueRef value);

/* Takes away phis and selects that choose one value only, or what another one chooses; then what tn__base_of answered
 * before is void: ask again. */
void tn__bases_simplify(struct tn__bases *bases);

/* True for bases that were chosen among several, of which one may be none. */
bool tn__bases_may_be_null(const struct tn__bases *bases, LLVMValueRef base);

/* The one value that a phi or select chooses, or NULL. */
LLVMValueRef tn__only_choice(LLVMValueRef choice);

/* Derived pointers in 10: each getelementptr there, and what passes them on. */
void tn__find_interior(struct tn__gc *gc, LLVMValueRef function, struct tn__values *found);

/* To be told of what others erase. */
void tn__bases_forget(struct tn__bases *bases, LLVMValueRef value);

/* Erases what was inserted and is not used. */
void tn__bases_end(struct tn__bases *bases);

#pragma GCC visibility pop
#endif
