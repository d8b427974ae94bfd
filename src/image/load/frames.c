/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The unwind table of a loaded file, so that exceptions pass through its code. The program header PT_GNU_EH_FRAME leads
 * to an index of it (LSB Core 5.0, 10.6.2, "The .eh_frame_hdr section"). Unwinders need the table itself, and read it
 * up to a length of zero; that there is one is checked here. The rest is trusted like the code that it describes:
 * reading all of it would take longer than the rest of loading. */

#include <pthread.h>
#include <string.h>

#include "base/fork.h"
#include "base/os.h"
#include "image/load/image.h"

/* Encodings of pointers (LSB Core 5.0, 10.5.1, "DWARF Exception Header Encoding"): those that all linkers use. */
enum { SIGNED_FROM_HERE = 0x1b, UNSIGNED = 0x03, SIGNED_FROM_INDEX = 0x3b };

struct index {
    uint64_t address;  /* of the index */
    uint64_t table;    /* of the first entry */
    uint64_t an_entry; /* one of the last, from which the end is not far */
};

static bool read_index(const struct tn__image_mapping *m, struct index *index)
{
    enum { VERSION, TABLE_ENCODING, COUNT_ENCODING, ROW_ENCODING, TABLE = 4, COUNT = 8, ROWS = 12, ROW = 8 };
    uint64_t available, at = m->frames.address;
    const uint8_t *bytes = tn__image_file_bytes(m, at, &available);
    if (!bytes || available < COUNT || bytes[VERSION] != 1 || bytes[TABLE_ENCODING] != SIGNED_FROM_HERE)
        return false;
    uint64_t table = at + TABLE + (uint64_t)(int64_t)(int32_t)tn__get32(bytes + TABLE);
    *index = (struct index){at, table, table};
    if (available < ROWS || bytes[COUNT_ENCODING] != UNSIGNED || bytes[ROW_ENCODING] != SIGNED_FROM_INDEX)
        return true; /* without rows */
    uint64_t count = tn__get32(bytes + COUNT);
    if (!tn__inside(ROWS, count * ROW, available))
        return false;
    if (count)
        index->an_entry = at + (uint64_t)(int64_t)(int32_t)tn__get32(bytes + ROWS + (count - 1) * ROW + 4);
    return true;
}

/* Entries follow each other from any of them to the end, which may be the zeros that fill the last page. */
static bool has_end(const struct tn__image_mapping *m, uint64_t entry)
{
    uint64_t available;
    const uint8_t *bytes = tn__image_file_bytes(m, entry, &available);
    uint64_t end = tn__align_up(entry + available, tn__os_page_size()) - entry;
    for (uint64_t at = 0; bytes && tn__inside(at, 4, end);) {
        uint64_t length = tn__get32(bytes + at);
        if (!length)
            return true;
        if (length >= 0xfffffff0) /* 64-bit entries: no compiler makes them */
            return false;
        at += 4 + length;
    }
    return false;
}

/* Where code begins. */
static uint64_t first_code(const struct tn__image_mapping *m)
{
    for (size_t i = 0; i < m->segment_count; i++)
        if (m->segments[i].prot == TN__PROT_RX)
            return m->bias + m->segments[i].address;
    return m->start;
}

/* Unwinders may have a lock of their own (libgcc before version 13), which would stay locked in the child of a fork: so
 * forks wait until this one is free. Sessions have theirs. */
static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_FRAMES);

static void lock_frames(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_FRAMES, &hooks);
    tn__mutex_lock(&lock);
}

int tn__image_register_frames(const struct tn__image_opening *o)
{
    struct tn__opened_file *file = o->image->file;
    const struct tn__image_mapping *m = &file->mapping;
    struct index index;
    if (!m->frames.size)
        return 0;
    if (!read_index(m, &index))
        return tn__fail(o->err, TN_EFORMAT, "%s: the index of its unwind table (.eh_frame_hdr) is not one", m->name);
    if (!tn__image_at(m, index.table, 4, TN__PROT_R) || !has_end(m, index.an_entry))
        return tn__fail(o->err, TN_EFORMAT,
                        "%s: its unwind table (.eh_frame) does not end with a zero: link it without -nostdlib",
                        m->name);
    for (size_t i = 0; i < TN_COUNT(file->blocks); i++) /* else they would be allocated */
        tn__unwind_give(&file->unwind, &file->blocks[i]);
    lock_frames();
    bool good = tn__unwind_prepare(&file->unwind, 1, 0, &file->tables);
    struct tn__unwind_table as = {.address = m->bias + index.table, .code = first_code(m), .size = UINT32_MAX};
    if (good)
        tn__unwind_register(&file->unwind, file->tables, as);
    tn__mutex_unlock(&lock);
    return good ? 0 : tn__fail(o->err, TN_ENOMEM, "%s: out of memory", m->name);
}

void tn__image_forget_frames(struct tn__opened_file *file)
{
    lock_frames();
    tn__unwind_remove(&file->unwind, file->tables);
    tn__unwind_close(&file->unwind);
    tn__mutex_unlock(&lock);
    file->tables = NULL;
}
