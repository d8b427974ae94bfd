/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Words of saved objects that depend on where things are in this process. A heap at its intended address, whose
 * dependencies are at theirs, has only those that name something of the program: all others are right as they are, and
 * the lists of them are not even read. */

#include <string.h>

#include "base/os.h"
#include "image/heap/heap.h"

struct adjustment {
    struct tn_image *image;
    struct tn__image_heap *heap;
    const struct tn_image_load_options *options;
    const char *name;
    uint64_t writable; /* the place of the first word that may be written now */
    bool undefined;    /* something is that the program should have */
    struct tn_error *err;
};

#define FAIL(a, ...) tn__fail((a)->err, TN_EFORMAT, __VA_ARGS__)

static const struct tn__image_rows *table(const struct adjustment *a, enum tn__image_table kind)
{
    return &a->image->view.tables[kind];
}

/* All that is missing is listed. */
static void list_undefined(struct adjustment *a, const char *what, const char *name)
{
    if (!a->undefined)
        tn__fail(a->err, TN_EUNDEF, "%s: the program does not have: %s%s", a->name, what, name);
    else
        tn__append(a->err, ", %s%s", what, name);
    a->undefined = true;
}

/* ---- the program's types ---- */

static const struct tn_type *host_type(const struct adjustment *a, const char *name)
{
    for (size_t i = 0; i < a->options->host_type_count; i++)
        if (strcmp(a->options->host_types[i].name, name) == 0)
            return a->options->host_types[i].type;
    return NULL;
}

/* The place of a descriptor, in a part that was adjusted. NULL: it does not lie in the heap. */
static const struct tn_type *descriptor(const struct adjustment *a, const uint8_t *row)
{
    uint64_t place = tn__get64(row + TN__IMAGE_TYPE_PLACE);
    bool inside = place % 16 == 0 && tn__inside(place, sizeof(struct tn_type), a->heap->size);
    return inside ? (const struct tn_type *)(const void *)(a->heap->start + place) : NULL;
}

static int check_types(struct adjustment *a)
{
    const struct tn__image_rows *types = table(a, TN__IMAGE_TYPE_TABLE);
    int code = 0;
    for (uint32_t i = 0; i < types->count && !code; i++) {
        const uint8_t *row = tn__image_row(types, i);
        const char *name = tn__image_text(&a->image->view, row + TN__IMAGE_TYPE_NAME);
        const struct tn_type *type = descriptor(a, row), *host = NULL;
        uint32_t flags = tn__get32(row + TN__IMAGE_TYPE_FLAGS);
        if (!name || !type || flags & ~TN__IMAGE_HOST_TYPE)
            return FAIL(a, "%s: type %u: its name or its descriptor lies outside, or its flags are unknown", a->name,
                        i);
        if (!(flags & TN__IMAGE_HOST_TYPE))
            continue;
        if (!tn__type_is_sound(type, a->heap->start, a->heap->size))
            return FAIL(a, "%s: type '%s': its descriptor is wrong", a->name, name);
        host = host_type(a, name);
        char difference[TN__DIFFERENCE];
        if (!host)
            list_undefined(a, "type ", name);
        else if (tn__types_differ(host, type, difference))
            code = tn__fail(a->err, TN_ENOTSUP,
                            "%s: the type '%s' of the program is not the one that objects were saved of: %s", a->name,
                            name, difference);
    }
    return code;
}

/* ---- lists ---- */

/* What is to be added to the words of a list. */
static int distance_of(const struct adjustment *a, uint32_t index, const uint8_t *row, uint64_t *distance)
{
    uint32_t of = tn__get32(row + TN__IMAGE_LIST_OF), which = tn__get32(row + TN__IMAGE_LIST_INDEX);
    uint64_t base = tn__get64(row + TN__IMAGE_LIST_BASE);
    const struct tn__image_rows *types = table(a, TN__IMAGE_TYPE_TABLE),
                                *dependencies = table(a, TN__IMAGE_DEPENDENCY_TABLE);
    if (of == TN__LIST_OWN && !which) {
        *distance = (uintptr_t)a->heap->start - base;
        return 0;
    }
    const struct tn__image_heap *other = of == TN__LIST_DEPENDENCY && which < dependencies->count
                                             ? tn__image_heap_of(a->heap->dependencies[which], a->heap->heap)
                                             : NULL;
    if (other) {
        *distance = (uintptr_t)other->start - base;
        return 0;
    }
    const uint8_t *type = of == TN__LIST_HOST_TYPE && which < types->count ? tn__image_row(types, which) : NULL;
    if (type && (tn__get32(type + TN__IMAGE_TYPE_FLAGS) & TN__IMAGE_HOST_TYPE)) {
        *distance = (uintptr_t)host_type(a, tn__image_text(&a->image->view, type + TN__IMAGE_TYPE_NAME)) - base;
        return 0;
    }
    return FAIL(a, "%s: list %u: of kind %u, number %u", a->name, index, of, which);
}

/* The bytes of a list. What is linked in is trusted as the program is. */
static const uint8_t *list_at(const struct adjustment *a, const uint8_t *row, uint64_t *available)
{
    const struct tn_image *image = a->image;
    const struct tn__image_view *view = &image->view;
    uint32_t zones = view->tables[TN__IMAGE_ZONE_TABLE].count;
    const uint8_t *from = view->zones_at ? tn__image_place(view, view->zones_at + zones) : view->header;
    uintptr_t at = (uintptr_t)from + tn__get64(row + TN__IMAGE_LIST_PLACE);
    *available = UINT64_MAX;
    return image->file ? image->files->bytes_at(&image->file->mapping, at - image->file->mapping.bias, available)
                       : (const uint8_t *)at;
}

static int apply_list(struct adjustment *a, uint32_t index, const uint8_t *row, uint64_t distance)
{
    uint64_t size = tn__get64(row + TN__IMAGE_LIST_SIZE), available;
    const uint8_t *list = list_at(a, row, &available);
    if (!list || size > available)
        return FAIL(a, "%s: list %u: %llu bytes outside of its segments", a->name, index, (unsigned long long)size);
    if (tn__image_checksum(list, size, 0) != tn__get64(row + TN__IMAGE_LIST_SUM))
        return FAIL(a, "%s: list %u: its checksum is wrong", a->name, index);
    const struct tn__list_words words = {a->heap->start, a->writable, a->heap->size};
    if (!tn__list_add(list, size, &words, distance, &a->heap->written))
        return FAIL(a, "%s: list %u: a word lies outside of the heap", a->name, index);
    return 0;
}

/* The lists of the heap itself come first, so that descriptors of types can be looked at. */
static int apply_lists(struct adjustment *a, bool is_own)
{
    const struct tn__image_rows *lists = table(a, TN__IMAGE_LIST_TABLE);
    int code = 0;
    for (uint32_t i = 0; i < lists->count && !code; i++) {
        const uint8_t *row = tn__image_row(lists, i);
        uint32_t of = tn__get32(row + TN__IMAGE_LIST_OF);
        uint64_t distance;
        if (of < TN__LISTS && (of == TN__LIST_OWN) != is_own)
            continue;
        code = distance_of(a, i, row, &distance);
        if (!code && distance)
            code = apply_list(a, i, row, distance);
    }
    return code;
}

/* ---- bindings ---- */

const void *tn__image_symbol(const struct tn_image *image, const struct tn_image_load_options *options,
                             const char *name)
{
    const void *own = tn_image_lookup(image, name);
    return own ? own : tn__image_resolve(image, options, name);
}

static int bind_all(struct adjustment *a)
{
    const struct tn__image_rows *bindings = table(a, TN__IMAGE_BINDING_TABLE);
    for (uint32_t i = 0; i < bindings->count; i++) {
        const uint8_t *row = tn__image_row(bindings, i);
        const char *name = tn__image_text(&a->image->view, row + TN__IMAGE_BINDING_NAME);
        uint64_t place = tn__get64(row + TN__IMAGE_BINDING_PLACE);
        if (!name || place % 8 || place < a->writable || !tn__inside(place, 8, a->heap->size))
            return FAIL(a, "%s: binding %u: its name or its word lies outside", a->name, i);
        const void *address = tn__image_symbol(a->image, a->options, name);
        if (!address)
            list_undefined(a, "", name);
        tn__put64(a->heap->start + place, (uintptr_t)address + tn__get64(row + TN__IMAGE_BINDING_ADDEND));
        a->heap->written++;
    }
    return 0;
}

/* ---- all of it ---- */

/* Whether something is where it is not intended to be, so that words anywhere may have to change. */
static bool is_displaced(const struct adjustment *a)
{
    const struct tn__image_rows *lists = table(a, TN__IMAGE_LIST_TABLE);
    for (uint32_t i = 0; i < lists->count; i++) {
        uint64_t distance;
        const uint8_t *row = tn__image_row(lists, i);
        uint32_t of = tn__get32(row + TN__IMAGE_LIST_OF);
        if ((of == TN__LIST_OWN || of == TN__LIST_DEPENDENCY) && distance_of(a, i, row, &distance) == 0 && distance)
            return true;
    }
    return false;
}

static int protect(const struct adjustment *a, enum tn__image_zone kind, enum tn__prot prot)
{
    const struct tn__saved_zone *zone = &a->heap->zones[kind];
    int error = zone->start ? tn__os_protect((uintptr_t)zone->start, zone->size, prot) : 0;
    return error ? tn__fail(a->err, TN_ENOMEM, "%s: cannot protect its objects: %s", a->name, strerror(error)) : 0;
}

int tn__image_heap_adjust(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    struct adjustment a = {
        .image = image, .heap = image->heap, .options = options, .name = tn__image_label(image), .err = err};
    bool displaced = is_displaced(&a);
    a.writable = displaced ? 0 : image->heap->zones[TN__ZONE_FROZEN].size;
    int code = displaced ? protect(&a, TN__ZONE_FROZEN, TN__PROT_RW) : 0;
    if (!code)
        code = apply_lists(&a, true);
    if (!code)
        code = check_types(&a);
    if (!code)
        code = bind_all(&a);
    if (!code && a.undefined)
        code = TN_EUNDEF;
    if (!code)
        code = apply_lists(&a, false);
    if (!code && displaced)
        code = protect(&a, TN__ZONE_FROZEN, TN__PROT_R);
    return code ? code : protect(&a, TN__ZONE_SEALED, TN__PROT_R);
}
