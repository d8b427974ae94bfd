/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* managed-licm. A region in which objects are preserved, and which begins in each turn of a loop with the same objects,
 * begins before the loop and ends behind it. The objects are pinned for longer; but the loop has no calls any more that
 * keep LLVM from working on it.
 *
 * An object that each turn makes anew, and that nothing outside of the turn sees, is made once, before the loop, and
 * cleared in each turn. A loop that stores references to it is left alone: the object may be old, so it would need
 * barriers. */

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/MemorySSAUpdater.h"
#include "llvm/Analysis/MustExecute.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

#include "codegen/llvm/remarks.h"
#include "codegen/managed/optimize/escape.h"
#include "codegen/pipeline/managed.h"

using namespace llvm;

static bool is_call_of(const Instruction &instruction, tn__intrinsic intrinsic)
{
    return isa<CallInst>(instruction) && tn__intrinsic_called(wrap(&instruction)) == intrinsic;
}

static bool is_invariant(const Loop &loop, CallBase &call)
{
    return call.getNumOperandBundles() == 0 &&
           all_of(call.args(), [&](Use &argument) { return loop.isLoopInvariant(argument.get()); });
}

static bool has_safepoint(const Loop &loop, const Instruction *except = nullptr)
{
    return any_of(loop.blocks(), [=](BasicBlock *block) {
        return any_of(*block, [=](Instruction &instruction) {
            return &instruction != except && tn__is_safepoint(wrap(&instruction));
        });
    });
}

static bool returns_twice(const Loop &loop)
{
    return any_of(loop.blocks(), [](BasicBlock *block) {
        return any_of(*block, [](Instruction &i) { return isa<CallBase>(i) && tn__returns_twice(wrap(&i)); });
    });
}

/* ---- regions ---- */

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

    void made_after(Instruction &made, Instruction &at)
    {
        if (MemoryUseOrDef *access = access_of(at))
            updater.insertDef(cast<MemoryDef>(updater.createMemoryAccessAfter(&made, nullptr, access)),
                              /*RenameUses=*/true);
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

static void move_before(const Loop &loop, CallInst &call, memory &memory)
{
    BasicBlock &before = *loop.getLoopPreheader();
    call.moveBefore(before, before.getTerminator()->getIterator());
    memory.moved(call);
}

/* The region's end is at each exit instead. */
static void move_region(const Loop &loop, const region &r, ArrayRef<BasicBlock *> exits, memory &memory)
{
    move_before(loop, *r.begin, memory);
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
    /* At a safepoint, the objects would be pinned where the program did not ask for it, again and again. */
    const char *why = has_safepoint(loop)             ? "the loop has a safepoint"
                      : !is_invariant(loop, *r.begin) ? "the loop computes what is preserved"
                      : !ends_in_loop(loop, dominators, r, exits)
                          ? "the region does not end on each way out of the loop"
                          : nullptr;
    tn__llvm_remark(wrap(r.begin), "managed-licm", why ? "NotHoisted" : "Hoisted", !why,
                    why ? why : "objects are preserved around the loop");
    return !why;
}

/* ---- allocations ---- */

static tn__shape shape_of(tn__gc &gc, CallInst &call)
{
    return tn__shape_of(&gc, wrap(call.getArgOperand(2)));
}

/* True if nothing but allocations of other objects may keep a turn from making the object. */
static bool is_first(const Loop &loop, const CallInst &call)
{
    return call.getParent() == loop.getHeader() &&
           all_of(make_range(call.getParent()->begin(), call.getIterator()), [](const Instruction &before) {
               return isGuaranteedToTransferExecutionToSuccessor(&before) || is_call_of(before, TN__ALLOC_OBJ);
           });
}

/* True if each turn makes the object, and so does the first one, before anything else may happen. */
static bool is_always_made(const Loop &loop, const DominatorTree &dominators, const CallInst &call)
{
    SimpleLoopSafetyInfo safety;
    SmallVector<BasicBlock *, 4> latches;
    safety.computeLoopSafetyInfo(&loop);
    loop.getLoopLatches(latches);
    return (is_first(loop, call) || safety.isGuaranteedToExecute(call, &dominators, &loop)) &&
           all_of(latches, [&](BasicBlock *latch) { return dominators.dominates(call.getParent(), latch); });
}

/* True if no other function, and no other turn, sees the object, and it refers to none. */
static bool is_of_one_turn(const Loop &loop, tn__gc &gc, CallInst &call)
{
    constexpr uint64_t most = TN__LARGEST_FOLLOWED;
    auto *size = dyn_cast<ConstantInt>(call.getArgOperand(1));
    tn__new_object object = {};
    object.gc = &gc;
    object.call = wrap(&call);
    object.size = size ? size->getLimitedValue(most) : most;
    tn__follow_uses(&object);
    return !object.escapes && !object.has_reference_stores && !object.is_irregular && !object.is_preserved &&
           all_of(ArrayRef(object.pointers, object.pointer_count), [&](const tn__object_pointer &pointer) {
               return all_of(unwrap(pointer.value)->users(),
                             [&](User *user) { return loop.contains(cast<Instruction>(user)); });
           });
}

/* The collector asks for an object's size at any safepoint, also where the object is only kept for the next turn: an
 * array may have no length yet, or another one than the next turn's. */
static bool has_known_size(const Loop &loop, tn__gc &gc, CallInst &call)
{
    return shape_of(gc, call) == TN__OF_ONE_SIZE ||
           (!has_safepoint(loop, &call) && !(gc.options->polls & TN_POLL_LOOPS));
}

static bool may_move(const Loop &loop, const DominatorTree &dominators, tn__gc &gc, CallInst &call)
{
    const char *why = shape_of(gc, call) == TN__WEAK            ? "the object is weak"
                      : !is_invariant(loop, call)               ? "the loop computes its size or type"
                      : !is_always_made(loop, dominators, call) ? "not each turn makes the object"
                      : !is_of_one_turn(loop, gc, call)         ? "more than one turn of the loop sees the object"
                      : !has_known_size(loop, gc, call)         ? "it may be an array, and the loop has safepoints"
                      : returns_twice(loop)                     ? "the loop has a call that returns twice"
                                                                : nullptr;
    tn__llvm_remark(wrap(&call), "managed-licm", why ? "NotHoisted" : "Hoisted", !why,
                    why ? why : "the object is made once for all turns of the loop");
    return !why;
}

/* Each turn begins with an object whose words are null, as if it were new. */
static void move_allocation(const Loop &loop, CallInst &call, memory &memory)
{
    IRBuilder<> builder(call.getNextNode());
    Value *object = builder.CreateAddrSpaceCast(&call, builder.getPtrTy(DERIVED));
    CallInst *clear = builder.CreateMemSet(object, builder.getInt8(0), call.getArgOperand(1), Align(8));
    memory.made_after(*clear, call);
    move_before(loop, call, memory);
}

/* Arrays last, because no safepoint may come between one and the store of its length. */
static size_t move_allocations(const Loop &loop, const DominatorTree &dominators, tn__gc &gc, memory &memory)
{
    SmallVector<CallInst *, 4> found;
    size_t moved = 0;
    for (BasicBlock *block : loop.blocks())
        for (Instruction &instruction : *block)
            if (is_call_of(instruction, TN__ALLOC_OBJ))
                found.push_back(cast<CallInst>(&instruction));
    stable_sort(found, [&](CallInst *a, CallInst *b) { return shape_of(gc, *a) > shape_of(gc, *b); });
    for (CallInst *call : found)
        if (may_move(loop, dominators, gc, *call)) {
            move_allocation(loop, *call, memory);
            moved++;
        }
    return moved;
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
    memory memory(results.MSSA);
    size_t moved = move_allocations(loop, results.DT, *gc, memory);
    erase_if(regions, [&](const region &r) { return !may_move(loop, results.DT, r, exits); });
    for (const region &r : regions)
        move_region(loop, r, exits, memory);
    moved += regions.size();
    gc->stats->hoisted += moved;
    tn__arena_free(&gc->arena);
    PreservedAnalyses preserved = moved ? getLoopPassPreservedAnalyses() : PreservedAnalyses::all();
    preserved.preserve<MemorySSAAnalysis>();
    return preserved;
}
