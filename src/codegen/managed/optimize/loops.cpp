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

/* In quick instructions: about 4 us, and if no access to memory finds its data in a cache, 200. */
constexpr uint64_t too_long = 1 << 14, of_access = 8, of_division = 16, of_intrinsic = 64, bytes_at_once = 16;
constexpr unsigned widest = 128; /* bits; beyond, arithmetic is calls or loops */

class short_loops {
  public:
    explicit short_loops(Function &function)
        : layout(function.getParent()->getDataLayout()), dominators(function), loops(dominators), assumptions(function),
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
    const DataLayout &layout;
    DominatorTree dominators;
    LoopInfo loops;
    AssumptionCache assumptions;
    TargetLibraryInfoImpl known;
    TargetLibraryInfo library;
    ScalarEvolution evolution;

    static uint64_t cost_of(const CallBase &call)
    {
        if (auto *memory = dyn_cast<AnyMemIntrinsic>(&call)) {
            auto *length = dyn_cast<ConstantInt>(memory->getLength());
            return length ? of_access * (1 + length->getLimitedValue(too_long * bytes_at_once) / bytes_at_once)
                          : too_long;
        }
        return isa<DbgInfoIntrinsic>(call) ? 0 : isa<IntrinsicInst>(call) ? of_intrinsic : too_long;
    }

    static uint64_t weight_of(const Instruction &instruction)
    {
        if (auto *call = dyn_cast<CallBase>(&instruction))
            return cost_of(*call);
        unsigned opcode = instruction.getOpcode();
        bool is_division =
            Instruction::isIntDivRem(opcode) || opcode == Instruction::FDiv || opcode == Instruction::FRem;
        return instruction.mayReadOrWriteMemory() ? of_access : is_division ? of_division : 1;
    }

    /* Of what may take long, too_long. */
    uint64_t cost_of(const Instruction &instruction) const
    {
        auto *store = dyn_cast<StoreInst>(&instruction);
        Type *type = store ? store->getValueOperand()->getType() : instruction.getType();
        if (!type->isSized())
            return weight_of(instruction);
        TypeSize size = layout.getTypeStoreSize(type);
        if (size.isScalable() || (type->isIntOrIntVectorTy() && type->getScalarSizeInBits() > widest))
            return too_long;
        auto *vector = dyn_cast<FixedVectorType>(type); /* an intrinsic may be a call for each element */
        uint64_t parts =
            isa<CallBase>(instruction) && vector ? vector->getNumElements() : 1 + size.getFixedValue() / bytes_at_once;
        return std::min(too_long, parts * weight_of(instruction));
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
