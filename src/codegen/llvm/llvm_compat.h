/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Differences between the LLVM releases that are supported, 19 and 22; nothing else may ask for the version. */

#ifndef TENON_CODEGEN_LLVM_COMPAT_H
#define TENON_CODEGEN_LLVM_COMPAT_H

#include "llvm/Config/llvm-config.h"

#if LLVM_VERSION_MAJOR >= 22

#include "llvm/Analysis/EphemeralValuesCache.h"
#include "llvm/Analysis/LastRunTrackingAnalysis.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/CodeGen/LibcallLoweringInfo.h"

#define TN_KEEPS_LIBCALLS                  1 /* a pass of its own names the runtime's functions */
#define TN_TRIPLE(text)                    llvm::Triple(text)
#define TN_MODULE_TRIPLE(module)           (module).getTargetTriple()
#define TN_LOOP_ADAPTOR(loops, memory_ssa) createFunctionToLoopPassAdaptor(loops, memory_ssa)
#define TN_NEWER_FUNCTION_ANALYSES         , llvm::EphemeralValuesAnalysis, llvm::LastRunTrackingAnalysis
#define TN_DECLARE_INTRINSIC               llvm::Intrinsic::getOrInsertDeclaration
#define TN_CODEGEN_MACHINE(machine)        (machine)
#define TN_HAS_BLOCK_NUMBERS               1 /* Function::renumberBlocks */
#define TN_CAN_LOWER_RETURN(lowering, convention, caller, parts, type)                                                 \
    (lowering).CanLowerReturn(convention, caller, false, parts, (type)->getContext(), type)

#else

#include "llvm/TargetParser/Triple.h"

#define TN_KEEPS_LIBCALLS        0
#define TN_TRIPLE(text)          text
#define TN_MODULE_TRIPLE(module) llvm::Triple((module).getTargetTriple())
#define TN_LOOP_ADAPTOR(loops, memory_ssa)                                                                             \
    createFunctionToLoopPassAdaptor(loops, memory_ssa, /*UseBlockFrequencyInfo=*/memory_ssa)
#define TN_NEWER_FUNCTION_ANALYSES
#define TN_DECLARE_INTRINSIC        llvm::Intrinsic::getDeclaration
#define TN_CODEGEN_MACHINE(machine) static_cast<const llvm::LLVMTargetMachine &>(machine)
#define TN_HAS_BLOCK_NUMBERS        0
#define TN_CAN_LOWER_RETURN(lowering, convention, caller, parts, type)                                                 \
    (lowering).CanLowerReturn(convention, caller, false, parts, (type)->getContext())

#endif
#endif
