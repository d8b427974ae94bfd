/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The contract's calls with an array of arguments: call, call2, call3. */

#include "codegen/managed/ir/gc.h"

bool tn__is_array_call(LLVMValueRef i)
{
    enum tn__intrinsic intrinsic = tn__intrinsic_called(i);
    return intrinsic == TN__CALL || intrinsic == TN__CALL2 || intrinsic == TN__CALL3;
}

static unsigned fixed_arguments(LLVMValueRef call)
{
    return tn__intrinsic_called(call) == TN__CALL2 ? 3 : 2;
}

unsigned tn__array_length(LLVMValueRef call)
{
    return LLVMGetNumArgOperands(call) - fixed_arguments(call);
}

LLVMTypeRef tn__array_call_type(struct tn__gc *gc, LLVMValueRef call)
{
    bool extra = tn__intrinsic_called(call) == TN__CALL2;
    LLVMTypeRef types[] = {LLVMTypeOf(LLVMGetOperand(call, fixed_arguments(call) - 1)), gc->pointer, gc->i32,
                           LLVMTypeOf(LLVMGetOperand(call, 1))};
    return LLVMFunctionType(LLVMTypeOf(call), types, extra ? 4 : 3, 0);
}

void tn__lower_array_call(struct tn__gc *gc, LLVMValueRef call, LLVMValueRef array)
{
    bool extra = tn__intrinsic_called(call) == TN__CALL2;
    unsigned fixed = fixed_arguments(call), count = tn__array_length(call);
    LLVMTypeRef type = tn__array_call_type(gc, call);
    LLVMPositionBuilderBefore(gc->builder, call);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef place = tn__field(gc, array, 8 * (int64_t)i);
        tn__tag(gc, LLVMBuildStore(gc->builder, LLVMGetOperand(call, fixed + i), place), TN__RUNTIME_MEMORY);
    }
    LLVMValueRef arguments[] = {LLVMGetOperand(call, fixed - 1), count ? array : LLVMConstNull(gc->pointer),
                                LLVMConstInt(gc->i32, count, 0), LLVMGetOperand(call, 1)};
    tn__replace_call(gc, call, type, LLVMGetOperand(call, 0), arguments, extra ? 4 : 3, UINT32_MAX);
}
