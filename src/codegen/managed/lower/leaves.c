/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Leaves: functions in which no collection can happen. */

#include "codegen/managed/lower/lower.h"

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
