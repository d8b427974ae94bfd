/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saved objects by type. Their headers hold addresses of types for the place that the heap is intended for
 * (image/format/format.h, "heaps"). */

#include <string.h>

#include "cmd/report.h"
#include "gc/object/object.h"
#include "image/heap/heap.h"
#include "image/load/image.h"

/* The zones as they follow each other in memory, with the addresses that they are intended for. */
struct heap {
    const struct tn__image_view *view;
    char *start;
    uint64_t size, address;
};

static const char *type_name(const struct heap *heap, uint64_t place)
{
    const struct tn__image_rows *types = &heap->view->tables[TN__IMAGE_TYPE_TABLE];
    for (uint32_t i = 0; i < types->count; i++)
        if (tn__get64(tn__image_row(types, i) + TN__IMAGE_TYPE_PLACE) == place)
            return tn__image_text(heap->view, tn__image_row(types, i) + TN__IMAGE_TYPE_NAME);
    return NULL;
}

/* The size of an object with its header, in `space` bytes, and the name of its type. 0: that is not known. */
static uint64_t object_at(const struct heap *heap, const char *at, uint64_t space, const char **name)
{
    uint64_t header = tn__get64(at), place = (header & TN_GC_TYPE_MASK) - heap->address, length = 0, payload;
    *name = place < heap->size && place % 16 == 0 ? type_name(heap, place) : NULL;
    const struct tn_type *type = (const void *)(heap->start + place);
    if (!*name || heap->size - place < sizeof *type || space - TN_GC_HEADER_SIZE < type->size)
        return 0;
    if (type->element && (type->length > space - TN_GC_HEADER_SIZE - 8 || space < TN_GC_HEADER_SIZE + 8))
        return 0;
    if (type->element)
        length = tn__get64(at + TN_GC_HEADER_SIZE + type->length);
    if (__builtin_mul_overflow(length, type->element, &payload) ||
        __builtin_add_overflow(payload, type->size, &payload))
        return 0;
    uint64_t size = tn__allocation_size(payload), hash = header & TN_GC_HASH_STORED ? 8 : 0;
    return size <= space && hash <= space - size ? size + hash : 0;
}

/* Objects, one after the other from `from` to `end`, and what comes after them to `size`. */
static bool divide_zone(struct report *report, const struct heap *heap, const struct report_zone *zone,
                        uint64_t objects)
{
    const char *bytes = (const char *)report->bytes + zone->offset, *package = tn__image_name(heap->view);
    struct leaf leaf = {package, "saved objects", zone->section, "", "", "", false, 0, 0, 0};
    bool good = true;
    uint64_t at = 0;
    while (good && at + TN_GC_HEADER_SIZE <= objects) {
        const char *name = NULL;
        uint64_t size = tn__get64(bytes + at) ? object_at(heap, bytes + at, objects - at, &name) : 8;
        if (!size)
            break; /* of a type of the program or of another image, whose size is not in this file */
        leaf.type = name ? name : "gaps between objects";
        leaf.offset = zone->offset + at;
        leaf.size = size;
        good = report_add(report, &leaf);
        at += size;
    }
    leaf.type = "objects of types that are not in the file";
    leaf.offset = zone->offset + at;
    leaf.size = objects > at ? objects - at : 0;
    good = good && report_add(report, &leaf);
    leaf.type = "descriptors of types, and the rest of pages";
    leaf.offset += leaf.size;
    leaf.size = zone->size - (leaf.offset - zone->offset);
    return good && report_add(report, &leaf);
}

bool report_heap(struct report *report, const struct tn__image_view *view, const struct report_zone *zones)
{
    const struct tn__image_rows *rows = &view->tables[TN__IMAGE_ZONE_TABLE];
    struct heap heap = {.view = view, .address = tn__get64(tn__image_row(rows, 0) + TN__IMAGE_ZONE_ADDRESS)};
    for (int kind = 0; kind < TN__ZONES; kind++)
        heap.size += zones[kind].size;
    heap.start = tn__arena_alloc(&report->arena, heap.size + 1);
    if (!heap.start)
        return false;
    uint64_t at = 0;
    for (int kind = 0; kind < TN__ZONES; kind++) {
        memcpy(heap.start + at, report->bytes + zones[kind].offset, zones[kind].size);
        at += zones[kind].size;
    }
    bool good = true;
    for (uint32_t kind = 0; kind < TN__ZONES && good; kind++) {
        uint64_t objects = 0;
        for (uint32_t i = 0; i < rows->count; i++)
            if (tn__get32(tn__image_row(rows, i) + TN__IMAGE_ZONE_KIND) == kind)
                objects = tn__get64(tn__image_row(rows, i) + TN__IMAGE_ZONE_OBJECTS);
        good = divide_zone(report, &heap, &zones[kind], tn__min64(objects, zones[kind].size));
    }
    return good;
}
