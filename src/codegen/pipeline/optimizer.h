/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's passes, for C (stages.cpp). */

#ifndef TENON_CODEGEN_OPTIMIZER_H
#define TENON_CODEGEN_OPTIMIZER_H

#include <llvm-c/TargetMachine.h>

#include "codegen/llvm/watch.h"
#include "codegen/pipeline/pipeline.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Runs the stages that are LLVM's; false: nothing in the module is for them. */
bool tn__llvm_run_stages(LLVMModuleRef module, LLVMTargetMachineRef machine, const struct tn__stages *stages,
                         struct tn__watch *watch);

/* Runs the pass or stage of this name, which tn__llvm_has_pass knows. */
void tn__llvm_run_pass(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *name, size_t length,
                       const struct tn__stages *stages, struct tn__watch *watch);
bool tn__llvm_has_pass(const char *name, size_t length);
/* Calls `visit` with the name of each pass and stage, in the order of the stages; some occur more than once. */
void tn__llvm_each_pass(void (*visit)(void *context, const char *name), void *context);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
