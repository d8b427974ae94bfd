/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the contract (doc/IR.md) forbids:
 *     verify.c       the two passes
 *     unpinned.c     raw addresses of objects that may move
 *     types.c        accesses to objects, compared with type descriptors
 *     flow.c, words.c  what the words of memory hold (memory.h) */

#ifndef TENON_CODEGEN_VERIFY_H
#define TENON_CODEGEN_VERIFY_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)

void tn__gc_verify_weak(struct tn__gc *gc);
void tn__gc_verify_strong(struct tn__gc *gc);

/* True if there is a way from the value over a safepoint to a use of it (unpinned.c). */
bool tn__outlives_safepoint(struct tn__gc *gc, LLVMValueRef value);
/* True if this is a call of pointer_from_objref whose result is used after a safepoint at which the object may move. */
bool tn__is_unpinned(struct tn__gc *gc, LLVMValueRef instruction);
/* Reports accesses to objects that contradict their type descriptors (types.c). */
void tn__check_types(struct tn__gc *gc);
/* Calls `visit` for each reference in `size` bytes behind an address, with its distance: where the address leads into
 * an object, and the type descriptor, which has to be known, lists references. */
void tn__each_listed_reference(struct tn__gc *gc, LLVMValueRef address, uint64_t size,
                               void (*visit)(void *context, uint64_t offset), void *context);

#pragma GCC visibility pop
#endif
