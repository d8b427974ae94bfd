/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Whether objects of two types are laid out alike. */

#include <stdio.h>

#include "base/types.h"

/* The list, or the bits, has a reference at this offset of the object or of each element. */
static bool has_reference(const struct tn_type *type, uint64_t offset)
{
    if (!type->offsets)
        return offset % 8 == 0 && offset < 512 && type->references >> offset / 8 & 1;
    for (uint64_t i = 0; i < type->offset_count; i++)
        if (type->offsets[i] == offset)
            return true;
    return false;
}

/* The offset of the first reference that `b` lacks; UINT64_MAX: it has all. */
static uint64_t first_missing(const struct tn_type *a, const struct tn_type *b)
{
    uint64_t first = UINT64_MAX;
    for (uint64_t i = 0; a->offsets && i < a->offset_count; i++)
        if (a->offsets[i] < first && !has_reference(b, a->offsets[i]))
            first = a->offsets[i];
    for (uint64_t rest = a->offsets ? 0 : a->references; rest && first == UINT64_MAX; rest &= rest - 1) {
        uint64_t offset = 8 * (uint64_t)__builtin_ctzll(rest);
        first = has_reference(b, offset) ? first : offset;
    }
    return first;
}

static bool has_same_list(const struct tn_type *a, const struct tn_type *b)
{
    return a->offsets && b->offsets && a->offset_count == b->offset_count &&
           memcmp(a->offsets, b->offsets, a->offset_count * sizeof *a->offsets) == 0;
}

static bool references_differ(const struct tn_type *a, const struct tn_type *b, char text[TN__DIFFERENCE])
{
    if (has_same_list(a, b))
        return false;
    uint64_t in_a = first_missing(a, b), in_b = first_missing(b, a), first = in_a < in_b ? in_a : in_b;
    if (first == UINT64_MAX)
        return false;
    snprintf(text, TN__DIFFERENCE, "'references' differs (only the %s has one at offset %llu)",
             first == in_a ? "first" : "second", (unsigned long long)first);
    return true;
}

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {"leaf", "fixed", "references", "structs", "weak", "ephemeron", "custom"};
    return kind < TN_COUNT(names) ? names[kind] : "unknown";
}

bool tn__types_differ(const struct tn_type *a, const struct tn_type *b, char text[TN__DIFFERENCE])
{
    const struct {
        const char *member;
        uint64_t a, b;
    } rows[] = {{"alignment", a->alignment, b->alignment},
                {"size", a->size, b->size},
                {"element", a->element, b->element},
                {"length", a->length, a->element ? b->length : a->length}};
    if (a->kind != b->kind) {
        snprintf(text, TN__DIFFERENCE, "'kind' differs (%s and %s)", kind_name(a->kind), kind_name(b->kind));
        return true;
    }
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (rows[i].a != rows[i].b) {
            snprintf(text, TN__DIFFERENCE, "'%s' differs (%llu and %llu)", rows[i].member,
                     (unsigned long long)rows[i].a, (unsigned long long)rows[i].b);
            return true;
        }
    if (references_differ(a, b, text))
        return true;
    bool is_visited_alike = a->kind != TN_KIND_CUSTOM || !a->visit || !b->visit || a->visit == b->visit;
    if (!is_visited_alike)
        snprintf(text, TN__DIFFERENCE, "'visit' differs");
    return !is_visited_alike;
}
