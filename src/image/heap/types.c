/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Whether descriptors of types that a file has can be used. */

#include "image/heap/heap.h"

static bool is_within(const void *at, uint64_t length, const char *start, uint64_t size)
{
    return tn__inside((uintptr_t)at - (uintptr_t)start, length, size);
}

static bool has_sound_offsets(const struct tn_type *type, const char *start, uint64_t size)
{
    uint64_t space = type->kind == TN_KIND_STRUCTS ? type->element : type->size;
    bool good = (uintptr_t)type->offsets % sizeof *type->offsets == 0 && type->offset_count <= size &&
                is_within(type->offsets, type->offset_count * sizeof *type->offsets, start, size);
    for (uint64_t i = 0; good && i < type->offset_count; i++)
        good = type->offsets[i] % 8 == 0 && tn__inside(type->offsets[i], 8, space);
    return good;
}

static bool has_sound_bits(const struct tn_type *type)
{
    uint64_t space = type->kind == TN_KIND_STRUCTS ? type->element : type->size;
    return space >= 512 || !(type->references >> space / 8);
}

static bool has_sound_references(const struct tn_type *type, const char *start, uint64_t size)
{
    switch (type->kind) {
    case TN_KIND_REFERENCES:
        return type->element == 8 && type->size % 8 == 0;
    case TN_KIND_STRUCTS:
    case TN_KIND_FIXED:
        if (type->kind == TN_KIND_STRUCTS && (!type->element || type->element % 8 || type->size % 8))
            return false;
        return type->offsets ? has_sound_offsets(type, start, size) : has_sound_bits(type);
    case TN_KIND_WEAK:
        return type->size == 16 && !type->element;
    case TN_KIND_EPHEMERON:
        return type->size == 24 && !type->element;
    default:
        return type->kind == TN_KIND_LEAF || type->kind == TN_KIND_CUSTOM;
    }
}

bool tn__type_is_sound(const struct tn_type *type, const char *start, uint64_t size)
{
    const char *name = type->name;
    bool good = (type->alignment == 8 || type->alignment == 16) && type->size <= INT64_MAX;
    if (good && type->element)
        good = type->length % 8 == 0 && tn__inside(type->length, 8, type->size);
    if (good && name)
        good = is_within(name, 1, start, size) && memchr(name, 0, size - (uint64_t)(name - start));
    return good && has_sound_references(type, start, size);
}
