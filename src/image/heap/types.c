/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Descriptors of types: whether those of a file can be used, and whether two are alike. */

#include "image/heap/heap.h"

static bool has_same_offsets(const struct tn_type *a, const struct tn_type *b)
{
    if (!a->offsets || !b->offsets)
        return !a->offsets && !b->offsets;
    return a->offset_count == b->offset_count &&
           memcmp(a->offsets, b->offsets, a->offset_count * sizeof *a->offsets) == 0;
}

const char *tn__type_difference(const struct tn_type *a, const struct tn_type *b)
{
    const struct {
        const char *member;
        bool is_same;
    } rows[] = {
        {"kind", a->kind == b->kind},
        {"alignment", a->alignment == b->alignment},
        {"size", a->size == b->size},
        {"element", a->element == b->element},
        {"length", !a->element || a->length == b->length},
        {"references", a->offsets || b->offsets || a->references == b->references},
        {"offsets", has_same_offsets(a, b)},
        {"visit", a->kind != TN_KIND_CUSTOM || !a->visit || !b->visit || a->visit == b->visit},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (!rows[i].is_same)
            return rows[i].member;
    return NULL;
}

/* ---- what a file has ---- */

static bool is_within(const void *at, uint64_t length, const char *start, uint64_t size)
{
    return tn__inside((uintptr_t)at - (uintptr_t)start, length, size);
}

static bool has_sound_offsets(const struct tn_type *type, const char *start, uint64_t size)
{
    uint64_t room = type->kind == TN_KIND_STRUCTS ? type->element : type->size;
    bool good = (uintptr_t)type->offsets % sizeof *type->offsets == 0 && type->offset_count <= size &&
                is_within(type->offsets, type->offset_count * sizeof *type->offsets, start, size);
    for (uint64_t i = 0; good && i < type->offset_count; i++)
        good = type->offsets[i] % 8 == 0 && tn__inside(type->offsets[i], 8, room);
    return good;
}

static bool has_sound_bits(const struct tn_type *type)
{
    uint64_t room = type->kind == TN_KIND_STRUCTS ? type->element : type->size;
    return room >= 512 || !(type->references >> room / 8);
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
