/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What LLVM's passes do with a module between reading and emitting it. */

#ifndef TENON_CODEGEN_PIPELINE_H
#define TENON_CODEGEN_PIPELINE_H

#include <llvm-c/TargetMachine.h>

#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Runs the pipeline of level 0..3; that of 0 only inlines what is marked alwaysinline. The module was verified and has
 * the machine's triple and data layout. */
void tn__llvm_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, int level,
                       const struct tn_compile_observer *observer);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
