/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Two passes over the objects, as in a linker: the first computes sizes, the second writes. */

#include "link/observe/debug_image.h"
#include "link/arch/reloc.h"
#include "link/format/debug_relocs.h"
#include "link/format/elf/writer.h"
#include "link/observe/observer.h"

/* The sections that debuggers read. Indexes of names and addresses are omitted, because debuggers build their own. */
enum {
    OUT_INFO,
    OUT_EH_FRAME,
    OUT_FRAME,
    OUT_RANGES,
    OUT_LOC,
    OUT_TYPES,
    OUT_ABBREV,
    OUT_LINE,
    OUT_LINE_STR,
    OUT_STR,
    OUT_STR_OFFSETS,
    OUT_ADDR,
    OUT_RNGLISTS,
    OUT_LOCLISTS,
    OUT_MACRO,
    OUT_MACINFO,
    OUT_COUNT,
    NOT_OUT = OUT_COUNT,
};

static const char *const out_names[OUT_COUNT] = {
    [OUT_INFO] = ".debug_info",
    [OUT_EH_FRAME] = ".eh_frame",
    [OUT_FRAME] = ".debug_frame",
    [OUT_RANGES] = ".debug_ranges",
    [OUT_LOC] = ".debug_loc",
    [OUT_TYPES] = ".debug_types",
    [OUT_ABBREV] = ".debug_abbrev",
    [OUT_LINE] = ".debug_line",
    [OUT_LINE_STR] = ".debug_line_str",
    [OUT_STR] = ".debug_str",
    [OUT_STR_OFFSETS] = ".debug_str_offsets",
    [OUT_ADDR] = ".debug_addr",
    [OUT_RNGLISTS] = ".debug_rnglists",
    [OUT_LOCLISTS] = ".debug_loclists",
    [OUT_MACRO] = ".debug_macro",
    [OUT_MACINFO] = ".debug_macinfo",
};

/* One object, read a second time: its neutral form does not outlive the link. */
struct source {
    const struct tn_linked_object *object;
    struct tn__object_data data;
    struct piece {
        uint8_t out;     /* OUT_..., or NOT_OUT */
        uint64_t offset; /* in that section */
    } * pieces;          /* by section */
};

struct builder {
    struct tn__debug_image *image;
    tn_decompress *decompress;
    struct source *sources;
    size_t count;
    struct tn__elf_sections sections;
    uint64_t sizes[OUT_COUNT], places[OUT_COUNT]; /* places: in the file */
    uint64_t frames_address;                      /* of .eh_frame, whose values are distances */
    uint64_t local_count, global_count, strings_size, strings;
    uint64_t local_at, global_at, string_at; /* where the next ones go */
    uint32_t code_sections;
    struct tn_error *err;
};

/* ---- the first pass ---- */

static uint8_t out_of(const struct tn__input_section *section)
{
    bool frames = section->role == TN__ROLE_UNWIND;
    if (!section->bytes || !section->size || section->compressed || (section->kind != TN__SECTION_UNLOADED && !frames))
        return NOT_OUT;
    for (uint8_t i = 0; i < OUT_COUNT; i++)
        if (!strcmp(section->name, out_names[i]))
            return i;
    return NOT_OUT;
}

static bool is_debug(uint8_t out)
{
    return out != NOT_OUT && out != OUT_EH_FRAME;
}

static bool has_compressed(const struct tn__object_data *data)
{
    for (uint32_t i = 0; i < data->section_count; i++)
        if (data->sections[i].compressed)
            return true;
    return false;
}

/* Nothing in DWARF needs more; larger alignments would only leave gaps. */
enum { MOST_ALIGNED = 16 };

static int place_pieces(struct builder *b, struct source *source)
{
    const struct tn__object_data *data = &source->data;
    const uint64_t *addresses = source->object->section_addresses;
    bool symbols_only = has_compressed(data);
    for (uint32_t i = 0; i < data->section_count; i++) {
        struct piece *piece = &source->pieces[i];
        piece->out = out_of(&data->sections[i]);
        if (piece->out == NOT_OUT || addresses[i] == TN_SECTION_DISCARDED || (symbols_only && is_debug(piece->out))) {
            piece->out = NOT_OUT;
            continue;
        }
        uint64_t *size = &b->sizes[piece->out];
        piece->offset = tn__align_up(*size, tn__min64(data->sections[i].alignment, MOST_ALIGNED));
        *size = piece->offset + data->sections[i].size;
        if (*size > UINT32_MAX) /* the limit of 32-bit DWARF */
            return tn__fail(b->err, TN_ENOTSUP, "%s: more than 4 GiB of %s in one link", data->name,
                            data->sections[i].name);
        if (piece->out == OUT_EH_FRAME && !b->frames_address)
            b->frames_address = addresses[i];
    }
    return 0;
}

/* The address of a symbol's own definition; false if debuggers do not need it. */
static bool find_symbol(const struct source *source, uint32_t index, uint64_t *address)
{
    const struct tn__symbol *symbol = &source->data.symbols[index];
    if (!*symbol->name || symbol->type == TN__TYPE_SECTION || symbol->type == TN__TYPE_TLS)
        return false;
    *address = source->object->symbol_addresses[index];
    if (symbol->place != TN__PLACE_SECTION)
        return symbol->place == TN__PLACE_COMMON;
    uint64_t section = source->object->section_addresses[symbol->section];
    if (symbol->type != TN__TYPE_IFUNC) /* its address is the stub's */
        *address = section + symbol->value;
    return source->data.sections[symbol->section].kind != TN__SECTION_UNLOADED && section != TN_SECTION_DISCARDED;
}

/* True for a function without a symbol in the object: a stub. */
static bool is_extra(const struct source *source, const struct tn_function *function)
{
    size_t length = strlen(function->name), suffix = sizeof TN__STUB_SUFFIX - 1;
    return !source->object->length ||
           (length > suffix && !memcmp(function->name + length - suffix, TN__STUB_SUFFIX, suffix));
}

static int count_symbols(struct builder *b, const struct source *source)
{
    uint64_t address, most = tn__names_limit(&source->data);
    most += most < UINT64_MAX ? b->strings_size : 0;
    for (size_t i = 0; i < source->object->function_count; i++)
        if (is_extra(source, &source->object->functions[i])) {
            b->local_count++;
            b->strings_size += strlen(source->object->functions[i].name) + 1;
        }
    for (uint32_t i = 1; i < source->data.symbol_count && b->strings_size <= most; i++)
        if (find_symbol(source, i, &address)) {
            ++*(source->data.symbols[i].binding == TN__BIND_LOCAL ? &b->local_count : &b->global_count);
            b->strings_size += strlen(source->data.symbols[i].name) + 1;
        }
    return b->strings_size <= most ? 0 : tn__object_fail_names(&source->data, "symbols", b->err);
}

/* Decompresses a section if possible (gABI, "Section Compression"). */
static int unpack(const struct builder *b, struct source *source, struct tn__input_section *section)
{
    enum { MOST = 1032 }; /* the most bytes that zlib makes of one; zstd has no such limit */
    Elf64_Chdr header;
    if (!section->compressed || !b->decompress || !section->bytes || section->size < sizeof header)
        return 0;
    memcpy(&header, section->bytes, sizeof header);
    uint64_t packed = section->size - sizeof header;
    if (!header.ch_size || header.ch_size / MOST > packed)
        return 0;
    uint8_t *bytes = tn__arena_array(&source->data.arena, header.ch_size, 1);
    if (!bytes)
        return tn__no_memory(b->err, source->object->name);
    if (!b->decompress(header.ch_type, bytes, header.ch_size, section->bytes + sizeof header, packed))
        return 0;
    section->bytes = bytes;
    section->size = header.ch_size;
    section->alignment = 1; /* DWARF units follow each other without padding */
    section->compressed = false;
    return 0;
}

/* The object is read from its file; where its code became shorter (format/elf/shrink.c), symbols have moved since. One
 * that another object defines in its place lies elsewhere. */
static void move_symbols(const struct source *source)
{
    const struct tn__object_data *data = &source->data;
    for (uint32_t i = 1; data->arch->shortener && i < data->symbol_count; i++) {
        struct tn__symbol *symbol = &data->symbols[i];
        if (symbol->place != TN__PLACE_SECTION || symbol->type == TN__TYPE_IFUNC ||
            data->sections[symbol->section].kind != TN__SECTION_CODE)
            continue;
        uint64_t value = source->object->symbol_addresses[i] - source->object->section_addresses[symbol->section];
        if (value <= data->sections[symbol->section].size)
            symbol->value = value;
    }
}

static int read_source(struct builder *b, struct source *source)
{
    const struct tn_linked_object *object = source->object;
    source->data = (struct tn__object_data){.name = object->name,
                                            .bytes = object->bytes,
                                            .size = object->length,
                                            .with_unloaded = true,
                                            .arena.from = b->image->from};
    b->code_sections += object->zones[TN_ZONE_CODE].size != 0;
    if (!object->format) { /* added by tn_add_section, or stubs */
        source->data.arch = tn__arch_host;
        return count_symbols(b, source);
    }
    int code = tn__object_read(&source->data, (const struct tn_format *const[]){object->format, NULL}, b->err);
    if (!code &&
        (source->data.section_count != object->section_count || source->data.symbol_count != object->symbol_count))
        code = tn__fail(b->err, TN_EFORMAT, "%s: the file has changed while it was linked", object->name);
    for (uint32_t i = 0; !code && i < source->data.section_count; i++)
        code = unpack(b, source, &source->data.sections[i]);
    if (code)
        return code;
    move_symbols(source);
    source->pieces = tn__arena_array(&source->data.arena, source->data.section_count, sizeof *source->pieces);
    if (!source->pieces)
        return tn__no_memory(b->err, object->name);
    code = count_symbols(b, source);
    return code ? code : place_pieces(b, source);
}

/* ---- layout ---- */

/* Lists the sections of the file, each object's code first. Symbols then have their place, and the rest follows. */
static void list_sections(struct builder *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct tn_range *code = &b->sources[i].object->zones[TN_ZONE_CODE];
        if (code->size)
            tn__elf_append(&b->sections, (struct tn__elf_section){.name = ".text",
                                                                  .type = SHT_NOBITS,
                                                                  .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                                  .address = code->address,
                                                                  .size = code->size,
                                                                  .alignment = 1});
    }
    for (int i = 0; i < OUT_COUNT; i++) {
        b->places[i] = b->sections.end;
        if (b->sizes[i])
            tn__elf_append(&b->sections, (struct tn__elf_section){.name = out_names[i],
                                                                  .type = SHT_PROGBITS,
                                                                  .address = i == OUT_EH_FRAME ? b->frames_address : 0,
                                                                  .size = b->sizes[i],
                                                                  .alignment = 1});
    }
    b->image->symbols =
        tn__elf_append(&b->sections,
                       (struct tn__elf_section){.name = ".symtab",
                                                .type = SHT_SYMTAB,
                                                .size = (b->local_count + b->global_count) * sizeof(Elf64_Sym),
                                                .link = (uint32_t)b->sections.count + 1,
                                                .info = (uint32_t)b->local_count,
                                                .alignment = 8,
                                                .entry_size = sizeof(Elf64_Sym)})
            ->offset;
    b->strings = tn__elf_append(&b->sections,
                                (struct tn__elf_section){
                                    .name = ".strtab", .type = SHT_STRTAB, .size = b->strings_size, .alignment = 1})
                     ->offset;
}

static struct tn__image_range range_of(const struct builder *b, int out)
{
    return (struct tn__image_range){b->places[out], b->sizes[out]};
}

static int lay_out(struct builder *b)
{
    enum { OWN = 4 }; /* the empty section, symbols, their names, the names of sections */
    struct tn__debug_image *image = b->image;
    size_t most = OWN + OUT_COUNT + (size_t)b->code_sections;
    b->sections = (struct tn__elf_sections){tn__alloc_zeroed(image->from, most, sizeof *b->sections.items), 1,
                                            sizeof(Elf64_Ehdr)};
    if (!b->sections.items)
        return tn__no_memory(b->err, NULL);
    b->local_count++; /* the empty first symbol */
    b->strings_size++;
    list_sections(b);
    image->size = (size_t)tn__elf_end(&b->sections);
    image->sections = tn__elf_headers(&b->sections);
    image->bytes = tn__alloc_zeroed(image->from, 1, image->size);
    image->parts = tn__alloc_zeroed(image->from, image->part_count, sizeof *image->parts);
    if (!image->bytes || !image->parts)
        return tn__no_memory(b->err, NULL);
    image->line = range_of(b, OUT_LINE);
    image->line_str = range_of(b, OUT_LINE_STR);
    image->str = range_of(b, OUT_STR);
    b->local_at = b->string_at = 1;
    b->global_at = b->local_count;
    return 0;
}

/* ---- the second pass ---- */

/* What debug data refers to; `context` is a struct reference. */
struct reference {
    const struct builder *b;
    const struct source *source;
};

static uint64_t find_value(const void *context, const struct tn__object_data *data, const struct tn__reloc *reloc,
                           uint64_t discarded)
{
    const struct reference *from = context;
    const struct tn__symbol *symbol = &data->symbols[reloc->symbol];
    uint64_t value = symbol->value + (uint64_t)reloc->addend;
    if (symbol->place != TN__PLACE_SECTION)
        return from->source->object->symbol_addresses[reloc->symbol] + (uint64_t)reloc->addend;
    const struct piece *piece = &from->source->pieces[symbol->section];
    if (is_debug(piece->out))
        return piece->offset + value;
    if (piece->out == OUT_EH_FRAME)
        return from->b->frames_address + piece->offset + value;
    uint64_t address = from->source->object->section_addresses[symbol->section];
    bool gone = address == TN_SECTION_DISCARDED || data->sections[symbol->section].kind == TN__SECTION_UNLOADED;
    return gone ? discarded + (uint64_t)reloc->addend : address + value;
}

static void copy_piece(const struct builder *b, const struct source *source, uint32_t index)
{
    const struct piece *piece = &source->pieces[index];
    const struct tn__input_section *section = &source->data.sections[index];
    uint8_t *bytes = b->image->bytes + b->places[piece->out] + piece->offset;
    memcpy(bytes, section->bytes, section->size);
    tn__debug_relocate(&source->data, section, bytes,
                       (piece->out == OUT_EH_FRAME ? b->frames_address : 0) + piece->offset, find_value,
                       &(struct reference){b, source});
}

/* The pieces of an object are contiguous in each section. */
static void note_extent(const struct builder *b, const struct source *source, uint8_t out, uint64_t *start,
                        uint64_t *size)
{
    for (uint32_t i = 0; i < source->data.section_count; i++) {
        const struct piece *piece = &source->pieces[i];
        if (piece->out != out)
            continue;
        if (!*size)
            *start = b->places[out] + piece->offset;
        *size = b->places[out] + piece->offset + source->data.sections[i].size - *start;
    }
}

/* All fields but the name are set by the caller. */
static void put_symbol(struct builder *b, const char *name, Elf64_Sym out)
{
    uint64_t *at = ELF64_ST_BIND(out.st_info) == STB_LOCAL ? &b->local_at : &b->global_at;
    tn__elf_put_symbol(b->image->bytes + b->image->symbols + (*at)++ * sizeof out, out, b->image->bytes + b->strings,
                       &b->string_at, name);
}

static void write_symbol(struct builder *b, const struct source *source, uint32_t index, uint64_t address,
                         uint32_t code_section)
{
    static const uint8_t bindings[] = {
        [TN__BIND_LOCAL] = STB_LOCAL, [TN__BIND_WEAK] = STB_WEAK, [TN__BIND_GLOBAL] = STB_GLOBAL};
    const struct tn__symbol *symbol = &source->data.symbols[index];
    bool function = symbol->type == TN__TYPE_FUNCTION || symbol->type == TN__TYPE_IFUNC;
    bool in_code =
        symbol->place == TN__PLACE_SECTION && source->data.sections[symbol->section].kind == TN__SECTION_CODE;
    put_symbol(b, symbol->name,
               (Elf64_Sym){.st_info = ELF64_ST_INFO(bindings[symbol->binding], function  ? STT_FUNC
                                                                               : in_code ? STT_NOTYPE
                                                                                         : STT_OBJECT),
                           .st_shndx = in_code && code_section ? (Elf64_Section)code_section : SHN_ABS,
                           .st_value = address,
                           .st_size = tn__symbol_size(&source->data, symbol)});
}

static void write_source(struct builder *b, const struct source *source, struct tn__image_part *part)
{
    for (uint32_t i = 0; i < source->data.section_count; i++)
        if (source->pieces[i].out != NOT_OUT)
            copy_piece(b, source, i);
    if (source->object->zones[TN_ZONE_CODE].size)
        part->code_section = ++b->code_sections;
    part->locals.first = (uint32_t)b->local_at;
    part->globals.first = (uint32_t)b->global_at;
    for (uint32_t i = 1; i < source->data.symbol_count; i++) {
        uint64_t address;
        if (find_symbol(source, i, &address))
            write_symbol(b, source, i, address, part->code_section);
    }
    for (size_t i = 0; i < source->object->function_count; i++)
        if (is_extra(source, &source->object->functions[i]))
            put_symbol(b, source->object->functions[i].name,
                       (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                                   .st_shndx = (Elf64_Section)part->code_section,
                                   .st_value = source->object->functions[i].address,
                                   .st_size = source->object->functions[i].size});
    part->locals.count = (uint32_t)b->local_at - part->locals.first;
    part->globals.count = (uint32_t)b->global_at - part->globals.first;
    note_extent(b, source, OUT_INFO, &part->units, &part->units_size);
    note_extent(b, source, OUT_EH_FRAME, &part->frames, &part->frames_size);
    note_extent(b, source, OUT_FRAME, &part->old_frames, &part->old_frames_size);
}

/* ---- the whole ---- */

static int build(struct builder *b, const struct tn_linked_object *const *objects)
{
    int code = 0;
    for (size_t i = 0; !code && i < b->count; i++) {
        b->sources[i].object = objects[i];
        code = read_source(b, &b->sources[i]);
    }
    if (!code)
        code = lay_out(b);
    if (code)
        return code;
    b->code_sections = 0;
    for (size_t i = 0; i < b->count; i++)
        write_source(b, &b->sources[i], &b->image->parts[i]);
    tn__elf_write(b->image->bytes, &b->sections,
                  (Elf64_Ehdr){.e_type = ET_EXEC, .e_machine = b->sources[0].data.arch->elf_machine});
    return 0;
}

int tn__debug_image_make(struct tn__debug_image *image, const struct tn_allocator *from, tn_decompress *decompress,
                         const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    *image = (struct tn__debug_image){.from = from, .part_count = count};
    struct builder b = {.image = image, .decompress = decompress, .count = count, .err = err};
    b.sources = tn__alloc_zeroed(from, count, sizeof *b.sources);
    int code = b.sources ? build(&b, objects) : tn__no_memory(err, NULL);
    for (size_t i = 0; b.sources && i < count; i++)
        tn__arena_free(&b.sources[i].data.arena);
    tn__free(from, b.sources);
    tn__free(from, b.sections.items);
    if (code)
        tn__debug_image_free(image);
    return code;
}

void tn__debug_image_free(struct tn__debug_image *image)
{
    tn__free(image->from, image->bytes);
    tn__free(image->from, image->parts);
    *image = (struct tn__debug_image){.from = image->from};
}

/* ---- erasing ---- */

/* The start of the entries of a unit, and its end (DWARF 5, 7.5.1). False if it is malformed or a type unit: other
 * units may refer to those, and they contain no addresses. */
static bool unit_extent(const uint8_t *at, size_t size, size_t *entries, size_t *end)
{
    bool wide = size >= 4 && tn__get32(at) == UINT32_MAX;
    size_t length_size = wide ? 12 : 4, offset_size = wide ? 8 : 4;
    *end = size;
    if (size < length_size + 4)
        return false;
    uint64_t length = wide ? tn__get64(at + 4) : tn__get32(at);
    if (length < offset_size + 4 || length > size - length_size)
        return false;
    *end = length_size + (size_t)length;
    unsigned version = tn__get16(at + length_size), type = at[length_size + 2];
    *entries = length_size + 2 + offset_size + (version >= 5 ? 2 : 1);
    return version < 5 || type == 1 /* DW_UT_compile */ || type == 3 /* DW_UT_partial */;
}

/* Debuggers skip units without entries; incremental linkers leave such units behind. */
static void empty_units(uint8_t *bytes, size_t size)
{
    size_t entries, end;
    for (; size; bytes += end, size -= end)
        if (unit_extent(bytes, size, &entries, &end))
            memset(bytes + entries, 0, end - entries);
}

static void erase_symbols(struct tn__debug_image *image, const struct tn__image_symbols *symbols)
{
    memset(image->bytes + image->symbols + symbols->first * sizeof(Elf64_Sym), 0, symbols->count * sizeof(Elf64_Sym));
}

void tn__debug_image_erase(struct tn__debug_image *image, size_t index)
{
    const struct tn__image_part *part = &image->parts[index];
    erase_symbols(image, &part->locals);
    erase_symbols(image, &part->globals);
    empty_units(image->bytes + part->units, (size_t)part->units_size);
    memset(image->bytes + part->frames, 0, (size_t)part->frames_size); /* entries of length 0 */
    memset(image->bytes + part->old_frames, 0, (size_t)part->old_frames_size);
    if (!part->code_section)
        return;
    Elf64_Shdr *none = (Elf64_Shdr *)(void *)(image->bytes + image->sections) + part->code_section;
    none->sh_flags = none->sh_addr = none->sh_size = 0;
}
