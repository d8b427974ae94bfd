/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The file itself: libelf is told every offset, and writes into memory. */

#include <errno.h>
#include <libelf.h>

#include "base/os.h"
#include "codegen/image/stub.h"
#include "codegen/llvm.h"
#include "image/format.h"
#include "link/arch/reloc.h"

/* ---- segments ---- */

/* Those that there is no room for are counted as well: tn__elf_write refuses them. */
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
    if (sealed->size)
        add_range(f, PT_GNU_RELRO, PF_R, sealed->address, sealed->offset, sealed->size, 1);
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

/* All that the file has, by number; the last three are made here. */
struct sections {
    struct tn__elf_section *items;
    size_t count;
    uint64_t end; /* of the bytes in the file */
};

/* One behind everything that is there. */
static struct tn__elf_section *append(struct tn__elf_file *f, struct sections *all, const char *name, uint32_t type,
                                      uint64_t size, uint64_t alignment)
{
    struct tn__elf_section *section = &all->items[all->count++];
    all->end = tn__align_up(all->end, alignment);
    *section = (struct tn__elf_section){.name = name,
                                        .type = type,
                                        .offset = all->end,
                                        .size = size,
                                        .alignment = alignment,
                                        .bytes = tn__arena_array(&f->arena, size, 1)};
    all->end += size;
    return section->bytes ? section : NULL;
}

/* A symbol table that is being filled, and its names. */
struct symbols {
    uint8_t *symbol, *strings;
    uint32_t end; /* of the names */
};

static void put_symbol(struct symbols *to, Elf64_Sym symbol, const char *name)
{
    size_t length = strlen(name) + 1;
    symbol.st_name = to->end;
    memcpy(to->symbol, &symbol, sizeof symbol);
    memcpy(to->strings + to->end, name, length);
    to->symbol += sizeof symbol;
    to->end += (uint32_t)length;
}

/* The names of a stub are for debuggers; the image may have the same, so they are local. */
static void put_stub_symbols(struct symbols *to, const struct tn__stub *stub)
{
    for (size_t i = 0; i < stub->symbol_count; i++) {
        Elf64_Sym symbol = stub->symbols[i];
        symbol.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol.st_info));
        symbol.st_other = STV_DEFAULT;
        put_symbol(to, symbol, stub->definitions[i].name);
    }
}

static bool append_symbols(struct tn__elf_file *f, struct sections *all)
{
    const struct tn__output *output = f->output;
    size_t of_stub = f->stub ? f->stub->symbol_count : 0;
    uint64_t size = 1;
    for (size_t i = 0; i < output->symbol_count; i++)
        size += strlen(output->symbols[i].name) + 1;
    for (size_t i = 0; i < of_stub; i++)
        size += strlen(f->stub->definitions[i].name) + 1;
    struct tn__elf_section *symbols =
        append(f, all, ".symtab", SHT_SYMTAB, (1 + of_stub + output->symbol_count) * sizeof(Elf64_Sym), 8);
    struct tn__elf_section *strings = append(f, all, ".strtab", SHT_STRTAB, size, 1);
    if (!symbols || !strings)
        return false;
    symbols->entry_size = sizeof(Elf64_Sym);
    symbols->link = (uint32_t)(strings - all->items);
    symbols->info = (uint32_t)(1 + of_stub + output->local_count);
    struct symbols to = {symbols->bytes + sizeof(Elf64_Sym), strings->bytes, 1};
    if (f->stub)
        put_stub_symbols(&to, f->stub);
    for (size_t i = 0; i < output->symbol_count; i++)
        put_symbol(&to, tn__elf_symbol(f, &output->symbols[i], 0), output->symbols[i].name);
    return true;
}

static bool append_names(struct tn__elf_file *f, struct sections *all)
{
    static const char own[] = ".shstrtab";
    uint64_t size = 1 + sizeof own, at = 1;
    for (size_t i = 1; i < all->count; i++)
        size += strlen(all->items[i].name) + 1;
    struct tn__elf_section *names = append(f, all, own, SHT_STRTAB, size, 1);
    for (size_t i = 1; names && i < all->count; i++) {
        size_t length = strlen(all->items[i].name) + 1;
        memcpy(names->bytes + at, all->items[i].name, length);
        all->items[i].name = (const char *)names->bytes + at;
        at += length;
    }
    return names != NULL;
}

static bool list_sections(struct tn__elf_file *f, struct sections *all)
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
    return append_symbols(f, all) && append_names(f, all);
}

/* The same for the same contents (and only for them, as far as 128 bits tell). */
static void fill_build_id(const struct tn__elf_file *f, const struct sections *all)
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

/* ---- libelf ---- */

static bool put_section(Elf *elf, const struct tn__elf_section *section, const char *names)
{
    Elf_Scn *out = elf_newscn(elf);
    Elf64_Shdr *header = out ? elf64_getshdr(out) : NULL;
    Elf_Data *data = header ? elf_newdata(out) : NULL;
    if (!data)
        return false;
    *header = (Elf64_Shdr){.sh_name = (Elf64_Word)(section->name - names),
                           .sh_type = section->type,
                           .sh_flags = section->flags,
                           .sh_addr = section->address,
                           .sh_offset = section->offset,
                           .sh_size = section->size,
                           .sh_link = section->link,
                           .sh_info = section->info,
                           .sh_addralign = section->alignment,
                           .sh_entsize = section->entry_size};
    *data = (Elf_Data){
        .d_buf = section->bytes, .d_type = ELF_T_BYTE, .d_version = EV_CURRENT, .d_size = section->size, .d_align = 1};
    return true;
}

static bool put_headers(Elf *elf, const struct tn__elf_file *f, const struct sections *all)
{
    Elf64_Ehdr *header = elf64_newehdr(elf);
    Elf64_Phdr *segments = header ? elf64_newphdr(elf, f->segment_count) : NULL;
    if (!segments)
        return false;
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_type = ET_DYN;
    header->e_machine = f->output->arch->elf_machine;
    header->e_version = EV_CURRENT;
    header->e_entry = f->stub ? f->stub->header.e_entry : 0;
    header->e_phoff = sizeof *header;
    header->e_shoff = tn__align_up(all->end, 8);
    header->e_shstrndx = (Elf64_Half)(all->count - 1);
    memcpy(segments, f->segments, f->segment_count * sizeof *segments);
    return true;
}

/* Its size is computed first, because writing more than RLIMIT_FSIZE would be a signal. An errno value; -1: libelf's
 * own. */
static int put_all(int fd, const struct tn__elf_file *f, const struct sections *all)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
    const char *names = (const char *)all->items[all->count - 1].bytes;
    bool good = elf && put_headers(elf, f, all);
    for (size_t i = 1; good && i < all->count; i++)
        good = put_section(elf, &all->items[i], names);
    if (good)
        elf_flagelf(elf, ELF_C_SET, ELF_F_LAYOUT);
    int64_t size = good ? elf_update(elf, ELF_C_NULL) : -1;
    bool is_permitted = size < 0 || tn__os_permits_file((uint64_t)size);
    good = size >= 0 && is_permitted && elf_update(elf, ELF_C_WRITE) >= 0;
    elf_end(elf);
    return good ? 0 : is_permitted ? -1 : EFBIG;
}

/* libelf writes to descriptors only. */
static int write_to_memory(const struct tn__elf_file *f, const struct sections *all, struct tn_buffer *out)
{
    int fd, error = tn__os_memfd(0, &fd);
    struct tn__os_file file;
    if (error)
        return tn__fail(f->err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "no file in memory: %s", strerror(error));
    error = put_all(fd, f, all);
    if (!error)
        error = tn__os_map_open_file(fd, &file);
    tn__os_close(fd);
    if (error)
        return tn__fail(f->err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "cannot write an ELF file: %s",
                        error < 0 ? elf_errmsg(-1) : strerror(error));
    int code = tn__buffer_fill(out, file.bytes, file.size)
                   ? TN_OK
                   : tn__fail(f->err, TN_ENOMEM, "out of memory while writing a file");
    tn__os_unmap_file(&file);
    uint64_t sum, at;
    if (code == TN_OK && tn__image_file_sum((const uint8_t *)out->data, out->size, &sum, &at))
        tn__put64((uint8_t *)out->data + at, sum);
    return code;
}

int tn__elf_write(struct tn__elf_file *f, struct tn_buffer *out)
{
    struct sections all = {.items = NULL};
    size_t most = f->stub ? f->stub->header.e_phnum : TN__ELF_SEGMENTS_MOST;
    tn__elf_list_segments(f);
    if (f->segment_count > most)
        return tn__fail(f->err, TN_ENOTSUP, "the file needs %zu program headers; there is room for %zu",
                        f->segment_count, most);
    if (!list_sections(f, &all))
        return tn__fail(f->err, TN_ENOMEM, "out of memory while writing a file");
    if (all.count >= SHN_LORESERVE)
        return tn__fail(f->err, TN_ENOTSUP, "%zu sections are too many for one file", all.count);
    if (!f->stub) /* which has no place for one */
        fill_build_id(f, &all);
    return write_to_memory(f, &all, out);
}
