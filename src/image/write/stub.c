/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reading a stub: a static PIE with program headers to spare (tools/stub), whose symbol table says what it offers. */

#include "image/write/elf.h"
#include "link/model/object.h"

struct reader {
    struct tn__stub *stub;
    const char *name;
    const uint8_t *bytes;
    size_t size;
    Elf64_Shdr names, symbols, strings;
    struct tn_error *err;
};

#define FAIL(r, what) tn__fail((r)->err, TN_EFORMAT, "%s is no stub of a program: %s", (r)->name, what)

/* ---- headers ---- */

static int read_file_header(struct reader *r)
{
    Elf64_Ehdr *h = &r->stub->header;
    if (r->size < sizeof *h || memcmp(r->bytes, ELFMAG, SELFMAG) != 0)
        return FAIL(r, "not an ELF file");
    memcpy(h, r->bytes, sizeof *h);
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_DYN)
        return FAIL(r, "not a position-independent program of 64 bits, little-endian");
    static const struct tn__arch *const all[] = {&tn__arch_x86_64, &tn__arch_aarch64, &tn__arch_riscv64};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->elf_machine == h->e_machine)
            r->stub->arch = all[i];
    if (!r->stub->arch)
        return FAIL(r, "for another machine");
    if (h->e_phoff != sizeof *h || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum > TN__STUB_SEGMENTS ||
        !tn__inside(h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr), r->size))
        return FAIL(r, "its program headers");
    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shstrndx >= h->e_shnum ||
        !tn__inside(h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr), r->size))
        return FAIL(r, "its section headers");
    return 0;
}

/* What waits for an image stands behind all others. */
static int read_segments(struct reader *r)
{
    struct tn__stub *stub = r->stub;
    for (size_t i = 0; i < stub->header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, r->bytes + stub->header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_NULL) {
            stub->space++;
            continue;
        }
        if (stub->space || !tn__inside(segment.p_offset, segment.p_filesz, r->size) ||
            !tn__inside(segment.p_vaddr, segment.p_memsz, INT32_MAX) || segment.p_filesz > segment.p_memsz)
            return FAIL(r, "a segment of it lies outside of the file, or behind the free ones");
        stub->segments[stub->segment_count++] = segment;
        if (segment.p_type == PT_LOAD) {
            stub->end_address = tn__max64(stub->end_address, segment.p_vaddr + segment.p_memsz);
            stub->end_offset = tn__max64(stub->end_offset, segment.p_offset + segment.p_filesz);
        }
        if (segment.p_type == PT_TLS)
            stub->tls = segment;
    }
    uint64_t alignment = tn__max64(stub->tls.p_align, 1);
    if (alignment & (alignment - 1) || alignment > TN__ELF_PAGE || stub->tls.p_vaddr % alignment)
        return FAIL(r, "the alignment of its thread-local data");
    return 0;
}

/* ---- sections ---- */

static Elf64_Shdr section_header(const struct reader *r, size_t index)
{
    Elf64_Shdr header;
    memcpy(&header, r->bytes + r->stub->header.e_shoff + index * sizeof header, sizeof header);
    return header;
}

static bool is_inside(const struct reader *r, const Elf64_Shdr *header)
{
    return tn__inside(header->sh_offset, header->sh_size, r->size);
}

/* Text in a table that ends with a NUL. */
static const char *text_in(const struct reader *r, const Elf64_Shdr *table, uint32_t at)
{
    const char *text = (const char *)r->bytes + table->sh_offset;
    return at < table->sh_size && !text[table->sh_size - 1] ? text + at : NULL;
}

static int read_section(struct reader *r, size_t index)
{
    struct tn__stub *stub = r->stub;
    Elf64_Shdr header = section_header(r, index);
    const char *name = text_in(r, &r->names, header.sh_name);
    if (!name || (header.sh_type != SHT_NOBITS && !is_inside(r, &header)))
        return FAIL(r, "a section of it lies outside of the file");
    if (header.sh_type == SHT_SYMTAB)
        r->symbols = header;
    if (!(header.sh_flags & SHF_ALLOC))
        return 0;
    if (index != stub->section_count + 1)
        return FAIL(r, "sections that are loaded stand behind others");
    stub->sections[stub->section_count++] =
        (struct tn__elf_section){.name = name,
                                 .type = header.sh_type,
                                 .flags = header.sh_flags,
                                 .address = header.sh_addr,
                                 .offset = header.sh_offset,
                                 .size = header.sh_size,
                                 .alignment = header.sh_addralign,
                                 .entry_size = header.sh_entsize,
                                 .link = header.sh_link,
                                 .info = header.sh_info,
                                 .bytes = header.sh_type == SHT_NOBITS ? NULL : stub->bytes + header.sh_offset};
    return 0;
}

static int read_sections(struct reader *r, struct tn__arena *arena)
{
    struct tn__stub *stub = r->stub;
    size_t count = stub->header.e_shnum;
    r->names = section_header(r, stub->header.e_shstrndx);
    stub->sections = tn__arena_array(arena, count, sizeof *stub->sections);
    if (!stub->sections)
        return tn__fail(r->err, TN_ENOMEM, "%s: out of memory", r->name);
    int code = is_inside(r, &r->names) && r->names.sh_size ? 0 : FAIL(r, "the names of its sections");
    for (size_t i = 1; i < count && !code; i++)
        code = read_section(r, i);
    if (code)
        return code;
    if (r->symbols.sh_type != SHT_SYMTAB || r->symbols.sh_link >= count)
        return FAIL(r, "it has no symbols");
    r->strings = section_header(r, r->symbols.sh_link);
    return is_inside(r, &r->strings) && r->strings.sh_size ? 0 : FAIL(r, "the names of its symbols");
}

/* ---- symbols ---- */

/* Thread-local data ends at the thread pointer, or begins at some distance above it. */
static uint64_t address_of(const struct tn__stub *stub, const Elf64_Sym *symbol)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS)
        return symbol->st_value;
    uint64_t start = stub->arch->tls_above ? tn__align_up(stub->arch->tls_gap, tn__max64(stub->tls.p_align, 1))
                                           : -tn__stub_tls_size(stub);
    return symbol->st_value + start;
}

static int add_symbol(struct reader *r, const Elf64_Sym *symbol)
{
    struct tn__stub *stub = r->stub;
    const char *name = text_in(r, &r->strings, symbol->st_name);
    bool tls = ELF64_ST_TYPE(symbol->st_info) == STT_TLS;
    if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) == STB_LOCAL)
        return 0;
    if (!name || !*name || symbol->st_shndx > stub->section_count)
        return FAIL(r, "a symbol without a name or place");
    stub->symbols[stub->symbol_count] = *symbol;
    stub->definitions[stub->symbol_count++] = (struct tn_definition){
        name, (const void *)(uintptr_t)address_of(stub, symbol), TN_SYMBOL_WEAK | (tls ? TN_SYMBOL_THREAD_LOCAL : 0)};
    return 0;
}

static int read_symbols(struct reader *r, struct tn__arena *arena)
{
    struct tn__stub *stub = r->stub;
    size_t count = r->symbols.sh_size / sizeof(Elf64_Sym);
    stub->symbols = tn__arena_array(arena, count + 1, sizeof *stub->symbols);
    stub->definitions = tn__arena_array(arena, count + 1, sizeof *stub->definitions);
    if (!stub->symbols || !stub->definitions)
        return tn__fail(r->err, TN_ENOMEM, "%s: out of memory", r->name);
    int code = 0;
    for (size_t i = 1; i < count && !code; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, r->bytes + r->symbols.sh_offset + i * sizeof symbol, sizeof symbol);
        code = add_symbol(r, &symbol);
    }
    return code;
}

/* ---- the struct that is filled in ---- */

static int find_program(struct reader *r)
{
    struct tn__stub *stub = r->stub;
    for (size_t i = 0; i < stub->symbol_count; i++) {
        const Elf64_Sym *symbol = &stub->symbols[i];
        const struct tn__elf_section *section = &stub->sections[symbol->st_shndx - 1];
        if (strcmp(stub->definitions[i].name, TN__PROGRAM_SYMBOL) != 0)
            continue;
        if (!section->bytes || symbol->st_value < section->address || symbol->st_size != sizeof(struct tn__program) ||
            !tn__inside(symbol->st_value - section->address, sizeof(struct tn__program), section->size))
            return FAIL(r, "of another version of Tenon");
        stub->program = section->bytes + (symbol->st_value - section->address);
        return 0;
    }
    return FAIL(r, "it does not have the symbol " TN__PROGRAM_SYMBOL);
}

/* ---- thread-local data ---- */

static void move_relocations(const struct tn__stub *stub, const struct tn__elf_section *section, uint64_t address)
{
    Elf64_Rela rela;
    for (uint8_t *at = section->bytes, *end = at + section->size; (size_t)(end - at) >= sizeof rela;
         at += sizeof rela) {
        memcpy(&rela, at, sizeof rela);
        if (rela.r_offset - stub->tls.p_vaddr < stub->tls.p_filesz)
            rela.r_offset += address - stub->tls.p_vaddr;
        memcpy(at, &rela, sizeof rela);
    }
}

void tn__stub_move_tls(struct tn__stub *stub, uint64_t address, uint64_t offset, uint8_t *values, uint32_t section)
{
    if (values)
        memcpy(values, stub->bytes + stub->tls.p_offset, stub->tls.p_filesz);
    for (size_t i = 0; i < stub->section_count; i++) {
        struct tn__elf_section *old = &stub->sections[i];
        if (old->type == SHT_RELA)
            move_relocations(stub, old, address + offset);
        if (!(old->flags & SHF_TLS))
            continue;
        old->name = ".tdata.stub"; /* the program does not read what is left there */
        old->flags &= ~(uint64_t)SHF_TLS;
        if (!old->bytes)
            old->size = 0;
    }
    for (size_t i = 0; i < stub->symbol_count; i++)
        if (ELF64_ST_TYPE(stub->symbols[i].st_info) == STT_TLS) {
            stub->symbols[i].st_value += offset;
            stub->symbols[i].st_shndx = (Elf64_Section)section;
        }
}

int tn__stub_read(const char *name, const void *bytes, size_t size, struct tn__arena *arena, struct tn__stub *stub,
                  struct tn_error *err)
{
    *stub = (struct tn__stub){.bytes = tn__arena_alloc(arena, size + 1)};
    if (!stub->bytes)
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    memcpy(stub->bytes, bytes, size);
    struct reader r = {.stub = stub, .name = name, .bytes = stub->bytes, .size = size, .err = err};
    int code = read_file_header(&r);
    if (!code)
        code = read_segments(&r);
    if (!code)
        code = read_sections(&r, arena);
    if (!code)
        code = read_symbols(&r, arena);
    return code ? code : find_program(&r);
}
