/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM removes what no caller uses from the results of internal functions. A pointer into an object is returned
 * together with the reference that it is derived from, whether callers use that or not: such functions are not internal
 * while LLVM's passes run. */

#include "codegen/managed/passes/passes.h"

#define INTERNAL "tenon-internal"

static const LLVMAttributeIndex on_function = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

static bool is_internal(LLVMValueRef function)
{
    LLVMLinkage linkage = LLVMGetLinkage(function);
    return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

void tn__keep_results(struct tn__gc *gc)
{
    LLVMAttributeRef mark = LLVMCreateStringAttribute(gc->context, INTERNAL, strlen(INTERNAL), "", 0);
    for (TN__EACH_FUNCTION(f, gc)) {
        if (!is_internal(f) || !tn__type_holds(LLVMGetReturnType(LLVMGlobalGetValueType(f)), IN_DERIVED | IN_LOADED))
            continue;
        LLVMSetLinkage(f, LLVMExternalLinkage);
        LLVMSetVisibility(f, LLVMHiddenVisibility);
        LLVMAddAttributeAtIndex(f, on_function, mark);
    }
}

void tn__release_results(struct tn__gc *gc)
{
    LLVMValueRef next;
    for (LLVMValueRef f = LLVMGetFirstFunction(gc->module); f; f = next) {
        next = LLVMGetNextFunction(f);
        if (!LLVMGetStringAttributeAtIndex(f, on_function, INTERNAL, strlen(INTERNAL)))
            continue;
        LLVMRemoveStringAttributeAtIndex(f, on_function, INTERNAL, strlen(INTERNAL));
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        if (!LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
}
