/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Type descriptors (struct tn_type) that a module defines: constants, whose members are read here. */

#include <stddef.h>

#include "base/types.h"
#include "codegen/managed/ir/gc.h"
#include "tenon_heap.h"

/* The scalar at this offset of a constant, or NULL. */
static LLVMValueRef constant_at(LLVMTargetDataRef layout, LLVMValueRef constant, uint64_t offset)
{
    while (constant && LLVMGetTypeKind(LLVMTypeOf(constant)) == LLVMStructTypeKind) {
        LLVMTypeRef type = LLVMTypeOf(constant);
        if (offset >= LLVMABISizeOfType(layout, type))
            return NULL;
        unsigned element = LLVMElementAtOffset(layout, type, offset);
        offset -= LLVMOffsetOfElement(layout, type, element);
        constant = LLVMGetAggregateElement(constant, element);
    }
    return offset ? NULL : constant;
}

bool tn__read_number(LLVMTargetDataRef layout, LLVMValueRef constant, uint64_t offset, uint64_t *number)
{
    LLVMValueRef field = constant_at(layout, constant, offset);
    if (!field || !LLVMIsAConstantInt(field))
        return false;
    *number = LLVMConstIntGetZExtValue(field);
    return true;
}

/* The list of offsets, which may be absent; false: it is not known here. */
static bool read_offsets(LLVMTargetDataRef layout, LLVMValueRef constant, struct tn__descriptor *d)
{
    LLVMValueRef list = constant_at(layout, constant, offsetof(struct tn_type, offsets));
    if (list && LLVMIsNull(list))
        return true;
    if (!list || !LLVMIsAGlobalVariable(list) || !LLVMIsGlobalConstant(list) || !LLVMGetInitializer(list))
        return false;
    d->offsets = LLVMGetInitializer(list);
    for (uint64_t i = 0; i < d->offset_count; i++) {
        LLVMValueRef offset = LLVMGetAggregateElement(d->offsets, (unsigned)i);
        if (!offset || !LLVMIsAConstantInt(offset))
            return false;
    }
    return true;
}

bool tn__read_descriptor(LLVMModuleRef module, LLVMValueRef global, struct tn__descriptor *d)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    *d = (struct tn__descriptor){.global = global};
    LLVMValueRef constant =
        global && LLVMIsAGlobalVariable(global) && LLVMIsGlobalConstant(global) ? LLVMGetInitializer(global) : NULL;
    uint64_t size = constant ? LLVMABISizeOfType(layout, LLVMTypeOf(constant)) : 0;
    if (size < offsetof(struct tn_type, visit) ||
        size > sizeof(struct tn_type)) /* without the padding at its end, perhaps */
        return false;
    return tn__read_number(layout, constant, offsetof(struct tn_type, kind), &d->kind) &&
           tn__read_number(layout, constant, offsetof(struct tn_type, size), &d->size) &&
           tn__read_number(layout, constant, offsetof(struct tn_type, element), &d->element) &&
           tn__read_number(layout, constant, offsetof(struct tn_type, references), &d->references) &&
           tn__read_number(layout, constant, offsetof(struct tn_type, offset_count), &d->offset_count) &&
           read_offsets(layout, constant, d);
}

uint64_t tn__descriptor_offset(const struct tn__descriptor *d, uint64_t index)
{
    return LLVMConstIntGetZExtValue(LLVMGetAggregateElement(d->offsets, (unsigned)index));
}

const char *tn__descriptor_name(LLVMModuleRef module, const struct tn__descriptor *d)
{
    LLVMValueRef constant = LLVMGetInitializer(d->global);
    LLVMValueRef name = constant_at(LLVMGetModuleDataLayout(module), constant, offsetof(struct tn_type, name));
    size_t length;
    if (name && LLVMIsAGlobalVariable(name) && LLVMGetInitializer(name) &&
        LLVMIsConstantString(LLVMGetInitializer(name)))
        return LLVMGetAsString(LLVMGetInitializer(name), &length); /* ends with a null character, as C's strings do */
    return LLVMGetValueName2(d->global, &length);
}

bool tn__descriptor_type(LLVMModuleRef module, const struct tn__descriptor *d, struct tn__arena *arena,
                         struct tn_type *type, bool *out_of_memory)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    LLVMValueRef constant = LLVMGetInitializer(d->global);
    uint64_t alignment, length;
    if (!tn__read_number(layout, constant, offsetof(struct tn_type, alignment), &alignment) ||
        !tn__read_number(layout, constant, offsetof(struct tn_type, length), &length) ||
        (alignment != 8 && alignment != 16) || d->kind > TN_KIND_CUSTOM)
        return false;
    uint32_t *offsets = d->offsets ? tn__arena_array(arena, (size_t)d->offset_count + 1, sizeof *offsets) : NULL;
    if (d->offsets && !offsets) {
        *out_of_memory = true;
        return false;
    }
    for (uint64_t i = 0; offsets && i < d->offset_count; i++)
        offsets[i] = (uint32_t)tn__descriptor_offset(d, i);
    *type = (struct tn_type){.name = tn__descriptor_name(module, d),
                             .kind = (uint32_t)d->kind,
                             .alignment = (uint32_t)alignment,
                             .size = d->size,
                             .element = d->element,
                             .length = length,
                             .references = d->references,
                             .offsets = offsets,
                             .offset_count = offsets ? d->offset_count : 0};
    return true;
}

bool tn__describe_types(LLVMModuleRef module, struct tn_buffer *out)
{
    struct tn__arena arena = {0};
    struct tn__descriptor d;
    size_t count = 0, used = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        count += tn__read_descriptor(module, g, &d);
    struct tn_type *types = count ? tn__arena_array(&arena, count, sizeof *types) : NULL;
    bool out_of_memory = count && !types;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g && types && !out_of_memory; g = LLVMGetNextGlobal(g))
        if (tn__read_descriptor(module, g, &d))
            used += tn__descriptor_type(module, &d, &arena, &types[used], &out_of_memory);
    bool good = !out_of_memory && tn__types_write(types, used, out);
    tn__arena_free(&arena);
    return good;
}
