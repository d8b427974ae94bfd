/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Results of safepoints that take more registers than there are. LLVM returns them in memory whose address is a hidden first argument;
 * that memory has no name for the stack map, and gc.statepoint does not support it. Here the argument is written out: the same
 * calling convention, with a variable of the program's. */

#include "codegen/gc/blocks.h"
#include "codegen/gc/roots.h"

/* General registers for results: LLVM's calling convention C on x86-64 has rax, rdx and rcx, AArch64 x0 to x7, RISC-V a0 and a1. */
static unsigned result_registers(LLVMModuleRef module)
{
    static const struct {
        const char *machine;
        unsigned count;
    } rows[] = {{"x86_64", 3}, {"aarch64", 8}, {"riscv64", 2}};
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (strncmp(LLVMGetTarget(module), rows[i].machine, strlen(rows[i].machine)) == 0)
            return rows[i].count;
    return UINT32_MAX;
}

/* How many general registers the type takes; UINT32_MAX: that is not known, or it takes others too. */
static unsigned registers_for(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMPointerTypeKind || (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64))
        return 1;
    if (kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind)
        return UINT32_MAX;
    uint64_t length = kind == LLVMStructTypeKind ? LLVMCountStructElementTypes(type) : LLVMGetArrayLength2(type),
             sum = 0;
    for (unsigned i = 0; i < length && sum < UINT32_MAX; i++)
        sum += registers_for(kind == LLVMStructTypeKind ? LLVMStructGetTypeAtIndex(type, i) : LLVMGetElementType(type));
    return sum < UINT32_MAX ? (unsigned)sum : UINT32_MAX;
}

static bool is_in_memory(struct tn__roots *roots, LLVMValueRef call)
{
    unsigned count = registers_for(LLVMTypeOf(call));
    return tn__is_safepoint(call) && count != UINT32_MAX && count > result_registers(roots->gc->module);
}

static void copy_call_attributes(LLVMValueRef from, LLVMValueRef to)
{
    LLVMAttributeIndex on_function = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    LLVMAttributeRef list[64];
    unsigned count = LLVMGetCallSiteAttributeCount(from, on_function);
    if (count > TN_COUNT(list))
        return;
    LLVMGetCallSiteAttributes(from, on_function, list);
    for (unsigned i = 0; i < count; i++)
        LLVMAddCallSiteAttribute(to, on_function, list[i]);
}

static void pass_result(struct tn__roots *roots, LLVMValueRef call)
{
    struct tn__gc *gc = roots->gc;
    LLVMTypeRef old = LLVMGetCalledFunctionType(call), result = LLVMTypeOf(call);
    unsigned count = LLVMGetNumArgOperands(call), parameters = LLVMCountParamTypes(old);
    LLVMTypeRef *types = tn__gc_array(gc, parameters + 1, sizeof(LLVMTypeRef));
    LLVMValueRef *arguments = tn__gc_array(gc, count + 1, sizeof(LLVMValueRef));
    LLVMPositionBuilderBefore(roots->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(roots->function)));
    LLVMValueRef variable = arguments[0] = LLVMBuildAlloca(roots->builder, result, "result");
    types[0] = LLVMTypeOf(variable);
    LLVMGetParamTypes(old, types + 1);
    for (unsigned i = 0; i < count; i++)
        arguments[i + 1] = LLVMGetOperand(call, i);
    LLVMPositionBuilderBefore(roots->builder, tn__place_behind(call));
    LLVMReplaceAllUsesWith(call, LLVMBuildLoad2(roots->builder, result, variable, ""));
    /* What the old call says of itself is copied from a call that is gone otherwise. */
    LLVMValueRef callee = LLVMGetCalledValue(call), twin = LLVMInstructionClone(call);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(gc->context), types, parameters + 1, 0);
    LLVMValueRef made = tn__replace_call(gc, roots->builder, call, type, callee, arguments, count + 1, 1);
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
            if (tn__is_call(i) && is_in_memory(roots, i)) {
                calls = tn__gc_room(roots->gc, calls, count, sizeof *calls);
                calls[count++] = i;
            }
    for (size_t n = 0; n < count; n++)
        pass_result(roots, calls[n]);
}
