/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "elf_builder.h"

#include <stdlib.h>

static uint32_t add_string(struct elf *elf, const char *text)
{
    if (!elf->strings_size)
        elf->strings_size = 1;
    size_t length = strlen(text) + 1, at = elf->strings_size;
    assert_true(at + length <= ELF_STRINGS);
    memcpy(elf->strings + at, text, length);
    elf->strings_size += length;
    return *text ? (uint32_t)at : 0;
}

unsigned elf_section(struct elf *elf, const char *name, uint32_t type, uint64_t flags, const void *bytes, size_t size)
{
    assert_true(elf->section_count + 1 < ELF_SECTIONS);
    unsigned index = ++elf->section_count;
    elf->sections[index].name = name;
    elf->sections[index].bytes = bytes;
    elf->sections[index].header = (Elf64_Shdr){.sh_type = type, .sh_flags = flags, .sh_size = size, .sh_addralign = 16};
    return index;
}

unsigned elf_code(struct elf *elf, const void *bytes, size_t size)
{
    return elf_section(elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, bytes, size);
}

unsigned elf_symbol(struct elf *elf, const char *name, unsigned bind, unsigned type, unsigned section, uint64_t value,
                    uint64_t size)
{
    assert_true(elf->symbol_count + 1 < ELF_SYMBOLS);
    elf->symbols[++elf->symbol_count] = (Elf64_Sym){
        .st_name = add_string(elf, name),
        .st_info = (unsigned char)ELF64_ST_INFO(bind, type),
        .st_shndx = (Elf64_Section)section,
        .st_value = value,
        .st_size = size,
    };
    return elf->symbol_count;
}

unsigned elf_function(struct elf *elf, const char *name, unsigned section, uint64_t value)
{
    return elf_symbol(elf, name, STB_GLOBAL, STT_FUNC, section, value, 1);
}

unsigned elf_undefined(struct elf *elf, const char *name)
{
    return elf_symbol(elf, name, STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0, 0);
}

void elf_reloc(struct elf *elf, unsigned section, uint64_t offset, unsigned symbol, uint32_t type, int64_t addend)
{
    assert_true(elf->reloc_count < ELF_RELOCS);
    elf->relocs[elf->reloc_count].section = section;
    elf->relocs[elf->reloc_count++].rela =
        (Elf64_Rela){.r_offset = offset, .r_info = ELF64_R_INFO((uint64_t)symbol, type), .r_addend = addend};
}

/* ---- writing the file ---- */

struct writer {
    struct bytes file;
    Elf64_Shdr headers[2 * ELF_SECTIONS];
    unsigned count;
    char names[ELF_STRINGS];
    size_t names_size;
};

static void append(struct writer *w, const void *bytes, size_t size)
{
    size_t at = (w->file.size + 15) & ~(size_t)15;
    w->file.at = realloc(w->file.at, at + size + 16);
    assert_non_null(w->file.at);
    memset(w->file.at + w->file.size, 0, at - w->file.size);
    if (size)
        memcpy(w->file.at + at, bytes, size);
    w->file.size = at + size;
}

static void write_section(struct writer *w, const char *name, Elf64_Shdr header, const void *bytes)
{
    size_t length = strlen(name) + 1;
    assert_true(w->names_size + length <= sizeof w->names && w->count < COUNT(w->headers));
    memcpy(w->names + w->names_size, name, length);
    header.sh_name = (uint32_t)w->names_size;
    w->names_size += length;
    if (header.sh_type != SHT_NOBITS)
        append(w, bytes, header.sh_size);
    header.sh_offset = w->file.size - (header.sh_type != SHT_NOBITS ? header.sh_size : 0);
    w->headers[w->count++] = header;
}

static void write_relocs(struct writer *w, const struct elf *elf, unsigned section, unsigned symtab)
{
    Elf64_Rela relas[ELF_RELOCS];
    size_t count = 0;
    for (unsigned i = 0; i < elf->reloc_count; i++)
        if (elf->relocs[i].section == section)
            relas[count++] = elf->relocs[i].rela;
    char name[80];
    snprintf(name, sizeof name, ".rela%.60s", elf->sections[section].name);
    write_section(w, name,
                  (Elf64_Shdr){.sh_type = SHT_RELA,
                               .sh_link = symtab,
                               .sh_info = section,
                               .sh_size = count * sizeof *relas,
                               .sh_entsize = sizeof *relas,
                               .sh_addralign = 8},
                  relas);
}

static unsigned mark_relocated(const struct elf *elf, bool *relocated)
{
    unsigned count = 0;
    for (unsigned i = 0; i < elf->reloc_count; i++) {
        count += !relocated[elf->relocs[i].section];
        relocated[elf->relocs[i].section] = true;
    }
    return count;
}

struct bytes elf_finish(const struct elf *elf)
{
    struct writer *w = calloc(1, sizeof *w);
    assert_non_null(w);
    append(w, &(Elf64_Ehdr){0}, sizeof(Elf64_Ehdr));
    w->count = w->names_size = 1;
    bool relocated[ELF_SECTIONS] = {false};
    unsigned symtab = 1 + elf->section_count + mark_relocated(elf, relocated), locals = 1;
    for (unsigned i = 1; i <= elf->section_count; i++) {
        Elf64_Shdr header = elf->sections[i].header;
        if (header.sh_type == SHT_GROUP)
            header.sh_link = symtab;
        write_section(w, elf->sections[i].name, header, elf->sections[i].bytes);
    }
    for (unsigned i = 1; i <= elf->section_count; i++)
        if (relocated[i])
            write_relocs(w, elf, i, symtab);
    while (locals <= elf->symbol_count && ELF64_ST_BIND(elf->symbols[locals].st_info) == STB_LOCAL)
        locals++;
    write_section(w, ".symtab",
                  (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                               .sh_link = symtab + 1,
                               .sh_info = locals,
                               .sh_size = (elf->symbol_count + 1) * sizeof(Elf64_Sym),
                               .sh_entsize = sizeof(Elf64_Sym),
                               .sh_addralign = 8},
                  elf->symbols);
    write_section(
        w, ".strtab",
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = elf->strings_size ? elf->strings_size : 1, .sh_addralign = 1},
        elf->strings);
    write_section(w, ".shstrtab", (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = w->names_size + 10, .sh_addralign = 1},
                  w->names);
    append(w, w->headers, w->count * sizeof *w->headers);
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = MACHINE,
        .e_version = EV_CURRENT,
        .e_flags = MACHINE_FLAGS,
        .e_shoff = w->file.size - w->count * sizeof *w->headers,
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (uint16_t)w->count,
        .e_shstrndx = (uint16_t)(w->count - 1),
    };
    memcpy(w->file.at, &header, sizeof header);
    struct bytes file = w->file;
    free(w);
    return file;
}

/* ---- places ---- */

Elf64_Ehdr *elf_header(struct bytes file)
{
    return (Elf64_Ehdr *)(void *)file.at;
}

Elf64_Shdr *elf_section_header(struct bytes file, unsigned index)
{
    assert_true(index < elf_header(file)->e_shnum);
    return (Elf64_Shdr *)(void *)(file.at + elf_header(file)->e_shoff) + index;
}

Elf64_Shdr *elf_section_of_type(struct bytes file, uint32_t type)
{
    for (unsigned i = 1; i < elf_header(file)->e_shnum; i++)
        if (elf_section_header(file, i)->sh_type == type)
            return elf_section_header(file, i);
    fail_msg("no section of type %u", type);
    return NULL;
}

Elf64_Sym *elf_symbol_entry(struct bytes file, unsigned index)
{
    return (Elf64_Sym *)(void *)(file.at + elf_section_of_type(file, SHT_SYMTAB)->sh_offset) + index;
}

Elf64_Rela *elf_rela_entry(struct bytes file, unsigned index)
{
    return (Elf64_Rela *)(void *)(file.at + elf_section_of_type(file, SHT_RELA)->sh_offset) + index;
}
