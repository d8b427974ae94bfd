/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The saved objects of an image become permanent objects of a heap. They are where their file is mapped, and stay there
 * until the heap ends. */

#include "image/heap/heap.h"

#include <string.h>

#include "base/os.h"
#include "gc/collect/collect.h"

#define FAIL(...) tn__fail(err, TN_EFORMAT, __VA_ARGS__)

/* ---- zones ---- */

static const char *const zone_names[TN__ZONES] = {"frozen", "sealed", "bound", "mutable"};

/* A zone lies in a segment of its own protection, behind the zone before it, where it is intended to be relative to the
 * file. */
static int read_zone(const struct tn_image *image, const uint8_t *row, const char *end, struct tn_error *err)
{
    const struct tn__image_mapping *m = &image->file->mapping;
    uint32_t kind = tn__get32(row + TN__IMAGE_ZONE_KIND), page = tn__get32(row + TN__IMAGE_ZONE_PAGE);
    uint64_t place = tn__get64(row + TN__IMAGE_ZONE_PLACE), size = tn__get64(row + TN__IMAGE_ZONE_SIZE),
             objects = tn__get64(row + TN__IMAGE_ZONE_OBJECTS), address = m->header + place;
    if (kind >= TN__ZONES || image->heap->zones[kind].start)
        return FAIL("%s: a zone of kind %u", m->name, kind);
    if (page < tn__os_page_size())
        return tn__fail(err, TN_ENOTSUP, "%s: for pages of at most %u bytes; this system has pages of %zu", m->name,
                        page, tn__os_page_size());
    unsigned prot = kind == TN__ZONE_FROZEN ? TN__PROT_R : TN__PROT_RW;
    const struct tn__image_segment *segment = tn__image_segment_at(m, address, size, prot);
    if (!size || !segment || segment->prot != prot || segment->address != address || segment->size != size)
        return FAIL("%s: the %s zone, %llu bytes, is not a segment", m->name, zone_names[kind],
                    (unsigned long long)size);
    if (address % page || size % page || objects > size || objects % 8)
        return FAIL("%s: the %s zone: %llu bytes of objects in %llu bytes", m->name, zone_names[kind],
                    (unsigned long long)objects, (unsigned long long)size);
    if (tn__get64(row + TN__IMAGE_ZONE_ADDRESS) != address)
        return FAIL("%s: the %s zone is intended for 0x%llx; its segment is for 0x%llx", m->name, zone_names[kind],
                    (unsigned long long)tn__get64(row + TN__IMAGE_ZONE_ADDRESS), (unsigned long long)address);
    char *start = (char *)(uintptr_t)(m->bias + address);
    if (end && start != end)
        return FAIL("%s: the %s zone does not follow the one before", m->name, zone_names[kind]);
    image->heap->zones[kind] = (struct tn__zone){start, size, objects};
    return TN_OK;
}

static int read_zones(struct tn_image *image, struct tn_error *err)
{
    const struct tn__image_mapping *m = &image->file->mapping;
    const struct tn__image_rows *zones = &image->view.tables[TN__IMAGE_ZONE_TABLE];
    struct tn__image_heap *heap = image->heap;
    const char *end = NULL;
    int code = zones->count ? TN_OK : FAIL("%s: a heap without zones", m->name);
    for (uint32_t i = 0, last = 0; i < zones->count && code == TN_OK; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        code = read_zone(image, row, end, err);
        if (code != TN_OK)
            break;
        uint32_t kind = tn__get32(row + TN__IMAGE_ZONE_KIND);
        const struct tn__zone *zone = &heap->zones[kind];
        if (i && kind < last)
            code = FAIL("%s: the %s zone comes too late", m->name, zone_names[kind]);
        heap->start = heap->start ? heap->start : zone->start;
        heap->size += zone->size;
        end = zone->start + zone->size;
        last = kind;
    }
    heap->moved = m->bias;
    const struct tn__zone *sealed = &heap->zones[TN__ZONE_SEALED];
    if (code == TN_OK && sealed->start &&
        ((uintptr_t)sealed->start != m->bias + m->relro.address || sealed->size != m->relro.size))
        code = FAIL("%s: the sealed zone is not what is sealed (PT_GNU_RELRO)", m->name);
    return code;
}

/* ---- other images ---- */

static int find_dependencies(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    const struct tn__image_rows *rows = &image->view.tables[TN__IMAGE_DEPENDENCY_TABLE];
    struct tn_image **found = tn__arena_array(&image->arena, rows->count + 1, sizeof *found);
    if (!found)
        return tn__no_memory(err, image->file->mapping.name);
    for (uint32_t i = 0; i < rows->count; i++) {
        found[i] = tn__image_dependency(image, i, options);
        if (found[i]->heap && !tn__image_heap_of(found[i], options->heap))
            return tn__fail(err, TN_ENOTSUP, "%s: it depends on the image '%s', which is part of another heap",
                            image->file->mapping.name, tn__image_name(&found[i]->view));
    }
    image->heap->dependencies = found;
    return TN_OK;
}

/* ---- what it was ---- */

static void forget_original(struct tn__image_heap *heap)
{
    if (heap->original)
        tn__os_release((uintptr_t)heap->original, heap->size - heap->changing);
    heap->original = NULL;
    tn__free(NULL, heap->patchers);
    heap->patchers = NULL;
    heap->patcher_count = heap->patcher_capacity = 0;
}

/* Maps what may be written once more, to be compared when another heap is saved on top of this one. No page of it is
 * read before. */
static void keep_original(struct tn_image *image)
{
    struct tn__image_heap *heap = image->heap;
    const struct tn__image_mapping *m = &image->file->mapping;
    uint64_t start;
    heap->changing = heap->zones[TN__ZONE_FROZEN].size + heap->zones[TN__ZONE_SEALED].size;
    int error =
        m->fd < 0 || heap->changing == heap->size || tn__os_reserve(0, heap->size - heap->changing, false, &start);
    if (error)
        return;
    heap->original = (const char *)(uintptr_t)start;
    for (int kind = TN__ZONE_BOUND; kind <= TN__ZONE_MUTABLE && !error; kind++) {
        const struct tn__zone *zone = &heap->zones[kind];
        uint64_t place = (uint64_t)(zone->start - heap->start);
        const struct tn__image_segment *segment =
            zone->start ? tn__image_segment_at(m, (uintptr_t)zone->start - m->bias, zone->size, TN__PROT_RW) : NULL;
        if (segment)
            error =
                tn__os_map_view(m->fd, segment->offset, start + place - heap->changing, zone->size, TN__PROT_R, true);
    }
    if (error)
        forget_original(heap);
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
            return FAIL("%s: root %u: its name or its place lies outside", image->file->mapping.name, i);
    }
    return TN_OK;
}

/* ---- opening ---- */

static void end_heap(void *owner)
{
    struct tn_image *image = owner;
    image->heap->heap = NULL;
    forget_original(image->heap);
    tn__image_leave(image);
}

static int enter(struct tn_image *image, struct tn_error *err)
{
    struct tn__image_heap *heap = image->heap;
    struct tn__permanent_part parts[TN__ZONES];
    size_t count = 0;
    for (int kind = 0; kind < TN__ZONES; kind++) {
        const struct tn__zone *zone = &heap->zones[kind];
        if (zone->objects)
            parts[count++] = (struct tn__permanent_part){.start = zone->start,
                                                         .size = zone->objects,
                                                         .identity = -heap->moved,
                                                         .is_frozen = kind <= TN__ZONE_SEALED};
    }
    int code = tn__may_wait(err);
    if (code != TN_OK)
        return code;
    tn__heap_lock(heap->heap);
    code = tn__permanent_add(heap->heap, parts, count, image, end_heap, err);
    tn__heap_unlock(heap->heap);
    return code;
}

static int open_heap(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    image->heap = tn__arena_array(&image->arena, 1, sizeof *image->heap);
    if (!image->heap)
        return tn__no_memory(err, image->file->mapping.name);
    image->heap->heap = options->heap;
    int code = read_zones(image, err);
    if (code == TN_OK)
        code = find_dependencies(image, options, err);
    if (code == TN_OK)
        code = check_roots(image, err);
    if (code == TN_OK)
        code = tn__image_check_unique(image, err);
    if (code == TN_OK)
        code = tn__image_check_patches(image, err);
    if (code == TN_OK)
        code = tn__image_heap_adjust(image, options, err);
    if (code == TN_OK && (options->flags & TN_IMAGE_VERIFY))
        code = tn__image_heap_check(image, options, err);
    if (code == TN_OK)
        code = enter(image, err);
    if (code == TN_OK)
        keep_original(image);
    else
        image->heap = NULL;
    return code;
}

static bool close_heap(struct tn_image *image)
{
    struct tn_heap *heap = image->heap->heap;
    tn__heap_lock(heap);
    bool is_needed = image->heap->is_needed;
    if (!is_needed)
        tn__permanent_remove(heap, image);
    tn__heap_unlock(heap);
    if (is_needed)
        return false;
    forget_original(image->heap);
    image->heap = NULL;
    return true;
}

const struct tn_image_heaps *tn_image_heaps(void)
{
    static const struct tn_image_heaps heaps = {open_heap, close_heap, tn__image_heap_fill, tn__image_settle_types,
                                                tn__image_heap_restore};
    return &heaps;
}

/* ---- what is in it ---- */

int tn_image_root(const struct tn_image *image, const char *name, struct tn_handle *to, struct tn_error *err)
{
    if (!image || !name || !to)
        return tn__no_argument(err);
    if (!tn__image_heap_of(image, to->heap))
        return tn__fail(err, TN_EINVAL, "the image has no heap, or the handle is of another one");
    int code = tn__may_use(to->heap, err);
    if (code != TN_OK)
        return code;
    void *const *root = tn__image_find_root(image, name);
    if (!root)
        return tn__fail(err, TN_EUNDEF, "the image '%s' has no root '%s'", tn__image_name(&image->view), name);
    bool locked = tn__objects_hold(to->heap);
    to->object = __atomic_load_n(root, __ATOMIC_ACQUIRE);
    tn__objects_release(to->heap, locked);
    return TN_OK;
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
