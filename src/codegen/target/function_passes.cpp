/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's manager of function passes looks up for each pass and function what follows from the list of passes alone:
 * which analyses the pass uses, and which ones no later pass needs. For a small function that takes as long as a
 * fifth of the passes do. This manager looks that up once, and otherwise does what LLVM's does (FPPassManager in
 * LegacyPassManager.cpp) without its timers and traces; where these were asked for, LLVM's own loop runs. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassTimingInfo.h"
#include "llvm/Support/TimeProfiler.h"

#include "codegen/llvm/arguments.h"
#include "codegen/target/function_passes.h"

using namespace llvm;

namespace {

struct step {
    FunctionPass *pass;
    SmallVector<Pass *, 4> done; /* analyses that are not used any more, and the pass itself if it is none */
};

class manager final : public FPPassManager {
    SmallVector<step, 0> steps;

    void prepare();
    bool run_steps(Function &function);
    void forget(Pass *pass);

  public:
    bool runOnModule(Module &module) override;
};

} // namespace

/* A pass keeps for good the first implementation of each analysis that it is told of (AnalysisResolver), so telling it
 * again changes nothing. */
void manager::prepare()
{
    for (unsigned i = 0; i < getNumContainedPasses(); i++) {
        step next = {getContainedPass(i), {}};
        getTopLevelManager()->collectLastUses(next.done, next.pass);
        steps.push_back(std::move(next));
    }
}

void manager::forget(Pass *pass)
{
    pass->releaseMemory();
    getAvailableAnalysis()->erase(pass->getPassID());
}

bool manager::run_steps(Function &function)
{
    bool changed = false;
    populateInheritedAnalysis(getTopLevelManager()->activeStack);
    for (const step &at : steps) {
        bool changed_here = at.pass->runOnFunction(function);
        if (changed_here)
            removeNotPreservedAnalysis(at.pass);
        (*getAvailableAnalysis())[at.pass->getPassID()] = at.pass;
        for (Pass *pass : at.done)
            forget(pass);
        changed |= changed_here;
    }
    return changed;
}

/* The first function is LLVM's, which tells each pass of its analyses. */
bool manager::runOnModule(Module &module)
{
    bool changed = false, is_watched = TimePassesIsEnabled || timeTraceProfilerEnabled() ||
                                       *tn__llvm_arguments_taken() || module.shouldEmitInstrCountChangedRemark();
    for (Function &function : module) {
        if (function.isDeclaration())
            continue;
        changed |= steps.empty() || is_watched ? runOnFunction(function) : run_steps(function);
        if (steps.empty())
            prepare();
    }
    return changed;
}

namespace {

struct beginning final : FunctionPass {
    static char ID;

    beginning() : FunctionPass(ID)
    {
    }

    bool runOnFunction(Function &) override
    {
        return false;
    }

    void getAnalysisUsage(AnalysisUsage &usage) const override
    {
        usage.setPreservesAll();
    }

    /* As FunctionPass does it, with our manager. */
    void assignPassManager(PMStack &stack, PassManagerType) override
    {
        while (stack.top()->getPassManagerType() > PMT_FunctionPassManager)
            stack.pop();
        PMDataManager *outer = stack.top();
        if (outer->getPassManagerType() < PMT_FunctionPassManager) {
            auto *ours = new manager;
            ours->populateInheritedAnalysis(stack);
            outer->getTopLevelManager()->addIndirectPassManager(ours);
            ours->assignPassManager(stack, outer->getPassManagerType());
            stack.push(ours);
        }
        stack.top()->add(this);
    }
};

char beginning::ID;

} // namespace

FunctionPass *tn__make_function_passes()
{
    return new beginning;
}
