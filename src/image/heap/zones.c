/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where the zones of an image are. A file of saved objects alone is mapped where its zones are intended to be. In an
 * image with code, zones are sections of a program or library, which lie anywhere: their pages are moved to the place
 * that they are intended for, or mapped there, and none of them is written. Where they came from, they stay as they
 * were saved. */

#include "image/heap/heap.h"

#include <errno.h>
#include <string.h>

#include "base/os.h"

#define FAIL(...) tn__fail(err, TN_EFORMAT, __VA_ARGS__)

static const char *const zone_names[TN__ZONES] = {"frozen", "sealed", "bound", "mutable"};

static enum tn__prot prot_of(int kind)
{
    return kind == TN__ZONE_FROZEN ? TN__PROT_R : TN__PROT_RW;
}

/* ---- finding them ---- */

/* The part of a loaded file that a zone is in. */
static const struct tn__image_segment *segment_of(const struct tn_image *image, int kind, uint64_t size)
{
    const struct tn__image_mapping *m = &image->file->mapping;
    uint64_t address = (uintptr_t)image->heap->zones[kind].start - m->bias;
    const struct tn__image_segment *segment = image->files->segment_at(m, address, size, prot_of(kind));
    bool good =
        segment && segment->prot == prot_of(kind) && tn__inside(address - segment->address, size, segment->file_size);
    return good ? segment : NULL;
}

/* In a file without code, a segment begins with the zone. */
static int check_segment(const struct tn_image *image, int kind, const uint8_t *row, struct tn_error *err)
{
    const struct tn__saved_zone *zone = &image->heap->zones[kind];
    const struct tn__image_segment *segment = segment_of(image, kind, zone->size);
    uint64_t intended = tn__get64(row + TN__IMAGE_ZONE_ADDRESS);
    const char *name = image->file->mapping.name;
    if (!segment)
        return FAIL("%s: the %s zone, %llu bytes, is not a segment", name, zone_names[kind],
                    (unsigned long long)zone->size);
    if (!image->view.zones_at && segment->address != intended)
        return FAIL("%s: the %s zone is intended for 0x%llx; its segment is for 0x%llx", name, zone_names[kind],
                    (unsigned long long)intended, (unsigned long long)segment->address);
    return 0;
}

static int read_zone(const struct tn_image *image, uint32_t index, const uint8_t *row, struct tn_error *err)
{
    const char *name = tn__image_label(image);
    uint32_t kind = tn__get32(row + TN__IMAGE_ZONE_KIND), page = tn__get32(row + TN__IMAGE_ZONE_PAGE);
    uint64_t size = tn__get64(row + TN__IMAGE_ZONE_SIZE), objects = tn__get64(row + TN__IMAGE_ZONE_OBJECTS);
    if (kind >= TN__ZONES || image->heap->zones[kind].start)
        return FAIL("%s: a zone of kind %u", name, kind);
    if (page < tn__os_page_size())
        return tn__fail(err, TN_ENOTSUP, "%s: for pages of at most %u bytes; this system has pages of %zu", name, page,
                        tn__os_page_size());
    char *start = image->view.zones_at
                      ? tn__image_place(&image->view, image->view.zones_at + index)
                      : (char *)((uintptr_t)image->view.header + tn__get64(row + TN__IMAGE_ZONE_PLACE));
    bool whole = !(tn__get64(row + TN__IMAGE_ZONE_ADDRESS) % page || (uintptr_t)start % tn__os_page_size());
    if (!size || !whole || size % page || objects > size || objects % 8)
        return FAIL("%s: the %s zone: %llu bytes of objects in %llu bytes", name, zone_names[kind],
                    (unsigned long long)objects, (unsigned long long)size);
    image->heap->zones[kind] = (struct tn__saved_zone){start, size, objects, NULL};
    return image->file ? check_segment(image, (int)kind, row, err) : 0;
}

/* They are intended to follow each other, in the order of their kinds. */
static int read_zones(const struct tn_image *image, uint64_t *intended, struct tn_error *err)
{
    const struct tn__image_rows *zones = &image->view.tables[TN__IMAGE_ZONE_TABLE];
    struct tn__image_heap *heap = image->heap;
    const char *name = tn__image_label(image);
    if (!zones->count)
        return FAIL("%s: a heap without zones", name);
    *intended = tn__get64(tn__image_row(zones, 0) + TN__IMAGE_ZONE_ADDRESS);
    for (uint32_t i = 0, last = 0; i < zones->count; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        int code = read_zone(image, i, row, err);
        if (code)
            return code;
        uint32_t kind = tn__get32(row + TN__IMAGE_ZONE_KIND);
        if (i && kind < last)
            return FAIL("%s: the %s zone comes too late", name, zone_names[kind]);
        if (tn__get64(row + TN__IMAGE_ZONE_ADDRESS) != *intended + heap->size)
            return FAIL("%s: the %s zone does not follow the one before", name, zone_names[kind]);
        heap->size += heap->zones[kind].size;
        last = kind;
    }
    return 0;
}

/* ---- bringing them together ---- */

static int copy(uint64_t to, const struct tn__saved_zone *zone)
{
    int error = tn__os_commit(to, zone->size, TN__PROT_RW);
    if (!error)
        memcpy((void *)(uintptr_t)to, zone->start, zone->size);
    return error;
}

/* If the system can neither move nor map them, pages are copied. */
static int bring(const struct tn_image *image, int kind, uint64_t to)
{
    struct tn__saved_zone *zone = &image->heap->zones[kind];
    const struct tn__image_mapping *m = image->file ? &image->file->mapping : NULL;
    int error;
    if (m && m->fd >= 0) {
        const struct tn__image_segment *segment = segment_of(image, kind, zone->size);
        uint64_t offset = segment->offset + ((uintptr_t)zone->start - m->bias - segment->address);
        error = tn__os_map_view(m->fd, offset, to, zone->size, prot_of(kind), true);
    } else {
        error = !m && tn__os_move((uintptr_t)zone->start, zone->size, to) == 0 ? 0 : copy(to, zone);
        if (!error)
            error = tn__os_protect(to, zone->size, prot_of(kind));
    }
    zone->original = zone->start;
    zone->start = (char *)(uintptr_t)to;
    return error;
}

static int gather(struct tn_image *image, uint64_t intended, bool anywhere, struct tn_error *err)
{
    struct tn__image_heap *heap = image->heap;
    uint64_t to;
    int error = anywhere ? EEXIST : tn__os_reserve(intended, heap->size, true, &to);
    if (error)
        error = tn__os_reserve(0, heap->size, false, &to);
    if (!error)
        heap->own = (struct tn__space){to, heap->size};
    for (int kind = 0; kind < TN__ZONES && !error; kind++)
        if (heap->zones[kind].start) {
            error = bring(image, kind, to);
            to += heap->zones[kind].size;
        }
    return error ? tn__fail(err, TN_ENOMEM, "%s: no place for its objects: %s", tn__image_label(image), strerror(error))
                 : 0;
}

int tn__image_find_zones(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    struct tn__image_heap *heap = image->heap;
    uint64_t intended = 0;
    if (!image->view.zones_at && !image->file)
        return tn__fail(err, TN_ENOTSUP, "%s: it has saved objects without code, and is no file",
                        tn__image_label(image));
    int code = read_zones(image, &intended, err);
    if (!code && image->view.zones_at)
        code = gather(image, intended, options->flags & TN_IMAGE_RELOCATE, err);
    if (code)
        return code;
    for (int kind = TN__ZONES; kind-- > 0;)
        heap->start = heap->zones[kind].start ? heap->zones[kind].start : heap->start;
    heap->moved = (uintptr_t)heap->start - intended;
    heap->changing = heap->zones[TN__ZONE_FROZEN].size + heap->zones[TN__ZONE_SEALED].size;
    return 0;
}

/* ---- what they were ---- */

void tn__image_keep_original(struct tn_image *image)
{
    struct tn__image_heap *heap = image->heap;
    uint64_t start, size = heap->size - heap->changing;
    if (image->view.zones_at || image->file->mapping.fd < 0 || !size || tn__os_reserve(0, size, false, &start))
        return;
    heap->own = (struct tn__space){start, size};
    for (int kind = TN__ZONE_BOUND; kind <= TN__ZONE_MUTABLE; kind++) {
        struct tn__saved_zone *zone = &heap->zones[kind];
        const struct tn__image_segment *segment = zone->start ? segment_of(image, kind, zone->size) : NULL;
        uint64_t to = start + (uint64_t)(zone->start - heap->start) - heap->changing;
        if (segment && !tn__os_map_view(image->file->mapping.fd, segment->offset, to, zone->size, TN__PROT_R, true))
            zone->original = (const char *)(uintptr_t)to;
    }
}

void tn__image_release_zones(struct tn__image_heap *heap)
{
    if (heap->own.size)
        tn__os_release(heap->own.start, heap->own.size);
    heap->own.size = 0;
    for (int kind = 0; kind < TN__ZONES; kind++)
        heap->zones[kind].original = NULL;
    if (heap->mark)
        __atomic_store_n(heap->mark, 0, __ATOMIC_RELEASE);
    heap->mark = NULL;
}
