/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* managed-licm: a region in which objects are preserved, and which begins in each turn of a loop with the same objects,
 * begins before the loop and ends behind it. The objects are pinned for longer; but the loop has no calls any more that
 * keep LLVM from working on it. */

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/MemorySSAUpdater.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

#include "codegen/llvm/remarks.h"
#include "codegen/pipeline/managed.h"

using namespace llvm;

static bool is_call_of(Instruction &instruction, tn__intrinsic intrinsic)
{
    return isa<CallInst>(instruction) && tn__intrinsic_called(wrap(&instruction)) == intrinsic;
}

static bool is_invariant(const Loop &loop, CallBase &begin)
{
    return begin.getNumOperandBundles() == 0 &&
           all_of(begin.args(), [&](Use &argument) { return loop.isLoopInvariant(argument.get()); });
}

/* A safepoint in the loop would have the objects pinned where the program did not ask for it, again and again. */
static bool has_safepoint(const Loop &loop)
{
    return any_of(loop.blocks(), [](BasicBlock *block) {
        return any_of(*block, [](Instruction &instruction) { return tn__is_safepoint(wrap(&instruction)); });
    });
}

struct region {
    CallInst *begin;
    SmallVector<Instruction *, 4> ends;
};

/* True if the region ends in the loop, on each way out of it on which it has begun: a region that goes on behind the
 * loop would end too early at its exits. */
static bool ends_in_loop(const Loop &loop, const DominatorTree &dominators, const region &r,
                         ArrayRef<BasicBlock *> exits)
{
    return !r.ends.empty() && all_of(r.ends, [&](Instruction *end) { return loop.contains(end); }) &&
           all_of(exits, [&](BasicBlock *exit) {
               return !dominators.dominates(r.begin, exit) ||
                      any_of(r.ends, [&](Instruction *end) { return dominators.dominates(end, exit); });
           });
}

/* What MemorySSA, if there is one, has to know of moved calls. */
class memory {
  public:
    explicit memory(MemorySSA *ssa) : ssa(ssa), updater(ssa)
    {
    }

    void moved(Instruction &instruction)
    {
        if (MemoryUseOrDef *access = access_of(instruction))
            updater.moveToPlace(access, instruction.getParent(), MemorySSA::BeforeTerminator);
    }

    void copied(Instruction &from, Instruction &to)
    {
        if (!access_of(from))
            return;
        MemoryAccess *made = updater.createMemoryAccessInBB(&to, nullptr, to.getParent(), MemorySSA::Beginning);
        if (auto *def = dyn_cast<MemoryDef>(made))
            updater.insertDef(def, /*RenameUses=*/true);
        else
            updater.insertUse(cast<MemoryUse>(made), /*RenameUses=*/true);
    }

    void erased(Instruction &instruction)
    {
        if (access_of(instruction))
            updater.removeMemoryAccess(&instruction);
    }

  private:
    MemorySSA *ssa;
    MemorySSAUpdater updater;

    MemoryUseOrDef *access_of(Instruction &instruction)
    {
        return ssa ? ssa->getMemoryAccess(&instruction) : nullptr;
    }
};

/* The region's end is at each exit instead. */
static void move_region(const Loop &loop, const region &r, ArrayRef<BasicBlock *> exits, memory &memory)
{
    BasicBlock &before = *loop.getLoopPreheader();
    r.begin->moveBefore(before, before.getTerminator()->getIterator());
    memory.moved(*r.begin);
    for (BasicBlock *exit : exits) {
        Instruction *end = r.ends[0]->clone();
        end->insertInto(exit, exit->getFirstInsertionPt());
        memory.copied(*r.ends[0], *end);
    }
    for (Instruction *end : r.ends) {
        memory.erased(*end);
        end->eraseFromParent();
    }
}

static region region_of(CallInst &begin)
{
    region r = {&begin, {}};
    for (User *user : begin.users())
        r.ends.push_back(cast<Instruction>(user));
    return r;
}

static bool may_move(const Loop &loop, const DominatorTree &dominators, const region &r, ArrayRef<BasicBlock *> exits)
{
    const char *why = has_safepoint(loop)             ? "the loop has a safepoint"
                      : !is_invariant(loop, *r.begin) ? "the loop computes what is preserved"
                      : !ends_in_loop(loop, dominators, r, exits)
                          ? "the region does not end on each way out of the loop"
                          : nullptr;
    tn__llvm_remark(wrap(r.begin), "managed-licm", why ? "NotHoisted" : "Hoisted", !why,
                    why ? why : "objects are preserved around the loop");
    return !why;
}

PreservedAnalyses ManagedLicmPass::run(Loop &loop, LoopAnalysisManager &, LoopStandardAnalysisResults &results,
                                       LPMUpdater &)
{
    SmallVector<BasicBlock *, 4> exits;
    SmallVector<region, 4> regions;
    loop.getUniqueExitBlocks(exits);
    if (gc->off & TN__HOIST || !loop.getLoopPreheader() || !loop.hasDedicatedExits() ||
        any_of(exits, [](BasicBlock *exit) { return exit->getFirstInsertionPt() == exit->end(); }))
        return PreservedAnalyses::all();
    for (BasicBlock *block : loop.blocks())
        for (Instruction &instruction : *block)
            if (is_call_of(instruction, TN__PRESERVE_BEGIN))
                regions.push_back(region_of(cast<CallInst>(instruction)));
    erase_if(regions, [&](const region &r) { return !may_move(loop, results.DT, r, exits); });
    memory memory(results.MSSA);
    for (const region &r : regions)
        move_region(loop, r, exits, memory);
    gc->stats->hoisted += regions.size();
    PreservedAnalyses preserved = regions.empty() ? PreservedAnalyses::all() : getLoopPassPreservedAnalyses();
    preserved.preserve<MemorySSAAnalysis>();
    return preserved;
}
