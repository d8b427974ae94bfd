/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saved objects on their way into an image with code (gABI 4.1, chapter 4, "Object Files"). */

#include <stdio.h>

#include "image/write/saved.h"
#include "link/format/elf/writer.h"

const char *const tn__saved_symbols[TN__ZONES + 1] = {"frozen", "sealed", "bound", "mutable", "lists"};

enum { LISTS = TN__ZONES, PARTS = TN__ZONES + 1 };

/* ---- reading ---- */

static uint64_t size_of_lists(const struct tn__saved *saved, uint64_t *first)
{
    const struct tn__image_rows *lists = &saved->view.tables[TN__IMAGE_LIST_TABLE];
    uint64_t end = 0;
    *first = UINT64_MAX;
    for (uint32_t i = 0; i < lists->count; i++) {
        const uint8_t *row = tn__image_row(lists, i);
        uint64_t place = tn__get64(row + TN__IMAGE_LIST_PLACE), size = tn__get64(row + TN__IMAGE_LIST_SIZE);
        *first = tn__min64(*first, place);
        end = tn__max64(end, place + size);
    }
    return end > *first ? end - *first : 0;
}

static bool is_sound(const struct tn__saved *saved, uint64_t available, uint64_t size)
{
    const struct tn__image_rows *zones = &saved->view.tables[TN__IMAGE_ZONE_TABLE],
                                *lists = &saved->view.tables[TN__IMAGE_LIST_TABLE];
    uint64_t first, end = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < lists->count; i++) {
        const uint8_t *row = tn__image_row(lists, i);
        if (!tn__inside(tn__get64(row + TN__IMAGE_LIST_PLACE), tn__get64(row + TN__IMAGE_LIST_SIZE), available))
            return false;
    }
    for (uint32_t i = 0; i < zones->count; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        uint64_t space = tn__get64(row + TN__IMAGE_ZONE_SIZE), page = tn__get32(row + TN__IMAGE_ZONE_PAGE);
        uint32_t kind = tn__get32(row + TN__IMAGE_ZONE_KIND);
        if (kind < next || kind >= TN__ZONES || !page || page & (page - 1) || space % page ||
            !tn__inside(end, space, size))
            return false;
        end += space;
        next = kind + 1;
    }
    size_of_lists(saved, &first);
    return zones->count && lists->count && first % 8 == 0;
}

int tn__saved_read(const char *name, const uint8_t *header, uint64_t available, const uint8_t *zones, uint64_t size,
                   struct tn__arena *arena, struct tn__saved *saved, struct tn_error *err)
{
    int code = tn__image_read(name, header, available, arena, &saved->view, err);
    if (code)
        return code;
    if (!saved->view.tables[TN__IMAGE_ZONE_TABLE].rows || saved->view.zones_at)
        return tn__fail(err, TN_ENOTSUP, "%s: not an image of saved objects alone", name);
    saved->zones = zones;
    return is_sound(saved, available, size) ? 0 : tn__fail(err, TN_EFORMAT, "%s: its zones or lists lie outside", name);
}

/* Zones lie in the file as in memory. */
int tn__saved_read_file(const char *name, const uint8_t *bytes, size_t size, struct tn__arena *arena,
                        struct tn__saved *saved, struct tn_error *err)
{
    uint64_t sum, at;
    int code = tn__image_verify(name, bytes, size, err);
    if (code || !tn__image_file_sum(bytes, size, &sum, &at))
        return code;
    uint64_t note = at - TN__IMAGE_NOTE_SUM,
             header = note + (uint64_t)(int64_t)(int32_t)tn__get32(bytes + note + TN__IMAGE_NOTE_AT);
    if (header >= size)
        return tn__fail(err, TN_EFORMAT, "%s: its header lies outside", name);
    code = tn__saved_read(name, bytes + header, size - header, NULL, UINT64_MAX / 2, arena, saved, err);
    if (code)
        return code;
    const struct tn__image_rows *zones = &saved->view.tables[TN__IMAGE_ZONE_TABLE];
    uint64_t first = header + tn__get64(tn__image_row(zones, 0) + TN__IMAGE_ZONE_PLACE);
    if (first > header)
        return tn__fail(err, TN_EFORMAT, "%s: its zones lie outside", name);
    return tn__saved_read(name, bytes + header, size - header, bytes + first, header - first, arena, saved, err);
}

/* ---- the tables ---- */

/* Where zones and lists are, a linker will know. */
void tn__saved_copy_rows(const struct tn__saved *saved, enum tn__image_table kind, uint8_t *to)
{
    const struct tn__image_rows *rows = &saved->view.tables[kind];
    uint64_t first;
    size_of_lists(saved, &first);
    if (rows->count)
        memcpy(to, rows->rows, (size_t)rows->count * rows->size);
    for (uint32_t i = 0; i < rows->count; i++, to += rows->size)
        if (kind == TN__IMAGE_ZONE_TABLE)
            tn__put64(to + TN__IMAGE_ZONE_PLACE, 0);
        else if (kind == TN__IMAGE_LIST_TABLE)
            tn__put64(to + TN__IMAGE_LIST_PLACE, tn__get64(to + TN__IMAGE_LIST_PLACE) - first);
}

/* ---- the object ---- */

struct object {
    struct tn__elf_section sections[PARTS + 5];
    struct tn__elf_sections all;
    Elf64_Sym symbols[PARTS];
    uint8_t names[PARTS * 256], table[(PARTS + 1) * sizeof(Elf64_Sym)];
    uint64_t names_end;
    size_t symbol_count;
};

static void add(struct object *o, const char *image, int part, uint64_t size, uint64_t alignment, const uint8_t *bytes)
{
    static const char *const names[PARTS] = {".tenon.frozen", ".tenon.sealed", ".tenon.bound", ".tenon.mutable",
                                             ".tenon.lists"};
    char name[256];
    bool is_written = part >= TN__ZONE_SEALED && part <= TN__ZONE_MUTABLE;
    tn__elf_append(&o->all, (struct tn__elf_section){.name = names[part],
                                                     .type = SHT_PROGBITS,
                                                     .flags = SHF_ALLOC | (is_written ? SHF_WRITE : 0),
                                                     .size = size,
                                                     .alignment = alignment,
                                                     .bytes = (uint8_t *)(uintptr_t)bytes});
    const Elf64_Sym symbol = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                              .st_other = STV_HIDDEN,
                              .st_shndx = (Elf64_Section)(o->all.count - 1),
                              .st_size = size};
    snprintf(name, sizeof name, "%s.%s", image, tn__saved_symbols[part]);
    tn__elf_put_symbol(o->table + ++o->symbol_count * sizeof symbol, symbol, o->names, &o->names_end, name);
}

static void add_parts(struct object *o, const struct tn__saved *saved, const char *image)
{
    const struct tn__image_rows *zones = &saved->view.tables[TN__IMAGE_ZONE_TABLE];
    const uint8_t *bytes = saved->zones;
    for (uint32_t i = 0; i < zones->count; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        uint64_t size = tn__get64(row + TN__IMAGE_ZONE_SIZE);
        add(o, image, (int)tn__get32(row + TN__IMAGE_ZONE_KIND), size, tn__get32(row + TN__IMAGE_ZONE_PAGE), bytes);
        bytes += size;
    }
    uint64_t first, size = size_of_lists(saved, &first);
    add(o, image, LISTS, size, 8, saved->view.header + first);
}

static void add_tables(struct object *o)
{
    const struct tn__elf_section symbols = {.name = ".symtab",
                                            .type = SHT_SYMTAB,
                                            .size = (1 + o->symbol_count) * sizeof(Elf64_Sym),
                                            .alignment = 8,
                                            .entry_size = sizeof(Elf64_Sym),
                                            .link = (uint32_t)o->all.count + 1,
                                            .info = 1,
                                            .bytes = o->table};
    tn__elf_append(&o->all, symbols);
    tn__elf_append(&o->all,
                   (struct tn__elf_section){
                       .name = ".strtab", .type = SHT_STRTAB, .size = o->names_end, .alignment = 1, .bytes = o->names});
    tn__elf_append(&o->all, (struct tn__elf_section){.name = ".note.GNU-stack", .type = SHT_PROGBITS, .alignment = 1});
}

int tn__saved_object(const struct tn__saved *saved, const char *image, struct tn_buffer *out, struct tn_error *err)
{
    struct object o = {.names_end = 1};
    o.all = (struct tn__elf_sections){.items = o.sections, .count = 1, .end = sizeof(Elf64_Ehdr)};
    enum { RISCV_FLAGS = 5 }; /* psABI: compressed instructions, arguments in double registers, as all that is built */
    add_parts(&o, saved, image);
    if (o.all.end >= UINT64_C(1) << 31)
        return tn__fail(err, TN_ERANGE, "%s: %llu bytes of objects in an image with code; there is room for 2 GiB",
                        image, (unsigned long long)o.all.end);
    add_tables(&o);
    size_t size = tn__elf_end(&o.all);
    uint8_t *file = tn__alloc_zeroed(NULL, 1, size);
    if (!file)
        return tn__no_memory(err, image);
    tn__elf_write(file, &o.all,
                  (Elf64_Ehdr){.e_type = ET_REL,
                               .e_machine = saved->view.machine,
                               .e_flags = saved->view.machine == EM_RISCV ? RISCV_FLAGS : 0});
    *out = (struct tn_buffer){file, size};
    return 0;
}
