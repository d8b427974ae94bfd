/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* IR that was optimised before Tenon knew it. Where the data layout does not say that pointers in 10 to 13 are no
 * integers, LLVM may have made integers of references: copies of memory become integer loads and stores, parts of
 * structs integer variables. Nothing in such an access says that it is one of a reference, so the whole module is
 * refused. It is recognised by what only optimisation does:
 *   - clang never says `local_unnamed_addr` of a function, nor `fastcc` with `unnamed_addr` of a local one; GlobalOpt,
 *     which is part of all of clang's pipelines but -O0, says it of each function whose address is never compared;
 *   - an integer access to managed memory whose !tbaa says that there is a pointer. */

#include "codegen/managed/passes/passes.h"

static const char cure[] = "this was optimised by passes that may make integers of references: compile it with "
                           "-Xclang -disable-llvm-passes, or optimise it with ni:10:11:12:13 in the data layout";

enum { FAST = 8 }; /* LLVMFastCallConv */

static bool has_optimized_linkage(LLVMValueRef function)
{
    LLVMUnnamedAddr address = LLVMGetUnnamedAddress(function);
    return address == LLVMLocalUnnamedAddr ||
           (address == LLVMGlobalUnnamedAddr && LLVMGetLinkage(function) == LLVMInternalLinkage &&
            LLVMGetFunctionCallConv(function) == FAST);
}

static LLVMValueRef operand(LLVMValueRef node, unsigned i)
{
    LLVMValueRef operands[8];
    unsigned count = node && LLVMIsAMDNode(node) ? (unsigned)LLVMGetMDNodeNumOperands(node) : 0;
    if (i >= count || count > TN_COUNT(operands))
        return NULL;
    LLVMGetMDNodeOperands(node, operands);
    return operands[i];
}

/* "any pointer", or since LLVM 20 "p1 int": see clang's CodeGenTBAA.cpp. */
static bool names_pointer(const char *name, unsigned length)
{
    static const char any[] = "any pointer";
    unsigned digits = 1;
    if (length == sizeof any - 1 && memcmp(name, any, length) == 0)
        return true;
    while (digits < length && name[digits] >= '0' && name[digits] <= '9')
        digits++;
    return length > 1 && name[0] == 'p' && digits > 1 && digits < length && name[digits] == ' ';
}

/* An integer is accessed in managed memory, as what is said to be a pointer in C. */
static bool is_integer_copy(struct tn__gc *gc, LLVMValueRef i)
{
    bool is_load = LLVMIsALoadInst(i) != NULL;
    if (!is_load && !LLVMIsAStoreInst(i))
        return false;
    LLVMValueRef value = is_load ? i : LLVMGetOperand(i, 0);
    if (tn__space_of(LLVMGetOperand(i, is_load ? 0 : 1)) < TRACKED || tn__space_of(value) != -1 ||
        LLVMIsConstant(value))
        return false;
    unsigned kind = LLVMGetMDKindIDInContext(gc->context, "tbaa", strlen("tbaa")), length;
    LLVMValueRef tag = LLVMGetMetadata(i, kind), type = operand(tag, 1), name = operand(type, 0);
    const char *text = name ? LLVMGetMDString(name, &length) : NULL;
    return text && names_pointer(text, length);
}

static bool check_function(struct tn__gc *gc, LLVMValueRef function)
{
    bool is_managed = tn__type_holds(LLVMGlobalGetValueType(function), IN_MANAGED);
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b)) {
            is_managed |= tn__type_holds(LLVMTypeOf(i), IN_MANAGED);
            if (is_integer_copy(gc, i)) {
                tn__gc_reject(gc, i, "optimized", cure);
                return false;
            }
        }
    if (is_managed && has_optimized_linkage(function))
        tn__gc_reject(gc, function, "optimized", cure);
    return !is_managed || !has_optimized_linkage(function);
}

bool tn__gc_refuses_optimized(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc))
        if (!LLVMIsDeclaration(f) && !check_function(gc, f))
            return true; /* the cure is the same for all others */
    return false;
}
