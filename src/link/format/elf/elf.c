/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads ELF64 little-endian relocatable objects (gABI 4.1, chapters 4 and 5) into the neutral object. Contents are
 * borrowed from the caller's bytes, and every offset, count and index is checked before it is used. */

#include "link/format/elf/reader.h"

#define FAIL TN__ELF_FAIL

/* ---- sections ---- */

/* Notes where the tables are, of which most objects have one each. */
static void note_type(struct tn__elf_reader *r, uint32_t index, uint32_t type)
{
    if (type == SHT_GROUP)
        r->groups++;
    else if (type == SHT_SYMTAB_SHNDX)
        r->xindex_index = index;
    else if (type == SHT_SYMTAB)
        *(r->symtab_index ? &r->second_symtab : &r->symtab_index) = index;
}

static int read_section(struct tn__elf_reader *r, uint32_t index, const char *names, uint64_t names_size)
{
    struct tn__object_data *object = r->object;
    const Elf64_Shdr header = tn__elf_header_of(r, index);
    struct tn__input_section *section = &object->sections[index];
    if (header.sh_name >= names_size)
        return FAIL(r, "%s: section %u: its name lies outside the string table", object->name, index);
    *section = (struct tn__input_section){
        .name = names + header.sh_name,
        .size = header.sh_size,
        .alignment = header.sh_addralign ? header.sh_addralign : 1,
    };
    if (section->alignment & (section->alignment - 1))
        return FAIL(r, "%s: section %u (%s): alignment %llu is no power of two", object->name, index, section->name,
                    (unsigned long long)section->alignment);
    if (header.sh_type != SHT_NOBITS) {
        if (!tn__inside(header.sh_offset, header.sh_size, object->size))
            return FAIL(r, "%s: section %u (%s): %llu bytes at offset %llu lie outside the file's %zu", object->name,
                        index, section->name, (unsigned long long)header.sh_size, (unsigned long long)header.sh_offset,
                        object->size);
        section->bytes = object->bytes + header.sh_offset;
        if (header.sh_size)
            tn__elf_note_place(&r->places, &header);
    }
    section->compressed = header.sh_flags & SHF_COMPRESSED;
    section->strings = header.sh_flags & SHF_MERGE && header.sh_flags & SHF_STRINGS && header.sh_entsize == 1;
    note_type(r, index, header.sh_type);
    if (!(header.sh_flags & SHF_ALLOC)) /* relocations are the most frequent ones */
        return header.sh_type == SHT_RELA ? 0 : tn__elf_check_unloaded(r, index, header.sh_flags);
    r->has_tls |= (header.sh_flags & SHF_TLS) != 0;
    section->retained = header.sh_flags & TN__SHF_GNU_RETAIN;
    if (header.sh_flags & SHF_LINK_ORDER && header.sh_link < object->section_count)
        section->follows = header.sh_link;
    return tn__elf_set_kind(r, section, header.sh_type, header.sh_flags) ? 0 : tn__elf_fail_kind(r, index);
}

/* Finds the section headers, their number, and the section with their names. Numbers that do not fit the ELF header are
 * stored in the first section header (gABI, "ELF Header"). */
static int find_headers(struct tn__elf_reader *r, uint32_t *names)
{
    struct tn__object_data *object = r->object;
    Elf64_Ehdr elf;
    memcpy(&elf, object->bytes, sizeof elf);
    uint64_t count = elf.e_shnum;
    *names = elf.e_shstrndx;
    if (elf.e_shentsize != sizeof(Elf64_Shdr) || !tn__inside(elf.e_shoff, sizeof(Elf64_Shdr), object->size))
        return FAIL(r, "%s: no section headers: entries of %u bytes at offset %llu of %zu", object->name,
                    elf.e_shentsize, (unsigned long long)elf.e_shoff, object->size);
    r->headers = object->bytes + elf.e_shoff;
    Elf64_Shdr first = tn__elf_header_of(r, 0);
    if (!count)
        count = first.sh_size;
    if (*names == SHN_XINDEX)
        *names = first.sh_link;
    if (!count || count > (object->size - elf.e_shoff) / sizeof(Elf64_Shdr) || count > UINT32_MAX / 2)
        return FAIL(r, "%s: %llu section headers at offset %llu do not lie inside the file's %zu bytes", object->name,
                    (unsigned long long)count, (unsigned long long)elf.e_shoff, object->size);
    object->section_count = (uint32_t)count;
    if (*names >= count)
        return FAIL(r, "%s: no section names: section %u of %llu", object->name, *names, (unsigned long long)count);
    return 0;
}

static int read_sections(struct tn__elf_reader *r)
{
    struct tn__object_data *object = r->object;
    uint32_t index;
    int code = find_headers(r, &index);
    if (code)
        return code;
    const Elf64_Shdr names = tn__elf_header_of(r, index);
    if (names.sh_type == SHT_NOBITS || !tn__inside(names.sh_offset, names.sh_size, object->size) || !names.sh_size ||
        object->bytes[names.sh_offset + names.sh_size - 1])
        return FAIL(r, "%s: section %u is no table of section names", object->name, index);
    object->sections = tn__arena_alloc(&object->arena, object->section_count * sizeof *object->sections);
    if (!object->sections)
        return tn__no_memory(r->err, object->name);
    object->sections[0] = (struct tn__input_section){.name = ""};
    for (uint32_t i = 1; !code && i < object->section_count; i++)
        code = read_section(r, i, (const char *)object->bytes + names.sh_offset, names.sh_size);
    return code ? code : tn__elf_check_overlap(r);
}

/* ---- tables that refer to sections ---- */

static int read_group(struct tn__elf_reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    const Elf64_Shdr header = tn__elf_header_of(r, index);
    const uint8_t *bytes = object->sections[index].bytes;
    uint64_t words = header.sh_size / 4;
    if (!words || header.sh_size % 4 || header.sh_link != r->symtab_index || header.sh_info >= object->symbol_count)
        return FAIL(r, "%s: section %u (%s) is a malformed section group", object->name, index,
                    object->sections[index].name);
    if (!(tn__get32(bytes) & GRP_COMDAT))
        return 0;
    const struct tn__symbol *signature = &object->symbols[header.sh_info];
    uint32_t *members = tn__arena_array(&object->arena, words, sizeof *members);
    if (!members)
        return tn__no_memory(r->err, object->name);
    for (uint64_t i = 1; i < words; i++) {
        members[i - 1] = tn__get32(bytes + i * 4);
        if (members[i - 1] >= object->section_count)
            return FAIL(r, "%s: section %u (%s): group member %u does not exist", object->name, index,
                        object->sections[index].name, members[i - 1]);
    }
    object->groups[object->group_count++] = (struct tn__group){
        .signature = signature->type == TN__TYPE_SECTION ? object->sections[signature->section].name : signature->name,
        .members = members,
        .count = (uint32_t)(words - 1),
    };
    return 0;
}

/* ---- symbols ---- */

static const uint8_t types[16] = {
    [STT_FUNC] = TN__TYPE_FUNCTION,
    [STT_SECTION] = TN__TYPE_SECTION,
    [STT_TLS] = TN__TYPE_TLS,
    [STT_GNU_IFUNC] = TN__TYPE_IFUNC,
};

/* How far past the end of its section a symbol may lie. gcc addresses data by their distances from anchors of its own;
 * on machines with signed distances, an anchor may lie after the data (gcc/varasm.c, "section anchors"). */
static uint64_t beyond(const struct tn__symbol *symbol)
{
    bool anchor = symbol->binding == TN__BIND_LOCAL && symbol->type == TN__TYPE_OTHER && !symbol->size;
    return anchor ? 1 << 15 : 0;
}

/* Of a symbol that lies in no section. */
static int place_apart(struct tn__elf_reader *r, uint32_t index, uint32_t section, struct tn__symbol *symbol)
{
    const char *name = r->object->name;
    switch (section) {
    case SHN_UNDEF:
        symbol->place = TN__PLACE_UNDEFINED;
        return 0;
    case SHN_ABS:
        symbol->place = TN__PLACE_ABSOLUTE;
        return 0;
    case SHN_COMMON:
        symbol->place = TN__PLACE_COMMON;
        r->object->has_commons = true;
        if (!symbol->value || symbol->value & (symbol->value - 1))
            return FAIL(r, "%s: symbol %u (%s): alignment %llu is no power of two", name, index, symbol->name,
                        (unsigned long long)symbol->value);
        return 0;
    default:
        return tn__fail(r->err, TN_ENOTSUP, "%s: symbol %u (%s): special section %#x", name, index, symbol->name,
                        section);
    }
}

static int place_symbol(struct tn__elf_reader *r, uint32_t index, uint32_t section, struct tn__symbol *symbol)
{
    const struct tn__object_data *object = r->object;
    if (__builtin_expect(!section || section >= SHN_LORESERVE, 0)) {
        if (section != SHN_XINDEX)
            return place_apart(r, index, section, symbol);
        if (index >= r->xindex_count)
            return FAIL(r, "%s: symbol %u (%s): no extended section index", object->name, index, symbol->name);
        section = tn__get32(r->xindex + (size_t)index * 4);
    }
    if (!section || section >= object->section_count)
        return FAIL(r, "%s: symbol %u (%s) lies in section %u, which does not exist", object->name, index, symbol->name,
                    section);
    uint64_t size = object->sections[section].size;
    if (__builtin_expect(symbol->value > size, 0) && symbol->value - size > beyond(symbol))
        return FAIL(r, "%s: symbol %u (%s) lies at %#llx, outside section %s", object->name, index, symbol->name,
                    (unsigned long long)symbol->value, object->sections[section].name);
    symbol->place = TN__PLACE_SECTION;
    symbol->section = section;
    return 0;
}

/* A thread-local symbol's value is a distance, any other's an address: the symbol has to be as its section is (gABI,
 * STT_TLS). */
static int check_thread_local(const struct tn__elf_reader *r, uint32_t index, struct tn__symbol *symbol)
{
    const struct tn__input_section *section = &r->object->sections[symbol->section];
    bool is_tls = symbol->type == TN__TYPE_TLS, in_section = symbol->place == TN__PLACE_SECTION;
    bool in_tls = in_section && (section->kind == TN__SECTION_TLS || section->kind == TN__SECTION_TLS_ZERO);
    bool may_be_either = in_section ? section->kind == TN__SECTION_UNLOADED || symbol->type == TN__TYPE_SECTION
                                    : symbol->place == TN__PLACE_UNDEFINED || symbol->place == TN__PLACE_COMMON;
    if (is_tls == in_tls || may_be_either)
        return 0;
    if (is_tls || symbol->type != TN__TYPE_OTHER)
        return FAIL(r, "%s: symbol %u (%s) is %s", r->object->name, index, symbol->name,
                    is_tls ? "a thread-local variable outside of thread-local data"
                           : "a function in thread-local data");
    symbol->type = TN__TYPE_TLS;
    return 0;
}

static int check_type(struct tn__elf_reader *r, uint32_t index, struct tn__symbol *symbol)
{
    int code = check_thread_local(r, index, symbol);
    if (code || symbol->type != TN__TYPE_IFUNC)
        return code;
    r->object->has_ifuncs = true;
    if (symbol->place == TN__PLACE_SECTION &&
        r->object->sections[symbol->section].kind != TN__SECTION_CODE) /* it would be called */
        return FAIL(r, "%s: symbol %u (%s) is an indirect function outside of code", r->object->name, index,
                    symbol->name);
    return 0;
}

static int read_symbol(struct tn__elf_reader *r, uint32_t index, const uint8_t *bytes, struct tn__symbol *symbol)
{
    uint32_t name = tn__get32(bytes + offsetof(Elf64_Sym, st_name));
    uint8_t info = bytes[offsetof(Elf64_Sym, st_info)], bind = ELF64_ST_BIND(info);
    uint16_t section = tn__get16(bytes + offsetof(Elf64_Sym, st_shndx));
    if (name >= r->strings_size)
        return FAIL(r, "%s: symbol %u: its name lies outside the string table", r->object->name, index);
    unsigned visibility = ELF64_ST_VISIBILITY(bytes[offsetof(Elf64_Sym, st_other)]);
    *symbol = (struct tn__symbol){
        .name = r->strings + name,
        .value = tn__get64(bytes + offsetof(Elf64_Sym, st_value)),
        .size = tn__get64(bytes + offsetof(Elf64_Sym, st_size)),
        .type = types[ELF64_ST_TYPE(info)],
        .binding = bind == STB_LOCAL  ? TN__BIND_LOCAL
                   : bind == STB_WEAK ? TN__BIND_WEAK
                                      : TN__BIND_GLOBAL,
        .hidden = visibility == STV_HIDDEN || visibility == STV_INTERNAL,
    };
    if (bind == STB_GNU_UNIQUE) /* a test, because storing a bit takes more instructions for each symbol */
        symbol->is_copy = true;
    int code = place_symbol(r, index, section, symbol);
    if (!code && (r->has_tls || symbol->type >= TN__TYPE_TLS))
        code = check_type(r, index, symbol);
    if (!code && symbol->binding != TN__BIND_LOCAL && !*symbol->name)
        return FAIL(r, "%s: symbol %u is global and has no name", r->object->name, index);
    return code;
}

static int find_symtab(struct tn__elf_reader *r)
{
    struct tn__object_data *object = r->object;
    if (!r->symtab_index)
        return 0;
    if (r->second_symtab)
        return FAIL(r, "%s: sections %u and %u are both symbol tables", object->name, r->symtab_index,
                    r->second_symtab);
    const Elf64_Shdr header = tn__elf_header_of(r, r->symtab_index);
    uint32_t strings = header.sh_link;
    if (header.sh_size % sizeof(Elf64_Sym) || header.sh_size / sizeof(Elf64_Sym) > UINT32_MAX / 2)
        return FAIL(r, "%s: section %u: %llu bytes are no symbol table", object->name, r->symtab_index,
                    (unsigned long long)header.sh_size);
    if (!strings || strings >= object->section_count || tn__elf_header_of(r, strings).sh_type != SHT_STRTAB ||
        !tn__elf_header_of(r, strings).sh_size ||
        object->sections[strings].bytes[tn__elf_header_of(r, strings).sh_size - 1])
        return FAIL(r, "%s: section %u is no table of symbol names", object->name, strings);
    r->symtab = object->sections[r->symtab_index].bytes;
    r->strings = (const char *)object->sections[strings].bytes;
    r->strings_size = tn__elf_header_of(r, strings).sh_size;
    object->symbol_count = (uint32_t)(header.sh_size / sizeof(Elf64_Sym));
    if (r->xindex_index && tn__elf_header_of(r, r->xindex_index).sh_link == r->symtab_index) {
        r->xindex = object->sections[r->xindex_index].bytes;
        r->xindex_count = object->sections[r->xindex_index].size / 4;
    }
    return 0;
}

static int read_symbols(struct tn__elf_reader *r)
{
    struct tn__object_data *object = r->object;
    int code = find_symtab(r);
    object->symbols = tn__arena_alloc_filled(&object->arena, object->symbol_count * sizeof *object->symbols);
    if (!code && !object->symbols)
        return tn__no_memory(r->err, object->name);
    for (uint32_t i = 1; !code && i < object->symbol_count; i++)
        code = read_symbol(r, i, r->symtab + (size_t)i * sizeof(Elf64_Sym), &object->symbols[i]);
    if (object->symbol_count)
        object->symbols[0] = (struct tn__symbol){.name = ""};
    return code;
}

static int read_tables(struct tn__elf_reader *r)
{
    struct tn__object_data *object = r->object;
    object->groups = tn__arena_array(&object->arena, r->groups, sizeof *object->groups);
    if (!object->groups)
        return tn__no_memory(r->err, object->name);
    for (uint32_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr header = tn__elf_header_of(r, i);
        int code = 0;
        if (tn__elf_relocates(r, &header))
            code = tn__elf_read_relocs(r, i);
        else if (header.sh_type == SHT_GROUP)
            code = read_group(r, i);
        if (code)
            return code;
    }
    return 0;
}

static int read(struct tn__object_data *object, struct tn_error *err)
{
    struct tn__elf_reader r = {.object = object, .err = err};
    int code = tn__elf_check_header(&r);
    if (code)
        return code;
    code = read_sections(&r);
    if (!code)
        code = read_symbols(&r);
    if (!code)
        code = read_tables(&r);
    bool may_have_versions = r.strings && memchr(r.strings, '@', r.strings_size);
    return code || !may_have_versions ? code : tn__elf_read_versions(&r);
}

_Static_assert(sizeof(struct tn__reloc) == sizeof(Elf64_Rela) &&
                   offsetof(struct tn__reloc, offset) == offsetof(Elf64_Rela, r_offset) &&
                   offsetof(struct tn__reloc, type) == offsetof(Elf64_Rela, r_info) &&
                   offsetof(struct tn__reloc, symbol) == offsetof(Elf64_Rela, r_info) + 4 &&
                   offsetof(struct tn__reloc, addend) == offsetof(Elf64_Rela, r_addend),
               "hosts and files are little-endian: relocations are used as they are");

const struct tn__reader tn__reader_elf = {
    .name = "ELF",
    .has_versions = true,
    .claims = tn__elf_claims,
    .read = read,
};

/* Of any machine. */
const struct tn_format tn__format_elf = {.name = "elf", .reader = &tn__reader_elf};
