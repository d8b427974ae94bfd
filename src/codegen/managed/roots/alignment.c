/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Frames of managed functions are aligned to 16 bytes. LLVM's passes make variables of vectors, which want more than
 * that: they are aligned less, and so are all accesses to them. This needs to know all uses of the address. */

#include "codegen/managed/roots/roots.h"

static bool is_memory_intrinsic(LLVMValueRef user)
{
    return tn__calls_llvm(user, "memcpy.", "memmove.", "memset.", "lifetime.", "masked.load.", "masked.store.");
}

bool tn__lower_alignment(struct tn__gc *gc, LLVMValueRef variable)
{
    struct tn__values addresses = {.count = 0}; /* those that lead into the variable */
    tn__values_add(gc, &addresses, variable);
    for (size_t i = 0; i < addresses.count; i++)
        for (TN__EACH_USE(use, addresses.list[i])) {
            LLVMValueRef user = LLVMGetUser(use);
            if (LLVMIsAGetElementPtrInst(user) || LLVMIsAPHINode(user) || LLVMIsASelectInst(user))
                tn__values_add(gc, &addresses, user);
            else if (!LLVMIsAICmpInst(user) && !is_memory_intrinsic(user) &&
                     !tn__is_only_address(user, addresses.list[i]))
                return false;
        }
    unsigned align = LLVMGetEnumAttributeKindForName("align", strlen("align"));
    for (size_t i = 0; i < addresses.count; i++)
        for (TN__EACH_USE(use, addresses.list[i])) {
            LLVMValueRef user = LLVMGetUser(use);
            /* An intrinsic says the alignment of each address in an attribute, which may be missing. */
            for (unsigned k = 0; is_memory_intrinsic(user) && k < LLVMGetNumArgOperands(user); k++)
                if (LLVMGetOperand(user, k) == addresses.list[i])
                    LLVMRemoveCallSiteEnumAttribute(user, k + 1, align);
            if (tn__address_operand(user) >= 0 && LLVMGetAlignment(user) > TN__GC_STACK_ALIGNMENT)
                LLVMSetAlignment(user, TN__GC_STACK_ALIGNMENT);
        }
    LLVMSetAlignment(variable, TN__GC_STACK_ALIGNMENT);
    return true;
}
