/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where sections, GOT and stubs go: per object one range of code, one of read-only data, one of data. Sections keep their
 * order; code is followed by the stubs, read-only data by the GOT, data by what has no bytes in the file. */

#include <inttypes.h>

#include "link.h"

enum { UNWIND_END = 4, GOT_ALIGNMENT = 8, BATCH = 512 };

static const uint8_t zone_of[] = {
    [TN__SECTION_CODE] = TN__ZONE_CODE,
    [TN__SECTION_RODATA] = TN__ZONE_RODATA,
    [TN__SECTION_DATA] = TN__ZONE_DATA,
    [TN__SECTION_ZERO] = TN__ZONE_DATA,
};

/* No object is larger than any window; the sum of such sizes cannot overflow. */
static const uint64_t LARGEST = 1ULL << 40;

static bool append(struct tn__object *object, int zone, uint64_t size, uint64_t alignment, uint64_t *offset)
{
    if (size > LARGEST || alignment > LARGEST || object->sizes[zone] > LARGEST)
        return false;
    *offset = tn__align_up(object->sizes[zone], alignment);
    object->sizes[zone] = (size_t)(*offset + size);
    if (object->alignments[zone] < alignment)
        object->alignments[zone] = (size_t)alignment;
    return true;
}

static int append_sections(struct tn__link *link, struct tn__object *object, bool zero)
{
    for (uint32_t i = 0; i < object->data.section_count; i++) {
        struct tn__section *section = &object->data.sections[i];
        if (!tn__section_is_loaded(section) || (section->kind == TN__SECTION_ZERO) != zero)
            continue;
        /* An unwind table is read until a length of zero. */
        uint64_t size = section->size + (section->role == TN__ROLE_UNWIND ? UNWIND_END : 0);
        if (section->size > LARGEST ||
            !append(object, zone_of[section->kind], size, section->alignment, &section->offset))
            return tn__fail(link->err, TN_ENOMEM, "%s: section %s of %" PRIu64 " bytes fits no window",
                            object->data.name, section->name, section->size);
    }
    return 0;
}

static int append_commons(struct tn__link *link, struct tn__object *object)
{
    object->common_offset = NULL;
    for (uint32_t i = 1; i < object->data.symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data.symbols[i];
        const struct tn__entry *entry = symbol->entry;
        if (symbol->place != TN__PLACE_COMMON || (entry && (entry->object != object || entry->symbol != i)))
            continue;
        if (!object->common_offset)
            object->common_offset =
                tn__arena_array(&link->arena, object->data.symbol_count, sizeof *object->common_offset);
        if (!object->common_offset)
            return tn__fail(link->err, TN_ENOMEM, "%s: out of memory", object->data.name);
        if (!append(object, TN__ZONE_DATA, entry ? entry->common_size : symbol->size,
                    entry ? entry->common_alignment : symbol->value, &object->common_offset[i]))
            return tn__fail(link->err, TN_ENOMEM, "%s: common symbol '%s' fits no window", object->data.name,
                            symbol->name);
    }
    return 0;
}

int tn__object_layout(struct tn__link *link, struct tn__object *object)
{
    memset(object->sizes, 0, sizeof object->sizes);
    memset(object->alignments, 0, sizeof object->alignments);
    int code = append_sections(link, object, false);
    object->zero_offset = object->sizes[TN__ZONE_DATA];
    if (!code)
        code = append_commons(link, object);
    if (!code)
        code = append_sections(link, object, true);
    if (code)
        return code;
    const struct tn__arch *arch = object->data.arch;
    if (!append(object, TN__ZONE_CODE, (uint64_t)object->stub_count * arch->stub_size, object->stub_count ? 8 : 1,
                &object->stub_offset) ||
        !append(object, TN__ZONE_RODATA, (uint64_t)object->got_count * 8, GOT_ALIGNMENT, &object->got_offset))
        return tn__fail(link->err, TN_ENOMEM, "%s: its GOT and stubs fit no window", object->data.name);
    return 0;
}

int tn__object_place(struct tn__link *link, struct tn__object *object)
{
    struct tn__codemem *memory = &link->session->memory;
    object->window = &memory->windows[TN__WINDOW_NEAR];
    int code = object->low ? tn__codemem_low_window(memory, &object->window, link->err) : 0;
    for (int zone = 0; !code && zone < TN__ZONES; zone++)
        if (object->sizes[zone])
            code = tn__codemem_take(object->window, zone, object->sizes[zone], object->alignments[zone],
                                    &object->ranges[zone], link->err);
    if (code)
        return code;
    const struct tn__range *rodata = object->ranges[TN__ZONE_RODATA];
    /* Without a slot the GOT is only a point of reference, for code that measures distances from it. */
    object->got_address = rodata ? rodata->address + object->got_offset : object->window->start;
    for (uint32_t i = 0; i < object->data.section_count; i++) {
        struct tn__section *section = &object->data.sections[i];
        if (!tn__section_is_loaded(section))
            continue;
        const struct tn__range *range = object->ranges[zone_of[section->kind]];
        if (!range)
            continue; /* empty */
        section->address = range->address + section->offset;
        section->write = range->write + section->offset;
    }
    return 0;
}

/* Sections of one zone and the gaps between them, collected so that many small ones are written together. */
struct batch {
    struct tn__link *link;
    struct tn__object *object;
    int zone;
    size_t start, end; /* in the zone's range */
    size_t count;
    struct tn__piece pieces[BATCH];
};

static int flush(struct batch *batch)
{
    int code = batch->count ? tn__codemem_fill(batch->object->window, batch->zone, batch->object->ranges[batch->zone],
                                               batch->start, batch->pieces, batch->count, batch->link->err)
                            : 0;
    batch->start = batch->end;
    batch->count = 0;
    return code;
}

static int add_piece(struct batch *batch, const void *bytes, size_t size)
{
    int code = batch->count == BATCH ? flush(batch) : 0;
    if (size) {
        batch->pieces[batch->count++] = (struct tn__piece){bytes, size};
        batch->end += size;
    }
    return code;
}

static int add_zeros(struct batch *batch, size_t size)
{
    static const uint8_t zeros[256];
    int code = 0;
    for (size_t n; size && !code; size -= n) {
        n = size < sizeof zeros ? size : sizeof zeros;
        code = add_piece(batch, zeros, n);
    }
    return code;
}

static int copy_zone(struct tn__link *link, struct tn__object *object, int zone)
{
    struct batch batch;
    batch.link = link, batch.object = object, batch.zone = zone;
    batch.start = batch.end = batch.count = 0;
    int code = 0;
    for (uint32_t i = 0; !code && i < object->data.section_count; i++) {
        const struct tn__section *section = &object->data.sections[i];
        if (!tn__section_is_loaded(section) || !section->bytes || zone_of[section->kind] != zone)
            continue;
        code = add_zeros(&batch, section->offset - batch.end);
        if (!code)
            code = add_piece(&batch, section->bytes, section->size);
        if (!code && section->role == TN__ROLE_UNWIND)
            code = add_zeros(&batch, UNWIND_END);
    }
    return code ? code : flush(&batch);
}

int tn__object_copy(struct tn__link *link, struct tn__object *object)
{
    struct tn__range *data = object->ranges[TN__ZONE_DATA];
    int code = 0;
    for (int zone = 0; !code && zone < TN__ZONES; zone++)
        if (object->ranges[zone])
            code = copy_zone(link, object, zone);
    if (!code && data && !data->fresh)
        memset(data->write + object->zero_offset, 0, object->sizes[TN__ZONE_DATA] - object->zero_offset);
    return code;
}

void tn__object_give_back(struct tn__object *object)
{
    for (int zone = 0; zone < TN__ZONES; zone++)
        if (object->ranges[zone]) {
            tn__codemem_give(object->window, zone, object->ranges[zone]);
            object->ranges[zone] = NULL;
        }
}
