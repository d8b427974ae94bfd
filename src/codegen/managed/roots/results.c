/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Results of safepoints that take more registers than there are. LLVM returns them in memory whose address is a hidden
 * first argument; that memory has no name for the stack map, and gc.statepoint does not support it. Here the argument
 * is written out: the same calling convention, with a variable of the program's. */

#include "codegen/managed/roots/roots.h"

/* What never takes more registers than there are: most results, for which LLVM need not be asked. */
static bool fits(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) <= 64;
    case LLVMVoidTypeKind:
    case LLVMPointerTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        return true;
    default:
        return false;
    }
}

static void copy_call_attributes(LLVMValueRef from, LLVMValueRef to)
{
    LLVMAttributeRef list[64];
    unsigned count = LLVMGetCallSiteAttributeCount(from, TN__ON_FUNCTION);
    if (count > TN_COUNT(list))
        return;
    LLVMGetCallSiteAttributes(from, TN__ON_FUNCTION, list);
    for (unsigned i = 0; i < count; i++)
        LLVMAddCallSiteAttribute(to, TN__ON_FUNCTION, list[i]);
}

static void pass_result(struct tn__roots *roots, LLVMValueRef call)
{
    enum { FRAME_ALIGNMENT = 16 };
    struct tn__gc *gc = roots->gc;
    LLVMTypeRef old = LLVMGetCalledFunctionType(call), result = LLVMTypeOf(call);
    if (LLVMABIAlignmentOfType(LLVMGetModuleDataLayout(gc->module), result) > FRAME_ALIGNMENT) {
        tn__gc_reject(gc, call, "alignment",
                      "the result is returned in memory that is aligned to more than 16 bytes, and frames are not; "
                      "store it instead");
        return;
    }
    unsigned count = LLVMGetNumArgOperands(call), parameters = LLVMCountParamTypes(old);
    LLVMTypeRef *types = tn__gc_array(gc, parameters + 1, sizeof(LLVMTypeRef));
    LLVMValueRef *arguments = tn__gc_array(gc, count + 1, sizeof(LLVMValueRef));
    LLVMValueRef variable = arguments[0] = tn__make_variable(roots->gc, roots->function, result, "result");
    types[0] = LLVMTypeOf(variable);
    LLVMGetParamTypes(old, types + 1);
    for (unsigned i = 0; i < count; i++)
        arguments[i + 1] = LLVMGetOperand(call, i);
    LLVMPositionBuilderBefore(roots->gc->builder, tn__place_behind(call));
    LLVMReplaceAllUsesWith(call, LLVMBuildLoad2(roots->gc->builder, result, variable, ""));
    /* What the old call says of itself is copied from a call that is gone otherwise. */
    LLVMValueRef callee = LLVMGetCalledValue(call), twin = LLVMInstructionClone(call);
    LLVMTypeRef type = LLVMFunctionType(gc->nothing, types, parameters + 1, 0);
    LLVMValueRef made = tn__replace_call(gc, call, type, callee, arguments, count + 1, 1);
    LLVMSetInstructionCallConv(made, LLVMGetInstructionCallConv(twin));
    copy_call_attributes(twin, made);
    LLVMDeleteInstruction(twin);
    unsigned sret = LLVMGetEnumAttributeKindForName("sret", strlen("sret"));
    LLVMAddCallSiteAttribute(made, 1, LLVMCreateTypeAttribute(gc->context, sret, result));
}

void tn__pass_results(struct tn__roots *roots)
{
    LLVMValueRef *calls = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(b, roots->function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__is_call(i) && !fits(LLVMTypeOf(i)) && tn__is_safepoint(i))
                TN__APPEND(roots->gc, calls, count, i);
    count = tn__llvm_select_returned_in_memory(roots->gc->machine, roots->function, calls, count);
    for (size_t n = 0; n < count; n++)
        pass_result(roots, calls[n]);
}
