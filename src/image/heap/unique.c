/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects that give way to those that the program has already: symbols, strings, singletons. The image has a row for
 * each, with the words that refer to it. Only these words are written, and only of objects that give way. */

#include "image/heap/heap.h"

#include "gc/collect/collect.h"

static const struct tn__image_rows *table(const struct tn_image *image, enum tn__image_table kind)
{
    return &image->view.tables[kind];
}

/* ---- the tables ---- */

/* Objects that refer to unique ones are in the zones that the program may write. */
static bool is_use(const struct tn_image *image, const uint8_t *row)
{
    const struct tn__image_heap *heap = image->heap;
    uint64_t first = heap->zones[TN__ZONE_FROZEN].size + heap->zones[TN__ZONE_SEALED].size;
    uint64_t object = tn__get64(row + TN__IMAGE_USE_OBJECT), place = tn__get64(row + TN__IMAGE_USE_PLACE);
    return object % 8 == 0 && place % 8 == 0 && object >= first + 8 && place >= object &&
           tn__inside(place, 8, heap->size);
}

static bool is_unique(const struct tn_image *image, const uint8_t *row)
{
    uint64_t place = tn__get64(row + TN__IMAGE_UNIQUE_PLACE);
    return tn__inside(tn__get32(row + TN__IMAGE_UNIQUE_KEY), tn__get32(row + TN__IMAGE_UNIQUE_KEY_SIZE),
                      table(image, TN__IMAGE_TEXT_TABLE)->count) &&
           tn__inside(tn__get32(row + TN__IMAGE_UNIQUE_FIRST), tn__get32(row + TN__IMAGE_UNIQUE_USES),
                      table(image, TN__IMAGE_USE_TABLE)->count) &&
           place % 8 == 0 && place >= 8 && tn__inside(place, 8, image->heap->size);
}

int tn__image_check_unique(const struct tn_image *image, struct tn_error *err)
{
    const struct tn__image_rows *unique = table(image, TN__IMAGE_UNIQUE_TABLE),
                                *uses = table(image, TN__IMAGE_USE_TABLE);
    for (uint32_t i = 0; i < unique->count; i++)
        if (!is_unique(image, tn__image_row(unique, i)))
            return tn__fail(err, TN_EFORMAT, "%s: unique object %u: its key, place or uses lie outside",
                            tn__image_label(image), i);
    for (uint32_t i = 0; i < uses->count; i++)
        if (!is_use(image, tn__image_row(uses, i)))
            return tn__fail(err, TN_EFORMAT, "%s: use %u: its object or its word lies outside", tn__image_label(image),
                            i);
    return 0;
}

/* ---- giving way ---- */

static void list(const struct tn_image *image, struct tn_image_unique *rows)
{
    const struct tn__image_rows *unique = table(image, TN__IMAGE_UNIQUE_TABLE);
    for (uint32_t i = 0; i < unique->count; i++) {
        const uint8_t *row = tn__image_row(unique, i);
        void *object = image->heap->start + tn__get64(row + TN__IMAGE_UNIQUE_PLACE);
        rows[i] = (struct tn_image_unique){.type = tn__type_of(object),
                                           .key = image->view.text + tn__get32(row + TN__IMAGE_UNIQUE_KEY),
                                           .key_size = tn__get32(row + TN__IMAGE_UNIQUE_KEY_SIZE),
                                           .object = object};
    }
}

/* Under the heap's lock, or in managed code: objects stay where they are. */
static void replace(const struct tn_image *image, uint32_t index, void *instead)
{
    struct tn__image_heap *heap = image->heap;
    const uint8_t *row = tn__image_row(table(image, TN__IMAGE_UNIQUE_TABLE), index);
    uint32_t first = tn__get32(row + TN__IMAGE_UNIQUE_FIRST), count = tn__get32(row + TN__IMAGE_UNIQUE_USES);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *use = tn__image_row(table(image, TN__IMAGE_USE_TABLE), first + i);
        void *object = heap->start + tn__get64(use + TN__IMAGE_USE_OBJECT);
        void **slot = (void **)(void *)(heap->start + tn__get64(use + TN__IMAGE_USE_PLACE));
        tn__permanent_store(heap->heap, object, slot, instead);
        heap->written++;
    }
}

/* Words of other images that were made to refer to such objects. */
static void replace_patches(const struct tn_image *image, const struct tn_image_unique *rows)
{
    const struct tn__image_heap *heap = image->heap;
    for (uint32_t i = 0; i < table(image, TN__IMAGE_PATCH_TABLE)->count; i++) {
        const struct tn__patch patch = tn__image_patch(image, i);
        char *start = heap->dependencies[patch.dependency]->heap->start;
        if (patch.of == TN__PATCH_OWN && patch.index && rows[patch.index - 1].instead)
            tn__permanent_store(heap->heap, start + patch.object, (void **)(void *)(start + patch.place),
                                rows[patch.index - 1].instead->object);
    }
}

static int check_answers(const struct tn_image *image, const struct tn_image_unique *rows, uint32_t count,
                         struct tn_error *err)
{
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].instead && (rows[i].instead->heap != image->heap->heap || tn_handle_is_null(rows[i].instead)))
            return tn__fail(err, TN_EINVAL, "%s: unique object %u: a handle of another heap, or of no object",
                            tn__image_label(image), i);
    return 0;
}

int tn__image_give_way(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    uint32_t count = table(image, TN__IMAGE_UNIQUE_TABLE)->count;
    if (!count || !options->unique)
        return 0;
    struct tn_image_unique *rows = tn__alloc(NULL, count * sizeof *rows);
    if (!rows)
        return tn__no_memory(err, tn__image_label(image));
    list(image, rows);
    int code = options->unique(options->context, rows, count, err);
    if (!code)
        code = check_answers(image, rows, count, err);
    if (!code) {
        bool locked = tn__objects_hold(image->heap->heap);
        for (uint32_t i = 0; i < count; i++)
            if (rows[i].instead)
                replace(image, i, rows[i].instead->object);
        replace_patches(image, rows);
        tn__objects_release(image->heap->heap, locked);
    }
    tn__free(NULL, rows);
    return code;
}
