/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The passes that leave nothing of the contract but references, safepoints, and calls of the runtime:
 *     normalize.c    IR of stock clang
 *     expand.c       what one call says as several instructions
 *     handlers.c     try and catch
 *     retype.c       types of stack memory
 *     scalarize.c    structs and vectors of references become scalars
 *     calls.c        arrays of arguments, typeof, and what else is left of intrinsics
 *     polls.c        polls
 *     allocations.c  allocation inline
 *     barriers.c     write barriers
 *     globals.c      tables of references in globals
 *     leaves.c       functions in which no collection can happen
 *     functions.c    which functions are managed; entries and bodies
 *     native.c       which functions are known to be native
 *     spaces.cpp     address spaces removed, for other tools */

#ifndef TENON_CODEGEN_LOWER_H
#define TENON_CODEGEN_LOWER_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

void tn__normalize(struct tn__gc *gc);
/* The same for modules of clang only: other front ends are held to the contract as it is written. */
void tn__normalize_clang(struct tn__gc *gc);
void tn__type_stack(struct tn__gc *gc);
void tn__scalarize(struct tn__gc *gc);
void tn__expand_atomic_modify(struct tn__gc *gc);
void tn__zero_indirectly(struct tn__gc *gc);
void tn__lower_handlers(struct tn__gc *gc);
void tn__lower_calls(struct tn__gc *gc);
void tn__insert_polls(struct tn__gc *gc);
void tn__count_calls(struct tn__gc *gc); /* for gc->counters; NULL: as part 0 of a module "0" */
void tn__copy_arguments(struct tn__gc *gc);
void tn__insert_barriers(struct tn__gc *gc);
/* Those that were left to the baseline compiler, in a function that LLVM is going to compile. Polls come before
 * safepoints are relocated. */
void tn__expand_polls(struct tn__gc *gc, LLVMValueRef function);
void tn__expand_barriers(struct tn__gc *gc, LLVMValueRef function);
void tn__lower_allocations(struct tn__gc *gc);
void tn__finish(struct tn__gc *gc);
void tn__remove_spaces(struct tn__gc *gc);
void tn__make_root_tables(struct tn__gc *gc);
bool tn__has_root_tables(LLVMModuleRef module); /* which come last; also if they are empty, and where objects are ELF */
void tn__manage_functions(struct tn__gc *gc);
void tn__make_transitions(struct tn__gc *gc);
bool tn__may_be_managed(struct tn__gc *gc, LLVMValueRef function); /* false: LLVM has no statepoints for calls of it */

/* ---- leaves ---- */

#define TN__TOUCHES "tenon-touches" /* attribute of a leaf that touches managed memory */

#ifdef TN_CHECKING
enum { TN__IS_CHECKING = true };
#else
enum { TN__IS_CHECKING = false };
#endif

void tn__mark_leaves(struct tn__gc *gc);
void tn__mark_touching(struct tn__gc *gc); /* after it is known which functions are managed */
/* Whether a value is a function that only runs in a level of managed code: a managed one, or a leaf that touches. */
bool tn__needs_level(LLVMValueRef value);
/* Makes bodies of leaves that touch trap if the thread is outside managed code: a way in has no entry. */
void tn__check_levels(struct tn__gc *gc);
bool tn__takes_managed(LLVMValueRef function);   /* managed pointers as arguments, or as its result */
bool tn__may_be_replaced(LLVMValueRef function); /* the linker may put another definition in its place */
bool tn__is_elsewhere(LLVMValueRef function);    /* its definition is not emitted, if there is one */

/* ---- calls out of managed code ---- */

#define TN__NO_TRANSITION "gc-no-transition" /* attribute of a function that is called without a transition */
#define TN__LIBC_LEAF     "tenon-libc-leaf"  /* the same, unless the call says that it is no builtin */

/* Mark declarations of native functions that no transition is made for: those that C annotates so, before a
 * module is divided; those that LLVM knows by name. */
void tn__mark_annotated_functions(struct tn__gc *gc);
void tn__mark_native_functions(struct tn__gc *gc);

/* Whether a call may be taken for one of the function of the C library that has this name: no attribute says that it is
 * none (-fno-builtin). */
bool tn__calls_builtin(LLVMValueRef call);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
