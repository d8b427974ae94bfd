/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What must stay where it is during a call, because addresses are in use that the collector cannot change: arguments of
 * gc_preserve_begin and of "jl_roots"; objects that an argument of the call points into; owners of loaded pointers. References to it
 * are put into variables of their own before the call, which the stack map lists as pinned. */

#include "codegen/gc/roots.h"

static void pin(struct tn__roots *roots, struct tn__safepoint *safepoint, LLVMValueRef value)
{
    LLVMValueRef base = tn__space_of(value) >= TRACKED ? tn__base_of(roots->bases, value) : NULL;
    if (!base || tn__variable_of(roots, base) == NO_VARIABLE)
        return;
    for (uint32_t i = 0; i < safepoint->pinned_count; i++)
        if (safepoint->pinned[i] == base)
            return;
    safepoint->pinned = tn__gc_room(roots->gc, safepoint->pinned, safepoint->pinned_count, sizeof *safepoint->pinned);
    safepoint->pinned[safepoint->pinned_count++] = base;
}

static void pin_arguments(struct tn__roots *roots, struct tn__safepoint *safepoint)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(safepoint->call); i++) {
        LLVMValueRef argument = LLVMGetOperand(safepoint->call, i);
        if (tn__space_of(argument) == DERIVED || tn__space_of(argument) == LOADED)
            pin(roots, safepoint, argument);
    }
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(safepoint->call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(safepoint->call, b);
        size_t length;
        if (strcmp(LLVMGetOperandBundleTag(bundle, &length), "jl_roots") == 0)
            for (unsigned i = 0; i < LLVMGetNumOperandBundleArgs(bundle); i++)
                pin(roots, safepoint, LLVMGetOperandBundleArgAtIndex(bundle, i));
        LLVMDisposeOperandBundle(bundle);
    }
}

/* ---- regions ---- */

struct region {
    LLVMValueRef begin;
    uint32_t block;
};

/* Whether instruction `a` comes before `b` in their block. */
static bool precedes(LLVMValueRef a, LLVMValueRef b)
{
    for (LLVMValueRef i = LLVMGetNextInstruction(a); i; i = LLVMGetNextInstruction(i))
        if (i == b)
            return true;
    return false;
}

static bool dominates(const struct tn__roots *roots, LLVMValueRef a, LLVMValueRef b)
{
    uint32_t block_a = tn__cfg_number(roots->cfg, LLVMGetInstructionParent(a));
    uint32_t block_b = tn__cfg_number(roots->cfg, LLVMGetInstructionParent(b));
    return block_a == block_b ? precedes(a, b) : tn__cfg_dominates(roots->cfg, block_a, block_b);
}

static bool is_inside(const struct tn__roots *roots, LLVMValueRef begin, LLVMValueRef call)
{
    if (!dominates(roots, begin, call))
        return false;
    for (TN__EACH_USE(use, begin))
        if (tn__intrinsic_called(LLVMGetUser(use)) == TN__PRESERVE_END && dominates(roots, LLVMGetUser(use), call))
            return false;
    return true;
}

static void pin_region(struct tn__roots *roots, LLVMValueRef begin)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        if (is_inside(roots, begin, roots->safepoints[s].call))
            for (unsigned i = 0; i < LLVMGetNumArgOperands(begin); i++)
                pin(roots, &roots->safepoints[s], LLVMGetOperand(begin, i));
}

void tn__find_pins(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        pin_arguments(roots, &roots->safepoints[s]);
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            if (tn__intrinsic_called(i) == TN__PRESERVE_BEGIN)
                pin_region(roots, i);
}

/* ---- behind liveness ---- */

/* A loaded pointer is not relocated: its owner stays. Nor need the collector know it. */
void tn__pin_owners(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++) {
        struct tn__safepoint *safepoint = &roots->safepoints[s];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < safepoint->live_count; i++) {
            LLVMValueRef value = roots->variables[safepoint->live[i]].value;
            if (tn__space_of(value) == LOADED)
                pin(roots, safepoint, value);
            else if (roots->variables[safepoint->live[i]].base != NO_VARIABLE)
                safepoint->live[kept++] = safepoint->live[i];
        }
        safepoint->live_count = kept;
    }
}

static LLVMValueRef slot(struct tn__roots *roots, uint32_t number)
{
    if (number == roots->pin_slot_count) {
        LLVMPositionBuilderBefore(roots->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(roots->function)));
        LLVMValueRef made = LLVMBuildAlloca(roots->builder, roots->reference, "pinned");
        LLVMSetMetadata(made, LLVMGetMDKindIDInContext(roots->gc->context, TN__PINNED, sizeof TN__PINNED - 1),
                        LLVMMetadataAsValue(roots->gc->context, LLVMMDNodeInContext2(roots->gc->context, NULL, 0)));
        roots->pin_slots = tn__gc_room(roots->gc, roots->pin_slots, number, sizeof *roots->pin_slots);
        roots->pin_slots[roots->pin_slot_count++] = made;
    }
    return roots->pin_slots[number];
}

void tn__store_pins(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++) {
        struct tn__safepoint *safepoint = &roots->safepoints[s];
        for (uint32_t i = 0; i < safepoint->pinned_count; i++) {
            LLVMValueRef variable = slot(roots, i);
            LLVMPositionBuilderBefore(roots->builder, safepoint->call);
            LLVMBuildStore(roots->builder, safepoint->pinned[i], variable);
        }
        roots->gc->stats->pinned += safepoint->pinned_count;
    }
}
