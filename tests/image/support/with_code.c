/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "with_code.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "image/format/writer.h"
#include "image/write/saved.h"
#include "tenon_gc.h"

enum { HEAD = 1024, CODE_SIZE = 64, VALUES = 2, SLOTS = 1, TABLES = TN__IMAGE_HEAP_TABLES + 2 };

struct parts {
    const struct tn__saved *saved;
    struct with_code *made;
    uint64_t page, end;
    uint8_t *header;
    size_t size, entries, segments;
    uint32_t place; /* the next one */
};

static uint64_t add_segment(struct parts *p, uint32_t type, uint32_t flags, uint64_t at, uint64_t size)
{
    const Elf64_Phdr h = {type, flags, at, at, at, size, size, p->page};
    memcpy(p->made->bytes + sizeof(Elf64_Ehdr) + p->segments++ * sizeof h, &h, sizeof h);
    return at;
}

static uint64_t add_pages(struct parts *p, uint32_t flags, uint64_t size)
{
    uint64_t at = p->end;
    p->end += tn__align_up(size, p->page);
    return add_segment(p, PT_LOAD, flags, at, size);
}

static uint8_t *add_rows(struct parts *p, enum tn__image_table kind, size_t count, size_t row)
{
    p->size = tn__align_up(p->size, 8);
    return tn__image_begin_table(p->header, p->entries++, kind, count, row, &p->size);
}

static void write_tables(struct parts *p)
{
    static const char text[] = "run\0link\0root\0code";
    const struct tn__image_view *view = &p->saved->view;
    uint32_t before = view->tables[TN__IMAGE_TEXT_TABLE].count;
    p->size = TN__IMAGE_HEADER + TABLES * TN__IMAGE_ENTRY;
    for (enum tn__image_table kind = 0; kind < TN__IMAGE_HEAP_TABLES; kind++)
        if (kind != TN__IMAGE_FUNCTION_TABLE && kind != TN__IMAGE_SET_TABLE && kind != TN__IMAGE_TEXT_TABLE)
            tn__saved_copy_rows(p->saved, kind, add_rows(p, kind, view->tables[kind].count, view->tables[kind].size));
    uint8_t *row = add_rows(p, TN__IMAGE_FUNCTION_TABLE, SLOTS, TN__IMAGE_FUNCTION);
    tn__put32(row + TN__IMAGE_FUNCTION_NAME, before);
    tn__put32(row + TN__IMAGE_FUNCTION_VERSIONS, TN__IMAGE_PUBLIC);
    tn__put64(add_rows(p, TN__IMAGE_SET_TABLE, 1, 8), 1);
    row = add_rows(p, TN__IMAGE_VALUE_TABLE, VALUES, TN__IMAGE_VALUE);
    tn__put32(row + TN__IMAGE_VALUE_NAME, before + 4);
    tn__put32(row + TN__IMAGE_VALUE + TN__IMAGE_VALUE_NAME, before + 9);
    tn__put32(row + TN__IMAGE_VALUE + TN__IMAGE_VALUE_OF, TN_IMAGE_VALUE_ROOT);
    row = add_rows(p, TN__IMAGE_LAYOUT_TABLE, 1, TN__IMAGE_LAYOUT);
    p->made->layout = (uint64_t)(row - p->made->bytes);
    tn__put32(row + TN__IMAGE_LAYOUT_NAME, before + 4);
    tn__put32(row + TN__IMAGE_LAYOUT_OFFSETS, before);
    tn__put32(row + TN__IMAGE_LAYOUT_OFFSET_COUNT, 1);
    row = add_rows(p, TN__IMAGE_TEXT_TABLE, before + sizeof text, 1);
    memcpy(row, view->text, before);
    memcpy(row + before, text, sizeof text);
    p->size = tn__align_up(p->size, 8);
    const struct tn__image_numbers numbers = {.machine = view->machine,
                                              .size = (uint32_t)p->size,
                                              .slots = SLOTS,
                                              .places = 1 + SLOTS + 1 + view->tables[TN__IMAGE_ZONE_TABLE].count + 1,
                                              .tables = TABLES,
                                              .name = before + 14,
                                              .gc_abi = TN_GC_ABI};
    tn__image_write_header(p->header, &numbers);
}

static void add_place(struct parts *p, uint64_t at)
{
    tn__put32(p->header + p->size + 4 * (size_t)p->place++, (uint32_t)(at - HEAD));
}

/* The lists follow the places, in the first segment. */
static void add_lists(struct parts *p, const uint8_t *end)
{
    const uint8_t *first =
        p->saved->view.header + tn__get64(p->saved->view.tables[TN__IMAGE_LIST_TABLE].rows + TN__IMAGE_LIST_PLACE);
    uint64_t at = tn__align_up(HEAD + p->size + 4 * (uint64_t)(p->place + 1), 8);
    size_t size = (size_t)(end - first);
    memcpy(p->made->bytes + at, first, size);
    add_place(p, at);
}

static uint64_t add_zone(struct parts *p, uint64_t at, const uint8_t *bytes, uint64_t size)
{
    memcpy(p->made->bytes + at, bytes, size);
    add_place(p, at);
    return at + size;
}

/* All that is written lies in one segment: slots and values in a page, then zones. */
static void write_parts(struct parts *p)
{
    const struct tn__image_rows *zones = &p->saved->view.tables[TN__IMAGE_ZONE_TABLE];
    uint64_t code = add_pages(p, PF_R | PF_X, CODE_SIZE), frozen = 0, written = p->page;
    for (uint32_t i = 0; i < zones->count; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        bool is_frozen = tn__get32(row + TN__IMAGE_ZONE_KIND) == TN__ZONE_FROZEN;
        *(is_frozen ? &frozen : &written) += tn__get64(row + TN__IMAGE_ZONE_SIZE);
    }
    uint64_t read_only = add_pages(p, PF_R, frozen), words = add_pages(p, PF_R | PF_W, written), at = words + p->page;
    const uint8_t *bytes = p->saved->zones;
    memset(p->made->bytes + code, 0xc3, CODE_SIZE);
    add_place(p, words);
    add_place(p, code);
    add_place(p, words + 8 * SLOTS);
    if (frozen)
        add_zone(p, read_only, bytes, frozen);
    bytes += frozen;
    for (uint32_t i = frozen != 0; i < zones->count; i++) {
        uint64_t size = tn__get64(tn__image_row(zones, i) + TN__IMAGE_ZONE_SIZE);
        at = add_zone(p, at, bytes, size);
        bytes += size;
    }
    *p->made = (struct with_code){p->made->bytes,    p->made->size, HEAD,   code,    CODE_SIZE,
                                  words + 8 * SLOTS, read_only,     p->end, p->page, p->made->layout};
}

static void write_note(struct parts *p)
{
    enum { AT = HEAD - 64, NOTE = 36 };
    uint8_t *note = p->made->bytes + add_segment(p, PT_NOTE, PF_R, AT, NOTE);
    tn__put32(note, sizeof TN__IMAGE_NOTE_NAME);
    tn__put32(note + 4, TN__IMAGE_NOTE_SIZE);
    tn__put32(note + 8, TN__IMAGE_NOTE_TYPE);
    memcpy(note + 12, TN__IMAGE_NOTE_NAME, sizeof TN__IMAGE_NOTE_NAME);
    tn__put32(note + TN__IMAGE_NOTE_AT, HEAD - AT);
}

static void write_file(struct parts *p, uint64_t first, const uint8_t *end)
{
    add_pages(p, PF_R, first);
    write_tables(p);
    write_note(p);
    write_parts(p);
    add_lists(p, end);
    const Elf64_Ehdr file = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                             .e_type = ET_DYN,
                             .e_machine = p->saved->view.machine,
                             .e_version = EV_CURRENT,
                             .e_phoff = sizeof file,
                             .e_ehsize = sizeof file,
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = (Elf64_Half)p->segments};
    memcpy(p->made->bytes, &file, sizeof file);
    tn__put64(p->header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(p->header, p->size));
}

int with_code_make(const uint8_t *file, size_t size, struct with_code *made, struct tn_error *err)
{
    struct tn__arena arena = {.from = NULL};
    struct tn__saved saved;
    *made = (struct with_code){.header = HEAD};
    int code = tn__saved_read_file("objects", file, size, &arena, &saved, err);
    if (!code) {
        uint64_t page = tn__get32(saved.view.tables[TN__IMAGE_ZONE_TABLE].rows + TN__IMAGE_ZONE_PAGE);
        uint64_t tail = (uint64_t)(file + size - saved.view.header), first = tn__align_up(2 * HEAD + tail, page);
        made->size = first + 2 * page + tn__align_up(size, page);
        made->bytes = calloc(1, made->size);
        struct parts p = {.saved = &saved, .made = made, .page = page, .header = made->bytes + HEAD};
        code = made->bytes ? 0 : TN_ENOMEM;
        if (!code)
            write_file(&p, first, file + size);
    }
    tn__arena_free(&arena);
    return code;
}
