/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The types that code of an image was compiled with, compared with those of one name that saved objects have: code that
 * takes an object for another one than it is damages the heap. */

#include "image/heap/layouts.h"

#include "image/heap/heap.h"

/* The row of a type of this name, be it the image's or the program's; NULL: there is none. */
static const uint8_t *find_row(const struct tn__image_view *view, const char *name)
{
    const struct tn__image_rows *types = &view->tables[TN__IMAGE_TYPE_TABLE];
    uint32_t at = (uint32_t)TN_BISECT(
        0, types->count, i,
        strcmp(view->text + tn__get32(tn__image_row(types, (uint32_t)i) + TN__IMAGE_TYPE_NAME), name) < 0);
    const uint8_t *row = at < types->count ? tn__image_row(types, at) : NULL;
    return row && strcmp(view->text + tn__get32(row + TN__IMAGE_TYPE_NAME), name) == 0 ? row : NULL;
}

/* ---- what the code has ---- */

/* The layout of a row. Its offsets, if it has any, are the caller's to free. */
static int read_layout(const struct tn__image_view *view, const char *file, uint32_t index, struct tn_type *type,
                       uint32_t **offsets, struct tn_error *err)
{
    const struct tn__image_rows *text = &view->tables[TN__IMAGE_TEXT_TABLE];
    const uint8_t *row = tn__image_row(&view->tables[TN__IMAGE_LAYOUT_TABLE], index);
    *type = (struct tn_type){.name = view->text + tn__get32(row + TN__IMAGE_LAYOUT_NAME),
                             .kind = tn__get32(row + TN__IMAGE_LAYOUT_KIND),
                             .alignment = tn__get32(row + TN__IMAGE_LAYOUT_ALIGNMENT),
                             .size = tn__get64(row + TN__IMAGE_LAYOUT_SIZE),
                             .element = tn__get64(row + TN__IMAGE_LAYOUT_ELEMENT),
                             .length = tn__get64(row + TN__IMAGE_LAYOUT_LENGTH),
                             .references = tn__get64(row + TN__IMAGE_LAYOUT_REFERENCES)};
    uint32_t at = tn__get32(row + TN__IMAGE_LAYOUT_OFFSETS), count = tn__get32(row + TN__IMAGE_LAYOUT_OFFSET_COUNT);
    if (!at)
        return 0;
    if (!tn__inside(at, 4 * (uint64_t)count, text->count))
        return tn__fail(err, TN_EFORMAT, "%s: layout %u: its offsets lie outside of the text", file, index);
    *offsets = tn__alloc(NULL, 4 * (size_t)count + 4);
    if (!*offsets)
        return tn__no_memory(err, file);
    for (uint32_t i = 0; i < count; i++)
        (*offsets)[i] = tn__get32((const uint8_t *)view->text + at + 4 * (size_t)i);
    type->offsets = *offsets;
    type->offset_count = count;
    return 0;
}

/* ---- when an image is opened ---- */

static int compare(const struct tn_type *type, const struct tn_image *with, const char *file,
                   const struct tn_image_load_options *options, struct tn_error *err)
{
    const struct tn__image_heap *heap = tn__image_heap_of(with, options->heap);
    const uint8_t *row = heap ? find_row(&with->view, type->name) : NULL;
    char difference[TN__DIFFERENCE];
    if (!row)
        return 0;
    const void *saved = heap->start + tn__get64(row + TN__IMAGE_TYPE_PLACE);
    if (!tn__types_differ(type, saved, difference))
        return 0;
    return tn__fail(err, TN_ENOTSUP, "%s: its code has another type '%s' than the objects of '%s': %s", file,
                    type->name, tn__image_name(&with->view), difference);
}

int tn__image_check_layouts(const struct tn_image *image, const char *file, const struct tn_image_load_options *options,
                            struct tn_error *err)
{
    const struct tn__image_rows *rows = &image->view.tables[TN__IMAGE_LAYOUT_TABLE];
    uint32_t images = image->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count;
    int code = 0;
    for (uint32_t i = 0; i < rows->count && !code; i++) {
        struct tn_type type;
        uint32_t *offsets = NULL;
        code = read_layout(&image->view, file, i, &type, &offsets, err);
        for (uint32_t other = 0; other < images && !code; other++)
            code = compare(&type, image->dependencies[other], file, options, err);
        tn__free(NULL, offsets);
    }
    return code;
}

/* ---- while an image is open ---- */

/* What is no descriptor is another type than any. */
static const struct tn_type *find_type(const struct tn__saved_types *types, const char *name)
{
    static const struct tn_type none = {.kind = UINT32_MAX};
    const struct tn__image_heap *heap = tn__container_of(types, const struct tn__image_heap, types);
    const uint8_t *row = find_row(&heap->image->view, name);
    const struct tn_type *type = row ? (const void *)(heap->start + tn__get64(row + TN__IMAGE_TYPE_PLACE)) : NULL;
    return !type || tn__type_is_sound(type, heap->start, heap->size) ? type : &none;
}

static void leave_types(struct tn_image *image)
{
    tn__saved_types_leave(&image->heap->types);
}

int tn__image_enter_types(struct tn_image *image, struct tn_error *err)
{
    struct tn__image_heap *heap = image->heap;
    heap->image = image;
    heap->types = (struct tn__saved_types){.name = tn__image_name(&image->view), .find = find_type};
    int code = tn__saved_types_enter(&heap->types, err);
    if (!code)
        image->leave_types = leave_types;
    return code;
}

/* ---- when an image is built ---- */

/* The descriptor in the zones; its pointers are addresses for the intended place, and become those of the bytes here.
 * False: it is damaged. */
static bool read_saved(const struct tn__saved *saved, const uint8_t *row, struct tn_type *type)
{
    const struct tn__image_rows *zones = &saved->view.tables[TN__IMAGE_ZONE_TABLE];
    uint64_t size = 0, base = tn__get64(tn__image_row(zones, 0) + TN__IMAGE_ZONE_ADDRESS),
             place = tn__get64(row + TN__IMAGE_TYPE_PLACE);
    for (uint32_t i = 0; i < zones->count; i++)
        size += tn__get64(tn__image_row(zones, i) + TN__IMAGE_ZONE_SIZE);
    if (!tn__inside(place, sizeof *type, size))
        return false;
    memcpy(type, saved->zones + place, sizeof *type);
    type->name = NULL;
    if (type->offsets)
        type->offsets = (const uint32_t *)(const void *)(saved->zones + ((uintptr_t)type->offsets - base));
    return tn__type_is_sound(type, (const char *)saved->zones, size);
}

int tn__saved_check_type(const struct tn__saved *saved, const char *file, const struct tn_type *type,
                         struct tn_error *err)
{
    const uint8_t *row = find_row(&saved->view, type->name);
    struct tn_type other;
    char difference[TN__DIFFERENCE];
    if (!row)
        return 0;
    if (!read_saved(saved, row, &other))
        return tn__fail(err, TN_EFORMAT, "%s: the saved objects' type '%s': its descriptor is wrong", file, type->name);
    if (!tn__types_differ(type, &other, difference))
        return 0;
    return tn__fail(err, TN_ENOTSUP, "%s: its code has another type '%s' than the saved objects: %s", file, type->name,
                    difference);
}
