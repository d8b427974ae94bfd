/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Places sections, GOT and stubs: each object has one range of code, one of read-only data and one of data. Sections
 * keep their order; code is followed by the stubs, read-only data by the GOT, data by zero-initialised data. */

#include <inttypes.h>

#include "link/passes/link.h"
#include "link/tls/tls.h"

enum { UNWIND_END = 4, GOT_ALIGNMENT = 8, BATCH = 512 };

static const uint8_t part_of[] = {
    [TN__SECTION_CODE] = TN_ZONE_CODE, [TN__SECTION_RODATA] = TN_ZONE_RODATA, [TN__SECTION_DATA] = TN_ZONE_DATA,
    [TN__SECTION_ZERO] = TN_ZONE_DATA, [TN__SECTION_TLS] = TN__PART_TLS,      [TN__SECTION_TLS_ZERO] = TN__PART_TLS,
};

/* No object is larger than any window; the sum of such sizes cannot overflow. */
static const uint64_t LARGEST = 1ULL << 40;

/* Gaps are written, like everything between sections: those that alignments make may not be out of proportion to the
 * file. */
static const uint64_t GAPS_LEAST = 16 << 20, GAPS_FACTOR = 64;

int tn__object_count_gap(struct tn__link *link, const struct tn__object *object,
                         const struct tn__input_section *section, uint64_t gap)
{
    object->plan->gaps += gap;
    if (object->plan->gaps <= GAPS_LEAST + GAPS_FACTOR * object->data->size)
        return 0;
    return tn__fail(link->err, TN_ENOTSUP,
                    "%s: section %s: the alignments of its sections leave gaps of %" PRIu64 " bytes, for a file of %zu",
                    object->name, section->name, object->plan->gaps, object->data->size);
}

static bool append(struct tn__object *object, int part, uint64_t size, uint64_t alignment, uint64_t *offset)
{
    if (size > LARGEST || alignment > LARGEST || object->plan->sizes[part] > LARGEST)
        return false;
    *offset = tn__align_up(object->plan->sizes[part], alignment);
    object->plan->sizes[part] = (size_t)(*offset + size);
    if (object->plan->alignments[part] < alignment)
        object->plan->alignments[part] = (size_t)alignment;
    return true;
}

enum { SMALL_GAP = 4096 }; /* not counted: each section has a header of 64 bytes */

/* Counts the gap before a section that is to be appended; it may be large, because the alignment is. */
static int count_large_gap(struct tn__link *link, const struct tn__object *object,
                           const struct tn__input_section *section)
{
    uint64_t end = object->plan->sizes[part_of[section->kind]];
    uint64_t gap = section->alignment <= LARGEST ? tn__align_up(end, section->alignment) - end : 0;
    return end && gap > SMALL_GAP ? tn__object_count_gap(link, object, section, gap) : 0;
}

/* For copying: of sections with bytes, in their order. */
static inline void note_section(struct tn__plan *plan, int part, uint32_t number)
{
    if (!plan->ends[part])
        plan->firsts[part] = number;
    plan->ends[part] = number + 1;
}

static int append_sections(struct tn__link *link, struct tn__object *object, bool zero)
{
    const struct tn__input_section *end = object->data->sections + object->data->section_count;
    for (struct tn__input_section *section = object->data->sections; section < end; section++) {
        if (!tn__section_is_loaded(section) || section->pinned || !section->bytes != zero)
            continue;
        /* An unwind table is read until a length of zero. */
        uint64_t size = section->size + (section->role == TN__ROLE_UNWIND ? UNWIND_END : 0);
        int code = section->alignment > SMALL_GAP && !zero ? count_large_gap(link, object, section) : 0;
        if (code)
            return code;
        if (section->size > LARGEST ||
            !append(object, part_of[section->kind], size, section->alignment, &section->offset))
            return tn__fail(link->err, TN_ENOMEM, "%s: section %s of %" PRIu64 " bytes fits no window", object->name,
                            section->name, section->size);
        if (!zero)
            note_section(object->plan, part_of[section->kind], (uint32_t)(section - object->data->sections));
    }
    return 0;
}

static int append_commons(struct tn__link *link, struct tn__object *object)
{
    object->plan->common_offset = NULL;
    for (uint32_t i = 1; object->data->has_commons && i < object->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        const struct tn__entry *entry = symbol->entry;
        if (symbol->place != TN__PLACE_COMMON || !(object->plan->symbol_flags[i] & TN__SYMBOL_OWN))
            continue;
        if (!object->plan->common_offset)
            object->plan->common_offset =
                tn__arena_array(&link->arena, object->data->symbol_count, sizeof *object->plan->common_offset);
        if (!object->plan->common_offset)
            return tn__no_memory(link->err, object->name);
        if (!append(object, symbol->type == TN__TYPE_TLS ? TN__PART_TLS : TN_ZONE_DATA,
                    entry ? entry->common_size : symbol->size, entry ? 1ULL << entry->common_shift : symbol->value,
                    &object->plan->common_offset[i]))
            return tn__fail(link->err, TN_ENOMEM, "%s: common symbol '%s' fits no window", object->name, symbol->name);
    }
    return 0;
}

int tn__object_layout(struct tn__link *link, struct tn__object *object)
{
    int code = append_sections(link, object, false);
    object->plan->zero_offset = object->plan->sizes[TN_ZONE_DATA];
    object->plan->tls_zero_offset = object->plan->sizes[TN__PART_TLS];
    if (!code)
        code = append_commons(link, object);
    if (!code)
        code = append_sections(link, object, true);
    if (code)
        return code;
    const struct tn__arch *arch = object->data->arch;
    if (!append(object, TN_ZONE_CODE, (uint64_t)object->plan->stub_count * arch->stub_size,
                object->plan->stub_count ? 8 : 1, &object->plan->stub_offset) ||
        (!object->plan->got_write && !append(object, TN_ZONE_RODATA, (uint64_t)object->plan->got_words * 8,
                                             GOT_ALIGNMENT, &object->plan->got_offset)) ||
        !append(object, TN_ZONE_DATA, (uint64_t)object->plan->ifunc_count * 8, object->plan->ifunc_count ? 8 : 1,
                &object->plan->ifunc_offset))
        return tn__fail(link->err, TN_ENOMEM, "%s: its GOT and stubs fit no window", object->name);
    return 0;
}

/* That of the first object lies next to the thread pointer. */
static void take_detached_tls(struct tn__detached *detached, struct tn__object *object)
{
    const struct tn__arch *arch = object->data->arch;
    struct tn__plan *plan = object->plan;
    uint64_t *used = &detached->tls_size, size = plan->sizes[TN__PART_TLS], alignment = plan->alignments[TN__PART_TLS];
    if (arch->tls_above) {
        plan->tls_offset = tn__align_up(*used + arch->tls_gap, alignment);
        *used = plan->tls_offset + size - arch->tls_gap;
    } else {
        *used = tn__align_up(*used + size, alignment);
        plan->tls_offset = -*used;
    }
}

static int take_tls(struct tn__link *link, struct tn__object *object)
{
    struct tn__plan *plan = object->plan;
    if (!plan->sizes[TN__PART_TLS])
        return 0;
    if (link->session->detached) {
        take_detached_tls(link->session->detached, object);
        return 0;
    }
    struct tn_error why;
    int code = tn__session_check_here(link->session, "thread-local variables", &why);
    if (!code)
        code =
            tn__tls_take(plan->sizes[TN__PART_TLS], plan->alignments[TN__PART_TLS],
                         link->dynamic && !plan->tls_is_fixed, &object->ranges[TN__PART_TLS], &plan->tls_offset, &why);
    return code ? tn__fail(link->err, code, "%s: %s", object->name, why.text) : 0;
}

int tn__object_take(struct tn__link *link, struct tn__object *object)
{
    struct tn__codemem *memory = &link->session->memory;
    struct tn__plan *plan = object->plan;
    const size_t touch[TN_ZONES] = {[TN_ZONE_CODE] = plan->sizes[TN_ZONE_CODE],
                                    [TN_ZONE_RODATA] = plan->sizes[TN_ZONE_RODATA],
                                    [TN_ZONE_DATA] = plan->zero_offset};
    object->window = &memory->windows[TN__WINDOW_NEAR];
    int code = plan->low ? tn__codemem_low_window(memory, &object->window, link->err) : 0;
    for (int zone = 0; !code && zone < TN_ZONES; zone++)
        if (plan->sizes[zone])
            code = tn__codemem_take(object->window, zone, plan->sizes[zone], plan->alignments[zone], touch[zone],
                                    &object->ranges[zone], &plan->backings[zone], link->err);
    if (!code)
        code = take_tls(link, object);
    if (!code && object->data->image)
        code = object->data->image->map(link, object);
    if (code)
        tn__append(link->err, ", for %s", object->name);
    return code;
}

static void place_sections(struct tn__object *object)
{
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
        if (!tn__section_is_loaded(section))
            continue;
        object->has_constants |= section->kind == TN__SECTION_RODATA && section->role == TN__ROLE_NONE && section->size;
        if (section->pinned)
            continue;
        const struct tn__mem_range *range = object->ranges[part_of[section->kind]];
        if (tn__section_is_tls(section) && object->plan->tls_image) {
            section->address = object->plan->tls_offset + section->offset;
            section->write = object->plan->tls_image + section->offset;
        } else if (range) {
            section->address = range->address + section->offset;
            section->write = range->write + section->offset;
        } else { /* nothing in its zone: it is empty, but may hold a label */
            section->address = object->window->start;
        }
    }
}

/* Where the object's part of a zone begins. If it has none, this is only a reference point for code that measures
 * distances from it. */
static uint64_t place_in(const struct tn__object *object, enum tn_zone zone, uint64_t offset, uint8_t **write)
{
    const struct tn__mem_range *range = object->ranges[zone];
    *write = range ? range->write + offset : NULL;
    return range ? range->address + offset : object->window->start;
}

/* Thread-local data is prepared in the link's arena and copied to its image once nothing can fail any more. */
int tn__object_place(struct tn__link *link, struct tn__object *object)
{
    struct tn__plan *plan = object->plan;
    if (plan->sizes[TN__PART_TLS]) {
        plan->tls_image = tn__arena_array(&link->arena, plan->tls_zero_offset, 1);
        if (!plan->tls_image)
            return tn__no_memory(link->err, object->name);
    }
    if (!plan->got_write) /* else it is pinned */
        plan->got_address = place_in(object, TN_ZONE_RODATA, plan->got_offset, &plan->got_write);
    plan->stub_address = place_in(object, TN_ZONE_CODE, plan->stub_offset, &plan->stub_write);
    plan->data_address = place_in(object, TN_ZONE_DATA, 0, &plan->data_write);
    place_sections(object);
    return 0;
}

void tn__object_place_code(struct tn__object *object)
{
    struct tn__plan *plan = object->plan;
    plan->sizes[TN_ZONE_CODE] = 0;
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
        if (section->kind == TN__SECTION_CODE && tn__section_is_loaded(section) && !section->pinned && section->bytes)
            append(object, TN_ZONE_CODE, section->size, section->alignment, &section->offset);
    }
    append(object, TN_ZONE_CODE, (uint64_t)plan->stub_count * object->data->arch->stub_size, plan->stub_count ? 8 : 1,
           &plan->stub_offset);
    plan->stub_address = place_in(object, TN_ZONE_CODE, plan->stub_offset, &plan->stub_write);
    place_sections(object);
}

/* Sections of one zone and the gaps between them, collected so that many small ones are written together. */
struct batch {
    struct tn__object *object;
    int zone;
    size_t start, end; /* in the zone's range */
    size_t count;
    struct tn__piece pieces[BATCH];
};

static void flush(struct batch *batch)
{
    if (batch->count)
        tn__codemem_fill(batch->object->ranges[batch->zone], &batch->object->plan->backings[batch->zone], batch->start,
                         batch->pieces, batch->count);
    batch->start = batch->end;
    batch->count = 0;
}

static void add_piece(struct batch *batch, const void *bytes, size_t size)
{
    if (batch->count == BATCH)
        flush(batch);
    if (size) {
        batch->pieces[batch->count++] = (struct tn__piece){bytes, size};
        batch->end += size;
    }
}

static void add_zeros(struct batch *batch, size_t size)
{
    static const uint8_t zeros[64]; /* most gaps are alignments */
    for (size_t n; size; size -= n) {
        n = size < sizeof zeros ? size : sizeof zeros;
        add_piece(batch, zeros, n);
    }
}

/* Sections in no range of the object. */
static void copy_apart(struct tn__object *object)
{
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if ((section->kind == TN__SECTION_TLS || section->pinned) && section->bytes && section->write &&
            !section->discarded && !section->mapped)
            memcpy(section->write, section->bytes, section->size);
    }
}

static void copy_zone(struct tn__object *object, int zone)
{
    struct batch batch;
    batch.object = object, batch.zone = zone;
    batch.start = batch.end = batch.count = 0;
    for (uint32_t i = object->plan->firsts[zone]; i < object->plan->ends[zone]; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if (!tn__section_is_loaded(section) || section->pinned || !section->bytes || part_of[section->kind] != zone)
            continue;
        add_zeros(&batch, section->offset - batch.end);
        add_piece(&batch, section->bytes, section->size);
        if (section->role == TN__ROLE_UNWIND)
            add_zeros(&batch, UNWIND_END);
    }
    flush(&batch);
}

/* Gives whole pages of data back to the system, which makes them zero, if they are many. False: nothing has changed. */
static bool give_pages_back(const struct tn__window *window, uint64_t address, size_t size)
{
    enum { MANY = 256 << 10 };
    uint64_t page = tn__os_page_size(), first = tn__align_up(address, page), last = (address + size) & -page;
    return size >= MANY && !window->zones[TN_ZONE_DATA].client && !tn__os_zero_private(first, last - first);
}

/* Zeroes data that was in use before. */
static void clear(const struct tn__object *object, uint8_t *bytes, size_t size)
{
    uint64_t page = tn__os_page_size(), address = (uintptr_t)bytes;
    if (!give_pages_back(object->window, address, size)) {
        memset(bytes, 0, size);
        return;
    }
    memset(bytes, 0, tn__align_up(address, page) - address);
    memset((void *)(uintptr_t)((address + size) & -page), 0, (address + size) & (page - 1));
}

void tn__object_copy(struct tn__object *object)
{
    struct tn__mem_range *data = object->ranges[TN_ZONE_DATA];
    for (int zone = 0; zone < TN_ZONES; zone++)
        if (object->ranges[zone])
            copy_zone(object, zone);
    if (data && !data->fresh)
        clear(object, data->write + object->plan->zero_offset,
              object->plan->sizes[TN_ZONE_DATA] - object->plan->zero_offset);
    copy_apart(object);
}

void tn__object_give_back(struct tn__object *object)
{
    struct tn__mem_range *data = object->ranges[TN_ZONE_DATA];
    if (data)
        give_pages_back(object->window, data->address, data->size);
    for (int zone = 0; zone < TN_ZONES; zone++)
        if (object->ranges[zone])
            tn__codemem_give(object->window, object->ranges[zone]);
    if (object->ranges[TN__PART_TLS])
        tn__tls_give(object->ranges[TN__PART_TLS]);
    if (object->ranges[TN__PART_IMAGE]) {
        struct tn__image *image = tn__container_of(object->ranges[TN__PART_IMAGE], struct tn__image, range);
        image->unmap(image);
    }
    memset(object->ranges, 0, sizeof object->ranges);
    tn__object_leave_gathered(object);
}
