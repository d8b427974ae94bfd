/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdatomic.h>
#include <stdio.h>

#include "codegen/managed/ir/gc.h"

/* ---- types ---- */

int tn__space_of_type(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMVectorTypeKind || kind == LLVMScalableVectorTypeKind) {
        type = LLVMGetElementType(type);
        kind = LLVMGetTypeKind(type);
    }
    return kind == LLVMPointerTypeKind ? (int)LLVMGetPointerAddressSpace(type) : -1;
}

int tn__space_of(LLVMValueRef value)
{
    return tn__space_of_type(LLVMTypeOf(value));
}

static bool signature_holds(LLVMTypeRef type, unsigned spaces)
{
    LLVMTypeRef few[16];
    unsigned count = LLVMCountParamTypes(type);
    if (tn__type_holds(LLVMGetReturnType(type), spaces))
        return true;
    if (count > TN_COUNT(few)) /* a function's values tell as well */
        return false;
    LLVMGetParamTypes(type, few);
    for (unsigned i = 0; i < count; i++)
        if (tn__type_holds(few[i], spaces))
            return true;
    return false;
}

static bool is_in(LLVMTypeRef type, unsigned spaces)
{
    int space = tn__space_of_type(type);
    return space >= TRACKED && space <= LOADED && (spaces >> (space - TRACKED) & 1);
}

bool tn__type_holds(LLVMTypeRef type, unsigned spaces)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMFunctionTypeKind:
        return signature_holds(type, spaces);
    case LLVMArrayTypeKind:
    case LLVMStructTypeKind:
        return tn__llvm_any_part(type, is_in, spaces);
    default:
        return is_in(type, spaces);
    }
}

uint64_t tn__common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool has_unknown_size(LLVMTypeRef type, unsigned unused)
{
    (void)unused;
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMScalableVectorTypeKind || kind == LLVMTargetExtTypeKind;
}

bool tn__has_known_size(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind: /* most types that are asked for */
    case LLVMPointerTypeKind:
        return true;
    default:
        return LLVMTypeIsSized(type) && !tn__llvm_any_part(type, has_unknown_size, 0);
    }
}

void tn__each_reference(LLVMTargetDataRef layout, LLVMTypeRef type, uint64_t offset,
                        void (*visit)(void *context, uint64_t offset), void *context)
{
    if (!tn__type_holds(type, IN_TRACKED))
        return;
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
        visit(context, offset);
    for (uint64_t i = 0; i < tn__element_count(type); i++)
        tn__each_reference(layout, tn__element_type(type, i), offset + tn__element_offset(layout, type, i), visit,
                           context);
}

uint64_t tn__element_count(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind:
        return LLVMCountStructElementTypes(type);
    case LLVMArrayTypeKind:
        return LLVMGetArrayLength2(type);
    case LLVMVectorTypeKind:
        return LLVMGetVectorSize(type);
    default:
        return 0;
    }
}

LLVMTypeRef tn__element_type(LLVMTypeRef type, uint64_t i)
{
    return LLVMGetTypeKind(type) == LLVMStructTypeKind ? LLVMStructGetTypeAtIndex(type, (unsigned)i)
                                                       : LLVMGetElementType(type);
}

uint64_t tn__element_offset(LLVMTargetDataRef layout, LLVMTypeRef type, uint64_t i)
{
    return LLVMGetTypeKind(type) == LLVMStructTypeKind ? LLVMOffsetOfElement(layout, type, (unsigned)i)
                                                       : i * LLVMABISizeOfType(layout, LLVMGetElementType(type));
}

bool tn__is_managed_function(LLVMValueRef value)
{
    const char *strategy = LLVMIsAFunction(value) ? LLVMGetGC(value) : NULL;
    return strategy && strcmp(strategy, TN__GC_STRATEGY) == 0;
}

bool tn__is_naked(LLVMValueRef function)
{
    return tn__attribute(function, TN__ON_FUNCTION, "naked") != NULL;
}

bool tn__is_local(LLVMValueRef global)
{
    LLVMLinkage linkage = LLVMGetLinkage(global);
    return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

/* ---- accesses ---- */

int tn__address_operand(LLVMValueRef i)
{
    if (LLVMIsALoadInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i))
        return 0;
    return LLVMIsAStoreInst(i) ? 1 : -1;
}

LLVMValueRef tn__accessed_value(LLVMValueRef i)
{
    return LLVMIsALoadInst(i) ? i : LLVMGetOperand(i, tn__address_operand(i) == 0);
}

bool tn__is_only_address(LLVMValueRef user, LLVMValueRef address)
{
    int operand = tn__address_operand(user);
    for (int i = 0; operand >= 0 && i < LLVMGetNumOperands(user); i++)
        if (LLVMGetOperand(user, (unsigned)i) == address && i != operand)
            return false;
    return operand >= 0;
}

bool tn__stores_reference(LLVMValueRef i, struct tn__reference_store *store)
{
    int operand = tn__is_vector_store(i) ? 1 : tn__address_operand(i);
    if (operand < 0 || LLVMIsALoadInst(i))
        return false;
    store->address = LLVMGetOperand(i, (unsigned)operand);
    store->value = LLVMGetOperand(i, operand ? 0 : LLVMIsAAtomicCmpXchgInst(i) ? 2 : 1);
    return tn__space_of(store->address) >= TRACKED && tn__type_holds(LLVMTypeOf(store->value), IN_TRACKED);
}

/* ---- attributes ---- */

bool tn__has_text(LLVMValueRef function, const char *key)
{
    return LLVMGetStringAttributeAtIndex(function, TN__ON_FUNCTION, key, (unsigned)strlen(key)) != NULL;
}

void tn__set_text(LLVMValueRef function, const char *key, const char *value)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(function));
    LLVMAddAttributeAtIndex(
        function, TN__ON_FUNCTION,
        LLVMCreateStringAttribute(context, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

/* LLVM looks kinds up by name, at each of many instructions. Names are literals here, so this knows them by address:
 * each entry is an address, and the kind in its lowest byte. */
static unsigned kind_of(const char *name)
{
    enum { ENTRIES = 64, BITS = 8 };
    static _Atomic uint64_t known[ENTRIES];
    uint64_t address = (uint64_t)(uintptr_t)name << BITS;
    _Atomic uint64_t *entry = &known[((uintptr_t)name ^ (uintptr_t)name >> 6) % ENTRIES];
    uint64_t found = atomic_load_explicit(entry, memory_order_relaxed);
    if (found && found >> BITS << BITS == address)
        return (unsigned)(found - address);
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    if (kind && kind < 1u << BITS && address >> BITS == (uintptr_t)name)
        atomic_store_explicit(entry, address | kind, memory_order_relaxed);
    return kind;
}

static LLVMAttributeRef attribute_of_kind(LLVMValueRef of, LLVMAttributeIndex index, unsigned kind)
{
    return LLVMIsAFunction(of) ? LLVMGetEnumAttributeAtIndex(of, index, kind)
                               : LLVMGetCallSiteEnumAttribute(of, index, kind);
}

LLVMAttributeRef tn__attribute(LLVMValueRef of, LLVMAttributeIndex index, const char *name)
{
    return attribute_of_kind(of, index, kind_of(name));
}

LLVMAttributeRef tn__call_attribute(LLVMValueRef call, LLVMAttributeIndex index, const char *name)
{
    unsigned kind = kind_of(name);
    LLVMAttributeRef own = attribute_of_kind(call, index, kind);
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return own || !LLVMIsAFunction(callee) ? own : attribute_of_kind(callee, index, kind);
}

bool tn__call_has_text(LLVMValueRef call, const char *key)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMGetCallSiteStringAttribute(call, TN__ON_FUNCTION, key, (unsigned)strlen(key)) ||
           (LLVMIsAFunction(callee) && tn__has_text(callee, key));
}

/* ---- errors ---- */

/* Prints what is wrong: an instruction in one line, cut where it is long, or a function's or variable's name. */
static void print_place(char *text, size_t size, LLVMValueRef place)
{
    size_t length;
    if (!LLVMIsAInstruction(place)) {
        snprintf(text, size, "'%.100s'", LLVMGetValueName2(place, &length));
        return;
    }
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(place));
    char *printed = LLVMPrintValueToString(place);
    const char *start = printed ? printed + strspn(printed, " ") : "?";
    const char *name = tn__module_name(function);
    snprintf(text, size, "in function '%.100s': %.*s%s", *name ? name : LLVMGetValueName2(function, &length),
             (int)(strcspn(start, "\n") < 120 ? strcspn(start, "\n") : 120), start, strlen(start) > 120 ? "..." : "");
    LLVMDisposeMessage(printed);
}

void tn__gc_reject(struct tn__gc *gc, LLVMValueRef place, const char *rule, const char *text)
{
    char printed[300], message[600];
    print_place(printed, sizeof printed, place);
    snprintf(message, sizeof message, "%s: %s [%s]", printed, text, rule);
    unsigned line = LLVMIsAInstruction(place) ? LLVMGetDebugLocLine(place) : 0, length = 0;
    const char *file = line ? LLVMGetDebugLocFilename(place, &length) : NULL;
    tn__diagnostics_report(gc->diagnostics, length ? file : NULL, line, line ? LLVMGetDebugLocColumn(place) : 0,
                           message);
}

/* ---- memory ---- */

void *tn__gc_array(struct tn__gc *gc, size_t count, size_t size)
{
    void *array = tn__arena_array(&gc->arena, count ? count : 1, size);
    if (!array)
        tn__llvm_out_of_memory();
    return array;
}

/* The capacity is the power of two that holds the elements, at least 8. */
void *tn__gc_space(struct tn__gc *gc, void *array, size_t count, size_t size)
{
    if (count && (count < 8 || (count & (count - 1))))
        return array;
    void *larger = tn__gc_array(gc, count ? 2 * count : 8, size);
    if (count)
        memcpy(larger, array, count * size);
    return larger;
}
