/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Unwind data of an output, and its index (LSB Core, "The .eh_frame_hdr section"): a table of functions sorted by
 * address, by which unwinders find an entry without reading them all. */

#include <stdlib.h>

#include "link/file/output_build.h"
#include "link/unwind/unwind.h"

enum { INDEX_HEADER = 12, INDEX_ROW = 8, PC_RELATIVE_4 = 0x1b, UNSIGNED_4 = 0x03, INDEX_RELATIVE_4 = 0x3b };

/* ---- entries ---- */

struct entry {
    const uint8_t *at;
    uint32_t length;       /* without these 4 bytes themselves */
    const uint8_t *common; /* the common entry (CIE) that it refers to; NULL: it is one */
};

/* Reads the entry at `at`; false at the end of the table. The table has been checked. */
static bool read_entry(const uint8_t *at, const uint8_t *end, struct entry *entry)
{
    if (end - at < 8)
        return false;
    uint32_t length = tn__get32(at), distance = tn__get32(at + 4);
    *entry = (struct entry){at, length, distance ? at + 4 - distance : NULL};
    return length != 0;
}

uint64_t tn__output_frames_size(const struct tn__input_section *section)
{
    struct entry entry;
    const uint8_t *at = section->bytes, *end = at + section->size;
    if (!section->size || !tn__unwind_data_is_sound(at, section->size))
        return section->size;
    while (read_entry(at, end, &entry))
        at += 4 + entry.length;
    return (uint64_t)(at - section->bytes);
}

int tn__output_count_frames(struct tn__output_link *o, const struct tn__output_piece *piece)
{
    const struct tn__input_section *section = piece->section;
    struct entry entry;
    const uint8_t *at = section->bytes, *end = at + section->size;
    if (section->size && !tn__unwind_data_is_sound(at, section->size))
        return tn__fail(o->err, TN_EFORMAT, "%s: section %s: malformed unwind data", piece->object->name,
                        section->name);
    for (; read_entry(at, end, &entry); at += 4 + entry.length)
        o->functions += entry.common != NULL;
    return 0;
}

/* ---- the index ---- */

struct row {
    uint64_t function, entry; /* addresses */
};

uint64_t tn__output_frame_index_size(const struct tn__output_link *o)
{
    return o->functions ? INDEX_HEADER + INDEX_ROW * o->functions : 0;
}

/* The start of the function that an entry describes; false if it was discarded. `at` is the address of the field. */
static bool find_function(const uint8_t *field, uint8_t encoding, uint64_t at, uint64_t *function)
{
    bool wide = (encoding & 0x0f) != 0x3 && (encoding & 0x0f) != 0xb;
    uint64_t value = wide ? tn__get64(field) : tn__get32(field);
    if (!wide && encoding & 0x08)
        value = (uint64_t)(int64_t)(int32_t)value;
    *function = value + ((encoding & 0x70) == 0x10 ? at : 0);
    return value != 0;
}

/* The table was checked after relocation, too, so reading it cannot fail. */
static size_t find_rows(const struct tn__output_section *frames, struct row *rows)
{
    const uint8_t *end = frames->bytes + frames->size;
    struct entry entry;
    size_t count = 0;
    for (const uint8_t *at = frames->bytes; read_entry(at, end, &entry); at += 4 + entry.length) {
        int encoding = entry.common ? tn__unwind_encoding(entry.common, end) : TN__UNWIND_UNSOUND;
        uint64_t address = frames->address + (uint64_t)(at - frames->bytes);
        if (encoding >= 0 && find_function(at + 8, (uint8_t)encoding, address + 8, &rows[count].function))
            rows[count++].entry = address;
    }
    return count;
}

static int by_function(const void *a, const void *b)
{
    const struct row *p = a, *q = b;
    if (p->function != q->function)
        return p->function < q->function ? -1 : 1;
    return p->entry < q->entry ? -1 : p->entry > q->entry;
}

int tn__output_index_frames(struct tn__output_link *o)
{
    const struct tn__output_section *index = tn__output_find(o->output, ".eh_frame_hdr");
    const struct tn__output_section *frames = tn__output_find(o->output, ".eh_frame");
    if (!index || !frames)
        return 0;
    if (!tn__unwind_data_is_sound(frames->bytes, frames->size))
        return tn__fail(o->err, TN_EFORMAT, "%s: malformed unwind data", o->options->name);
    struct row *rows = tn__arena_array(&o->link->arena, o->functions, sizeof *rows);
    if (!rows)
        return tn__output_no_memory(o);
    size_t count = find_rows(frames, rows);
    qsort(rows, count, sizeof *rows, by_function);
    static const uint8_t header[4] = {1, PC_RELATIVE_4, UNSIGNED_4, INDEX_RELATIVE_4};
    memcpy(index->bytes, header, sizeof header);
    tn__put32(index->bytes + 4, (uint32_t)(frames->address - (index->address + 4)));
    tn__put32(index->bytes + 8, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tn__put32(index->bytes + INDEX_HEADER + INDEX_ROW * i, (uint32_t)(rows[i].function - index->address));
        tn__put32(index->bytes + INDEX_HEADER + INDEX_ROW * i + 4, (uint32_t)(rows[i].entry - index->address));
    }
    return 0;
}
