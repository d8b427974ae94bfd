/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What several passes over managed code build. */

#ifndef TENON_CODEGEN_BLOCKS_H
#define TENON_CODEGEN_BLOCKS_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)

#define TN__ENTRY_CALL "tenon-entry" /* attribute of the call of a body by its entry */

/* ---- places ---- */

/* Where instructions of ours may begin: behind phis and landing pads; in the entry behind the first variables. */
LLVMValueRef tn__first_insertion_point(LLVMBasicBlockRef block);
LLVMValueRef tn__behind_variables(LLVMValueRef function);
/* The instruction behind the value's definition; of an invoke's result one to which only the normal way leads. */
LLVMValueRef tn__place_behind(LLVMValueRef value);

/* Gives the normal way of each invoke that is a safepoint a block of its own, unless it has. */
void tn__split_invokes(LLVMValueRef function);

/* ---- pieces ---- */

/* The address of the thread's block. */
LLVMValueRef tn__thread_block(struct tn__gc *gc, LLVMBuilderRef builder);
/* The same, computed once for the function. */
LLVMValueRef tn__function_block(struct tn__gc *gc, LLVMBuilderRef builder, LLVMValueRef function);
LLVMValueRef tn__frame_address(struct tn__gc *gc, LLVMBuilderRef builder);

/* A variable at the beginning of the function. */
LLVMValueRef tn__make_variable(LLVMBuilderRef builder, LLVMValueRef function, LLVMTypeRef type, const char *name);
/* Metadata without contents. */
void tn__mark(LLVMValueRef instruction, const char *name);

/* Declares an intrinsic of LLVM's that is overloaded for one type. */
LLVMValueRef tn__llvm_intrinsic(struct tn__gc *gc, const char *name, LLVMTypeRef overload, LLVMTypeRef *type);

/* `base` plus a number of bytes. */
LLVMValueRef tn__field(struct tn__gc *gc, LLVMBuilderRef builder, LLVMValueRef base, int64_t offset);

/* The address of a reference's header. */
LLVMValueRef tn__header_of(struct tn__gc *gc, LLVMBuilderRef builder, LLVMValueRef reference);

/* Collects the calls in defined functions of these intrinsics (1 << TN__..., ...), or that `wanted` picks, then changes
 * one after the other; the builder's place is free to choose. */
void tn__each_call(struct tn__gc *gc, uint32_t intrinsics, bool (*wanted)(LLVMValueRef instruction),
                   void (*change)(struct tn__gc *gc, LLVMBuilderRef builder, LLVMValueRef call));

LLVMValueRef tn__runtime_function(struct tn__gc *gc, const char *name, LLVMTypeRef type);
/* Calls one with at most 4 arguments; no collection happens in it if it is a leaf. */
LLVMValueRef tn__call_runtime(struct tn__gc *gc, LLVMBuilderRef builder, bool is_leaf, const char *name,
                              LLVMTypeRef result, LLVMValueRef *arguments, unsigned count);

/* Says what an access touches, as nodes of the tree in doc/IR.md: headers of objects, or the runtime's own memory. */
enum tn__memory { TN__HEADER_MEMORY, TN__RUNTIME_MEMORY };
LLVMValueRef tn__tag(struct tn__gc *gc, LLVMValueRef access, enum tn__memory memory);

/* Splits the block before an instruction, and puts a new block between the halves. The builder is at the end of the
 * first half, which has no terminator yet; `*rest` is the second one. */
LLVMBasicBlockRef tn__make_detour(struct tn__gc *gc, LLVMBuilderRef builder, LLVMValueRef before, const char *name,
                                  LLVMBasicBlockRef *rest);

/* The first way of a conditional branch is taken nearly always. */
void tn__likely(struct tn__gc *gc, LLVMValueRef branch);

/* Copies what the calling convention needs to know of the first `count` arguments of a call, or parameters of a
 * function, to the arguments of the call `to` from `at` on. */
void tn__copy_abi_attributes(LLVMValueRef from, unsigned count, LLVMValueRef to, unsigned at);

/* Puts a call (or invoke, if the old one is) with other arguments in the place of one; its own begin at `shift` in the
 * new one. Bundles stay. If the result has another type, the old one must have no uses. */
LLVMValueRef tn__replace_call(struct tn__gc *gc, LLVMBuilderRef builder, LLVMValueRef call, LLVMTypeRef type,
                              LLVMValueRef callee, LLVMValueRef *arguments, unsigned count, unsigned shift);

#pragma GCC visibility pop
#endif
