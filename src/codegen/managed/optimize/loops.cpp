/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loops that need few polls. Short ones, whose number of turns is known to be small and in which nothing takes long,
 * need none. Counting ones become two loops, a strip of many turns in one that polls. */

#include <optional>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include "codegen/llvm/llvm_compat.h"
#include "codegen/managed/optimize/optimize.h"

using namespace llvm;

namespace {

/* In quick instructions: about 4 us, and if no access to memory finds its data in a cache, 200. */
constexpr uint64_t too_long = 1 << 14, of_access = 8, of_division = 16, of_intrinsic = 64, bytes_at_once = 16;
constexpr unsigned widest = 128;                             /* bits; beyond, arithmetic is calls or loops */
constexpr uint64_t fewest_turns = 8, longest_step = 1 << 16; /* of strips */

/* A loop that goes on as long as `next MORE bound`, which only its last block asks. */
struct counting {
    BasicBlock *header, *latch;
    PHINode *counter;
    Instruction *next; /* counter + step */
    uint64_t step;     /* positive, also if it is a signed number */
    CmpInst::Predicate more;
    Value *bound;
    uint64_t turns; /* of a strip */
};

class loop_costs {
  public:
    explicit loop_costs(Function &function)
        : function(function), layout(function.getParent()->getDataLayout()), dominators(function), loops(dominators),
          assumptions(function), known(TN_MODULE_TRIPLE(*function.getParent())), library(known),
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

    /* Cycles with several entries, whose ways back no loop has. */
    bool has_other_cycles()
    {
        ReversePostOrderTraversal<const Function *> order(&function);
        return containsIrreducibleCFG<const BasicBlock *>(order, loops);
    }

    std::optional<counting> counting_by(BasicBlock &latch)
    {
        counting c = {.latch = &latch};
        const Loop *loop = loops.getLoopFor(&latch);
        if (!loop || loop->getLoopLatch() != &latch || !read_test(*loop, c) || !is_steady(c))
            return std::nullopt;
        c.turns = too_long / std::max<uint64_t>(turn_of(*loop), 1);
        return c.turns < fewest_turns ? std::nullopt : std::optional(c);
    }

  private:
    Function &function;
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

    uint64_t turn_of(const Loop &loop)
    {
        LoopBlocksRPO order(const_cast<Loop *>(&loop));
        order.perform(&loops);
        uint64_t turn = 0;
        if (containsIrreducibleCFG<const BasicBlock *>(order, loops)) /* cycles that are no loops */
            return too_long;
        for (const BasicBlock *block : loop.blocks())
            for (const Instruction &instruction : *block)
                if (loops.getLoopFor(block) == &loop && turn < too_long)
                    turn += cost_of(instruction);
        for (const Loop *inner : loop)
            turn = std::min(too_long, turn + cost_of(*inner));
        return turn;
    }

    uint64_t cost_of(const Loop &loop)
    {
        uint64_t turns = evolution.getSmallConstantMaxTripCount(&loop);
        return turns ? turns * turn_of(loop) : too_long; /* both are at most 32 bits */
    }

    /* False if the last block's branch is not one of a counter, or leads to another turn of an outer loop. */
    bool read_test(const Loop &loop, counting &c)
    {
        c.header = loop.getHeader();
        auto *branch = dyn_cast<BranchInst>(c.latch->getTerminator());
        auto *test = branch && branch->isConditional() ? dyn_cast<ICmpInst>(branch->getCondition()) : nullptr;
        if (!test)
            return false;
        bool goes_on = branch->getSuccessor(0) == c.header, is_swapped = loop.isLoopInvariant(test->getOperand(0));
        BasicBlock *exit = branch->getSuccessor(goes_on);
        c.more = goes_on ? test->getPredicate() : test->getInversePredicate();
        c.more = is_swapped ? CmpInst::getSwappedPredicate(c.more) : c.more;
        c.next = dyn_cast<BinaryOperator>(test->getOperand(is_swapped));
        c.bound = test->getOperand(!is_swapped);
        c.counter = c.next ? dyn_cast<PHINode>(c.next->getOperand(0)) : nullptr;
        return !c.header->hasAddressTaken() && !loop.contains(exit) &&
               !(loops.isLoopHeader(exit) && loops.getLoopFor(exit)->contains(&loop)) && c.counter &&
               c.counter->getParent() == c.header && loop.isLoopInvariant(c.bound) &&
               c.counter->getIncomingValueForBlock(c.latch) == c.next;
    }

    /* True if the counter comes to the end of each strip, and not beyond it to its type's other end. */
    static bool is_steady(counting &c)
    {
        auto *step = c.next->getOpcode() == Instruction::Add ? dyn_cast<ConstantInt>(c.next->getOperand(1)) : nullptr;
        unsigned width = step ? step->getBitWidth() : 0;
        if (width < 32 || width > 64 || !step->getValue().isStrictlyPositive() || step->getZExtValue() > longest_step)
            return false;
        c.step = step->getZExtValue();
        switch (c.more) {
        case CmpInst::ICMP_ULT:
            return c.step == 1 || c.next->hasNoUnsignedWrap();
        case CmpInst::ICMP_SLT:
            return c.step == 1 || c.next->hasNoSignedWrap();
        case CmpInst::ICMP_NE: /* a strip has whole turns, so the bound is met or missed as without strips */
            return true;
        default:
            return false;
        }
    }
};

/* Where the strip that begins with this counter ends: the value of `next` after so many turns, or the bound. */
Value *end_of_strip(const counting &c, Value *counter, IRBuilder<> &builder)
{
    auto number = [&](uint64_t n) { return ConstantInt::get(counter->getType(), n); };
    Value *next = builder.CreateAdd(counter, number(c.step)), *left = builder.CreateSub(c.bound, next);
    if (c.more != CmpInst::ICMP_NE) /* the bound may be behind the counter already */
        left = builder.CreateSelect(builder.CreateICmp(c.more, next, c.bound), left, number(0));
    else if (c.step > 1) /* the bound may lie between two values of the counter */
        left = builder.CreateSub(left, builder.CreateURem(left, number(c.step)));
    return builder.CreateAdd(next, builder.CreateBinaryIntrinsic(Intrinsic::umin, left, number(c.turns * c.step)));
}

/* Before the loop comes the block in which strips begin. The loop ends with the strip, and then asks what it asked in
 * each turn. The result is the block in which it has found that it goes on. */
BasicBlock *make_strips(const counting &c)
{
    LLVMContext &context = c.header->getContext();
    Function *function = c.header->getParent();
    BasicBlock *begin = BasicBlock::Create(context, "strip", function, c.header);
    BasicBlock *end = BasicBlock::Create(context, "strip.end", function, c.latch->getNextNode());
    BasicBlock *again = BasicBlock::Create(context, "strip.again", function, end->getNextNode());
    SmallSetVector<BasicBlock *, 4> before(pred_begin(c.header), pred_end(c.header));
    before.remove(c.latch);
    for (PHINode &phi : c.header->phis()) {
        auto *outer = PHINode::Create(phi.getType(), phi.getNumIncomingValues(), "", begin);
        for (unsigned i = 0; i < phi.getNumIncomingValues(); i++)
            outer->addIncoming(phi.getIncomingValue(i),
                               phi.getIncomingBlock(i) == c.latch ? again : phi.getIncomingBlock(i));
        phi.removeIncomingValueIf([&](unsigned i) { return phi.getIncomingBlock(i) != c.latch; }, false);
        phi.addIncoming(outer, begin);
    }
    for (BasicBlock *block : before)
        block->getTerminator()->replaceSuccessorWith(c.header, begin);
    auto *branch = cast<BranchInst>(c.latch->getTerminator());
    if (branch->getSuccessor(0) != c.header)
        branch->swapSuccessors();
    BasicBlock *exit = branch->getSuccessor(1);
    auto *test = cast<Instruction>(branch->getCondition());
    IRBuilder<> builder(begin);
    builder.SetCurrentDebugLocation(branch->getDebugLoc());
    Value *limit = end_of_strip(c, c.counter->getIncomingValueForBlock(begin), builder);
    builder.CreateBr(c.header);
    builder.SetInsertPoint(branch);
    branch->setCondition(builder.CreateICmp(c.more, c.next, limit));
    branch->setSuccessor(1, end);
    exit->replacePhiUsesWith(c.latch, end);
    builder.SetInsertPoint(end);
    builder.CreateCondBr(builder.CreateICmp(c.more, c.next, c.bound), again, exit);
    builder.SetInsertPoint(again);
    builder.CreateBr(begin);
    if (test->use_empty())
        test->eraseFromParent();
    return again;
}

} // namespace

size_t tn__space_polls(LLVMValueRef function, LLVMValueRef *ends, size_t count)
{
    loop_costs costs(*cast<Function>(unwrap(function)));
    SmallVector<std::pair<LLVMValueRef *, counting>, 8> found; /* before anything changes */
    if (costs.has_other_cycles())
        return 0;
    for (LLVMValueRef &end : MutableArrayRef(ends, count))
        if (std::optional<counting> c = costs.counting_by(*cast<Instruction>(unwrap(end))->getParent()))
            found.push_back({&end, *c});
    for (auto &[end, c] : found)
        *end = wrap(make_strips(c)->getTerminator());
    return found.size();
}

void tn__each_short_loop(LLVMValueRef function,
                         void (*visit)(void *context, LLVMBasicBlockRef latch, LLVMBasicBlockRef header), void *context)
{
    loop_costs(*cast<Function>(unwrap(function))).each([=](BasicBlock *latch, BasicBlock *header) {
        visit(context, wrap(latch), wrap(header));
    });
}
