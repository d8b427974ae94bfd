/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads COFF objects ("PE Format": COFF File Header, Section Table, COFF String Table) into the neutral object.
 * Contents are borrowed from the caller's bytes, and every offset, count and index is checked before it is used.
 *
 * Members of import libraries define nothing here: a function of a DLL is one of the process, which resolvers know, and
 * its pointer __imp_NAME is a GOT slot (symbols.c). So they are read as objects without contents. */

#include <stdlib.h>

#include "link/format/coff/reader.h"

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
    return tn__coff_set_kind(r, index, header.flags);
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
    int code = tn__coff_find_relocs(r, index, &offset, &relocs);
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
    object->relocs_sound = true; /* see tn__coff_read_relocs */
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
        code = tn__coff_read_relocs(&r, i);
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
