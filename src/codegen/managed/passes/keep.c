/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM removes what no caller uses from the results of internal functions. A pointer into an object is returned
 * together with the reference that it is derived from, whether callers use that or not: such functions are not internal
 * while LLVM's passes run. */

#include "codegen/managed/passes/passes.h"

#define INTERNAL "tenon-internal"

void tn__keep_results(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc)) {
        if (!tn__is_local(f) || !tn__type_holds(LLVMGetReturnType(LLVMGlobalGetValueType(f)), IN_DERIVED | IN_LOADED))
            continue;
        LLVMSetLinkage(f, LLVMExternalLinkage);
        LLVMSetVisibility(f, LLVMHiddenVisibility);
        tn__set_text(f, INTERNAL, "");
    }
}

void tn__release_results(struct tn__gc *gc)
{
    LLVMValueRef next;
    for (LLVMValueRef f = LLVMGetFirstFunction(gc->module); f; f = next) {
        next = LLVMGetNextFunction(f);
        if (!tn__has_text(f, INTERNAL))
            continue;
        LLVMRemoveStringAttributeAtIndex(f, TN__ON_FUNCTION, INTERNAL, strlen(INTERNAL));
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        if (!LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
}
