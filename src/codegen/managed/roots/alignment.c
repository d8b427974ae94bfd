/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Frames of managed functions are aligned to 16 bytes. LLVM's passes make variables of vectors, which want more than
 * that: they are aligned less, and so are all accesses to them. This needs to know all uses of the address. */

#include "codegen/managed/roots/roots.h"

struct lowering {
    struct tn__gc *gc;
    LLVMValueRef *addresses; /* those that lead into the variable, and the instructions that use these */
    size_t count;
    struct tn__map seen;
};

static void add(struct lowering *l, LLVMValueRef address)
{
    uint32_t *seen = tn__map_add(l->gc, &l->seen, address);
    if (*seen)
        return;
    *seen = 1;
    l->addresses = tn__gc_room(l->gc, l->addresses, l->count, sizeof *l->addresses);
    l->addresses[l->count++] = address;
}

static bool passes_on(LLVMValueRef user)
{
    return LLVMIsAGetElementPtrInst(user) || LLVMIsAPHINode(user) || LLVMIsASelectInst(user);
}

/* The operand of a load or store that is the address; -1 for other instructions. */
static int address_operand(LLVMValueRef user)
{
    return LLVMIsALoadInst(user) || LLVMIsAAtomicRMWInst(user) || LLVMIsAAtomicCmpXchgInst(user) ? 0
           : LLVMIsAStoreInst(user)                                                              ? 1
                                                                                                 : -1;
}

static bool is_memory_intrinsic(LLVMValueRef user)
{
    static const char *const prefixes[] = {"memcpy.",   "memmove.",     "memset.",
                                           "lifetime.", "masked.load.", "masked.store."};
    return tn__calls_llvm(user, prefixes, TN_COUNT(prefixes));
}

/* True if the address is used for what says how it is aligned, and for nothing else. */
static bool is_access(LLVMValueRef user, LLVMValueRef address)
{
    int operand = address_operand(user);
    if (operand < 0)
        return is_memory_intrinsic(user);
    for (int i = 0; i < LLVMGetNumOperands(user); i++)
        if (LLVMGetOperand(user, (unsigned)i) == address && i != operand)
            return false;
    return true;
}

static bool find_uses(struct lowering *l, LLVMValueRef variable)
{
    add(l, variable);
    for (size_t i = 0; i < l->count; i++) {
        LLVMValueRef address = l->addresses[i];
        for (TN__EACH_USE(use, address)) {
            LLVMValueRef user = LLVMGetUser(use);
            if (passes_on(user))
                add(l, user);
            else if (!LLVMIsAICmpInst(user) && !is_access(user, address))
                return false;
        }
    }
    return true;
}

/* An intrinsic says the alignment of each address in an attribute, which may be missing. */
static void forget_alignment(LLVMValueRef call, LLVMValueRef address)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("align", strlen("align"));
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if (LLVMGetOperand(call, i) == address)
            LLVMRemoveCallSiteEnumAttribute(call, i + 1, kind);
}

static void lower(LLVMValueRef user, LLVMValueRef address)
{
    if (is_memory_intrinsic(user))
        forget_alignment(user, address);
    else if (address_operand(user) >= 0 && LLVMGetAlignment(user) > TN__GC_STACK_ALIGNMENT)
        LLVMSetAlignment(user, TN__GC_STACK_ALIGNMENT);
}

bool tn__lower_alignment(struct tn__gc *gc, LLVMValueRef variable)
{
    struct lowering l = {.gc = gc};
    if (!find_uses(&l, variable))
        return false;
    for (size_t i = 0; i < l.count; i++)
        for (TN__EACH_USE(use, l.addresses[i]))
            lower(LLVMGetUser(use), l.addresses[i]);
    LLVMSetAlignment(variable, TN__GC_STACK_ALIGNMENT);
    return true;
}
