/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads ELF64 little-endian relocatable objects (gABI 4.1, chapters 4 and 5) into the neutral object. Contents are borrowed
 * from the caller's bytes, and every offset, count and index is checked before it is used. */

#include <elf.h>

#include "object.h"
#include "reloc.h"

/* Missing from some systems' elf.h. */
#define SHT_X86_64_UNWIND_ 0x70000001
#define SHF_GNU_RETAIN_    (1 << 21)

struct reader {
    struct tn__object_data *object;
    const uint8_t *headers;
    const uint8_t *symtab, *xindex;
    const char *strings;
    uint64_t strings_size, xindex_count;
    uint32_t symtab_index;
    struct tn_error *err;
};

#define FAIL(r, ...) tn__fail((r)->err, TN_EFORMAT, __VA_ARGS__)

/* The header of section `index`, which is below section_count. Copied, because nothing in a file is aligned. */
static Elf64_Shdr header_of(const struct reader *r, uint32_t index)
{
    Elf64_Shdr header;
    memcpy(&header, r->headers + (size_t)index * sizeof header, sizeof header);
    return header;
}

/* Only its type, for loops that look for sections of one type. */
static uint32_t type_of(const struct reader *r, uint32_t index)
{
    return tn__get32(r->headers + (size_t)index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type));
}

static bool claims(const uint8_t *bytes, size_t size)
{
    return size >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG);
}

static int check_header(struct reader *r)
{
    const struct tn__object_data *object = r->object;
    const uint8_t *b = object->bytes;
    if (object->size < sizeof(Elf64_Ehdr))
        return FAIL(r, "%s: truncated: %zu bytes are no ELF header", object->name, object->size);
    if (b[EI_CLASS] != ELFCLASS64)
        return FAIL(r, "%s: ELF class %u; only 64-bit objects can be linked", object->name, b[EI_CLASS]);
    if (b[EI_DATA] != ELFDATA2LSB)
        return FAIL(r, "%s: byte order %u; only little-endian objects can be linked", object->name, b[EI_DATA]);
    unsigned type = tn__get16(b + offsetof(Elf64_Ehdr, e_type));
    if (type != ET_REL)
        return FAIL(r, "%s: ELF type %u is not a relocatable object%s", object->name, type,
                    type == ET_DYN    ? " but a shared library or program"
                    : type == ET_EXEC ? " but a program"
                                      : "");
    unsigned machine = tn__get16(b + offsetof(Elf64_Ehdr, e_machine));
    r->object->arch = tn__arch_of_elf((uint16_t)machine);
    if (!r->object->arch && !object->any_machine)
        return FAIL(r, "%s: made for machine %u, which this linker does not know", object->name, machine);
    return 0;
}

/* ---- sections ---- */

/* True for `name` itself and for name.anything. */
static bool is_section(const char *name, const char *base)
{
    size_t length = strlen(base);
    return !strncmp(name, base, length) && (name[length] == '\0' || name[length] == '.');
}

static const struct {
    const char *name;
    uint8_t role;
    bool reversed;
    bool counts_down; /* .ctors.N has priority 65535 - N */
} arrays[] = {
    {".preinit_array", TN__ROLE_INIT, false, false}, {".init_array", TN__ROLE_INIT, false, false},
    {".ctors", TN__ROLE_INIT, true, true},           {".fini_array", TN__ROLE_FINI, true, false},
    {".dtors", TN__ROLE_FINI, false, true},
};

static uint32_t priority_of(const char *name, const char *base, bool counts_down)
{
    if (!strcmp(base, ".preinit_array"))
        return TN__PRIORITY_FIRST;
    const char *digits = name + strlen(base);
    if (*digits != '.')
        return TN__PRIORITY_LAST;
    const uint32_t numbers = TN__PRIORITY_UNNUMBERED / 2;
    const char *end = ++digits;
    uint32_t value = 0;
    for (; *end >= '0' && *end <= '9' && value < numbers; end++)
        value = value * 10 + (uint32_t)(*end - '0');
    if (end == digits || *end || value >= numbers)
        return TN__PRIORITY_UNNUMBERED;
    return counts_down ? 2 * (numbers - 1 - value) : 2 * value + 1;
}

static void set_role(struct tn__section *section, uint32_t type)
{
    if (type == SHT_X86_64_UNWIND_ || !strcmp(section->name, ".eh_frame")) {
        section->role = TN__ROLE_UNWIND;
        return;
    }
    for (size_t i = 0; i < TN_COUNT(arrays); i++)
        if (is_section(section->name, arrays[i].name)) {
            section->role = arrays[i].role;
            section->reversed = arrays[i].reversed;
            section->priority = priority_of(section->name, arrays[i].name, arrays[i].counts_down);
            return;
        }
}

/* The kind of a loaded section. */
static uint8_t kind_of(const struct tn__section *section, const Elf64_Shdr *header)
{
    if (header->sh_flags & SHF_TLS)
        return header->sh_type == SHT_NOBITS ? TN__SECTION_TLS_ZERO : TN__SECTION_TLS;
    if (header->sh_flags & SHF_EXECINSTR)
        return TN__SECTION_CODE;
    if (!(header->sh_flags & SHF_WRITE) || section->role != TN__ROLE_NONE || is_section(section->name, ".data.rel.ro"))
        return TN__SECTION_RODATA;
    return header->sh_type == SHT_NOBITS ? TN__SECTION_ZERO : TN__SECTION_DATA;
}

static int read_section(struct reader *r, uint32_t index, const char *names, uint64_t names_size)
{
    struct tn__object_data *object = r->object;
    const Elf64_Shdr header = header_of(r, index);
    struct tn__section *section = &object->sections[index];
    if (header.sh_name >= names_size)
        return FAIL(r, "%s: section %u: its name lies outside the string table", object->name, index);
    *section = (struct tn__section){
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
    }
    section->compressed = header.sh_flags & SHF_COMPRESSED;
    section->strings = header.sh_flags & SHF_MERGE && header.sh_flags & SHF_STRINGS && header.sh_entsize == 1;
    section->note = header.sh_flags & SHF_ALLOC && header.sh_type == SHT_NOTE;
    if (!(header.sh_flags & SHF_ALLOC) || section->note)
        return 0;
    if (!(header.sh_flags & SHF_EXECINSTR))
        set_role(section, header.sh_type);
    section->kind = kind_of(section, &header);
    section->retained = header.sh_flags & SHF_GNU_RETAIN_;
    if (header.sh_flags & SHF_LINK_ORDER && header.sh_link < object->section_count)
        section->follows = header.sh_link;
    if (header.sh_flags & SHF_COMPRESSED)
        return FAIL(r, "%s: section %u (%s): a loaded section must not be compressed", object->name, index,
                    section->name);
    if (header.sh_type == SHT_NOBITS && section->kind != TN__SECTION_ZERO && section->kind != TN__SECTION_TLS_ZERO)
        return FAIL(r, "%s: section %u (%s): code or constants without bytes", object->name, index, section->name);
    return 0;
}

/* Finds the section headers, their number, and the section with their names. Numbers that do not fit the ELF header are
 * stored in the first section header (gABI, "ELF Header"). */
static int find_headers(struct reader *r, uint32_t *names)
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
    Elf64_Shdr first = header_of(r, 0);
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

static int read_sections(struct reader *r)
{
    struct tn__object_data *object = r->object;
    uint32_t index;
    int code = find_headers(r, &index);
    if (code)
        return code;
    const Elf64_Shdr names = header_of(r, index);
    if (names.sh_type == SHT_NOBITS || !tn__inside(names.sh_offset, names.sh_size, object->size) || !names.sh_size ||
        object->bytes[names.sh_offset + names.sh_size - 1])
        return FAIL(r, "%s: section %u is no table of section names", object->name, index);
    object->sections = tn__arena_alloc(&object->arena, object->section_count * sizeof *object->sections);
    if (!object->sections)
        return tn__fail(r->err, TN_ENOMEM, "%s: out of memory", object->name);
    object->sections[0] = (struct tn__section){.name = ""};
    for (uint32_t i = 1; !code && i < object->section_count; i++)
        code = read_section(r, i, (const char *)object->bytes + names.sh_offset, names.sh_size);
    return code;
}

/* ---- tables that refer to sections ---- */

static int read_relocs(struct reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    const Elf64_Shdr header = header_of(r, index);
    const char *name = object->sections[index].name;
    if (!header.sh_info || header.sh_info >= object->section_count)
        return FAIL(r, "%s: section %u (%s) relocates section %u, which does not exist", object->name, index, name,
                    header.sh_info);
    struct tn__section *target = &object->sections[header.sh_info];
    bool good = header.sh_type == SHT_RELA && header.sh_link == r->symtab_index && !target->relocs && target->bytes &&
                header.sh_size % sizeof(Elf64_Rela) == 0;
    if (target->kind == TN__SECTION_UNLOADED && !good)
        return 0; /* read by observers only */
    if (header.sh_type == SHT_REL)
        return tn__fail(r->err, TN_ENOTSUP, "%s: section %u (%s): relocations without addends", object->name, index,
                        name);
    if (header.sh_link != r->symtab_index)
        return FAIL(r, "%s: section %u (%s) uses section %u, which is not the symbol table", object->name, index, name,
                    header.sh_link);
    if (target->relocs)
        return FAIL(r, "%s: section %u (%s) is a second set of relocations for %s", object->name, index, name,
                    target->name);
    if (header.sh_size % sizeof(Elf64_Rela))
        return FAIL(r, "%s: section %u (%s): %llu bytes are no whole relocations", object->name, index, name,
                    (unsigned long long)header.sh_size);
    if (!target->bytes && header.sh_size)
        return FAIL(r, "%s: section %u (%s) relocates %s, which has no bytes", object->name, index, name, target->name);
    target->relocs = object->sections[index].bytes;
    target->reloc_count = header.sh_size / sizeof(Elf64_Rela);
    return 0;
}

static int read_group(struct reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    const Elf64_Shdr header = header_of(r, index);
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
        return tn__fail(r->err, TN_ENOMEM, "%s: out of memory", object->name);
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

static int place_symbol(struct reader *r, uint32_t index, uint32_t section, struct tn__symbol *symbol)
{
    const struct tn__object_data *object = r->object;
    switch (section) {
    case SHN_UNDEF:
        symbol->place = TN__PLACE_UNDEFINED;
        return 0;
    case SHN_ABS:
        symbol->place = TN__PLACE_ABSOLUTE;
        return 0;
    case SHN_COMMON:
        symbol->place = TN__PLACE_COMMON;
        if (!symbol->value || symbol->value & (symbol->value - 1))
            return FAIL(r, "%s: symbol %u (%s): alignment %llu is no power of two", object->name, index, symbol->name,
                        (unsigned long long)symbol->value);
        return 0;
    case SHN_XINDEX:
        if (index >= r->xindex_count)
            return FAIL(r, "%s: symbol %u (%s): no extended section index", object->name, index, symbol->name);
        section = tn__get32(r->xindex + (size_t)index * 4);
        break;
    default:
        if (section >= SHN_LORESERVE)
            return tn__fail(r->err, TN_ENOTSUP, "%s: symbol %u (%s): special section %#x", object->name, index,
                            symbol->name, section);
    }
    if (!section || section >= object->section_count)
        return FAIL(r, "%s: symbol %u (%s) lies in section %u, which does not exist", object->name, index, symbol->name,
                    section);
    if (symbol->value > object->sections[section].size)
        return FAIL(r, "%s: symbol %u (%s) lies at %#llx, outside section %s", object->name, index, symbol->name,
                    (unsigned long long)symbol->value, object->sections[section].name);
    symbol->place = TN__PLACE_SECTION;
    symbol->section = section;
    return 0;
}

static int read_symbol(struct reader *r, uint32_t index)
{
    struct tn__symbol *symbol = &r->object->symbols[index];
    const uint8_t *bytes = r->symtab + (size_t)index * sizeof(Elf64_Sym);
    uint32_t name = tn__get32(bytes + offsetof(Elf64_Sym, st_name));
    uint8_t info = bytes[offsetof(Elf64_Sym, st_info)], bind = ELF64_ST_BIND(info);
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
    int code = place_symbol(r, index, tn__get16(bytes + offsetof(Elf64_Sym, st_shndx)), symbol);
    if (!code && symbol->binding != TN__BIND_LOCAL && !*symbol->name)
        return FAIL(r, "%s: symbol %u is global and has no name", r->object->name, index);
    if (!code && symbol->type == TN__TYPE_IFUNC && symbol->place == TN__PLACE_SECTION &&
        r->object->sections[symbol->section].kind != TN__SECTION_CODE) /* it would be called */
        return FAIL(r, "%s: symbol %u (%s) is an indirect function outside of code", r->object->name, index,
                    symbol->name);
    return code;
}

static int find_symtab(struct reader *r)
{
    struct tn__object_data *object = r->object;
    for (uint32_t i = 1; i < object->section_count; i++) {
        if (type_of(r, i) != SHT_SYMTAB)
            continue;
        if (r->symtab_index)
            return FAIL(r, "%s: sections %u and %u are both symbol tables", object->name, r->symtab_index, i);
        r->symtab_index = i;
    }
    if (!r->symtab_index)
        return 0;
    const Elf64_Shdr header = header_of(r, r->symtab_index);
    uint32_t strings = header.sh_link;
    if (header.sh_size % sizeof(Elf64_Sym) || header.sh_size / sizeof(Elf64_Sym) > UINT32_MAX / 2)
        return FAIL(r, "%s: section %u: %llu bytes are no symbol table", object->name, r->symtab_index,
                    (unsigned long long)header.sh_size);
    if (!strings || strings >= object->section_count || header_of(r, strings).sh_type != SHT_STRTAB ||
        !header_of(r, strings).sh_size || object->sections[strings].bytes[header_of(r, strings).sh_size - 1])
        return FAIL(r, "%s: section %u is no table of symbol names", object->name, strings);
    r->symtab = object->sections[r->symtab_index].bytes;
    r->strings = (const char *)object->sections[strings].bytes;
    r->strings_size = header_of(r, strings).sh_size;
    object->symbol_count = (uint32_t)(header.sh_size / sizeof(Elf64_Sym));
    for (uint32_t i = 1; i < object->section_count; i++)
        if (type_of(r, i) == SHT_SYMTAB_SHNDX && header_of(r, i).sh_link == r->symtab_index) {
            r->xindex = object->sections[i].bytes;
            r->xindex_count = header_of(r, i).sh_size / 4;
        }
    return 0;
}

static int read_symbols(struct reader *r)
{
    struct tn__object_data *object = r->object;
    int code = find_symtab(r);
    object->symbols = tn__arena_alloc(&object->arena, object->symbol_count * sizeof *object->symbols);
    if (!code && !object->symbols)
        return tn__fail(r->err, TN_ENOMEM, "%s: out of memory", object->name);
    for (uint32_t i = 1; !code && i < object->symbol_count; i++)
        code = read_symbol(r, i);
    if (object->symbol_count)
        object->symbols[0] = (struct tn__symbol){.name = ""};
    return code;
}

static int read_tables(struct reader *r)
{
    struct tn__object_data *object = r->object;
    uint32_t groups = 0;
    for (uint32_t i = 1; i < object->section_count; i++)
        groups += type_of(r, i) == SHT_GROUP;
    object->groups = tn__arena_array(&object->arena, groups, sizeof *object->groups);
    if (!object->groups)
        return tn__fail(r->err, TN_ENOMEM, "%s: out of memory", object->name);
    for (uint32_t i = 1; i < object->section_count; i++) {
        uint32_t type = type_of(r, i);
        int code = 0;
        if (type == SHT_RELA || type == SHT_REL)
            code = read_relocs(r, i);
        else if (type == SHT_GROUP)
            code = read_group(r, i);
        if (code)
            return code;
    }
    return 0;
}

static int read(struct tn__object_data *object, struct tn_error *err)
{
    struct reader r = {.object = object, .err = err};
    int code = check_header(&r);
    if (code)
        return code;
    code = read_sections(&r);
    if (!code)
        code = read_symbols(&r);
    return code ? code : read_tables(&r);
}

_Static_assert(sizeof(struct tn__reloc) == sizeof(Elf64_Rela) &&
                   offsetof(struct tn__reloc, offset) == offsetof(Elf64_Rela, r_offset) &&
                   offsetof(struct tn__reloc, type) == offsetof(Elf64_Rela, r_info) &&
                   offsetof(struct tn__reloc, symbol) == offsetof(Elf64_Rela, r_info) + 4 &&
                   offsetof(struct tn__reloc, addend) == offsetof(Elf64_Rela, r_addend),
               "relocations are copied as they are");

/* Hosts and files are little-endian; nothing in a file is aligned. */
static void decode(const struct tn__section *section, uint64_t first, struct tn__reloc *out, size_t count)
{
    memcpy(out, section->relocs + first * sizeof *out, count * sizeof *out);
}

const struct tn__format tn__format_elf = {
    .name = "ELF",
    .claims = claims,
    .read = read,
    .decode = decode,
};
