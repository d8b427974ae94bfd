/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Remarks of optimisations (remarks.cpp). Those of our passes go through LLVM, so that its own tools see them if the
 * passes run there (plugin/). */

#ifndef TENON_CODEGEN_REMARKS_H
#define TENON_CODEGEN_REMARKS_H

#include <stdbool.h>

#include <llvm-c/Types.h>

#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Passes the context's remarks on to the observer, which is borrowed; without one (NULL, or no `remark` in it) they are
 * dropped. To be called before the context's handler of diagnostics is set, which receives everything else. */
void tn__llvm_observe_remarks(LLVMContextRef context, const struct tn_compile_observer *observer);

/* Whether anything becomes of remarks. */
bool tn__llvm_wants_remarks(LLVMContextRef context);

/* What a pass has done with an instruction, or (not `passed`) why it has not, if that is wanted. `name`: of the remark,
 * a word. */
void tn__llvm_remark(LLVMValueRef at, const char *pass, const char *name, bool passed, const char *text);

/* What was not done with a variable or another name, or NULL: with the module, to an observer of remarks. */
void tn__llvm_remark_of(LLVMValueRef global, const struct tn_compile_observer *observer, const char *pass,
                        const char *name, const char *text);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
