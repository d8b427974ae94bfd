/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code for the rest of the code generator: from IR that keeps the contract (doc/IR.md) to IR that LLVM's
 * targets turn into code whose roots are known.
 *     passes.c       the table of passes, and the order they run in
 *     keep.c         keeps results of functions that LLVM's passes would remove as unused
 *     hook.c         the client's own passes
 *     optimized.c    IR that was optimised before, and cannot be trusted
 * The passes themselves are in verify/, lower/ and roots/. */

#ifndef TENON_CODEGEN_PASSES_H
#define TENON_CODEGEN_PASSES_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* True if the module contains managed code (doc/IR.md); for others none of these passes runs. */
bool tn__gc_is_managed(LLVMModuleRef module);
/* True if it was lowered, by this compilation or another one. Not known of modules whose objects are not ELF. */
bool tn__gc_was_lowered(LLVMModuleRef module);
bool tn__holds_managed(LLVMValueRef function); /* by its type or its values */

/* True, after an error, if the module was optimised by passes for which managed pointers were integral. To be asked
 * before the data layout says that they are not. */
bool tn__gc_refuses_optimized(struct tn__gc *gc);

/* Make managed pointers non-integral for LLVM, while passes run, and undo that, to compare layouts. */
void tn__gc_add_ni(struct tn__gc *gc);
void tn__gc_remove_ni(struct tn__gc *gc);

/* The passes over managed code. Texts name them only at the client's door: pipelines, observers, plugins of opt. */
enum tn__gc_pass {
    TN__PASS_CPU_FEATURES,
    TN__PASS_VERIFY,
    TN__PASS_VERIFY_STRONG,
    TN__PASS_NORMALIZE,
    TN__PASS_NORMALIZE_CLANG,
    TN__PASS_EXPAND_ATOMIC_MODIFY,
    TN__PASS_ZERO_INDIRECT,
    TN__PASS_LOWER_HANDLERS,
    TN__PASS_TYPE_STACK,
    TN__PASS_SCALARIZE,
    TN__PASS_LOWER_CALLS,
    TN__PASS_INSERT_POLLS,
    TN__PASS_COPY_ARGUMENTS,
    TN__PASS_INSERT_BARRIERS,
    TN__PASS_LOWER_ALLOCATIONS,
    TN__PASS_MANAGE_FUNCTIONS,
    TN__PASS_TRANSITIONS,
    TN__PASS_PLACE_ROOTS,
    TN__PASS_FINISH,
    TN__PASS_ROOT_TABLES,
    TN__PASS_REMOVE_ADDRSPACES,
    TN__PASS_REMOVE_NI,
    TN__PASS_COUNT_CALLS,
    TN__PASSES
};
const char *tn__gc_pass_name(size_t pass);
/* TN__PASSES: there is none of this name. */
size_t tn__gc_find_pass(const char *name, size_t length);

/* Makes what passes share (gc->builder and types); false: it is there already. */
bool tn__gc_begin(struct tn__gc *gc);
void tn__gc_end(struct tn__gc *gc);

/* Runs a list of enum tn__gc_pass in this order until one reports an error (TN_ECOMPILE). With gc->watch, an observer
 * may stop them; those that make machine code possible still run. */
int tn__gc_run(struct tn__gc *gc, const uint8_t *list, size_t count);

/* Lets LLVM's verifier see what passes made, if this is asked for, by the client's options, or in builds with
 * sanitizers. TN_ECOMPILE. */
int tn__gc_examine(struct tn__gc *gc, bool is_asked_for);
/* Calls the client's hook, if there is one, and refuses changes that later passes would make wrong code of.
 * TN_HOOK_LOWERED does nothing in a pipeline whose hook was not called before. TN_ECOMPILE. */
int tn__gc_call_hook(struct tn__gc *gc, enum tn_hook when);

/* The passes before and after LLVM's optimisation. TN_ECOMPILE. */
int tn__gc_prepare(struct tn__gc *gc);
/* `is_verified`: nothing has changed since the strong verifier and the pass behind it ran. */
int tn__gc_lower(struct tn__gc *gc, bool is_verified);
/* True if the passes of tn__gc_lower have run in this compilation, by this function or by name: all of them, in their
 * order, and none again where roots are placed, nor passes of LLVM, which know nothing of the frames that hold them. */
bool tn__gc_is_lowered(const struct tn__gc *gc);
/* Tells that passes of LLVM have run. */
void tn__gc_optimized(struct tn__gc *gc);
/* Before and after LLVM's pipeline: keeps it from removing parts of results that pointers into objects need. */
void tn__keep_results(struct tn__gc *gc);
void tn__release_results(struct tn__gc *gc);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
