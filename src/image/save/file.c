/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The file: an ELF header, the zones, and what tables.c makes; then section headers, for tools. Offsets in the file are
 * distances from its intended address. */

#include <errno.h>

#include "image/save/save.h"
#include "link/format/elf/writer.h"

enum { SECTIONS = TN__ZONES + 5, SEGMENTS = TN__ZONES + 5 };

struct layout {
    const struct tn_save *save;
    struct tn__elf_section sections[SECTIONS];
    Elf64_Phdr segments[SEGMENTS];
    size_t section_count, segment_count;
};

static void add_segment(struct layout *l, uint32_t type, uint32_t flags, uint64_t offset, uint64_t size,
                        uint64_t alignment)
{
    uint64_t address = type == PT_GNU_STACK ? 0 : l->save->base + offset;
    l->segments[l->segment_count++] = (Elf64_Phdr){.p_type = type,
                                                   .p_flags = flags,
                                                   .p_offset = offset,
                                                   .p_vaddr = address,
                                                   .p_paddr = address,
                                                   .p_filesz = size,
                                                   .p_memsz = size,
                                                   .p_align = alignment};
}

static void add_section(struct layout *l, const char *name, uint32_t type, uint64_t flags, uint64_t offset,
                        uint64_t size, uint64_t alignment)
{
    l->sections[l->section_count++] = (struct tn__elf_section){.name = name,
                                                               .type = type,
                                                               .flags = flags,
                                                               .address = l->save->base + offset,
                                                               .offset = offset,
                                                               .size = size,
                                                               .alignment = alignment};
}

static void add_zones(struct layout *l)
{
    static const char *const names[TN__ZONES] = {".tenon.frozen", ".tenon.sealed", ".tenon.bound", ".tenon.mutable"};
    const struct tn_save *save = l->save;
    for (int kind = 0; kind < TN__ZONES; kind++) {
        const struct tn__save_zone *zone = &save->zones[kind];
        bool is_written = kind != TN__ZONE_FROZEN;
        uint64_t offset = save->page + zone->start;
        if (!zone->size)
            continue;
        add_segment(l, PT_LOAD, PF_R | (is_written ? PF_W : 0), offset, zone->size, save->page);
        add_section(l, names[kind], SHT_PROGBITS, SHF_ALLOC | (is_written ? SHF_WRITE : 0), offset, zone->size,
                    save->page);
    }
}

/* Program headers first those that are loaded, by address. */
static void list_parts(struct layout *l, uint64_t tail)
{
    const struct tn_save *save = l->save;
    enum { NOTE = 36 };
    uint64_t offset = save->page + save->size;
    _Static_assert(sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr) <= sizeof save->head, "room for the headers");
    add_segment(l, PT_LOAD, PF_R, 0, 0, save->page); /* the size follows */
    l->section_count = 1;
    add_zones(l);
    add_segment(l, PT_LOAD, PF_R, offset, tail, save->page);
    add_segment(l, PT_NOTE, PF_R, offset, NOTE, 4);
    add_segment(l, PT_GNU_STACK, PF_R | PF_W, 0, 0, 16);
    add_section(l, ".note.tenon", SHT_NOTE, SHF_ALLOC, offset, NOTE, 4);
    add_section(l, ".tenon.image", SHT_PROGBITS, SHF_ALLOC, offset + TN__SAVE_HEADER, tail - TN__SAVE_HEADER, 64);
    uint64_t head = sizeof(Elf64_Ehdr) + l->segment_count * sizeof(Elf64_Phdr);
    l->segments[0].p_filesz = l->segments[0].p_memsz = head;
}

int tn__save_make_file(struct tn_save *save)
{
    struct layout l = {.save = save};
    struct tn_buffer tables = {NULL, 0};
    int code = tn__save_tables(save, &tables);
    if (code)
        return code;
    list_parts(&l, tables.size);
    uint64_t from = save->page + save->size; /* where the tail is in the file */
    struct tn__elf_sections all = {l.sections, l.section_count, from + tables.size};
    uint64_t size = tn__elf_end(&all);
    uint8_t *tail = tn__realloc(NULL, tables.data, size - from);
    if (!tail) {
        tn__free(NULL, tables.data);
        return tn__no_memory(save->err, save->options.name);
    }
    memset(tail + tables.size, 0, size - from - tables.size);
    const Elf64_Ehdr header = {
        .e_type = ET_DYN, .e_machine = save->machine, .e_phoff = sizeof header, .e_phnum = (Elf64_Half)l.segment_count};
    save->head_size = l.segments[0].p_filesz;
    memcpy(save->head + sizeof header, l.segments, l.segment_count * sizeof *l.segments);
    tn__elf_write_parts(save->head, tail, from, &all, header);
    save->tail = (struct tn_buffer){tail, size - from};
    save->stats.bytes = size;
    const struct tn__image_bytes parts[] = {
        {0, save->head, save->head_size}, {save->page, save->bytes, save->size}, {from, tail, size - from}};
    uint64_t sum, at;
    if (tn__image_parts_sum(parts, TN_COUNT(parts), &sum, &at))
        tn__put64(tail + (at - from), sum);
    return 0;
}

/* ---- writing ---- */

int tn__save_replace(const char *path, const struct tn__piece *head, uint64_t at, const struct tn__piece *rest,
                     size_t count, struct tn_error *err)
{
    struct tn__os_replacement file;
    int error = tn__os_replace_begin(path, &file);
    if (!error) {
        error = tn__os_write(file.fd, 0, head, 1);
        if (!error && count)
            error = tn__os_write(file.fd, at, rest, count);
        if (!error)
            error = tn__os_replace_end(&file, path);
        if (error)
            tn__os_replace_drop(&file);
    }
    return error
               ? tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: cannot be written: %s", path, strerror(error))
               : 0;
}

int tn__save_write_file(const struct tn_save *save, const char *path, struct tn_error *err)
{
    const struct tn__piece head = {save->head, save->head_size};
    const struct tn__piece rest[] = {{save->bytes, save->size}, {save->tail.data, save->tail.size}};
    return tn__save_replace(path, &head, save->page, rest, TN_COUNT(rest), err);
}
