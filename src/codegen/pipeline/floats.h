/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Passes over floating point (floats.cpp); doc/PASSES.md says what each does. */

#ifndef TENON_CODEGEN_FLOATS_H
#define TENON_CODEGEN_FLOATS_H

#include "llvm/IR/PassManager.h"
#include "llvm/Target/TargetMachine.h"

#pragma GCC visibility push(hidden)

struct SimdLoopPass : llvm::PassInfoMixin<SimdLoopPass> {
    llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

struct MulAddPass : llvm::PassInfoMixin<MulAddPass> {
    llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

class DemoteFloat16Pass : public llvm::PassInfoMixin<DemoteFloat16Pass> {
    const llvm::TargetMachine &machine;

  public:
    explicit DemoteFloat16Pass(const llvm::TargetMachine &machine) : machine(machine)
    {
    }
    llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

#pragma GCC visibility pop
#endif
