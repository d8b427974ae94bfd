/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The file itself: segments, sections, symbols. */

#include <errno.h>

#include "base/os.h"
#include "image/write/elf.h"
#include "image/format/format.h"
#include "link/arch/reloc.h"

/* ---- segments ---- */

/* Those that there is no space for are counted as well: tn__elf_write_file refuses them. */
static void add_segment(struct tn__elf_file *f, Elf64_Phdr header)
{
    header.p_paddr = header.p_vaddr;
    if (f->segment_count < TN__ELF_SEGMENTS_MOST)
        f->segments[f->segment_count] = header;
    f->segment_count++;
}

static void add_loaded(struct tn__elf_file *f, enum tn__output_place place)
{
    static const uint32_t flags[] = {[TN__OUTPUT_RODATA] = PF_R,
                                     [TN__OUTPUT_CODE] = PF_R | PF_X,
                                     [TN__OUTPUT_RELRO] = PF_R | PF_W,
                                     [TN__OUTPUT_DATA] = PF_R | PF_W};
    const struct tn__output_segment *segment = &f->output->segments[place];
    bool is_first = place == TN__OUTPUT_RODATA && !f->stub; /* which has the headers */
    if (segment->size || is_first)
        add_segment(f, (Elf64_Phdr){.p_type = PT_LOAD,
                                    .p_flags = flags[place],
                                    .p_offset = segment->offset,
                                    .p_vaddr = segment->address,
                                    .p_filesz = segment->file_size,
                                    .p_memsz = segment->size,
                                    .p_align = f->options->page_size ? f->options->page_size : TN__ELF_PAGE});
}

static void add_range(struct tn__elf_file *f, uint32_t type, uint32_t flags, uint64_t address, uint64_t offset,
                      uint64_t size, uint64_t alignment)
{
    add_segment(f, (Elf64_Phdr){.p_type = type,
                                .p_flags = flags,
                                .p_offset = offset,
                                .p_vaddr = address,
                                .p_filesz = size,
                                .p_memsz = size,
                                .p_align = alignment});
}

static void add_tls(struct tn__elf_file *f)
{
    const struct tn__output *output = f->output;
    for (size_t i = 0; i < output->section_count; i++)
        if (output->sections[i].tls) {
            add_segment(f, (Elf64_Phdr){.p_type = PT_TLS,
                                        .p_flags = PF_R,
                                        .p_offset = output->sections[i].offset,
                                        .p_vaddr = output->tls_address,
                                        .p_filesz = output->tls_file_size,
                                        .p_memsz = output->tls_size,
                                        .p_align = output->tls_alignment});
            return;
        }
}

/* What dynamic linkers ask for. */
static void add_library(struct tn__elf_file *f)
{
    const struct tn__output *output = f->output;
    const struct tn__elf_section *dynamic = &f->tables[TN__ELF_DYNAMIC], *id = &f->tables[TN__ELF_BUILD_ID];
    add_range(f, PT_DYNAMIC, PF_R, dynamic->address, dynamic->offset, dynamic->size, 8);
    add_tls(f);
    const struct tn__output_segment *sealed = &output->segments[TN__OUTPUT_RELRO];
    if (sealed->size) /* strip would write the same */
        add_segment(f, (Elf64_Phdr){.p_type = PT_GNU_RELRO,
                                    .p_flags = PF_R,
                                    .p_offset = sealed->offset,
                                    .p_vaddr = sealed->address,
                                    .p_filesz = sealed->file_size,
                                    .p_memsz = sealed->size,
                                    .p_align = 1});
    add_range(f, PT_NOTE, PF_R, id->address, id->offset, id->size, 4);
    add_range(f, PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16);
}

/* A stub has those of a program. Its thread-local data is the image's as well, if that has some. */
static void add_stub(struct tn__elf_file *f)
{
    for (size_t i = 0; i < f->stub->segment_count; i++)
        if (f->stub->segments[i].p_type != PT_TLS || !f->output->tls_size)
            add_segment(f, f->stub->segments[i]);
    if (f->output->tls_size)
        add_tls(f);
}

void tn__elf_list_segments(struct tn__elf_file *f)
{
    const struct tn__output *output = f->output;
    f->segment_count = 0;
    if (f->stub)
        add_stub(f);
    for (enum tn__output_place place = 0; place < TN__OUTPUT_SEGMENTS; place++)
        add_loaded(f, place);
    if (!f->stub)
        add_library(f);
    const struct tn__output_section *frames = tn__output_find(output, ".eh_frame_hdr");
    if (frames)
        add_range(f, PT_GNU_EH_FRAME, PF_R, frames->address, frames->offset, frames->size, 4);
    for (size_t i = 0; i < output->section_count; i++) {
        const struct tn__output_section *note = &output->sections[i];
        if (note->kind == TN__OUTPUT_NOTE)
            add_range(f, PT_NOTE, PF_R, note->address, note->offset, note->size, note->alignment);
    }
}

/* ---- sections ---- */

static struct tn__elf_section of_output(const struct tn__output_section *section)
{
    static const uint32_t types[] = {[TN__OUTPUT_PLAIN] = SHT_PROGBITS,
                                     [TN__OUTPUT_ZERO] = SHT_NOBITS,
                                     [TN__OUTPUT_NOTE] = SHT_NOTE,
                                     [TN__OUTPUT_INIT] = SHT_INIT_ARRAY,
                                     [TN__OUTPUT_FINI] = SHT_FINI_ARRAY};
    static const uint64_t flags[] = {[TN__OUTPUT_RODATA] = SHF_ALLOC,
                                     [TN__OUTPUT_CODE] = SHF_ALLOC | SHF_EXECINSTR,
                                     [TN__OUTPUT_RELRO] = SHF_ALLOC | SHF_WRITE,
                                     [TN__OUTPUT_DATA] = SHF_ALLOC | SHF_WRITE,
                                     [TN__OUTPUT_UNLOADED] = 0};
    bool array = section->kind == TN__OUTPUT_INIT || section->kind == TN__OUTPUT_FINI;
    return (struct tn__elf_section){.name = section->name,
                                    .type = types[section->kind],
                                    .flags = flags[section->place] | (section->tls ? SHF_TLS : 0),
                                    .address = section->address,
                                    .offset = section->offset,
                                    .size = section->size,
                                    .alignment = section->alignment,
                                    .entry_size = array ? 8 : 0,
                                    .bytes = section->bytes};
}

/* A section of the file's own, after all others. NULL when memory is out. */
static struct tn__elf_section *append(struct tn__elf_file *f, struct tn__elf_sections *all,
                                      struct tn__elf_section section)
{
    section.bytes = tn__arena_array(&f->arena, section.size, 1);
    return section.bytes ? tn__elf_append(all, section) : NULL;
}

/* The names of a stub are for debuggers; the image may have the same, so they are local. */
static bool append_symbols(struct tn__elf_file *f, struct tn__elf_sections *all)
{
    const struct tn__output *output = f->output;
    size_t of_stub = f->stub ? f->stub->symbol_count : 0;
    uint64_t size = 1, end = 1;
    for (size_t i = 0; i < output->symbol_count; i++)
        size += strlen(output->symbols[i].name) + 1;
    for (size_t i = 0; i < of_stub; i++)
        size += strlen(f->stub->definitions[i].name) + 1;
    const struct tn__elf_section *symbols =
        append(f, all,
               (struct tn__elf_section){.name = ".symtab",
                                        .type = SHT_SYMTAB,
                                        .size = (1 + of_stub + output->symbol_count) * sizeof(Elf64_Sym),
                                        .alignment = 8,
                                        .entry_size = sizeof(Elf64_Sym),
                                        .link = (uint32_t)all->count + 1,
                                        .info = (uint32_t)(1 + of_stub + output->local_count)});
    const struct tn__elf_section *strings =
        append(f, all, (struct tn__elf_section){.name = ".strtab", .type = SHT_STRTAB, .size = size, .alignment = 1});
    if (!symbols || !strings)
        return false;
    uint8_t *to = symbols->bytes + sizeof(Elf64_Sym);
    for (size_t i = 0; i < of_stub; i++, to += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol = f->stub->symbols[i];
        symbol.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol.st_info));
        symbol.st_other = STV_DEFAULT;
        tn__elf_put_symbol(to, symbol, strings->bytes, &end, f->stub->definitions[i].name);
    }
    for (size_t i = 0; i < output->symbol_count; i++, to += sizeof(Elf64_Sym))
        tn__elf_put_symbol(to, tn__elf_symbol(f, &output->symbols[i]), strings->bytes, &end, output->symbols[i].name);
    return true;
}

static bool list_sections(struct tn__elf_file *f, struct tn__elf_sections *all)
{
    const struct tn__output *output = f->output;
    size_t of_stub = f->stub ? f->stub->section_count : 0;
    all->items = tn__arena_array(&f->arena, of_stub + TN__ELF_TABLES + output->section_count + 4, sizeof *all->items);
    if (!all->items)
        return false;
    for (size_t i = 0; i < of_stub; i++)
        all->items[1 + i] = f->stub->sections[i];
    all->count = 1 + of_stub;
    for (enum tn__elf_table t = 0; t < TN__ELF_TABLES; t++)
        if (f->tables[t].size) {
            all->items[f->table_numbers[t]] = f->tables[t];
            all->count++;
        }
    for (size_t i = 0; i < output->section_count; i++)
        all->items[f->section_numbers[i]] = of_output(&output->sections[i]);
    all->count += output->section_count;
    all->end = output->end;
    for (size_t i = 0; i < output->section_count; i++)
        if (output->sections[i].place == TN__OUTPUT_UNLOADED)
            all->end = tn__max64(all->end, output->sections[i].offset + output->sections[i].size);
    return append_symbols(f, all);
}

/* The same for the same contents (and only for them, as far as 128 bits tell). */
static void fill_build_id(const struct tn__elf_file *f, const struct tn__elf_sections *all)
{
    uint8_t *id = f->tables[TN__ELF_BUILD_ID].bytes;
    static const uint32_t header[3] = {4, TN__ELF_ID, NT_GNU_BUILD_ID};
    uint64_t sums[2] = {0, 1};
    for (size_t i = 1; i < all->count; i++)
        for (size_t half = 0; all->items[i].bytes && half < 2; half++)
            sums[half] = tn__image_checksum(all->items[i].bytes, all->items[i].size, sums[half] + half);
    memcpy(id, header, sizeof header);
    memcpy(id + 12, "GNU", 4);
    memcpy(id + 16, sums, sizeof sums);
}

int tn__elf_write_file(struct tn__elf_file *f, struct tn_buffer *out)
{
    struct tn__elf_sections all = {.items = NULL};
    size_t most = f->stub ? f->stub->header.e_phnum : TN__ELF_SEGMENTS_MOST;
    tn__elf_list_segments(f);
    if (f->segment_count > most)
        return tn__fail(f->err, TN_ENOTSUP, "the file needs %zu program headers; there is room for %zu",
                        f->segment_count, most);
    if (!list_sections(f, &all))
        return tn__fail(f->err, TN_ENOMEM, "out of memory while writing a file");
    if (all.count + 1 >= SHN_LORESERVE)
        return tn__fail(f->err, TN_ENOTSUP, "%zu sections are too many for one file", all.count + 1);
    if (!f->stub) /* which has no place for one */
        fill_build_id(f, &all);
    size_t size = tn__elf_end(&all);
    if (!tn__os_permits_file(size)) /* it could not be stored: RLIMIT_FSIZE */
        return tn__fail(f->err, TN_EIO, "cannot write an ELF file: %s", strerror(EFBIG));
    uint8_t *file = tn__alloc_zeroed(NULL, 1, size);
    if (!file)
        return tn__fail(f->err, TN_ENOMEM, "out of memory while writing a file");
    tn__elf_write(file, &all,
                  (Elf64_Ehdr){.e_type = ET_DYN,
                               .e_machine = f->output->arch->elf_machine,
                               .e_flags = f->output->variant,
                               .e_entry = f->stub ? f->stub->header.e_entry : 0,
                               .e_phoff = sizeof(Elf64_Ehdr),
                               .e_phnum = (Elf64_Half)f->segment_count});
    memcpy(file + sizeof(Elf64_Ehdr), f->segments, f->segment_count * sizeof *f->segments);
    *out = (struct tn_buffer){.data = (char *)file, .size = size};
    uint64_t sum, at;
    if (tn__image_file_sum(file, size, &sum, &at))
        tn__put64(file + at, sum);
    return 0;
}
