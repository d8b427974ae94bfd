/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The saved objects of an image become permanent objects of a heap. They are where their file is mapped, and stay there
 * until the heap ends. */

#include "image/heap/heap.h"

#include <string.h>

#include "base/os.h"
#include "gc/collect/collect.h"

#define FAIL(...) tn__fail(err, TN_EFORMAT, __VA_ARGS__)

/* ---- other images ---- */

static int check_heaps(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    image->heap->dependencies = image->dependencies;
    for (uint32_t i = 0; i < image->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count; i++)
        if (image->dependencies[i]->heap && !tn__image_heap_of(image->dependencies[i], options->heap))
            return tn__fail(err, TN_ENOTSUP, "%s: it depends on the image '%s', which is part of another heap",
                            tn__image_label(image), tn__image_name(&image->dependencies[i]->view));
    return 0;
}

/* ---- roots ---- */

void *const *tn__image_find_root(const struct tn_image *image, const char *name)
{
    const struct tn__image_rows *roots = &image->view.tables[TN__IMAGE_ROOT_TABLE];
    const char *text = image->view.text;
    size_t at = TN_BISECT(0, roots->count, i,
                          strcmp(text + tn__get32(tn__image_row(roots, (uint32_t)i) + TN__IMAGE_ROOT_NAME), name) < 0);
    const uint8_t *row = at < roots->count ? tn__image_row(roots, (uint32_t)at) : NULL;
    if (!row || strcmp(text + tn__get32(row + TN__IMAGE_ROOT_NAME), name) != 0)
        return NULL;
    return (void *const *)(const void *)(image->heap->start + tn__get64(row + TN__IMAGE_ROOT_PLACE));
}

static int check_roots(const struct tn_image *image, struct tn_error *err)
{
    const struct tn__image_rows *roots = &image->view.tables[TN__IMAGE_ROOT_TABLE];
    for (uint32_t i = 0; i < roots->count; i++) {
        const uint8_t *row = tn__image_row(roots, i);
        uint64_t place = tn__get64(row + TN__IMAGE_ROOT_PLACE);
        if (!tn__image_text(&image->view, row + TN__IMAGE_ROOT_NAME) || place % 8 ||
            !tn__inside(place, 8, image->heap->size))
            return FAIL("%s: root %u: its name or its place lies outside", tn__image_label(image), i);
    }
    return 0;
}

/* ---- opening ---- */

/* Forgets what an image has beside its file. */
static void release(struct tn_image *image)
{
    struct tn__image_heap *heap = image->heap;
    tn__image_leave_types(image);
    tn__image_release_zones(heap);
    tn__free(NULL, heap->patchers);
    heap->patchers = NULL;
    heap->patcher_count = heap->patcher_capacity = 0;
}

static void end_heap(void *owner)
{
    struct tn_image *image = owner;
    image->heap->heap = NULL;
    release(image);
    image->leave(image);
}

/* The memory of an image with code can be open only once: its code has only one array of values. The word after these
 * says whether it is. */
static int mark(struct tn_image *image, struct tn_error *err)
{
    if (!image->view.zones_at)
        return 0;
    uint64_t *word = tn__image_place(&image->view, image->view.values_at), closed = 0;
    word += image->view.tables[TN__IMAGE_VALUE_TABLE].count;
    if (!__atomic_compare_exchange_n(word, &closed, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return tn__fail(err, TN_EDUP, "%s: it is open already, and its objects are part of a heap",
                        tn__image_label(image));
    image->heap->mark = word;
    return 0;
}

static int enter(struct tn_image *image, struct tn_error *err)
{
    struct tn__image_heap *heap = image->heap;
    struct tn__permanent_part parts[TN__ZONES];
    size_t count = 0;
    for (int kind = 0; kind < TN__ZONES; kind++) {
        const struct tn__saved_zone *zone = &heap->zones[kind];
        if (zone->objects)
            parts[count++] = (struct tn__permanent_part){.start = zone->start,
                                                         .size = zone->objects,
                                                         .identity = -heap->moved,
                                                         .is_frozen = kind <= TN__ZONE_SEALED};
    }
    int code = tn__may_wait(err);
    if (code)
        return code;
    tn__heap_lock(heap->heap);
    code = tn__permanent_add(heap->heap, parts, count, image, end_heap, err);
    tn__heap_unlock(heap->heap);
    return code;
}

int tn__image_heap_open(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    image->heap = tn__arena_array(&image->arena, 1, sizeof *image->heap);
    if (!image->heap)
        return tn__no_memory(err, tn__image_label(image));
    image->heap->heap = options->heap;
    int code = mark(image, err);
    if (!code)
        code = tn__image_find_zones(image, options, err);
    if (!code)
        code = check_heaps(image, options, err);
    if (!code)
        code = check_roots(image, err);
    const struct tn__heap_parts *parts = options->heaps->parts;
    if (!code && !parts && image->view.tables[TN__IMAGE_PATCH_TABLE].count)
        code = tn__fail(err, TN_ENOTSUP, "%s: an executable cannot change objects of other images",
                        tn__image_label(image));
    if (!code && parts)
        code = parts->check_unique(image, err);
    if (!code && parts)
        code = parts->check_patches(image, err);
    if (!code)
        code = tn__image_heap_adjust(image, options, err);
    if (!code && parts && (options->flags & TN_IMAGE_VERIFY))
        code = parts->check(image, options, err);
    if (!code && parts)
        code = parts->enter_types(image, err);
    if (!code)
        code = enter(image, err);
    if (!code) {
        tn__image_keep_original(image);
    } else {
        release(image);
        image->heap = NULL;
    }
    return code;
}

bool tn__image_heap_close(struct tn_image *image)
{
    struct tn_heap *heap = image->heap->heap;
    tn__image_leave_types(image);
    tn__heap_lock(heap);
    bool is_needed = image->heap->is_needed;
    if (!is_needed)
        tn__permanent_remove(heap, image);
    tn__heap_unlock(heap);
    if (is_needed)
        return false;
    release(image);
    image->heap = NULL;
    return true;
}

/* ---- what is in it ---- */

int tn_image_root(const struct tn_image *image, const char *name, struct tn_handle *to, struct tn_error *err)
{
    if (!image || !name || !to)
        return tn__no_argument(err);
    if (!tn__image_heap_of(image, to->heap))
        return tn__fail(err, TN_EINVAL, "the image has no heap, or the handle is of another one");
    int code = tn__may_use(to->heap, err);
    if (code)
        return code;
    void *const *root = tn__image_find_root(image, name);
    if (!root)
        return tn__fail(err, TN_EUNDEF, "the image '%s' has no root '%s'", tn__image_name(&image->view), name);
    bool locked = tn__objects_hold(to->heap);
    to->object = __atomic_load_n(root, __ATOMIC_ACQUIRE);
    tn__objects_release(to->heap, locked);
    return 0;
}

void tn_image_memory(const struct tn_image *image, struct tn_image_memory *memory)
{
    struct tn_image_memory known = {.size = sizeof known};
    const struct tn__image_heap *heap = image->heap;
    if (heap) {
        known.address = (uintptr_t)heap->start;
        known.length = heap->size;
        known.intended = known.address - heap->moved;
        known.frozen = heap->zones[TN__ZONE_FROZEN].size;
        known.changing = heap->zones[TN__ZONE_MUTABLE].size;
        known.bound = heap->zones[TN__ZONE_SEALED].size + heap->zones[TN__ZONE_BOUND].size;
        known.written = heap->written;
    }
    tn__give_stats(memory, sizeof known, &known);
}
