/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The System V Application Binary Interface, generic and for x86-64. */

#include <elf.h>

#include "baseline/file/file.h"

/* A section for each kind of variable. */
enum { ZEROS = TN__FLAT_PLACES, RELOCATED, SECTIONS };
enum { NOTE = 2 * SECTIONS + 1, SYMTAB, STRTAB, ALL_SECTIONS }; /* numbers; each section comes with its relocations */

/* With contents, without, and constants that hold addresses. */
static const struct {
    const char *name, *relocs;
    uint64_t flags;
} kinds[SECTIONS] = {
    [TN__FLAT_WRITABLE] = {".data", ".rela.data", SHF_ALLOC | SHF_WRITE},
    [TN__FLAT_READ_ONLY] = {".rodata", ".rela.rodata", SHF_ALLOC},
    [ZEROS] = {".bss", ".rela.bss", SHF_ALLOC | SHF_WRITE},
    [RELOCATED] = {".data.rel.ro", ".rela.data.rel.ro", SHF_ALLOC | SHF_WRITE},
};

struct section {
    uint64_t size, alignment, relocs; /* the last: how many */
    uint8_t *bytes;                   /* in the object; NULL: it has none */
    Elf64_Rela *next;                 /* relocation to be written */
};

struct writing {
    const struct tn__flat_file *file;
    const struct tn__flat_symbol *symbols;
    struct section sections[SECTIONS];
    uint64_t *values;  /* of each variable: where it is in its section */
    uint32_t *numbers; /* of each symbol: in the object; 0: it is not there */
    uint32_t symbol_count, locals;
    size_t names_size;
};

static unsigned kind_of(const struct tn__flat_data *data)
{
    if (data->place == TN__FLAT_READ_ONLY && data->pointer_count)
        return RELOCATED;
    return data->byte_count || data->place == TN__FLAT_READ_ONLY ? data->place : ZEROS;
}

/* ---- where everything goes ---- */

static void place_variables(struct writing *w)
{
    for (uint32_t i = 0; i < w->file->data_count; i++) {
        const struct tn__flat_data *data = &w->file->data[i];
        struct section *section = &w->sections[kind_of(data)];
        uint64_t alignment = (uint64_t)1 << data->alignment;
        w->values[i] = tn__align_up(section->size, alignment);
        section->size = w->values[i] + data->size;
        section->alignment = tn__max64(section->alignment, alignment);
        section->relocs += data->pointer_count;
    }
}

/* What is not in the object yet, local symbols first. */
static void number_symbols(struct writing *w)
{
    for (uint32_t i = 0; i < w->file->data_count; i++)
        w->numbers[w->file->data[i].symbol] = UINT32_MAX;
    for (uint32_t i = 0; i < w->file->pointer_count; i++)
        w->numbers[w->file->pointers[i].symbol] = UINT32_MAX;
    w->symbol_count = 1;
    for (int global = 0; global < 2; global++) {
        for (uint32_t i = 0; i < w->file->symbol_count; i++)
            if (w->numbers[i] && (w->symbols[i].binding != TN__FLAT_LOCAL) == global) {
                w->numbers[i] = w->symbol_count++;
                w->names_size += strlen(w->symbols[i].name) + 1;
            }
        w->locals = global ? w->locals : w->symbol_count;
    }
}

/* ---- contents ---- */

static void write_variables(struct writing *w)
{
    const struct tn__flat_pointer *p = w->file->pointers;
    for (uint32_t i = 0; i < w->file->data_count; i++) {
        const struct tn__flat_data *data = &w->file->data[i];
        struct section *section = &w->sections[kind_of(data)];
        if (data->byte_count)
            memcpy(section->bytes + w->values[i], data->bytes, data->byte_count);
        for (const struct tn__flat_pointer *end = p + data->pointer_count; p < end; p++)
            *section->next++ = (Elf64_Rela){w->values[i] + p->offset,
                                            ELF64_R_INFO((uint64_t)w->numbers[p->symbol], R_X86_64_64), p->addend};
    }
}

/* A local function is defined in the object of the code, whose symbol it becomes by its name. */
static void write_symbols(const struct writing *w, Elf64_Sym *table, char *names)
{
    size_t used = 1;
    for (uint32_t i = 0; i < w->file->symbol_count; i++) {
        const struct tn__flat_symbol *s = &w->symbols[i];
        if (!w->numbers[i])
            continue;
        table[w->numbers[i]] = (Elf64_Sym){
            .st_name = (Elf64_Word)used, .st_info = ELF64_ST_INFO(s->binding, STT_NOTYPE), .st_other = s->visibility};
        memcpy(names + used, s->name, strlen(s->name) + 1);
        used += strlen(s->name) + 1;
    }
    for (uint32_t i = 0; i < w->file->data_count; i++) {
        const struct tn__flat_data *data = &w->file->data[i];
        Elf64_Sym *symbol = &table[w->numbers[data->symbol]];
        symbol->st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol->st_info), STT_OBJECT);
        symbol->st_shndx = (Elf64_Half)(2 * kind_of(data) + 1);
        symbol->st_value = w->values[i];
        symbol->st_size = data->size;
    }
}

/* ---- the whole ---- */

static const char more_names[] = ".note.GNU-stack\0.symtab\0.strtab";

/* Names of sections and symbols are in one table. */
static size_t size_of_section_names(void)
{
    size_t size = sizeof more_names;
    for (size_t i = 0; i < SECTIONS; i++)
        size += strlen(kinds[i].name) + strlen(kinds[i].relocs) + 2;
    return size;
}

/* Places the section at `at` of the object; returns where it ends. */
static uint64_t place(Elf64_Shdr *section, uint64_t at)
{
    section->sh_offset = tn__align_up(at, section->sh_addralign);
    return section->sh_offset + (section->sh_type == SHT_NOBITS ? 0 : section->sh_size);
}

static uint64_t lay_out(const struct writing *w, Elf64_Shdr *headers)
{
    uint64_t at = sizeof(Elf64_Ehdr);
    for (unsigned k = 0; k < SECTIONS; k++) {
        const struct section *s = &w->sections[k];
        headers[2 * k + 1] = (Elf64_Shdr){.sh_type = k == ZEROS ? SHT_NOBITS : SHT_PROGBITS,
                                          .sh_flags = kinds[k].flags,
                                          .sh_size = s->size,
                                          .sh_addralign = s->alignment};
        headers[2 * k + 2] = (Elf64_Shdr){.sh_type = SHT_RELA,
                                          .sh_flags = SHF_INFO_LINK,
                                          .sh_size = s->relocs * sizeof(Elf64_Rela),
                                          .sh_link = SYMTAB,
                                          .sh_info = 2 * k + 1,
                                          .sh_addralign = 8,
                                          .sh_entsize = sizeof(Elf64_Rela)};
    }
    headers[NOTE] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 1};
    headers[SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                   .sh_size = w->symbol_count * sizeof(Elf64_Sym),
                                   .sh_link = STRTAB,
                                   .sh_info = w->locals,
                                   .sh_addralign = 8,
                                   .sh_entsize = sizeof(Elf64_Sym)};
    headers[STRTAB] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = 1 + w->names_size + size_of_section_names(), .sh_addralign = 1};
    for (unsigned i = 1; i < ALL_SECTIONS; i++)
        at = place(&headers[i], at);
    return at;
}

static void name_sections(const struct writing *w, Elf64_Shdr *headers, char *names)
{
    size_t used = 1 + w->names_size;
    const char *more = more_names;
    for (unsigned i = 1; i < ALL_SECTIONS; i++) {
        const char *name = i >= NOTE ? more : i % 2 ? kinds[i / 2].name : kinds[i / 2 - 1].relocs;
        size_t size = strlen(name) + 1;
        more += i >= NOTE ? size : 0;
        headers[i].sh_name = (Elf64_Word)used;
        memcpy(names + used, name, size);
        used += size;
    }
}

static int write_object(struct writing *w, struct tn_buffer *out, struct tn_error *err)
{
    Elf64_Shdr headers[ALL_SECTIONS] = {{0}};
    place_variables(w);
    number_symbols(w);
    if (1 + w->names_size + size_of_section_names() > UINT32_MAX)
        return tn__fail(err, TN_ENOTSUP, "the names of the module have more than 4 GB");
    uint64_t end = tn__align_up(lay_out(w, headers), 8);
    uint8_t *bytes = tn__alloc_zeroed(NULL, 1, end + sizeof headers);
    if (!bytes)
        return tn__no_memory(err, NULL);
    const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_REL,
                               .e_machine = EM_X86_64,
                               .e_version = EV_CURRENT,
                               .e_shoff = end,
                               .e_ehsize = sizeof header,
                               .e_shentsize = sizeof *headers,
                               .e_shnum = ALL_SECTIONS,
                               .e_shstrndx = STRTAB};
    for (unsigned k = 0; k < SECTIONS; k++) {
        w->sections[k].bytes = bytes + headers[2 * k + 1].sh_offset;
        w->sections[k].next = (Elf64_Rela *)(void *)(bytes + headers[2 * k + 2].sh_offset);
    }
    char *names = (char *)bytes + headers[STRTAB].sh_offset;
    write_variables(w);
    write_symbols(w, (Elf64_Sym *)(void *)(bytes + headers[SYMTAB].sh_offset), names);
    name_sections(w, headers, names);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + end, headers, sizeof headers);
    *out = (struct tn_buffer){.data = (void *)bytes, .size = end + sizeof headers};
    return 0;
}

int tn__flat_data_object(const struct tn__flat_file *file, const struct tn__flat_symbol *symbols, struct tn_buffer *out,
                         struct tn_error *err)
{
    struct writing w = {.file = file, .symbols = symbols};
    for (unsigned k = 0; k < SECTIONS; k++)
        w.sections[k].alignment = 1;
    w.values = tn__alloc_zeroed(NULL, file->data_count + (size_t)1, sizeof *w.values);
    w.numbers = tn__alloc_zeroed(NULL, file->symbol_count + (size_t)1, sizeof *w.numbers);
    int code = w.values && w.numbers ? write_object(&w, out, err) : tn__no_memory(err, NULL);
    tn__free(NULL, w.values);
    tn__free(NULL, w.numbers);
    return code;
}
