/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* devirtualize: a call with an array of arguments that names a small function of the module becomes an ordinary call,
 * which LLVM may inline: then the array becomes values. Others keep the array that a function has for all of them
 * together. */

#include "codegen/managed/optimize/optimize.h"

enum { MOST_INSTRUCTIONS = 100 };

static bool is_small(LLVMValueRef function)
{
    unsigned count = 0;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (++count > MOST_INSTRUCTIONS)
                return false;
    return true;
}

/* The called function is what the call says, no other definition takes its place, and it may be inlined. */
static bool may_be_inlined(struct tn__gc *gc, LLVMValueRef call, LLVMValueRef caller)
{
    LLVMValueRef callee = LLVMGetOperand(call, 0);
    bool is_known = LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee) && callee != caller &&
                    (tn__is_local(callee) || LLVMGetLinkage(callee) == LLVMExternalLinkage) &&
                    LLVMGlobalGetValueType(callee) == tn__array_call_type(gc, call) &&
                    LLVMGetFunctionCallConv(callee) == LLVMCCallConv && !tn__is_naked(callee);
    return is_known && !tn__attribute(callee, TN__ON_FUNCTION, "noinline") &&
           !tn__attribute(callee, TN__ON_FUNCTION, "optnone") && is_small(callee);
}

bool tn__devirtualize(struct tn__gc *gc, LLVMValueRef function)
{
    LLVMValueRef *calls = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__is_array_call(i) && may_be_inlined(gc, i, function))
                TN__APPEND(gc, calls, count, i);
    for (size_t i = 0; i < count; i++) {
        unsigned length = tn__array_length(calls[i]);
        LLVMTypeRef type = LLVMArrayType2(gc->reference, length);
        tn__lower_array_call(gc, calls[i], length ? tn__make_variable(gc, function, type, "arguments") : NULL);
    }
    gc->stats->devirtualized_calls += count;
    return count > 0;
}
