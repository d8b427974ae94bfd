/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads Mach-O relocatable objects for 64-bit little-endian machines ("OS X ABI Mach-O File Format Reference") into the
 * neutral object. Contents are borrowed from the caller's bytes, and every offset, count and index is checked before it
 * is used. */

#include <stdlib.h>

#include "link/model/archive.h"
#include "link/format/macho/reader.h"

/* ---- sections that overlap ---- */

/* No two tables may share bytes of the file. So work that is done once for each of them is bounded by the size of the
 * file. */

struct extent {
    uint64_t start, end;
    const char *what;
};

struct extents {
    struct extent *items;
    size_t count;
    bool sorted;
};

static void note(const struct tn__macho_reader *r, struct extents *extents, const void *at, uint64_t size,
                 const char *what)
{
    uint64_t start = (uint64_t)((const uint8_t *)at - r->object->bytes);
    if (!size)
        return;
    extents->sorted &= !extents->count || extents->items[extents->count - 1].end <= start;
    extents->items[extents->count++] = (struct extent){start, start + size, what};
}

static int by_start(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* In the order in which assemblers write them. */
static void note_all(const struct tn__macho_reader *r, struct extents *extents, uint64_t commands_end)
{
    note(r, extents, r->object->bytes, commands_end, "the load commands");
    for (uint32_t i = 1; i < r->section_count; i++)
        if (r->sections[i].bytes)
            note(r, extents, r->sections[i].bytes, r->sections[i].size, r->sections[i].name);
    for (uint32_t i = 1; i < r->section_count; i++)
        note(r, extents, r->sections[i].relocs, (uint64_t)r->sections[i].reloc_count * TN__MACHO_RELOC, "relocations");
    if (r->symtab) {
        note(r, extents, r->symtab, (uint64_t)r->symbol_count * TN__MACHO_SYMBOL, "the symbol table");
        note(r, extents, r->strings, r->strings_size, "the symbols' names");
    }
}

/* TN_EFORMAT if sections, relocations and tables share bytes of the file. TN_ENOMEM. */
static int macho_check_overlap(const struct tn__macho_reader *r, uint64_t commands_end)
{
    struct tn__object_data *object = r->object;
    struct extents extents = {.sorted = true};
    extents.items = tn__alloc(object->arena.from, ((size_t)r->section_count * 2 + 3) * sizeof *extents.items);
    if (!extents.items)
        return tn__no_memory(r->err, object->name);
    note_all(r, &extents, commands_end);
    if (!extents.sorted)
        qsort(extents.items, extents.count, sizeof *extents.items, by_start);
    int code = 0;
    for (size_t i = 1; !code && !extents.sorted && i < extents.count; i++)
        if (extents.items[i].start < extents.items[i - 1].end)
            code = TN__MACHO_FAIL(r, "%s: %s and %s overlap in the file", object->name, extents.items[i - 1].what,
                                  extents.items[i].what);
    tn__free(object->arena.from, extents.items);
    return code;
}

/* ---- the reader ---- */

#define FAIL TN__MACHO_FAIL

/* ---- universal files ---- */

static uint32_t big32(const uint8_t *at)
{
    return __builtin_bswap32(tn__get32(at));
}

static uint64_t big64(const uint8_t *at)
{
    return __builtin_bswap64(tn__get64(at));
}

/* More are not made; a Java class, which begins like a universal file, has a larger number here. */
enum { MOST_SLICES = 32 };

static bool is_universal(const uint8_t *bytes, size_t size)
{
    return size >= TN__MACHO_SLICES && (big32(bytes) == TN__MACHO_UNIVERSAL || big32(bytes) == TN__MACHO_UNIVERSAL64) &&
           big32(bytes + 4) <= MOST_SLICES;
}

/* Parts that only some processors of the machine can run. */
static bool is_special(uint32_t subtype)
{
    return (subtype & TN__MACHO_SUBTYPE_MASK) == TN__MACHO_ARM64E ||
           (subtype & TN__MACHO_SUBTYPE_MASK) == TN__MACHO_HASWELL;
}

/* Finds the part of a universal file for this machine, rather one for all of its processors; NULL: there is none. */
static const uint8_t *find_slice(const uint8_t *bytes, size_t size, uint32_t machine)
{
    size_t entry = big32(bytes) == TN__MACHO_UNIVERSAL64 ? TN__MACHO_SLICE64 : TN__MACHO_SLICE;
    uint32_t count = big32(bytes + 4);
    const uint8_t *found = NULL;
    for (uint32_t i = 0; i < count && tn__inside(TN__MACHO_SLICES + i * entry, entry, size); i++) {
        const uint8_t *slice = bytes + TN__MACHO_SLICES + i * entry;
        if (big32(slice) == machine && (!found || (is_special(big32(found + 4)) && !is_special(big32(slice + 4)))))
            found = slice;
    }
    return found;
}

static bool take_part(const uint8_t **bytes, size_t *size, uint32_t machine)
{
    const uint8_t *slice = is_universal(*bytes, *size) ? find_slice(*bytes, *size, machine) : NULL;
    if (!slice)
        return false;
    bool wide = big32(*bytes) == TN__MACHO_UNIVERSAL64;
    uint64_t offset = wide ? big64(slice + 8) : big32(slice + 8);
    uint64_t length = wide ? big64(slice + 16) : big32(slice + 12);
    uint64_t table = TN__MACHO_SLICES + big32(*bytes + 4) * (uint64_t)(wide ? TN__MACHO_SLICE64 : TN__MACHO_SLICE);
    if (offset < table || !tn__inside(offset, length, *size))
        return false;
    *bytes += offset;
    *size = (size_t)length;
    return true;
}

static int take_slice(struct tn__macho_reader *r)
{
    struct tn__object_data *object = r->object;
    if (!is_universal(object->bytes, object->size))
        return 0;
    if (!take_part(&object->bytes, &object->size, object->format->machine))
        return FAIL(r, "%s: the part for %s does not lie inside the universal file's %zu bytes", object->name,
                    object->arch->name, object->size);
    if (tn__archive_claims(NULL, object->bytes, object->size))
        return FAIL(r, "%s: the part for %s is an archive, not an object", object->name, object->arch->name);
    return 0;
}

static bool claims(const uint8_t *bytes, size_t size, uint32_t machine)
{
    if (is_universal(bytes, size))
        return find_slice(bytes, size, machine);
    if (size < 4 || tn__get32(bytes) != TN__MACHO_MAGIC)
        return false;
    return size < TN__MACHO_HEADER || tn__get32(bytes + TN__MACHO_CPU) == machine;
}

/* ---- the header and the load commands ---- */

static int check_header(struct tn__macho_reader *r)
{
    const struct tn__object_data *object = r->object;
    const uint8_t *header = object->bytes;
    if (object->size < TN__MACHO_HEADER || tn__get32(header) != TN__MACHO_MAGIC ||
        tn__get32(header + TN__MACHO_CPU) != object->format->machine)
        return FAIL(r, "%s: truncated: %zu bytes are no Mach-O header for %s", object->name, object->size,
                    object->arch->name);
    if (object->format->machine == TN__MACHO_ARM64 &&
        (tn__get32(header + TN__MACHO_SUBTYPE) & TN__MACHO_SUBTYPE_MASK) == TN__MACHO_ARM64E)
        return tn__fail(r->err, TN_ENOTSUP,
                        "%s: made for arm64e, whose pointers are signed; compile it for arm64 instead", object->name);
    unsigned type = tn__get32(header + TN__MACHO_FILE_TYPE);
    if (type != TN__MACHO_OBJECT)
        return FAIL(r, "%s: Mach-O type %u is not a relocatable object%s", object->name, type,
                    type == 2   ? " but a program"
                    : type == 6 ? " but a shared library"
                                : "");
    r->splits = tn__get32(header + TN__MACHO_FLAGS) & TN__MACHO_SPLITS;
    return 0;
}

/* "__TEXT,__text": either name fills its field or ends with a NUL. */
static const char *make_name(struct tn__macho_reader *r, const uint8_t *header)
{
    char text[2 * TN__MACHO_NAME + 2];
    const char *segment = (const char *)header + TN__MACHO_SEGMENT_NAME;
    const char *section = (const char *)header + TN__MACHO_SECTION_NAME;
    size_t first = strnlen(segment, TN__MACHO_NAME), second = strnlen(section, TN__MACHO_NAME);
    memcpy(text, segment, first);
    text[first] = ',';
    memcpy(text + first + 1, section, second);
    return tn__arena_text(&r->object->arena, text, first + 1 + second);
}

static int read_section(struct tn__macho_reader *r, uint32_t number, const uint8_t *header)
{
    const struct tn__object_data *object = r->object;
    struct tn__macho_section *section = &r->sections[number];
    uint32_t offset = tn__get32(header + TN__MACHO_SECTION_OFFSET), shift = tn__get32(header + TN__MACHO_SECTION_ALIGN);
    uint32_t relocs = tn__get32(header + TN__MACHO_SECTION_RELOCS);
    *section = (struct tn__macho_section){
        .name = make_name(r, header),
        .address = tn__get64(header + TN__MACHO_SECTION_ADDRESS),
        .size = tn__get64(header + TN__MACHO_SECTION_SIZE),
        .reloc_count = tn__get32(header + TN__MACHO_SECTION_RELOC_COUNT),
        .flags = tn__get32(header + TN__MACHO_SECTION_FLAGS),
    };
    if (!section->name)
        return tn__no_memory(r->err, object->name);
    if (shift >= 64 || section->size > UINT64_MAX - section->address)
        return FAIL(r, "%s: section %u (%s): alignment 2^%u, or %llu bytes at %#llx, are out of range", object->name,
                    number, section->name, shift, (unsigned long long)section->size,
                    (unsigned long long)section->address);
    section->alignment = 1ULL << shift;
    uint8_t type = tn__macho_type(section);
    if (type != TN__MACHO_ZEROFILL && type != TN__MACHO_LARGE_ZEROFILL && type != TN__MACHO_TLS_ZEROFILL) {
        if (!tn__inside(offset, section->size, object->size))
            return FAIL(r, "%s: section %u (%s): %llu bytes at offset %u lie outside the file's %zu", object->name,
                        number, section->name, (unsigned long long)section->size, offset, object->size);
        section->bytes = object->bytes + offset;
    }
    if (!tn__inside(relocs, (uint64_t)section->reloc_count * TN__MACHO_RELOC, object->size))
        return FAIL(r, "%s: section %u (%s): %u relocations at offset %u lie outside the file's %zu bytes",
                    object->name, number, section->name, section->reloc_count, relocs, object->size);
    section->relocs = object->bytes + relocs;
    return tn__macho_set_kind(r, section);
}

static int read_segment(struct tn__macho_reader *r, const uint8_t *command, uint32_t size)
{
    const struct tn__object_data *object = r->object;
    if (r->sections)
        return FAIL(r, "%s: a second segment; objects have one", object->name);
    uint32_t count = size >= TN__MACHO_SEGMENT ? tn__get32(command + TN__MACHO_SEGMENT_SECTIONS) : UINT32_MAX;
    if (count > (size - TN__MACHO_SEGMENT) / TN__MACHO_SECTION)
        return FAIL(r, "%s: the segment's sections do not lie inside its command of %u bytes", object->name, size);
    r->section_count = count + 1;
    r->sections = tn__arena_array(&r->object->arena, r->section_count, sizeof *r->sections);
    if (!r->sections)
        return tn__no_memory(r->err, object->name);
    int code = 0;
    for (uint32_t i = 0; !code && i < count; i++)
        code = read_section(r, i + 1, command + TN__MACHO_SEGMENT + (size_t)i * TN__MACHO_SECTION);
    return code;
}

static int read_symtab(struct tn__macho_reader *r, const uint8_t *command, uint32_t size)
{
    const struct tn__object_data *object = r->object;
    if (r->symtab)
        return FAIL(r, "%s: a second symbol table", object->name);
    if (size < TN__MACHO_SYMTAB)
        return FAIL(r, "%s: the command of the symbol table has %u bytes", object->name, size);
    uint32_t symbols = tn__get32(command + TN__MACHO_SYMTAB_OFFSET);
    uint32_t strings = tn__get32(command + TN__MACHO_STRINGS_OFFSET);
    r->symbol_count = tn__get32(command + TN__MACHO_SYMTAB_COUNT);
    r->strings_size = tn__get32(command + TN__MACHO_STRINGS_SIZE);
    if (!tn__inside(symbols, (uint64_t)r->symbol_count * TN__MACHO_SYMBOL, object->size))
        return FAIL(r, "%s: %u symbols at offset %u lie outside the file's %zu bytes", object->name, r->symbol_count,
                    symbols, object->size);
    if (!tn__inside(strings, r->strings_size, object->size) ||
        (r->strings_size && object->bytes[strings + r->strings_size - 1]))
        return FAIL(r, "%s: %u bytes at offset %u are no table of symbol names", object->name, r->strings_size,
                    strings);
    r->symtab = object->bytes + symbols;
    r->strings = (const char *)object->bytes + strings;
    return 0;
}

static int read_commands(struct tn__macho_reader *r, uint64_t *end)
{
    const struct tn__object_data *object = r->object;
    uint32_t count = tn__get32(object->bytes + TN__MACHO_COMMANDS);
    *end = TN__MACHO_HEADER + (uint64_t)tn__get32(object->bytes + TN__MACHO_COMMANDS_SIZE);
    if (*end > object->size)
        return FAIL(r, "%s: the load commands end at %llu, behind the file's %zu bytes", object->name,
                    (unsigned long long)*end, object->size);
    uint64_t at = TN__MACHO_HEADER;
    int code = 0;
    for (uint32_t i = 0; !code && i < count; i++) {
        uint32_t size = tn__inside(at, TN__MACHO_COMMAND, *end) ? tn__get32(object->bytes + at + 4) : 0;
        if (size < TN__MACHO_COMMAND || !tn__inside(at, size, *end))
            return FAIL(r, "%s: load command %u at offset %llu does not lie inside the %llu bytes of all", object->name,
                        i, (unsigned long long)at, (unsigned long long)*end);
        uint32_t type = tn__get32(object->bytes + at);
        if (type == TN__MACHO_LC_SEGMENT64)
            code = read_segment(r, object->bytes + at, size);
        else if (type == TN__MACHO_LC_SYMTAB)
            code = read_symtab(r, object->bytes + at, size);
        at += size;
    }
    return code;
}

/* ---- the whole ---- */

static int read(struct tn__object_data *object, struct tn_error *err)
{
    struct tn__macho_reader r = {.object = object, .machine = object->format->details, .err = err};
    uint64_t commands_end;
    object->relocs_sound = true; /* see tn__macho_read_relocs */
    int code = take_slice(&r);
    if (!code)
        code = check_header(&r);
    if (!code)
        code = read_commands(&r, &commands_end);
    if (!code)
        code = macho_check_overlap(&r, commands_end);
    if (!code)
        code = tn__macho_read_symbols(&r);
    if (!code)
        code = tn__macho_divide(&r);
    for (uint32_t i = 1; !code && i < r.section_count; i++)
        code = tn__macho_read_relocs(&r, &r.sections[i]);
    return code ? code : tn__macho_read_compact(&r);
}

const struct tn__reader tn__reader_macho = {
    .name = "Mach-O",
    .c_prefix = '_',
    .rename = tn__archive_rename,
    .claims = claims,
    .common_yields = true,
    .take_part = take_part,
    .read = read,
};
