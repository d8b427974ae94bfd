/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types of one name. Images that do not depend on each other may have a type each of the same name. In a heap these are
 * one type: objects of the image that was opened later get the descriptor of the first one. That writes a word of each
 * of them, and so the pages that they are in; images that have a base in common share its types and are not written. */

#include "image/heap/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "gc/collect/collect.h"

/* Objects of one type get another. */
struct change {
    const struct tn_type *from, *to;
};

struct changes {
    struct change *items; /* by `from` */
    size_t count;
    struct tn__image_heap *heap;
    bool only_look, found;
};

static const struct tn__image_rows *types_of(const struct tn_image *image)
{
    return &image->view.tables[TN__IMAGE_TYPE_TABLE];
}

/* ---- types of an image ---- */

/* The row of a type that the image has itself; NULL: it has none of this name. */
static const uint8_t *find_row(const struct tn_image *image, const char *name, uint32_t *index)
{
    const struct tn__image_rows *types = types_of(image);
    const char *text = image->view.text;
    *index = (uint32_t)TN_BISECT(
        0, types->count, i,
        strcmp(text + tn__get32(tn__image_row(types, (uint32_t)i) + TN__IMAGE_TYPE_NAME), name) < 0);
    const uint8_t *row = *index < types->count ? tn__image_row(types, *index) : NULL;
    bool found = row && strcmp(text + tn__get32(row + TN__IMAGE_TYPE_NAME), name) == 0 &&
                 !(tn__get32(row + TN__IMAGE_TYPE_FLAGS) & TN__IMAGE_HOST_TYPE);
    return found ? row : NULL;
}

static const struct tn_type *descriptor(const struct tn_image *image, const uint8_t *row)
{
    return (const struct tn_type *)(const void *)(image->heap->start + tn__get64(row + TN__IMAGE_TYPE_PLACE));
}

const struct tn_type *tn__image_own_type(const struct tn_image *image, const char *name)
{
    uint32_t index;
    const uint8_t *row = image->heap ? find_row(image, name, &index) : NULL;
    return row ? descriptor(image, row) : NULL;
}

const struct tn_type *tn_image_type(const struct tn_image *image, const char *name)
{
    uint32_t index;
    const uint8_t *row = image->heap ? find_row(image, name, &index) : NULL;
    if (!row)
        return NULL;
    const struct tn_type *instead = image->heap->instead ? image->heap->instead[index] : NULL;
    return instead ? instead : descriptor(image, row);
}

/* ---- the first one of a name ---- */

/* Under the heap's lock. The image whose type is used keeps its memory from then on, even if its opening fails. */
static int find_first(const struct tn_image *image, uint32_t index, const struct tn_type **instead,
                      struct tn_error *err)
{
    const uint8_t *own = tn__image_row(types_of(image), index);
    const char *name = image->view.text + tn__get32(own + TN__IMAGE_TYPE_NAME);
    if ((tn__get32(own + TN__IMAGE_TYPE_FLAGS) & TN__IMAGE_HOST_TYPE) || strcmp(name, TN__IMAGE_ROOTS_TYPE) == 0)
        return 0;
    const struct tn_image *other;
    for (size_t i = 0; (other = tn__permanent_owner(image->heap->heap, i)); i++) {
        const struct tn_type *type = other != image && other->heap->is_settled ? tn_image_type(other, name) : NULL;
        char difference[TN__DIFFERENCE];
        if (type && tn__types_differ(descriptor(image, own), type, difference))
            return tn__fail(err, TN_EDUP, "%s: the image '%s' has a type '%s' too, and %s",
                            tn__image_name(&image->view), tn__image_name(&other->view), name, difference);
        if (type) {
            other->heap->is_needed = true;
            *instead = type;
            return 0;
        }
    }
    return 0;
}

/* ---- objects ---- */

static void change_type(void *context, void *object)
{
    struct changes *changes = context;
    const struct tn_type *type = tn__type_of(object);
    size_t at = TN_BISECT(0, changes->count, i, changes->items[i].from < type);
    if (at == changes->count || changes->items[at].from != type)
        return;
    changes->found = true;
    if (changes->only_look)
        return;
    __atomic_fetch_add(tn__header(object), (uintptr_t)changes->items[at].to - (uintptr_t)type, __ATOMIC_RELAXED);
    changes->heap->written++;
}

static void change_zone(struct changes *changes, const struct tn__saved_zone *zone, bool only_look)
{
    changes->only_look = only_look;
    tn__each_between(zone->start, zone->start + zone->objects, change_type, changes);
}

/* Zones that are read-only are written if there is a reason to. */
static int change_objects(struct changes *changes, const struct tn_image *image, struct tn_error *err)
{
    int error = 0;
    for (int kind = 0; kind < TN__ZONES && !error; kind++) {
        const struct tn__saved_zone *zone = &changes->heap->zones[kind];
        bool is_frozen = kind <= TN__ZONE_SEALED;
        changes->found = !is_frozen;
        if (zone->start && is_frozen)
            change_zone(changes, zone, true);
        if (!zone->start || !changes->found)
            continue;
        error = is_frozen ? tn__os_protect((uintptr_t)zone->start, zone->size, TN__PROT_RW) : 0;
        if (!error)
            change_zone(changes, zone, false);
        if (!error && is_frozen)
            error = tn__os_protect((uintptr_t)zone->start, zone->size, TN__PROT_R);
    }
    return error ? tn__fail(err, TN_ENOMEM, "%s: cannot protect its objects: %s", tn__image_name(&image->view),
                            strerror(error))
                 : 0;
}

/* ---- all of it ---- */

static int by_address(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static size_t add_changes(const struct tn_image *image, struct change *items, size_t count)
{
    for (uint32_t i = 0; image->heap && image->heap->instead && i < types_of(image)->count; i++)
        if (image->heap->instead[i]) {
            if (items)
                items[count] =
                    (struct change){descriptor(image, tn__image_row(types_of(image), i)), image->heap->instead[i]};
            count++;
        }
    return count;
}

/* Lists the changes of its own types, and of those of the images that it depends on. */
static size_t list_changes(const struct tn_image *image, struct change *items)
{
    size_t count = add_changes(image, items, 0);
    for (uint32_t i = 0; i < image->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count; i++)
        count = add_changes(image->heap->dependencies[i], items, count);
    return count;
}

int tn__image_settle_types(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    struct tn__image_heap *heap = image->heap;
    const struct tn_type **instead = tn__arena_array(&image->arena, types_of(image)->count + 1, sizeof *instead);
    int code = tn__may_wait(err);
    if (code)
        return code;
    if (!instead)
        return tn__no_memory(err, tn__image_name(&image->view));
    tn__heap_lock(heap->heap);
    for (uint32_t i = 0; i < types_of(image)->count && !code; i++)
        code = find_first(image, i, &instead[i], err);
    heap->instead = instead;
    heap->is_settled = !code;
    tn__heap_unlock(heap->heap);
    struct changes changes = {.heap = heap, .count = !code ? list_changes(image, NULL) : 0};
    if (!changes.count)
        return code;
    changes.items = tn__alloc(NULL, changes.count * sizeof *changes.items);
    if (!changes.items)
        return tn__no_memory(err, tn__image_name(&image->view));
    list_changes(image, changes.items);
    qsort(changes.items, changes.count, sizeof *changes.items, by_address);
    code = change_objects(&changes, image, err);
    tn__free(NULL, changes.items);
    return code ? code : tn__image_fill_values(&(struct tn__image_opening){image, options, err});
}
