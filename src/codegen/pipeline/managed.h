/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Passes of ours that run among LLVM's, function by function (managed/optimize). */

#ifndef TENON_CODEGEN_MANAGED_H
#define TENON_CODEGEN_MANAGED_H

#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"

#include "codegen/managed/optimize/optimize.h"
#include "codegen/pipeline/pipeline.h"

#pragma GCC visibility push(hidden)

/* `option`: the optimisation's bit in tn__gc.off. */
template <typename Pass, unsigned option, bool (*optimize)(tn__gc *gc, LLVMValueRef function)>
class ManagedPass : public llvm::PassInfoMixin<Pass> {
    tn__gc *gc;

  public:
    explicit ManagedPass(const tn__stages &stages) : gc(stages.gc)
    {
    }

    llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &)
    {
        bool changed = !(gc->off & option) && optimize(gc, llvm::wrap(&function));
        tn__arena_free(&gc->arena);
        if (!changed)
            return llvm::PreservedAnalyses::all();
        llvm::PreservedAnalyses preserved;
        preserved.preserveSet<llvm::CFGAnalyses>();
        return preserved;
    }
};

struct AllocOptPass : ManagedPass<AllocOptPass, TN__ALLOC_OPT, tn__optimize_allocations> {
    using ManagedPass::ManagedPass;
};

struct DevirtualizePass : ManagedPass<DevirtualizePass, TN__DEVIRTUALIZE, tn__devirtualize> {
    using ManagedPass::ManagedPass;
};

struct PropagateAddrspacesPass : ManagedPass<PropagateAddrspacesPass, TN__LEAVE_SPACES, tn__propagate_spaces> {
    using ManagedPass::ManagedPass;
};

/* hoist.cpp */
class ManagedLicmPass : public llvm::PassInfoMixin<ManagedLicmPass> {
    tn__gc *gc;

  public:
    explicit ManagedLicmPass(const tn__stages &stages) : gc(stages.gc)
    {
    }

    llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &, llvm::LoopStandardAnalysisResults &,
                                llvm::LPMUpdater &);
};

#pragma GCC visibility pop
#endif
