/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Accesses to objects, compared with what the objects' type descriptors (struct tn_type) say. A reference in a word
 * that the descriptor does not list is not updated when its object moves, and one that is read or written as a number
 * bypasses the collector.
 *
 * The descriptor of an object is known where the object is allocated, and, in collected C, where a member of a struct
 * is accessed: the object's type is the one of the innermost getelementptr, `struct.X`, whose descriptor TN_TYPE names
 * `tn_type_of_X`. Only descriptors that are defined in the module can be read; an access to anything else is not
 * checked. */

#include <stdio.h>

#include "codegen/managed/verify/verify.h"
#include "tenon_heap.h"

/* What TN_TYPE puts before the name of a typedef, and of a struct's tag. */
static const char *const prefixes[] = {"tn_type_of_tn__without_", "tn_type_of_"};

/* ---- which words are references ---- */

enum answer { NO, YES, UNKNOWN };

static enum answer is_listed(const struct tn__descriptor *d, uint64_t offset)
{
    if (!d->offsets)
        return offset % 8 == 0 && offset < 512 && d->references >> offset / 8 & 1 ? YES : NO;
    for (uint64_t i = 0; i < d->offset_count; i++)
        if (tn__descriptor_offset(d, i) == offset)
            return YES;
    return NO;
}

/* Whether the words at `offset` plus multiples of `scale` (0: this one word) are references. */
static enum answer is_reference(const struct tn__descriptor *d, uint64_t offset, uint64_t scale)
{
    bool in_elements = offset >= d->size;
    if (scale && !in_elements)
        return d->kind == TN_KIND_LEAF ? NO : UNKNOWN;
    switch (d->kind) {
    case TN_KIND_LEAF:
        return NO;
    case TN_KIND_FIXED:
        return in_elements ? NO : is_listed(d, offset);
    case TN_KIND_REFERENCES:
        return in_elements && (offset - d->size) % 8 == 0 && scale % 8 == 0 ? YES : NO;
    case TN_KIND_STRUCTS:
        if (!in_elements || !d->element)
            return NO;
        return scale % d->element ? UNKNOWN : is_listed(d, (offset - d->size) % d->element);
    default:
        return UNKNOWN;
    }
}

/* ---- which object ---- */

struct place {
    LLVMValueRef object;
    LLVMTypeRef type; /* of the object, as the innermost getelementptr calls it, or NULL */
    int64_t offset;
    uint64_t scale;
};

/* The object that an address lies in, and where; false if that is not to be seen. */
static bool locate(struct tn__gc *gc, LLVMValueRef address, struct place *place)
{
    *place = (struct place){.object = address};
    for (;; address = LLVMGetOperand(address, 0)) {
        int64_t offset;
        uint64_t scale;
        place->object = address;
        if (LLVMIsAAddrSpaceCastInst(address))
            continue;
        if (!LLVMIsAGetElementPtrInst(address))
            break;
        if (LLVMGetTypeKind(LLVMTypeOf(address)) == LLVMVectorTypeKind)
            return false;
        tn__llvm_gep_steps(LLVMGetModuleDataLayout(gc->module), address, &offset, &scale);
        place->offset += offset;
        place->scale = tn__common_divisor(place->scale, scale);
        LLVMValueRef first = LLVMGetOperand(address, 1);
        bool is_at_start = LLVMIsAConstantInt(first) && LLVMConstIntGetZExtValue(first) == 0;
        place->type = is_at_start ? LLVMGetGEPSourceElementType(address) : NULL;
    }
    return tn__space_of(place->object) == TRACKED && place->offset >= 0;
}

/* Of an allocation: what it is told. */
static bool find_allocated(struct tn__gc *gc, LLVMValueRef object, struct tn__descriptor *d)
{
    if (!tn__is_allocation(object))
        return false;
    LLVMValueRef type = LLVMGetOperand(object, 2);
    while (LLVMIsAConstantExpr(type) || LLVMIsAAddrSpaceCastInst(type))
        type = LLVMGetOperand(type, 0);
    return tn__read_descriptor(gc->module, type, d);
}

/* Finds what TN_TYPE says of a struct of C by its name, if that is about a struct of this size. */
static bool find_named(struct tn__gc *gc, LLVMTypeRef type, struct tn__descriptor *d)
{
    const char *name =
        LLVMGetTypeKind(type) == LLVMStructTypeKind && !LLVMIsOpaqueStruct(type) ? LLVMGetStructName(type) : NULL;
    char global[200];
    if (!name || strncmp(name, "struct.", 7) != 0)
        return false;
    uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(gc->module), type);
    for (size_t i = 0; i < TN_COUNT(prefixes); i++)
        if (snprintf(global, sizeof global, "%s%s", prefixes[i], name + 7) < (int)sizeof global &&
            tn__read_descriptor(gc->module, LLVMGetNamedGlobal(gc->module, global), d))
            return d->element ? size >= d->size : size == d->size;
    return false;
}

/* What was found for types before. */
struct named {
    struct tn__map numbers; /* + 1 */
    struct tn__descriptor *list;
    size_t count;
};

/* `known` may be NULL. */
static bool find_known(struct tn__gc *gc, struct named *known, LLVMTypeRef type, struct tn__descriptor *d)
{
    if (!type || !known)
        return type && find_named(gc, type, d);
    uint32_t *number = tn__map_add(gc, &known->numbers, type);
    if (!*number) {
        if (!find_named(gc, type, d))
            *d = (struct tn__descriptor){0};
        TN__APPEND(gc, known->list, known->count, *d);
        *number = (uint32_t)known->count;
    }
    *d = known->list[*number - 1];
    return d->global != NULL;
}

/* The address leads into an object whose descriptor can be read. */
static bool find_descriptor(struct tn__gc *gc, struct named *known, LLVMValueRef address, struct place *place,
                            struct tn__descriptor *d)
{
    return tn__space_of(address) >= TRACKED && tn__space_of(address) <= DERIVED && locate(gc, address, place) &&
           (find_allocated(gc, place->object, d) || (!gc->is_optimized && find_known(gc, known, place->type, d)));
}

void tn__each_listed_reference(struct tn__gc *gc, LLVMValueRef address, uint64_t size,
                               void (*visit)(void *context, uint64_t offset), void *context)
{
    struct place place;
    struct tn__descriptor descriptor;
    if (!find_descriptor(gc, NULL, address, &place, &descriptor))
        return;
    uint64_t start = (uint64_t)place.offset;
    for (uint64_t word = (start + 7) & ~7ull; word + 8 <= start + size; word += 8)
        if (is_reference(&descriptor, word, place.scale) == YES)
            visit(context, word - start);
}

bool tn__holds_no_reference(struct tn__gc *gc, LLVMValueRef address, uint64_t size)
{
    enum { MOST_WORDS = 64 };
    struct place place;
    struct tn__descriptor descriptor;
    if (!size || size > MOST_WORDS * WORD_BYTES || !find_descriptor(gc, NULL, address, &place, &descriptor))
        return false;
    if (descriptor.kind == TN_KIND_LEAF)
        return true;
    uint64_t start = (uint64_t)place.offset & ~(uint64_t)(WORD_BYTES - 1), end = (uint64_t)place.offset + size;
    for (uint64_t word = start; word < end; word += WORD_BYTES)
        if (is_reference(&descriptor, word, place.scale) != NO)
            return false;
    return place.scale % WORD_BYTES == 0;
}

/* ---- one access ---- */

struct types {
    struct tn__gc *gc;
    struct named named;
    struct word {
        LLVMValueRef descriptor;
        uint64_t offset;
    } * reported; /* each wrong word once */
    size_t reported_count;
};

struct access {
    struct tn__gc *gc;
    struct types *types;
    LLVMValueRef instruction;
    struct place place;
    struct tn__descriptor descriptor;
};

/* Debug information knows the struct by the name of its tag or typedef, which is part of the descriptor's. */
static bool find_member(const struct access *a, uint64_t offset, char *member, size_t size)
{
    size_t length;
    const char *name = LLVMGetValueName2(a->descriptor.global, &length);
    for (size_t i = 0; i < TN_COUNT(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return tn__llvm_member_name(a->gc->module, name + strlen(prefixes[i]), offset, member, size);
    return false;
}

static void report(struct access *a, uint64_t offset, const char *rule, const char *text)
{
    struct types *types = a->types;
    char member[100], message[300];
    for (size_t i = 0; i < types->reported_count; i++)
        if (types->reported[i].descriptor == a->descriptor.global && types->reported[i].offset == offset)
            return;
    TN__APPEND(a->gc, types->reported, types->reported_count, (struct word){a->descriptor.global, offset});
    if (!find_member(a, offset, member, sizeof member))
        snprintf(member, sizeof member, "at offset %llu", (unsigned long long)offset);
    snprintf(message, sizeof message, "the member %s of '%.100s' %s", member,
             tn__descriptor_name(a->gc->module, &a->descriptor), text);
    tn__gc_reject(a->gc, a->instruction, rule, message);
}

/* One scalar of the access. */
static void check_scalar(struct access *a, uint64_t offset, LLVMTypeRef type)
{
    uint64_t size = LLVMStoreSizeOfType(LLVMGetModuleDataLayout(a->gc->module), type);
    if (tn__type_holds(type, IN_TRACKED)) {
        if (is_reference(&a->descriptor, offset, a->place.scale) == NO)
            report(a, offset, "undeclared",
                   "is a reference, but the type does not list it (TN_TYPE): it would go stale");
        return;
    }
    for (uint64_t word = offset & ~7ull; word < offset + size; word += 8)
        if (is_reference(&a->descriptor, word, a->place.scale) == YES)
            report(a, word, "pun", "is a reference, and is accessed as something else");
}

enum { MAX_DEPTH = 8, MAX_ELEMENTS = 64 };

static void check_part(struct access *a, uint64_t offset, LLVMTypeRef type, int depth)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(a->gc->module);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    bool is_vector = kind == LLVMVectorTypeKind && tn__type_holds(type, IN_TRACKED);
    if (kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind && !is_vector) {
        check_scalar(a, offset, type);
        return;
    }
    for (uint64_t i = 0; i < tn__element_count(type) && i < MAX_ELEMENTS && depth < MAX_DEPTH; i++)
        check_part(a, offset + tn__element_offset(layout, type, i), tn__element_type(type, i), depth + 1);
}

static void check_access(struct types *types, LLVMValueRef instruction)
{
    struct tn__gc *gc = types->gc;
    struct access a = {.gc = gc, .types = types, .instruction = instruction};
    int operand = tn__address_operand(instruction);
    if (operand < 0)
        return;
    LLVMValueRef value = tn__accessed_value(instruction), address = LLVMGetOperand(instruction, (unsigned)operand);
    LLVMTypeRef type = LLVMTypeOf(value);
    /* Null, whatever its type, and permanent objects, which do not move. */
    bool is_harmless = LLVMIsNull(value) || (LLVMIsConstant(value) && tn__space_of(value) == TRACKED);
    if (LLVMTypeIsSized(type) && !is_harmless && find_descriptor(gc, &types->named, address, &a.place, &a.descriptor))
        check_part(&a, (uint64_t)a.place.offset, type, 0);
}

void tn__check_types(struct tn__gc *gc)
{
    struct types types = {.gc = gc};
    for (TN__EACH_FUNCTION(f, gc))
        for (TN__EACH_BLOCK(b, f))
            for (TN__EACH_INSTRUCTION(i, b))
                check_access(&types, i);
}
