/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Leaves: functions in which no collection can happen. They have neither statepoints nor a stack map, and calls of them
 * are ordinary calls. A collection may begin at any time, though, if the thread counts as outside managed code. So a
 * leaf that *touches* managed memory runs in a level of managed code like any managed function: it has an entry, unless
 * all its callers are in such a level already.
 *
 * A leaf touches managed memory if it has a managed pointer as a value, an operand or an argument, copies memory that
 * holds references, or calls what runs in a level: a managed function or another leaf that touches. */

#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

bool tn__may_be_replaced(LLVMValueRef function)
{
    switch (LLVMGetLinkage(function)) {
    case LLVMExternalLinkage:
    case LLVMInternalLinkage:
    case LLVMPrivateLinkage:
        return false;
    default:
        return true;
    }
}

bool tn__is_elsewhere(LLVMValueRef function)
{
    return LLVMIsDeclaration(function) || LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage;
}

/* ---- leaves ---- */

/* A safepoint in a leaf makes it none, which may make its callers none. */
void tn__mark_leaves(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc)) {
        LLVMValueRef safepoint = tn__has_text(f, TN__LEAF) ? tn__find_safepoint(f) : NULL;
        if (safepoint)
            tn__gc_reject(gc, safepoint, "leaf", "a safepoint in a function that is marked gc-leaf-function");
    }
    struct tn__map inferred = {0};
    for (TN__EACH_FUNCTION(f, gc))
        if (!LLVMIsDeclaration(f) && !LLVMGetGC(f) && !tn__may_be_replaced(f) && !tn__is_naked(f) &&
            !tn__has_text(f, TN__LEAF)) {
            *tn__map_add(gc, &inferred, f) = 1;
            tn__set_text(f, TN__LEAF, "");
        }
    bool changed = true;
    while (changed) {
        changed = false;
        for (TN__EACH_FUNCTION(f, gc))
            if (tn__map_find(&inferred, f) && tn__has_text(f, TN__LEAF) && tn__find_safepoint(f)) {
                LLVMRemoveStringAttributeAtIndex(f, TN__ON_FUNCTION, TN__LEAF, sizeof TN__LEAF - 1);
                changed = true;
            }
    }
}

/* ---- what touches managed memory ---- */

bool tn__needs_level(LLVMValueRef value)
{
    return LLVMIsAFunction(value) && (tn__is_managed_function(value) || tn__has_text(value, TN__TOUCHES));
}

bool tn__takes_managed(LLVMValueRef function)
{
    static const char *const in_memory[] = {"byval", "sret", "byref"};
    if (tn__type_holds(LLVMGetReturnType(LLVMGlobalGetValueType(function)), IN_MANAGED))
        return true;
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        if (tn__type_holds(LLVMTypeOf(LLVMGetParam(function, i)), IN_MANAGED))
            return true;
        for (size_t k = 0; k < TN_COUNT(in_memory); k++) {
            LLVMAttributeRef type = tn__attribute(function, i + 1, in_memory[k]);
            if (type && tn__type_holds(LLVMGetTypeAttributeValue(type), IN_MANAGED))
                return true;
        }
    }
    return false;
}

/* Whether the address leads into a variable, global or in stack memory, that has references. */
static bool leads_to_references(LLVMValueRef address)
{
    while (LLVMIsAGetElementPtrInst(address) || LLVMIsACastInst(address) ||
           (LLVMIsAConstantExpr(address) && LLVMGetNumOperands(address)))
        address = LLVMGetOperand(address, 0);
    return (LLVMIsAGlobalVariable(address) && tn__type_holds(LLVMGlobalGetValueType(address), IN_MANAGED)) ||
           (LLVMIsAAllocaInst(address) && tn__type_holds(LLVMGetAllocatedType(address), IN_MANAGED));
}

static bool is_bulk_access(LLVMValueRef i)
{
    return tn__is_copy(i) || tn__calls_llvm(i, "memset.", "memset.inline.", "memcpy.inline.");
}

static bool touches_itself(LLVMValueRef i)
{
    bool is_bulk = is_bulk_access(i);
    if (tn__type_holds(LLVMTypeOf(i), IN_MANAGED))
        return true;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++) {
        LLVMValueRef operand = LLVMGetOperand(i, k);
        if (tn__type_holds(LLVMTypeOf(operand), IN_MANAGED) || (is_bulk && leads_to_references(operand)))
            return true;
    }
    return tn__is_call(i) && tn__needs_level(LLVMGetCalledValue(i));
}

static bool has_touch(LLVMValueRef function)
{
    if (tn__takes_managed(function))
        return true;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (touches_itself(i))
                return true;
    return false;
}

void tn__mark_touching(struct tn__gc *gc)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (TN__EACH_FUNCTION(f, gc))
            if (!tn__is_elsewhere(f) && tn__has_text(f, TN__LEAF) && !tn__needs_level(f) && has_touch(f)) {
                tn__set_text(f, TN__TOUCHES, "");
                changed = true;
            }
    }
}

/* ---- checks ---- */

static void check_level(struct tn__gc *gc, LLVMValueRef body)
{
    LLVMBasicBlockRef rest, outside = tn__make_detour(gc, tn__behind_variables(body), "outside", &rest);
    unsigned id = LLVMLookupIntrinsicID("llvm.trap", strlen("llvm.trap"));
    LLVMValueRef trap = LLVMGetIntrinsicDeclaration(gc->module, id, NULL, 0);
    LLVMValueRef top = tn__field(gc, tn__thread_block(gc), TN_GC_BLOCK_TOP);
    top = LLVMBuildLoad2(gc->builder, gc->pointer, top, "top");
    LLVMValueRef sp = LLVMBuildLoad2(gc->builder, gc->i64, tn__field(gc, top, TN_GC_ANCHOR_SP), "sp");
    LLVMValueRef state = LLVMBuildAnd(gc->builder, sp, LLVMConstInt(gc->i64, TN_GC_OUTSIDE, 0), "");
    LLVMValueRef is_inside = LLVMBuildICmp(gc->builder, LLVMIntEQ, state, LLVMConstNull(gc->i64), "");
    tn__likely(gc, LLVMBuildCondBr(gc->builder, is_inside, rest, outside));
    LLVMPositionBuilderAtEnd(gc->builder, outside);
    LLVMBuildCall2(gc->builder, LLVMIntrinsicGetType(gc->context, id, NULL, 0), trap, NULL, 0, "");
    LLVMBuildUnreachable(gc->builder);
}

void tn__check_levels(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc)) /* their entries are managed */
        if (!tn__is_elsewhere(f) && tn__has_text(f, TN__TOUCHES) && !tn__is_managed_function(f))
            check_level(gc, f);
}
