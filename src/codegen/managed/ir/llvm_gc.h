/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the passes over managed code need of LLVM and its C API does not offer; implemented in llvm_gc.cpp. */

#ifndef TENON_CODEGEN_LLVM_GC_H
#define TENON_CODEGEN_LLVM_GC_H

#include "codegen/llvm/llvm.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* How many bytes an address is from `base`; false unless only casts and constant steps lead from there to it. */
bool tn__constant_distance(LLVMValueRef address, LLVMValueRef base, int64_t *distance);

/* How many bytes a getelementptr adds, also one that is a constant: `bytes`, and any number of times `stride`; 0: just
 * that. */
void tn__llvm_gep_steps(LLVMTargetDataRef layout, LLVMValueRef gep, int64_t *bytes, uint64_t *stride);

/* Gives an alloca another type, of which there is one. */
void tn__llvm_set_allocated_type(LLVMValueRef alloca, LLVMTypeRef type, unsigned alignment);

/* Keeps those calls of a function, moved to the front, whose results the target returns in memory, and returns their
 * number. */
size_t tn__llvm_select_returned_in_memory(LLVMTargetMachineRef machine, LLVMValueRef function, LLVMValueRef *calls,
                                          size_t count);

/* Whether a result that the function returns, or a call in it, is returned in registers of the x87, for which LLVM's
 * statepoints are wrong. */
bool tn__llvm_is_returned_in_x87(LLVMTargetMachineRef machine, LLVMValueRef function, LLVMTypeRef type);

/* What is known of the alignment of an argument's memory. */
unsigned tn__llvm_alignment(LLVMValueRef argument);

/* Writes the quoted name of the member at this offset of a C struct, from debug information; false if there is none. */
bool tn__llvm_member_name(LLVMModuleRef module, const char *name, uint64_t offset, char *out, size_t size);

/* Moves the instruction and all behind it to a new block, which follows; the old one ends in a branch to it. */
LLVMBasicBlockRef tn__llvm_split(LLVMValueRef before);

/* Makes an alloca of a constant number of elements one of an array, among those at the beginning of its function. */
void tn__llvm_hoist(LLVMValueRef alloca);

/* A select by the condition of another one, in front of it; both choices are `placeholder`. */
LLVMValueRef tn__llvm_select(LLVMValueRef like, LLVMValueRef placeholder);

/* Puts a new block between a terminator and one of its successors. */
LLVMBasicBlockRef tn__llvm_split_edge(LLVMValueRef terminator, unsigned successor);

/* Uses of one function become uses of another, but for addresses of its blocks. */
void tn__llvm_replace_function(LLVMValueRef old, LLVMValueRef by);

/* A call without the operand bundles of the contract takes the place of one with them. */
void tn__llvm_drop_bundles(LLVMValueRef call);

/* A call, and a branch to where the invoke goes on, take its place. */
void tn__llvm_call_instead(LLVMValueRef invoke);

/* Changes the address space of a pointer that an instruction computes; its operands and users are the caller's. */
void tn__llvm_set_type(LLVMValueRef instruction, LLVMTypeRef type);

/* Local variables of managed pointer type become values, where their address is not taken. */
void tn__llvm_promote(LLVMValueRef function);
/* Not 0 for an alloca that is only loaded and stored, always as what its type says. */
int tn__llvm_is_promotable(LLVMValueRef variable);

/* Calls `visit` for each declared function that LLVM knows the C library to have, with this name and type. */
void tn__llvm_each_library_function(LLVMModuleRef module, void (*visit)(void *context, LLVMValueRef function),
                                    void *context);

/* Takes blocks away that no way leads to. */
void tn__llvm_remove_unreachable(LLVMValueRef function);

/* Does nothing, but whoever calls it has the GC strategy and the printer of stack maps linked in. */
void tn__llvm_use_strategy(void);

/* True if objects made of the module are ELF files. */
bool tn__llvm_is_elf(LLVMModuleRef module);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
