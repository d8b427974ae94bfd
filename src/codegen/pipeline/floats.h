/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Passes over floating point (floats.cpp); doc/PASSES.md says what each does. */

#ifndef TENON_CODEGEN_FLOATS_H
#define TENON_CODEGEN_FLOATS_H

#include "llvm/IR/PassManager.h"

#include "codegen/managed/ir/gc.h"
#include "codegen/pipeline/pipeline.h"

#pragma GCC visibility push(hidden)

/* They count what they do in stages.gc->stats. */
template <typename Pass> class FloatPass : public llvm::PassInfoMixin<Pass> {
  protected:
    tn__gc *gc;

  public:
    explicit FloatPass(const tn__stages &stages) : gc(stages.gc)
    {
    }
};

struct SimdLoopPass : FloatPass<SimdLoopPass> {
    using FloatPass::FloatPass;
    llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

struct MulAddPass : FloatPass<MulAddPass> {
    using FloatPass::FloatPass;
    llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

struct DemoteFloat16Pass : FloatPass<DemoteFloat16Pass> {
    using FloatPass::FloatPass;
    llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

#pragma GCC visibility pop
#endif
