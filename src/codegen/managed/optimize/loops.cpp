/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Short loops: those whose number of turns is known to be small, and in which nothing takes long. */

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include "codegen/llvm/llvm_compat.h"
#include "codegen/managed/optimize/optimize.h"

using namespace llvm;

namespace {

constexpr uint64_t too_long = 1 << 14; /* instructions: about 4 us */
constexpr uint64_t bytes_per_instruction = 16;

class short_loops {
  public:
    explicit short_loops(Function &function)
        : dominators(function), loops(dominators), assumptions(function),
          known(TN_MODULE_TRIPLE(*function.getParent())), library(known),
          evolution(function, library, assumptions, dominators, loops)
    {
    }

    template <typename Visit> void each(Visit visit)
    {
        for (Loop *loop : loops.getLoopsInPreorder())
            if (cost_of(*loop) < too_long) {
                SmallVector<BasicBlock *, 4> latches;
                loop->getLoopLatches(latches);
                for (BasicBlock *latch : latches)
                    visit(latch, loop->getHeader());
            }
    }

  private:
    DominatorTree dominators;
    LoopInfo loops;
    AssumptionCache assumptions;
    TargetLibraryInfoImpl known;
    TargetLibraryInfo library;
    ScalarEvolution evolution;

    /* In instructions; of a call that may take long too_long. */
    static uint64_t cost_of(const Instruction &instruction)
    {
        auto *call = dyn_cast<CallBase>(&instruction);
        if (!call)
            return 1;
        if (auto *memory = dyn_cast<AnyMemIntrinsic>(call)) {
            auto *length = dyn_cast<ConstantInt>(memory->getLength());
            return length ? 1 + length->getLimitedValue(too_long * bytes_per_instruction) / bytes_per_instruction
                          : too_long;
        }
        return isa<IntrinsicInst>(call) ? 1 : too_long;
    }

    uint64_t cost_of(const Loop &loop)
    {
        LoopBlocksRPO order(const_cast<Loop *>(&loop));
        order.perform(&loops);
        uint64_t turns = evolution.getSmallConstantMaxTripCount(&loop), turn = 0;
        if (!turns || containsIrreducibleCFG<const BasicBlock *>(order, loops)) /* cycles that are no loops */
            return too_long;
        for (const BasicBlock *block : loop.blocks())
            for (const Instruction &instruction : *block)
                if (loops.getLoopFor(block) == &loop && turn < too_long)
                    turn += cost_of(instruction);
        for (const Loop *inner : loop)
            turn = std::min(too_long, turn + cost_of(*inner));
        return turns * turn; /* both are at most 32 bits */
    }
};

} // namespace

void tn__each_short_loop(LLVMValueRef function,
                         void (*visit)(void *context, LLVMBasicBlockRef latch, LLVMBasicBlockRef header), void *context)
{
    short_loops(*cast<Function>(unwrap(function))).each([=](BasicBlock *latch, BasicBlock *header) {
        visit(context, wrap(latch), wrap(header));
    });
}
