/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Barrier elimination: stores of references that need no barrier, for a reason that takes some looking. A collector
 * relies on this: whatever is stored into an unlogged object leads to no object of the heap, or its word was logged by
 * a barrier of this store. New objects count as logged up to the next safepoint (doc/GC.md).
 *
 * Values that a loop computes anew are no longer the same ones: a way back ends where they are computed. */

#include "codegen/managed/optimize/optimize.h"

enum { MOST_CHOICES = 32, MOST_INSTRUCTIONS = 2048 }; /* looked at for one store */

/* ---- ways back ---- */

enum way { GOES_ON, IS_GOOD, IS_BAD };

struct walk {
    struct tn__gc *gc;
    enum way (*look)(const struct walk *walk, LLVMValueRef i);
    LLVMValueRef origin;
    unsigned instructions;
};

/* From this instruction backwards to the block's beginning. NULL is the end of an empty way. */
static enum way look_through(struct walk *walk, LLVMValueRef i)
{
    for (; i; i = LLVMGetPreviousInstruction(i)) {
        enum way way = walk->instructions++ < MOST_INSTRUCTIONS ? walk->look(walk, i) : IS_BAD;
        if (way != GOES_ON)
            return way;
    }
    return GOES_ON;
}

/* True if each way from the function's entry to this instruction comes by a good one, and by no bad one after it. */
static bool all_ways_are_good(struct walk *walk, LLVMValueRef before)
{
    struct tn__values blocks = {0}; /* of which all predecessors are to be looked at */
    LLVMBasicBlockRef own = LLVMGetInstructionParent(before), entry = LLVMGetEntryBasicBlock(tn__function_of(before));
    enum way way = look_through(walk, LLVMGetPreviousInstruction(before));
    if (way != GOES_ON)
        return way == IS_GOOD;
    tn__values_add(walk->gc, &blocks, LLVMBasicBlockAsValue(own));
    for (size_t b = 0; b < blocks.count; b++) {
        if (LLVMValueAsBasicBlock(blocks.list[b]) == entry)
            return false;
        for (TN__EACH_USE(use, blocks.list[b])) {
            LLVMValueRef end = LLVMGetUser(use);
            if (!LLVMIsATerminatorInst(end))
                return false; /* its address is taken */
            way = look_through(walk, end);
            if (way == IS_BAD)
                return false;
            if (way == GOES_ON)
                tn__values_add(walk->gc, &blocks, LLVMBasicBlockAsValue(LLVMGetInstructionParent(end)));
        }
    }
    return true;
}

/* ---- new objects ---- */

struct search {
    struct tn__gc *gc;
    struct tn__values choices; /* that are taken for what is looked for as long as nothing shows that they are not */
};

static enum way look_for_origin(const struct walk *walk, LLVMValueRef i)
{
    return i == walk->origin ? IS_GOOD : tn__is_safepoint(i) ? IS_BAD : GOES_ON;
}

/* True if no collection can have happened since this value was computed, or chosen. */
static bool is_recent(struct search *s, LLVMValueRef value, LLVMValueRef before)
{
    struct walk walk = {.gc = s->gc, .look = look_for_origin, .origin = value};
    return all_ways_are_good(&walk, before);
}

static bool is_choice(LLVMValueRef value)
{
    return LLVMIsAPHINode(value) || LLVMIsASelectInst(value) || LLVMIsAFreezeInst(value);
}

/* False: it was looked at before, or there are too many. */
static bool add_choice(struct search *s, LLVMValueRef choice, bool *too_many)
{
    size_t count = s->choices.count;
    tn__values_add(s->gc, &s->choices, choice);
    *too_many |= s->choices.count > MOST_CHOICES;
    return s->choices.count > count && !*too_many;
}

static bool is_new(struct search *s, LLVMValueRef value, LLVMValueRef before)
{
    bool too_many = false;
    if (LLVMIsAConstantPointerNull(value))
        return true; /* nothing is stored into no object */
    if (!tn__is_allocation(value) && !is_choice(value))
        return false;
    if (!is_recent(s, value, before))
        return false;
    if (tn__is_allocation(value) || !add_choice(s, value, &too_many))
        return !too_many;
    for (unsigned i = 0; LLVMIsAPHINode(value) && i < LLVMCountIncoming(value); i++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(value, i));
        if (tn__is_safepoint(end) || !is_new(s, LLVMGetIncomingValue(value, i), end))
            return false;
    }
    for (int i = LLVMIsASelectInst(value) ? 1 : 0; !LLVMIsAPHINode(value) && i < LLVMGetNumOperands(value); i++)
        if (!is_new(s, LLVMGetOperand(value, (unsigned)i), value))
            return false;
    return true;
}

/* ---- values outside of the heap ---- */

static bool is_permanent(struct search *s, LLVMValueRef value)
{
    bool too_many = false;
    if (LLVMIsAAddrSpaceCastInst(value) && tn__space_of(LLVMGetOperand(value, 0)) == 0)
        value = LLVMGetOperand(value, 0);
    if (LLVMIsConstant(value))
        return true;
    if (LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMPointerTypeKind || !is_choice(value))
        return false;
    if (!add_choice(s, value, &too_many))
        return !too_many;
    for (int i = LLVMIsASelectInst(value) ? 1 : 0; i < LLVMGetNumOperands(value); i++)
        if (!is_permanent(s, LLVMGetOperand(value, (unsigned)i)))
            return false;
    return true;
}

bool tn__needs_no_barrier(struct tn__gc *gc, LLVMValueRef i, LLVMValueRef parent)
{
    struct tn__reference_store store;
    struct search values = {.gc = gc}, parents = {.gc = gc};
    if (gc->off & TN__OMIT_BARRIERS || !tn__stores_reference(i, &store))
        return false;
    return is_permanent(&values, store.value) || is_new(&parents, parent, i);
}
