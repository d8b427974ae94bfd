/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The contract's other intrinsics. Before roots are placed: calls with an array of arguments, typeof. Behind: those
 * that root placement itself wanted to see. */

#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

/* ---- call, call2, call3 ---- */

/* One array of arguments for all calls of a function, as large as the largest needs it; NULL if none needs any. */
static LLVMValueRef argument_array(struct tn__gc *gc, LLVMValueRef function)
{
    static const char name[] = "arguments.array";
    size_t length;
    for (LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)); LLVMIsAAllocaInst(i);
         i = LLVMGetNextInstruction(i))
        if (strcmp(LLVMGetValueName2(i, &length), name) == 0)
            return i;
    unsigned most = 0;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__is_array_call(i) && tn__array_length(i) > most)
                most = tn__array_length(i);
    if (!most)
        return NULL;
    LLVMTypeRef type = LLVMArrayType2(gc->reference, most);
    return tn__make_variable(gc, function, type, name);
}

static void lower_array_call(struct tn__gc *gc, LLVMValueRef call)
{
    tn__lower_array_call(gc, call, argument_array(gc, tn__function_of(call)));
}

/* ---- typeof ---- */

static void lower_typeof(struct tn__gc *gc, LLVMValueRef call)
{
    LLVMPositionBuilderBefore(gc->builder, call);
    LLVMValueRef header = LLVMBuildLoad2(gc->builder, gc->i64, tn__header_of(gc, LLVMGetOperand(call, 0)), "header");
    tn__tag(gc, header, TN__HEADER_MEMORY);
    LLVMValueRef type = LLVMBuildAnd(gc->builder, header, LLVMConstInt(gc->i64, TN_GC_TYPE_MASK, 0), "");
    type = LLVMBuildAddrSpaceCast(gc->builder, LLVMBuildIntToPtr(gc->builder, type, gc->pointer, ""), LLVMTypeOf(call),
                                  "type");
    LLVMReplaceAllUsesWith(call, type);
    LLVMInstructionEraseFromParent(call);
}

void tn__lower_calls(struct tn__gc *gc)
{
    tn__each_call(gc, 1u << TN__CALL | 1u << TN__CALL2 | 1u << TN__CALL3, NULL, lower_array_call);
    tn__each_call(gc, 1u << TN__TYPEOF, NULL, lower_typeof);
}

/* ---- behind root placement ---- */

static LLVMValueRef value_of(struct tn__gc *gc, LLVMValueRef call)
{
    LLVMTypeRef type = LLVMTypeOf(call);
    switch (tn__intrinsic_called(call)) {
    case TN__POINTER_FROM_OBJREF:
        return LLVMBuildAddrSpaceCast(gc->builder, LLVMGetOperand(call, 0), type, "");
    case TN__LOADED_FROM:
        return LLVMBuildAddrSpaceCast(gc->builder, LLVMGetOperand(call, 1), type, "");
    case TN__GET_PGCSTACK:
    case TN__GET_PGCSTACK_OR_NEW: {
        LLVMValueRef block = tn__function_block(gc, tn__function_of(call));
        LLVMPositionBuilderBefore(gc->builder, call);
        return tn__field(gc, block, TN_GC_BLOCK_PGCSTACK);
    }
    default:
        return NULL;
    }
}

static void finish_call(struct tn__gc *gc, LLVMValueRef call)
{
    LLVMPositionBuilderBefore(gc->builder, call);
    LLVMValueRef value = value_of(gc, call);
    if (!value && LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind) {
        tn__gc_reject(gc, call, "not-lowered", "no pass has lowered this intrinsic");
        return;
    }
    if (value)
        LLVMReplaceAllUsesWith(call, value);
    LLVMInstructionEraseFromParent(call);
}

static void erase_call(struct tn__gc *gc, LLVMValueRef call)
{
    (void)gc;
    LLVMInstructionEraseFromParent(call);
}

/* What a leaf was given as roots means nothing to LLVM's targets. */
static bool has_own_bundle(LLVMValueRef i)
{
    return LLVMIsACallInst(i) && (tn__has_bundle(i, "jl_roots") || tn__has_bundle(i, "gc-transition"));
}

static void drop_bundles(struct tn__gc *gc, LLVMValueRef call)
{
    (void)gc;
    tn__llvm_drop_bundles(call);
}

void tn__finish(struct tn__gc *gc)
{
    tn__each_call(gc, ~(1u << TN__PRESERVE_BEGIN), NULL, finish_call);
    tn__each_call(gc, 1u << TN__PRESERVE_BEGIN, NULL, erase_call); /* its ends, which use it, are gone */
    tn__each_call(gc, 0, has_own_bundle, drop_bundles);
    for (LLVMValueRef f = LLVMGetFirstFunction(gc->module), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (tn__intrinsic_of(f) >= 0 && !LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
}
