/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* devirtualize: a call with an array of arguments that names a small function of the module becomes an ordinary call,
 * which LLVM may inline: then the array becomes values. Others keep the array that a function has for all of them
 * together. */

#include "codegen/llvm/remarks.h"
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

/* Why the call stays; NULL: the called function is what the call says, no other definition takes its place, and it may
 * be inlined. */
static const char *why_not(struct tn__gc *gc, LLVMValueRef call, LLVMValueRef caller)
{
    LLVMValueRef callee = LLVMGetOperand(call, 0);
    if (!LLVMIsAFunction(callee) || LLVMIsDeclaration(callee))
        return "the called function is not known here";
    if (callee == caller)
        return "the function calls itself";
    if (!tn__is_local(callee) && LLVMGetLinkage(callee) != LLVMExternalLinkage)
        return "another definition may take the function's place";
    if (LLVMGlobalGetValueType(callee) != tn__array_call_type(gc, call) ||
        LLVMGetFunctionCallConv(callee) != LLVMCCallConv || tn__is_naked(callee))
        return "the function is of another type";
    if (tn__attribute(callee, TN__ON_FUNCTION, "noinline") || tn__attribute(callee, TN__ON_FUNCTION, "optnone"))
        return "the function may not be inlined";
    return is_small(callee) ? NULL : "the function is too large to be inlined";
}

static bool is_candidate(struct tn__gc *gc, LLVMValueRef call, LLVMValueRef caller)
{
    const char *why = tn__is_array_call(call) ? why_not(gc, call, caller) : NULL;
    if (why)
        tn__llvm_remark(call, "devirtualize", "NotDevirtualized", false, why);
    return tn__is_array_call(call) && !why;
}

bool tn__devirtualize(struct tn__gc *gc, LLVMValueRef function)
{
    LLVMValueRef *calls = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (is_candidate(gc, i, function))
                TN__APPEND(gc, calls, count, i);
    for (size_t i = 0; i < count; i++) {
        unsigned length = tn__array_length(calls[i]);
        tn__llvm_remark(calls[i], "devirtualize", "Devirtualized", true, "the call names its function");
        LLVMTypeRef type = LLVMArrayType2(gc->reference, length);
        tn__lower_array_call(gc, calls[i], length ? tn__make_variable(gc, function, type, "arguments") : NULL);
    }
    gc->stats->devirtualized_calls += count;
    return count > 0;
}
