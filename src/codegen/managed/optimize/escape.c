/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Escape analysis of new objects. The uses of the reference are followed through casts and address computations. */

#include "codegen/managed/optimize/escape.h"
#include "codegen/managed/verify/verify.h"
#include "tenon_heap.h"

static void add_access(struct tn__new_object *o, const struct tn__object_pointer *at, LLVMValueRef i, uint64_t size,
                       bool is_reference, bool is_memset)
{
    bool is_outside =
        at->offset != TN__NOT_KNOWN && (at->offset < 0 || size > o->size || at->offset > (int64_t)(o->size - size));
    o->has_unknown_place |= at->offset == TN__NOT_KNOWN;
    o->escapes |= is_outside; /* undefined; but not what takes the object's place */
    TN__APPEND(o->gc, o->accesses, o->access_count,
               (struct tn__object_access){.instruction = i,
                                          .offset = at->offset,
                                          .size = size,
                                          .is_reference = is_reference,
                                          .is_memset = is_memset});
}

static void see_access(struct tn__new_object *o, const struct tn__object_pointer *at, LLVMValueRef i)
{
    LLVMValueRef value = tn__accessed_value(i);
    LLVMTypeRef type = LLVMTypeOf(value);
    bool is_store = LLVMIsAStoreInst(i),
         is_reference = tn__space_of_type(type) == TRACKED && LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    if (!tn__is_only_address(i, at->value) || !tn__has_known_size(type)) {
        o->escapes = true;
        return;
    }
    o->is_read |= !is_store || LLVMGetVolatile(i);
    o->is_irregular |= !is_reference && tn__type_holds(type, IN_MANAGED);
    o->is_irregular |= is_reference && !is_store && !LLVMIsALoadInst(i);
    o->has_references |= is_reference;
    o->has_other_fields |= !is_reference;
    o->has_reference_stores |= is_reference && is_store;
    add_access(o, at, i, LLVMStoreSizeOfType(LLVMGetModuleDataLayout(o->gc->module), type), is_reference, false);
}

static void see_memset(struct tn__new_object *o, const struct tn__object_pointer *at, LLVMValueRef i)
{
    LLVMValueRef length = LLVMGetOperand(i, 2);
    bool is_known = LLVMIsAConstantInt(length);
    bool is_simple = LLVMIsACallInst(i) && !LLVMGetNumOperandBundles(i) && LLVMGetOperand(i, 0) == at->value &&
                     LLVMIsConstant(LLVMGetOperand(i, 1)) && LLVMIsNull(LLVMGetOperand(i, 3));
    const struct tn__object_pointer somewhere = {.value = at->value, .offset = TN__NOT_KNOWN};
    o->escapes |= !is_simple;
    if (is_simple)
        add_access(o, is_known ? at : &somewhere, i, is_known ? LLVMConstIntGetZExtValue(length) : 0, false, true);
}

static bool is_in_bundle(LLVMValueRef call, LLVMValueRef value, const char *tag)
{
    bool found = false, is_argument = false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        is_argument |= LLVMGetOperand(call, i) == value;
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(call, b);
        size_t length;
        const char *name = LLVMGetOperandBundleTag(bundle, &length);
        for (unsigned i = 0; i < LLVMGetNumOperandBundleArgs(bundle); i++)
            if (LLVMGetOperandBundleArgAtIndex(bundle, i) == value) {
                found = strlen(tag) == length && memcmp(name, tag, length) == 0;
                is_argument |= !found;
            }
        LLVMDisposeOperandBundle(bundle);
    }
    return found && !is_argument;
}

/* True if the call only names the object. An address in space 0 (pointer_from_objref) is an escape: it may be used
 * until the next safepoint, which the function's frame need not outlive. */
static bool see_call(struct tn__new_object *o, const struct tn__object_pointer *at, LLVMValueRef call)
{
    bool is_itself = at->value == o->call;
    enum tn__intrinsic intrinsic = tn__intrinsic_called(call);
    if (intrinsic == TN__NOT_INTRINSIC) {
        o->is_preserved = true;
        return is_in_bundle(call, at->value, "jl_roots");
    }
    if (!LLVMIsACallInst(call) || LLVMGetNumOperandBundles(call))
        return false;
    switch (intrinsic) {
    case TN__PRESERVE_BEGIN:
        o->is_preserved = true;
        return true;
    case TN__LOADED_FROM:
        o->is_preserved = true;
        return is_itself;
    case TN__TYPEOF:
        return is_itself;
    case TN__WRITE_BARRIER:
        for (unsigned i = 1; i < LLVMGetNumArgOperands(call); i++)
            if (LLVMGetOperand(call, i) == at->value)
                return false;
        return is_itself;
    default:
        return false;
    }
}

static void add_pointer(struct tn__new_object *o, LLVMValueRef value, int64_t offset)
{
    TN__APPEND(o->gc, o->pointers, o->pointer_count, (struct tn__object_pointer){.value = value, .offset = offset});
}

static void see_step(struct tn__new_object *o, const struct tn__object_pointer *at, LLVMValueRef gep)
{
    int64_t bytes;
    uint64_t stride;
    tn__llvm_gep_steps(LLVMGetModuleDataLayout(o->gc->module), gep, &bytes, &stride);
    bool is_far = bytes < -TN__LARGEST_FOLLOWED || bytes > TN__LARGEST_FOLLOWED;
    int64_t offset = at->offset == TN__NOT_KNOWN || stride || is_far ? TN__NOT_KNOWN : at->offset + bytes;
    o->escapes |= is_far || offset < TN__NOT_KNOWN || offset > TN__LARGEST_FOLLOWED;
    add_pointer(o, gep, offset);
}

static void see_use(struct tn__new_object *o, const struct tn__object_pointer *at, LLVMValueRef user)
{
    if (!LLVMIsAInstruction(user))
        o->escapes = true;
    else if (LLVMIsAAddrSpaceCastInst(user) && tn__space_of(user) == DERIVED)
        add_pointer(o, user, at->offset);
    else if (LLVMIsAGetElementPtrInst(user) && LLVMGetOperand(user, 0) == at->value && tn__space_of(user) == DERIVED)
        see_step(o, at, user);
    else if (tn__address_operand(user) >= 0)
        see_access(o, at, user);
    else if (tn__calls_llvm(user, "memset."))
        see_memset(o, at, user);
    else if (tn__is_call(user) && see_call(o, at, user))
        TN__APPEND(o->gc, o->users, o->user_count, user);
    else
        o->escapes = true;
}

void tn__follow_uses(struct tn__new_object *o)
{
    add_pointer(o, o->call, 0);
    for (size_t i = 0; i < o->pointer_count && !o->escapes; i++) {
        struct tn__object_pointer at = o->pointers[i];
        for (TN__EACH_USE(use, at.value)) {
            see_use(o, &at, LLVMGetUser(use));
            if (o->escapes && !o->escape)
                o->escape = LLVMGetUser(use);
        }
    }
}

enum tn__shape tn__shape_of(struct tn__gc *gc, LLVMValueRef type)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(gc->module);
    uint64_t kind, element;
    while (LLVMIsAConstantExpr(type) || LLVMIsAAddrSpaceCastInst(type))
        type = LLVMGetOperand(type, 0);
    if (!LLVMIsAGlobalVariable(type))
        return TN__NOT_VISIBLE;
    const char *name = LLVMGetValueName2(type, &(size_t){0});
    LLVMValueRef initial = LLVMGetInitializer(type);
    if (strcmp(name, "tn_weak_type") == 0 || strcmp(name, "tn_ephemeron_type") == 0)
        return TN__WEAK;
    if (!initial || !tn__read_number(layout, initial, offsetof(struct tn_type, kind), &kind))
        return TN__NOT_VISIBLE;
    if (kind == TN_KIND_WEAK || kind == TN_KIND_EPHEMERON)
        return TN__WEAK;
    bool is_plain = LLVMIsGlobalConstant(type) && (kind == TN_KIND_LEAF || kind == TN_KIND_FIXED) &&
                    tn__read_number(layout, initial, offsetof(struct tn_type, element), &element);
    return is_plain && element == 0 ? TN__OF_ONE_SIZE : TN__NOT_VISIBLE;
}
