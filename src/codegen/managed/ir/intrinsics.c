/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The contract's functions. They are known by name: "julia." or "tenon.", behind "llvm." where a token makes LLVM want
 * that. */

#include "codegen/managed/ir/gc.h"

/* Signatures: result, then parameters in parentheses. P T D L: pointers in 0, 10, 11, 13; M: in 10 or 11; i: integers
 * of 64 bits; e: of 32 bits; k: token; v: void. At the end variable arguments: * all in 10, ? of any type. */
enum { COLLECTS = 1, THROWS = 2 };

static const struct row {
    const char *name, *signature;
    unsigned flags;
} rows[] = {
#define ROW(id, name, signature, flags) {name, signature, flags},
    TN__GC_INTRINSICS(ROW)
#undef ROW
};

/* Most texts differ in the first byte. */
static const char *skip(const char *text, const char *prefix)
{
    const char *at = text;
    for (; *prefix && *at == *prefix; prefix++)
        at++;
    return *prefix ? text : at;
}

bool tn__is_atomic_modify(LLVMValueRef function)
{
    const char *whole = LLVMGetValueName2(function, &(size_t){0});
    return strncmp(skip(skip(whole, "julia."), "tenon."), "atomicmodify.", strlen("atomicmodify.")) == 0 &&
           *whole != 'a';
}

enum tn__intrinsic tn__intrinsic_of(LLVMValueRef function)
{
    size_t length;
    const char *whole = LLVMGetValueName2(function, &length), *bare = skip(whole, "llvm.");
    const char *name = skip(bare, "julia.");
    if (name == bare)
        name = skip(bare, "tenon.");
    if (name == bare || tn__llvm_asks_cpu(function)) /* as any code may */
        return TN__NOT_INTRINSIC;
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (strcmp(name, rows[i].name) == 0)
            return (enum tn__intrinsic)i;
    return TN__UNKNOWN_INTRINSIC;
}

bool tn__is_call(LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    return opcode == LLVMCall || opcode == LLVMInvoke || opcode == LLVMCallBr;
}

enum tn__intrinsic tn__intrinsic_called(LLVMValueRef call)
{
    if (!LLVMIsAInstruction(call) || !tn__is_call(call))
        return TN__NOT_INTRINSIC;
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMIsAFunction(callee) ? tn__intrinsic_of(callee) : TN__NOT_INTRINSIC;
}

bool tn__names_any(struct tn__gc *gc, uint32_t intrinsics)
{
    for (TN__EACH_FUNCTION(f, gc)) {
        enum tn__intrinsic intrinsic = tn__intrinsic_of(f);
        if (intrinsic >= 0 && intrinsics >> intrinsic & 1)
            return true;
    }
    return false;
}

const char *tn__llvm_name_called(LLVMValueRef instruction)
{
    if (!LLVMIsAInstruction(instruction) || !tn__is_call(instruction))
        return "";
    LLVMValueRef callee = LLVMGetCalledValue(instruction);
    size_t length;
    if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee))
        return "";
    return skip(LLVMGetValueName2(callee, &length), "llvm.");
}

bool tn__calls_any(LLVMValueRef instruction, const char *const *prefixes)
{
    for (const char *name = tn__llvm_name_called(instruction); *name && *prefixes; prefixes++)
        if (skip(name, *prefixes) != name)
            return true;
    return false;
}

bool tn__is_copy(LLVMValueRef instruction)
{
    return tn__calls_llvm(instruction, "memcpy.", "memmove.");
}

bool tn__is_masked_load(LLVMValueRef instruction)
{
    return tn__calls_llvm(instruction, "masked.load.", "masked.expandload.", "masked.gather.");
}

bool tn__is_vector_load(LLVMValueRef instruction)
{
    return tn__is_masked_load(instruction) ||
           tn__calls_llvm(instruction, "vp.load.", "vp.gather.", "experimental.vp.strided.load.");
}

bool tn__is_vector_store(LLVMValueRef instruction)
{
    return tn__calls_llvm(instruction, "masked.store.", "masked.compressstore.", "masked.scatter.", "vp.store.",
                          "vp.scatter.", "experimental.vp.strided.store.");
}

bool tn__is_allocation(LLVMValueRef instruction)
{
    enum tn__intrinsic intrinsic = tn__intrinsic_called(instruction);
    return intrinsic == TN__ALLOC_OBJ || intrinsic == TN__ALLOC_BYTES;
}

bool tn__returns_twice(LLVMValueRef call)
{
    return tn__call_attribute(call, TN__ON_FUNCTION, "returns_twice") != NULL;
}

static void annotate_pure(struct tn__gc *gc, LLVMValueRef function)
{
    static const char *const names[] = {"memory", "willreturn", "nosync", "nofree"}; /* memory(none) is 0 */
    for (size_t i = 0; i < TN_COUNT(names); i++)
        LLVMAddAttributeAtIndex(
            function, TN__ON_FUNCTION,
            LLVMCreateEnumAttribute(gc->context, LLVMGetEnumAttributeKindForName(names[i], strlen(names[i])), 0));
}

void tn__annotate_functions(struct tn__gc *gc)
{
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
    for (TN__EACH_FUNCTION(f, gc)) {
        enum tn__intrinsic intrinsic = tn__intrinsic_of(f);
        if (intrinsic < 0 || rows[intrinsic].flags & THROWS)
            continue;
        if (intrinsic == TN__TYPEOF) /* an object's type never changes: equal calls are one, and checks hold for all */
            annotate_pure(gc, f);
        LLVMAddAttributeAtIndex(f, TN__ON_FUNCTION, LLVMCreateEnumAttribute(gc->context, nounwind, 0));
        /* Front ends invoke whatever they do not know, and a pass would have to take a block apart for each. */
        for (LLVMUseRef use = LLVMGetFirstUse(f), next; use; use = next) {
            LLVMValueRef user = LLVMGetUser(use);
            next = LLVMGetNextUse(use);
            if (LLVMIsAInvokeInst(user) && LLVMGetCalledValue(user) == f)
                tn__llvm_call_instead(user);
        }
    }
    static const char *const leaves[] = {"tn_pin_object", "tn_unpin_object"};
    for (size_t i = 0; i < TN_COUNT(leaves); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(gc->module, leaves[i]);
        if (f)
            tn__set_text(f, TN__LEAF, "");
    }
}

/* ---- signatures ---- */

static bool matches(char letter, LLVMTypeRef type)
{
    int space = LLVMGetTypeKind(type) == LLVMPointerTypeKind ? (int)LLVMGetPointerAddressSpace(type) : -1;
    switch (letter) {
    case 'P':
        return space == 0;
    case 'T':
        return space == TRACKED;
    case 'D':
        return space == DERIVED;
    case 'L':
        return space == LOADED;
    case 'M':
        return space == TRACKED || space == DERIVED;
    case 'i':
        return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 64;
    case 'e':
        return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 32;
    case 'k':
        return LLVMGetTypeKind(type) == LLVMTokenTypeKind;
    default:
        return LLVMGetTypeKind(type) == LLVMVoidTypeKind;
    }
}

const char *tn__intrinsic_mismatch(enum tn__intrinsic intrinsic, LLVMTypeRef function_type)
{
    const char *wanted = rows[intrinsic].signature, *at = wanted + 2;
    if (!matches(*wanted, LLVMGetReturnType(function_type)))
        return wanted;
    LLVMTypeRef parameters[64];
    unsigned count = LLVMCountParamTypes(function_type);
    if (count > TN_COUNT(parameters))
        return wanted;
    LLVMGetParamTypes(function_type, parameters);
    unsigned i = 0;
    for (; !strchr(")?*", *at); at++, i++)
        if (i == count || !matches(*at, parameters[i]))
            return wanted;
    if (*at == ')')
        return i == count && !LLVMIsFunctionVarArg(function_type) ? NULL : wanted;
    for (; *at == '*' && i < count; i++) /* where a declaration lists them */
        if (!matches('T', parameters[i]))
            return wanted;
    return NULL;
}

/* ---- safepoints ---- */

bool tn__is_entry_call(LLVMValueRef call)
{
    return LLVMGetCallSiteStringAttribute(call, TN__ON_FUNCTION, TN__ENTRY_CALL, sizeof TN__ENTRY_CALL - 1) != NULL;
}

bool tn__collects(enum tn__intrinsic intrinsic)
{
    return rows[intrinsic].flags & COLLECTS;
}

LLVMValueRef tn__find_safepoint(LLVMValueRef function)
{
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__is_safepoint(i))
                return i;
    return NULL;
}
