/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What must stay where it is during a call, because addresses are in use that the collector cannot change: arguments of
 * gc_preserve_begin and of "jl_roots"; objects that an argument of the call points into; owners of loaded pointers.
 * References to it are put into variables of their own before the call, which the stack map lists as pinned. */

#include "codegen/managed/roots/roots.h"

static void pin_pointer(struct tn__roots *roots, struct tn__safepoint *safepoint, LLVMValueRef value)
{
    LLVMValueRef base = tn__base_of(roots->bases, value);
    if (!base || tn__variable_of(roots, base) == NO_VARIABLE)
        return;
    for (uint32_t i = 0; i < safepoint->pinned_count; i++)
        if (safepoint->pinned[i] == base)
            return;
    TN__APPEND(roots->gc, safepoint->pinned, safepoint->pinned_count, base);
}

/* Pins the objects of all pointers in these spaces (IN_...) that the operand of `user` is or contains. A struct, array
 * or vector was put together from its parts by `scalarize`; of any other one the parts are not known. */
static void pin(struct tn__roots *roots, struct tn__safepoint *safepoint, LLVMValueRef value, unsigned spaces,
                LLVMValueRef user)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    while (!LLVMIsConstant(value) && LLVMGetTypeKind(type) != LLVMPointerTypeKind && tn__type_holds(type, spaces)) {
        if (!LLVMIsAInsertValueInst(value) && !LLVMIsAInsertElementInst(value)) {
            uint32_t *rejected = tn__map_add(roots->gc, &roots->rejected, user);
            if (!*rejected)
                tn__gc_reject(roots->gc, user, "not-scalar", "the references of a struct or vector are not known");
            *rejected = 1;
            return;
        }
        pin(roots, safepoint, LLVMGetOperand(value, 1), spaces, user);
        value = LLVMGetOperand(value, 0);
    }
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind && tn__type_holds(type, spaces))
        pin_pointer(roots, safepoint, value);
}

static void pin_arguments(struct tn__roots *roots, struct tn__safepoint *safepoint)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(safepoint->call); i++)
        pin(roots, safepoint, LLVMGetOperand(safepoint->call, i), IN_DERIVED | IN_LOADED, safepoint->call);
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(safepoint->call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(safepoint->call, b);
        size_t length;
        if (strcmp(LLVMGetOperandBundleTag(bundle, &length), "jl_roots") == 0)
            for (unsigned i = 0; i < LLVMGetNumOperandBundleArgs(bundle); i++)
                pin(roots, safepoint, LLVMGetOperandBundleArgAtIndex(bundle, i), IN_MANAGED, safepoint->call);
        LLVMDisposeOperandBundle(bundle);
    }
}

static void pin_in_region(struct tn__roots *roots, LLVMValueRef begin)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        if (tn__region_covers(roots->cfg, begin, roots->safepoints[s].call))
            for (unsigned i = 0; i < LLVMGetNumArgOperands(begin); i++)
                pin(roots, &roots->safepoints[s], LLVMGetOperand(begin, i), IN_MANAGED, begin);
}

void tn__find_pins(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        pin_arguments(roots, &roots->safepoints[s]);
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            if (tn__intrinsic_called(i) == TN__PRESERVE_BEGIN)
                pin_in_region(roots, i);
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
                pin_pointer(roots, safepoint, value);
            else if (roots->variables[safepoint->live[i]].base != NO_VARIABLE)
                safepoint->live[kept++] = safepoint->live[i];
        }
        safepoint->live_count = kept;
    }
}

void tn__store_pins(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++) {
        struct tn__safepoint *safepoint = &roots->safepoints[s];
        for (uint32_t i = 0; i < safepoint->pinned_count; i++) {
            if (i == roots->pin_slot_count) {
                LLVMValueRef slot = tn__make_variable(roots->gc, roots->function, roots->gc->reference, "pinned");
                tn__mark(slot, TN__PINNED);
                TN__APPEND(roots->gc, roots->pin_slots, roots->pin_slot_count, slot);
            }
            LLVMPositionBuilderBefore(roots->gc->builder, safepoint->call);
            LLVMBuildStore(roots->gc->builder, safepoint->pinned[i], roots->pin_slots[i]);
        }
        roots->gc->stats->pinned += safepoint->pinned_count;
    }
}
