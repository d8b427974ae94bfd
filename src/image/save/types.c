/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The types of what is saved. The image has a copy of each descriptor, under a name, so that it needs none of the
 * program; of types that stay the program's, a copy to compare. Types of one name are one type. */

#include <stdio.h>
#include <stdlib.h>

#include "image/save/save.h"

const struct tn_type tn__save_roots_type = {
    .name = TN__IMAGE_ROOTS_TYPE, .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 8, .element = 8};

/* ---- kinds ---- */

static enum tn__image_zone zone_of(const struct tn_type *type, const struct tn_save_type *row)
{
    uint64_t flags = row ? row->flags : 0;
    bool is_bound = flags & TN_SAVE_HOST_TYPE;
    for (size_t i = 0; row && i < row->word_count; i++)
        is_bound |= row->words[i].kind == TN_SAVE_ADDRESS;
    bool is_frozen = (flags & TN_SAVE_FROZEN) && type->kind != TN_KIND_WEAK && type->kind != TN_KIND_EPHEMERON;
    if (is_frozen)
        return is_bound ? TN__ZONE_SEALED : TN__ZONE_FROZEN;
    return is_bound ? TN__ZONE_BOUND : TN__ZONE_MUTABLE;
}

/* A type of this name that an image of the options has; NULL: none has one. */
static const struct tn_type *type_of_images(const struct tn_save *save, const char *name, uint32_t *image)
{
    for (size_t i = 0; i < save->options.image_count; i++) {
        const struct tn_type *type = tn__image_own_type(save->options.images[i], name);
        *image = (uint32_t)i + 1;
        if (type)
            return type;
    }
    *image = 0;
    return NULL;
}

static int refuse_difference(const struct tn_save *save, const char *name, const char *difference)
{
    return tn__fail(save->err, TN_EDUP, "%s: two types are called '%s', and %s", save->options.name, name, difference);
}

static uint32_t hash_of(const char *name)
{
    return (uint32_t)tn__image_checksum(name, strlen(name), 0);
}

/* The first kind of this name; itself if there is none. */
static uint32_t find_name(const struct tn_save *save, const char *name)
{
    const struct tn__save_kind *kinds = tn__save_kinds(save);
    uint32_t i = 0, hash = hash_of(name);
    while (i < save->kinds.count && (kinds[i].hash != hash || strcmp(kinds[i].name, name) != 0))
        i++;
    return i;
}

/* Decides where the descriptor is: here, in another image, or at the kind of the same name. */
static int settle(struct tn_save *save, struct tn__save_kind *kind)
{
    char difference[TN__DIFFERENCE];
    kind->same = find_name(save, kind->name);
    if (kind->same < save->kinds.count) {
        const struct tn__save_kind *first = &tn__save_kinds(save)[kind->same];
        kind->other = first->other;
        kind->place = first->place;
        if (first->is_host != kind->is_host)
            return refuse_difference(save, kind->name, "one is the program's, the other is not");
        bool differ = tn__types_differ(first->type, kind->type, difference);
        return differ ? refuse_difference(save, kind->name, difference) : 0;
    }
    const struct tn_type *type = kind->is_host ? NULL : type_of_images(save, kind->name, &kind->other);
    if (!type)
        return 0;
    kind->place = (uintptr_t)type - save->options.images[kind->other - 1]->heap->moved;
    return tn__types_differ(type, kind->type, difference) ? refuse_difference(save, kind->name, difference) : 0;
}

static int add_kind(struct tn_save *save, const struct tn_type *type, uint32_t parent)
{
    const struct tn_save_type *row = tn__save_row_of(save, type);
    struct tn__save_kind kind = {.type = type, .row = row, .name = row ? tn__save_row_name(row) : type->name};
    kind.is_host = row && (row->flags & TN_SAVE_HOST_TYPE);
    kind.zone = zone_of(type, row);
    if (!kind.name)
        return tn__save_fail(save, TN_EUNDEF, NULL, parent, "the next object's type has no name");
    kind.hash = hash_of(kind.name);
    int code = settle(save, &kind);
    if (code)
        return code;
    return tn__addresses_add(&save->kinds, sizeof kind, &kind) ? 0 : tn__no_memory(save->err, save->options.name);
}

uint32_t tn__save_kind_of(struct tn_save *save, const struct tn_type *type, uint32_t parent, int *code)
{
    uint32_t number = tn__addresses_find(&save->kinds, sizeof(struct tn__save_kind), type);
    if (number != TN__NOT_FOUND || *code)
        return number;
    *code = add_kind(save, type, parent);
    return *code ? TN__NOT_FOUND : (uint32_t)save->kinds.count - 1;
}

static bool is_own(const struct tn_save *save, size_t number)
{
    const struct tn__save_kind *kind = &tn__save_kinds(save)[number];
    return kind->same == number && !kind->other;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct tn__save_kind *const *)a)->name, (*(const struct tn__save_kind *const *)b)->name);
}

const struct tn__save_kind **tn__save_own_kinds(const struct tn_save *save, size_t *count)
{
    const struct tn__save_kind **own = tn__alloc_zeroed(NULL, save->kinds.count + 1, sizeof *own);
    *count = 0;
    for (size_t i = 0; own && i < save->kinds.count; i++)
        if (is_own(save, i))
            own[(*count)++] = &tn__save_kinds(save)[i];
    if (own)
        qsort(own, *count, sizeof *own, by_name);
    return own;
}

/* ---- descriptors ---- */

enum tn__image_zone tn__save_descriptor_zone(const struct tn__save_kind *kind)
{
    return kind->type->kind == TN_KIND_CUSTOM && !kind->is_host ? TN__ZONE_SEALED : TN__ZONE_FROZEN;
}

/* Behind the objects of the zone: the descriptors; then, frozen all of them, offsets and names. */
void tn__save_place_types(struct tn_save *save)
{
    struct tn__save_zone *frozen = &save->zones[TN__ZONE_FROZEN], *sealed = &save->zones[TN__ZONE_SEALED];
    for (int i = 0; i < TN__ZONES; i++)
        save->zones[i].size = save->zones[i].objects;
    frozen->size = tn__align_up(frozen->size, 16);
    sealed->size = tn__align_up(sealed->size, 16);
    for (size_t i = 0; i < save->kinds.count; i++) {
        struct tn__save_kind *kind = &tn__save_kinds(save)[i];
        struct tn__save_zone *zone = &save->zones[tn__save_descriptor_zone(kind)];
        if (!is_own(save, i)) {
            if (!kind->other)
                kind->place = tn__save_kinds(save)[kind->same].place;
            continue;
        }
        kind->place = zone->size;
        zone->size += sizeof(struct tn_type);
    }
    for (size_t i = 0; i < save->kinds.count; i++) {
        const struct tn__save_kind *kind = &tn__save_kinds(save)[i];
        if (is_own(save, i))
            frozen->size += tn__align_up(strlen(kind->name) + 1, 8) +
                            (kind->type->offsets ? tn__align_up(4 * kind->type->offset_count, 8) : 0);
    }
}

static bool note(struct tn_save *save, uint64_t place)
{
    return tn__save_note(save, TN__LIST_OWN, 0, 0, place);
}

static int write_type(struct tn_save *save, const struct tn__save_kind *kind, uint64_t *at)
{
    struct tn_type copy = *kind->type;
    size_t name = strlen(kind->name) + 1;
    bool good = note(save, kind->place + offsetof(struct tn_type, name));
    memcpy(save->bytes + *at, kind->name, name);
    copy.name = (const char *)(uintptr_t)*at; /* a place, as all references */
    *at += tn__align_up(name, 8);
    if (copy.offsets) {
        memcpy(save->bytes + *at, kind->type->offsets, 4 * copy.offset_count);
        copy.offsets = (const uint32_t *)(uintptr_t)*at;
        *at += tn__align_up(4 * copy.offset_count, 8);
        good &= note(save, kind->place + offsetof(struct tn_type, offsets));
    }
    copy.visit = NULL;
    memcpy(save->bytes + kind->place, &copy, sizeof copy);
    if (!good)
        return tn__no_memory(save->err, save->options.name);
    if (tn__save_descriptor_zone(kind) == TN__ZONE_FROZEN)
        return 0;
    char what[200];
    snprintf(what, sizeof what, "the function that visits references of objects of type '%.100s'", kind->name);
    return tn__save_bind(save, kind->place + offsetof(struct tn_type, visit),
                         (const void *)(uintptr_t)kind->type->visit, NULL, what);
}

int tn__save_write_types(struct tn_save *save)
{
    const struct tn__save_zone *frozen = &save->zones[TN__ZONE_FROZEN];
    uint64_t at = frozen->start + tn__align_up(frozen->objects, 16);
    int code = 0;
    for (size_t i = 0; i < save->kinds.count; i++)
        if (is_own(save, i) && tn__save_descriptor_zone(&tn__save_kinds(save)[i]) == TN__ZONE_FROZEN)
            at += sizeof(struct tn_type);
    for (size_t i = 0; i < save->kinds.count && !code; i++)
        if (is_own(save, i))
            code = write_type(save, &tn__save_kinds(save)[i], &at);
    return code;
}
