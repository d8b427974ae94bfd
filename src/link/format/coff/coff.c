/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads COFF objects ("PE Format": COFF File Header, Section Table, COFF String Table) into the neutral object.
 * Contents are borrowed from the caller's bytes, and every offset, count and index is checked before it is used.
 *
 * Members of import libraries define nothing here: a function of a DLL is one of the process, which resolvers know, and
 * its pointer __imp_NAME is a GOT slot (symbols.c). So they are read as objects without contents. */

#include <stdlib.h>

#include "link/format/coff/reader.h"
#include "link/arch/reloc.h"

/* ---- kinds of sections ---- */

/* What a section is to the linker: its flags say what kind of bytes it has, its name what they are for ("PE Format",
 * Section Flags, Special Sections). What follows a $ in a name is no part of it, but says in which order linkers put
 * the sections of one name. Here that matters for arrays of functions, and for sections that programs name themselves;
 * those of compilers stay with their objects. */

/* ---- arrays of functions ---- */

/* The C library calls what is between .CRT$XIA and .CRT$XIZ, then .CRT$XCA to .CRT$XCZ at the start, and .CRT$XPA to
 * .CRT$XPZ, then .CRT$XTA to .CRT$XTZ at the end (Microsoft, "CRT initialization"). GCC and clang for MinGW have .ctors
 * and .dtors, as they had in ELF files; MinGW's __main walks the whole of .ctors from its end, that of COMDATs too. */
static const struct array {
    const char *name;
    uint8_t role;
    bool second; /* after the other one */
    bool counts_down;
} arrays[] = {
    {".CRT$XI", TN__ROLE_INIT, false, false}, {".CRT$XC", TN__ROLE_INIT, true, false},
    {".CRT$XP", TN__ROLE_FINI, false, false}, {".CRT$XT", TN__ROLE_FINI, true, false},
    {".ctors", TN__ROLE_INIT, true, true},    {".dtors", TN__ROLE_FINI, true, true},
};

enum { LETTERS = 26 };

static uint32_t parse_digits(const char *text, size_t most, const char **end)
{
    uint32_t value = 0;
    const char *at = text;
    for (; (size_t)(at - text) < most && *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint32_t)(*at - '0');
    *end = at;
    return value;
}

/* A number that sorts as the letters after .CRT$XC do: the first of them, then five digits (as clang writes the
 * priorities of its initializers) or up to three more characters. */
static uint32_t letters_priority(const char *letters)
{
    enum { DIGITS = 5, MORE = 3, BITS = 6, LETTER_BITS = 19 };
    if (!*letters)
        return 0;
    uint32_t value = (uint32_t)(*letters >= 'A' && *letters <= 'Z' ? *letters - 'A' + 1 : LETTERS + 1) << LETTER_BITS;
    const char *rest = letters + 1, *end;
    uint32_t number = parse_digits(rest, DIGITS, &end);
    if (end - rest == DIGITS)
        return value | (number + 1);
    if (!*rest)
        return value;
    uint32_t more = 0;
    for (int i = 0; i < MORE; i++) {
        more = more << BITS | (uint32_t)(*rest > ' ' ? tn__min64((uint64_t)(*rest - ' '), 63) : 0);
        rest += *rest != '\0';
    }
    return value | 1U << (LETTER_BITS - 1) | more;
}

/* .ctors.N has priority 65535 - N, as in ELF files, and stands for .CRT$XCT with that number; .ctors for .CRT$XCU. */
static uint32_t suffix_priority(const char *suffix)
{
    enum { DIGITS = 5, NUMBERS = 65535 };
    const char *end;
    uint32_t value = *suffix == '.' ? parse_digits(suffix + 1, DIGITS, &end) : 0;
    uint32_t letter = letters_priority("T");
    if (*suffix != '.' || end == suffix + 1 || value > NUMBERS)
        return letters_priority("U");
    return letter | (NUMBERS - value + 1);
}

static void set_array(struct tn__input_section *section)
{
    const uint32_t second = 1U << 25;
    for (size_t i = 0; i < TN_COUNT(arrays); i++) {
        size_t length = strlen(arrays[i].name);
        const char *rest = section->name + length;
        if (strncmp(section->name, arrays[i].name, length) != 0 ||
            (arrays[i].counts_down && *rest && *rest != '.' && *rest != '$'))
            continue;
        section->role = arrays[i].role;
        section->priority =
            (arrays[i].counts_down ? suffix_priority(rest) : letters_priority(rest)) | (arrays[i].second ? second : 0);
        /* Finalizers run from the highest priority to the lowest. */
        if (section->role == TN__ROLE_FINI && !arrays[i].counts_down)
            section->priority = 2 * second - section->priority;
        section->reversed = arrays[i].counts_down && section->role == TN__ROLE_INIT;
        section->backwards = arrays[i].counts_down;
        return;
    }
}

/* ---- groups ---- */

/* Who wants to know the neighbours of a section gives it a name of its own; `.text$function` says nothing. */
static bool is_compilers(const char *name)
{
    static const char *const names[] = {".text", ".data", ".rdata", ".bss", ".pdata", ".xdata"};
    size_t length = strcspn(name, "$");
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (strlen(names[i]) == length && !strncmp(name, names[i], length))
            return true;
    return false;
}

/* Nothing refers to what lies between the first and the last one of a group, so that is kept when others are stripped:
 * as all sections are by linkers for Windows, except those of COMDATs. */
static void set_group(struct tn__object_data *object, struct tn__input_section *section, uint32_t flags)
{
    section->grouped = !section->role && !is_compilers(section->name);
    if (!section->grouped || !strchr(section->name, '$'))
        return;
    object->has_groups = true;
    section->retained = !(flags & TN__SCN_COMDAT);
}

/* ---- kinds ---- */

static uint8_t flags_kind(uint32_t flags)
{
    if (flags & (TN__SCN_INFO | TN__SCN_REMOVE | TN__SCN_DISCARDABLE))
        return TN__SECTION_UNLOADED;
    if (flags & (TN__SCN_CODE | TN__SCN_EXECUTE))
        return TN__SECTION_CODE;
    if (flags & TN__SCN_ZEROS)
        return TN__SECTION_ZERO;
    return flags & TN__SCN_WRITE ? TN__SECTION_DATA : TN__SECTION_RODATA;
}

/* coff.c: sets kind, role and priority of a section. TN_ENOTSUP. */
static int coff_set_kind(const struct tn__coff_reader *r, uint32_t index, uint32_t flags)
{
    struct tn__input_section *section = &r->object->sections[index];
    bool tls = !strncmp(section->name, ".tls", 4) && (!section->name[4] || section->name[4] == '$');
    section->kind = flags_kind(flags);
    if (section->kind == TN__SECTION_UNLOADED)
        return 0;
    if (tls && section->size && !r->object->any_machine)
        return tn__fail(r->err, TN_ENOTSUP,
                        "%s: section %u (%s): thread-local variables of Windows are found through the thread's "
                        "environment block, which there is none of here; compile with -femulated-tls",
                        r->object->name, index, section->name);
    if (section->kind == TN__SECTION_CODE && flags & TN__SCN_ZEROS)
        return TN__COFF_FAIL(r, "%s: section %u (%s): code without bytes", r->object->name, index, section->name);
    if (section->kind == TN__SECTION_DATA || section->kind == TN__SECTION_RODATA)
        set_array(section);
    if (section->role)
        section->kind = TN__SECTION_RODATA; /* once relocated */
    set_group(r->object, section, flags);
    return 0;
}

/* ---- relocations ---- */

/* Relocations ("PE Format", COFF Relocations). Their addends stand in the fields; the table of the architecture takes
 * them out, so that later phases overwrite fields as they do for other formats. */

/* The table of a section's relocations, which lies in the file. TN_EFORMAT. */
static int coff_find_relocs(const struct tn__coff_reader *r, uint32_t index, uint64_t *offset, uint64_t *count)
{
    const struct tn__coff_section header = tn__coff_section(r, index);
    const struct tn__object_data *object = r->object;
    *offset = header.relocs;
    *count = header.reloc_count;
    /* A number that does not fit the header stands in the first relocation, which it counts too. */
    if (header.flags & TN__SCN_MANY_RELOCS && header.reloc_count == 0xffff) {
        if (!tn__inside(*offset, TN__COFF_RELOC, object->size) || !tn__get32(object->bytes + *offset))
            return TN__COFF_FAIL(r, "%s: section %u (%s): no number of relocations at offset %u", object->name, index,
                                 object->sections[index].name, header.relocs);
        *count = tn__get32(object->bytes + *offset) - 1;
        *offset += TN__COFF_RELOC;
    }
    if (*count && (*offset < r->headers_end || !tn__inside(*offset, *count * TN__COFF_RELOC, object->size)))
        return TN__COFF_FAIL(r, "%s: section %u (%s): %llu relocations at offset %llu lie outside the file's %zu bytes",
                             object->name, index, object->sections[index].name, (unsigned long long)*count,
                             (unsigned long long)*offset, object->size);
    return 0;
}

static int fail_reloc(const struct tn__coff_reader *r, uint32_t index, const uint8_t *at)
{
    const struct tn__object_data *object = r->object;
    const struct tn__coff_details *details = object->format->details;
    uint32_t place = tn__get32(at), base = tn__coff_section(r, index).address;
    uint64_t offset = place < base ? place : place - base;
    const char *section = object->sections[index].name;
    if (tn__get16(at + 8) >= details->types)
        return TN__COFF_FAIL(r, "%s(%s+0x%llx): relocation type %u does not exist on %s", object->name, section,
                             (unsigned long long)offset, tn__get16(at + 8), object->arch->name);
    return TN__COFF_FAIL(r, "%s(%s+0x%llx): relocation against symbol %u, which does not exist", object->name, section,
                         (unsigned long long)offset, tn__get32(at + 4));
}

/* TN_EFORMAT, TN_ENOMEM. */
static int coff_read_relocs(struct tn__coff_reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    struct tn__input_section *section = &object->sections[index];
    uint64_t offset, count;
    int code = coff_find_relocs(r, index, &offset, &count);
    if (code || !count || (section->kind == TN__SECTION_UNLOADED && !object->with_unloaded))
        return code;
    if (!section->bytes)
        return TN__COFF_FAIL(r, "%s: section %u (%s) has relocations and no bytes", object->name, index, section->name);
    const struct tn__coff_details *details = object->format->details;
    uint64_t seen = 0;
    bool outside = false;
    const struct tn__coff_records records = {.section = section,
                                             .at = object->bytes + offset,
                                             .count = count,
                                             .base = tn__coff_section(r, index).address,
                                             .symbols = r->symbol_count,
                                             .seen = &seen,
                                             .outside = &outside};
    struct tn__reloc *relocs = tn__arena_alloc(&object->arena, count * sizeof *relocs); /* 10 bytes of the file each */
    if (!relocs)
        return tn__no_memory(r->err, object->name);
    uint64_t sound = details->convert(&records, relocs);
    if (sound < count)
        return fail_reloc(r, index, records.at + sound * TN__COFF_RELOC);
    object->relocs_sound &= !outside;
    for (uint32_t type = 0; type < details->types; type++)
        r->uses_base |= seen >> type & 1 && object->format->rows[type].value == TN__V_S_A_BASE;
    section->relocs = (const uint8_t *)relocs;
    section->relocs_made = true;
    section->reloc_count = count;
    return 0;
}

/* ---- the reader ---- */

#define FAIL TN__COFF_FAIL

/* ---- the string table ---- */

const char *tn__coff_string(const struct tn__coff_reader *r, uint64_t offset)
{
    enum { SIZE = 4 };
    return offset >= SIZE && offset < r->strings_size ? (const char *)r->strings + offset : NULL;
}

/* It follows the symbols, and begins with its size. Symbols in a file without one have short names. */
static int find_strings(struct tn__coff_reader *r, uint64_t at)
{
    const struct tn__object_data *object = r->object;
    uint32_t size = object->size - at >= 4 ? tn__get32(object->bytes + at) : 0;
    if (size > object->size - at)
        return FAIL(r, "%s: a string table of %u bytes at offset %llu lies outside the file's %zu", object->name, size,
                    (unsigned long long)at, object->size);
    if (size > 4 && object->bytes[at + size - 1])
        return FAIL(r, "%s: the string table does not end with a NUL", object->name);
    r->strings = object->bytes + at;
    r->strings_size = size > 4 ? size : 0;
    return 0;
}

/* ---- the header ---- */

static int find_tables(struct tn__coff_reader *r, uint64_t header, uint32_t sections, uint64_t symtab, uint32_t symbols)
{
    struct tn__object_data *object = r->object;
    if (sections >= UINT32_MAX / 2 || !tn__inside(header, (uint64_t)sections * TN__COFF_SECTION_HEADER, object->size))
        return FAIL(r, "%s: %u section headers do not lie inside the file's %zu bytes", object->name, sections,
                    object->size);
    r->headers = object->bytes + header;
    r->headers_end = header + (uint64_t)sections * TN__COFF_SECTION_HEADER;
    object->section_count = sections + 1;
    if (!symtab && !symbols)
        return 0;
    uint64_t bytes = (uint64_t)symbols * r->symbol_size;
    if (symbols >= UINT32_MAX / 4 || !tn__inside(symtab, bytes, object->size))
        return FAIL(r, "%s: %u symbols at offset %llu do not lie inside the file's %zu bytes", object->name, symbols,
                    (unsigned long long)symtab, object->size);
    r->symtab = object->bytes + symtab;
    r->symbol_count = symbols;
    return find_strings(r, symtab + bytes);
}

static int read_header(struct tn__coff_reader *r)
{
    const struct tn__object_data *object = r->object;
    const uint8_t *b = object->bytes;
    uint32_t machine;
    enum tn__coff_kind kind = tn__coff_kind(b, object->size, &machine);
    if (object->size < TN__COFF_HEADER || (kind == TN__COFF_BIG && object->size < TN__COFF_BIG_HEADER))
        return FAIL(r, "%s: truncated: %zu bytes are no COFF header", object->name, object->size);
    if (kind == TN__COFF_IMPORT) {
        if (tn__get32(b + 12) != object->size - TN__COFF_IMPORT_HEADER)
            return FAIL(r, "%s: an import of %u bytes, in a file with %zu", object->name, tn__get32(b + 12),
                        object->size - TN__COFF_IMPORT_HEADER);
        r->object->section_count = 1;
        return 0;
    }
    r->big = kind == TN__COFF_BIG;
    r->symbol_size = r->big ? 20 : 18;
    if (r->big)
        return find_tables(r, TN__COFF_BIG_HEADER, tn__get32(b + 44), tn__get32(b + 48), tn__get32(b + 52));
    return find_tables(r, TN__COFF_HEADER, tn__get16(b + 2), tn__get32(b + 8), tn__get32(b + 12));
}

/* ---- section names ---- */

/* "/123" is an offset in the string table, "//AAAAAA" one in base 64. *offset is UINT64_MAX if it is neither. */
static uint64_t parse_offset(const char *name)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bool base64 = name[1] == '/';
    uint64_t value = 0;
    size_t i = base64 ? 2 : 1;
    for (; i < 8 && name[i]; i++) {
        const char *digit = strchr(digits, name[i]);
        if (base64 ? !digit : name[i] < '0' || name[i] > '9')
            return UINT64_MAX;
        value = base64 ? value << 6 | (uint64_t)(digit - digits) : value * 10 + (uint64_t)(name[i] - '0');
    }
    return i > (base64 ? 2U : 1U) ? value : UINT64_MAX;
}

/* Names may share bytes, and what a section is depends on all of its name. */
static int read_name(struct tn__coff_reader *r, uint32_t index, const char **name)
{
    enum { SHORT = 8 };
    const char *at = (const char *)tn__coff_section(r, index).name;
    *name = at;
    if (*at == '/') {
        uint64_t offset = parse_offset(at);
        *name = offset == UINT64_MAX ? at : tn__coff_string(r, offset);
        if (!*name)
            return FAIL(r, "%s: section %u: its name lies outside the string table", r->object->name, index);
        r->section_names += offset == UINT64_MAX ? 0 : strlen(*name) + 1;
        if (r->section_names > tn__names_limit(r->object))
            return tn__object_fail_names(r->object, "sections", r->err);
    }
    if (*name == at && !memchr(at, 0, SHORT))
        *name = tn__arena_text(&r->object->arena, at, SHORT);
    return *name ? 0 : tn__no_memory(r->err, r->object->name);
}

/* ---- sections ---- */

static int read_section(struct tn__coff_reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    struct tn__input_section *section = &object->sections[index];
    const struct tn__coff_section header = tn__coff_section(r, index);
    *section = (struct tn__input_section){.size = header.size};
    int code = read_name(r, index, &section->name);
    if (code)
        return code;
    uint32_t alignment = header.flags >> TN__SCN_ALIGN_SHIFT & TN__SCN_ALIGN_MASK;
    if (alignment == TN__SCN_ALIGN_MASK)
        return FAIL(r, "%s: section %u (%s): unknown alignment", object->name, index, section->name);
    section->alignment = alignment ? 1ULL << (alignment - 1) : 16;
    if (!(header.flags & TN__SCN_ZEROS) && header.size) {
        if (header.offset < r->headers_end || !tn__inside(header.offset, header.size, object->size))
            return FAIL(r, "%s: section %u (%s): %u bytes at offset %u lie outside the file's %zu", object->name, index,
                        section->name, header.size, header.offset, object->size);
        section->bytes = object->bytes + header.offset;
    } else if (!(header.flags & TN__SCN_ZEROS))
        section->bytes = object->bytes; /* none of them */
    r->comdat_count += (header.flags & TN__SCN_COMDAT) != 0;
    return coff_set_kind(r, index, header.flags);
}

/* ---- no two tables or sections share bytes: work that is done for each is bounded by the file ---- */

struct extent {
    uint64_t start, end;
};

static int by_start(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int add_extents(const struct tn__coff_reader *r, uint32_t index, struct extent *extents, size_t *count)
{
    const struct tn__coff_section header = tn__coff_section(r, index);
    uint64_t offset, relocs;
    int code = coff_find_relocs(r, index, &offset, &relocs);
    if (!code && header.size && !(header.flags & TN__SCN_ZEROS))
        extents[(*count)++] = (struct extent){header.offset, (uint64_t)header.offset + header.size};
    if (!code && relocs)
        extents[(*count)++] = (struct extent){offset, offset + relocs * TN__COFF_RELOC};
    return code;
}

static int check_overlap(const struct tn__coff_reader *r)
{
    const struct tn__object_data *object = r->object;
    struct extent *extents =
        tn__alloc_zeroed(object->arena.from, (size_t)object->section_count * 2 + 1, sizeof *extents);
    if (!extents)
        return tn__no_memory(r->err, object->name);
    size_t count = 0;
    int code = 0;
    bool sorted = true;
    for (uint32_t i = 1; !code && i < object->section_count; i++)
        code = add_extents(r, i, extents, &count);
    if (r->symtab)
        extents[count++] = (struct extent){(uint64_t)(r->symtab - object->bytes),
                                           (uint64_t)(r->symtab - object->bytes) +
                                               (uint64_t)r->symbol_count * r->symbol_size + r->strings_size};
    for (size_t i = 1; i < count; i++)
        sorted &= extents[i - 1].start <= extents[i].start;
    if (!sorted)
        qsort(extents, count, sizeof *extents, by_start);
    uint64_t end = r->headers_end;
    for (size_t i = 0; !code && i < count; end = extents[i++].end)
        if (extents[i].start < end)
            code = FAIL(r, "%s: its sections and tables overlap at offset %llu", object->name,
                        (unsigned long long)extents[i].start);
    tn__free(object->arena.from, extents);
    return code;
}

/* ---- the whole ---- */

/* A member of a DLL's import library in the old form: pointers that a loader fills, and jumps through them. */
static bool is_import(const struct tn__object_data *object)
{
    for (uint32_t i = 1; i < object->section_count; i++)
        if (!strncmp(object->sections[i].name, ".idata$", 7))
            return true;
    return false;
}

static int read_sections(struct tn__coff_reader *r)
{
    struct tn__object_data *object = r->object;
    object->sections = tn__arena_array(&object->arena, object->section_count, sizeof *object->sections);
    if (!object->sections)
        return tn__no_memory(r->err, object->name);
    object->sections[0] = (struct tn__input_section){.name = ""};
    int code = 0;
    for (uint32_t i = 1; !code && i < object->section_count; i++)
        code = read_section(r, i);
    return code ? code : check_overlap(r);
}

static int read(struct tn__object_data *object, struct tn_error *err)
{
    struct tn__coff_reader r = {.object = object, .err = err};
    object->relocs_sound = true; /* see coff_read_relocs */
    int code = read_header(&r);
    if (!code)
        code = read_sections(&r);
    if (!code && is_import(object)) {
        object->section_count = 1;
        return 0;
    }
    if (!code && r.symtab)
        code = tn__coff_read_symbols(&r);
    for (uint32_t i = 1; !code && i < object->section_count; i++)
        code = coff_read_relocs(&r, i);
    if (!code && object->base && !r.uses_base)
        object->symbols[object->base] = (struct tn__symbol){.name = "", .place = TN__PLACE_ABSOLUTE};
    return code;
}

static bool claims(const uint8_t *bytes, size_t size, uint32_t machine)
{
    uint32_t found;
    return tn__coff_kind(bytes, size, &found) != TN__COFF_NONE && found && (found == machine || !machine);
}

const struct tn__reader tn__reader_coff = {
    .name = "COFF",
    .claims = claims,
    .read = read,
};
