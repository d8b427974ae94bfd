/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Two passes over the objects, as in a linker: the first computes sizes, the second writes. The file consists of
 * header, debug sections, symbols, names of symbols, names of sections, section headers. */

#include <elf.h>

#include "link/observe/debug_image.h"
#include "link/observe/observer.h"
#include "link/arch/reloc.h"

/* What debuggers read. Indexes of names and addresses are omitted: debuggers build their own. */
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

static const struct {
    const char *name;
    uint64_t discarded; /* stored for addresses in discarded code; in some lists, zeros would mark the end */
} outs[OUT_COUNT] = {
    [OUT_INFO] = {".debug_info", 0},
    [OUT_EH_FRAME] = {".eh_frame", 0},
    [OUT_FRAME] = {".debug_frame", 0},
    [OUT_RANGES] = {".debug_ranges", 1},
    [OUT_LOC] = {".debug_loc", 1},
    [OUT_TYPES] = {".debug_types", 0},
    [OUT_ABBREV] = {".debug_abbrev", 0},
    [OUT_LINE] = {".debug_line", 0},
    [OUT_LINE_STR] = {".debug_line_str", 0},
    [OUT_STR] = {".debug_str", 0},
    [OUT_STR_OFFSETS] = {".debug_str_offsets", 0},
    [OUT_ADDR] = {".debug_addr", 0},
    [OUT_RNGLISTS] = {".debug_rnglists", 0},
    [OUT_LOCLISTS] = {".debug_loclists", 0},
    [OUT_MACRO] = {".debug_macro", 0},
    [OUT_MACINFO] = {".debug_macinfo", 0},
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
    tn__inflate *inflate;
    struct source *sources;
    size_t count;
    uint64_t sizes[OUT_COUNT], places[OUT_COUNT]; /* places: in the file */
    uint64_t frames_address;                      /* of .eh_frame, whose values are distances */
    uint64_t local_count, global_count, strings_size, strings, section_names;
    uint64_t local_at, global_at, string_at; /* where the next ones go */
    uint32_t code_sections;
    struct tn_error *err;
};

/* ---- the first pass ---- */

static uint8_t out_of(const struct tn__section *section)
{
    bool frames = section->role == TN__ROLE_UNWIND;
    if (!section->bytes || !section->size || section->compressed || (section->kind != TN__SECTION_UNLOADED && !frames))
        return NOT_OUT;
    for (uint8_t i = 0; i < OUT_COUNT; i++)
        if (!strcmp(section->name, outs[i].name))
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

/* True for stubs, which have no symbol in their object. */
static bool is_stub(const struct tn_function *function)
{
    size_t length = strlen(function->name), suffix = sizeof TN__STUB_SUFFIX - 1;
    return length > suffix && !memcmp(function->name + length - suffix, TN__STUB_SUFFIX, suffix);
}

/* True for a function without a symbol in the object. */
static bool is_extra(const struct source *source, const struct tn_function *function)
{
    return !source->object->length || is_stub(function);
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
    return b->strings_size <= most ? 0 : tn__object_fail_names(&source->data, b->err);
}

/* Decompresses a section if possible (gABI, "Section Compression"). */
static int unpack(const struct builder *b, struct source *source, struct tn__section *section)
{
    enum { MOST = 1032 }; /* the most bytes that zlib makes of one */
    Elf64_Chdr header;
    if (!section->compressed || !b->inflate || !section->bytes || section->size < sizeof header)
        return 0;
    memcpy(&header, section->bytes, sizeof header);
    uint64_t packed = section->size - sizeof header;
    if (header.ch_type != ELFCOMPRESS_ZLIB || !header.ch_size || header.ch_size / MOST > packed)
        return 0;
    uint8_t *bytes = tn__arena_array(&source->data.arena, header.ch_size, 1);
    if (!bytes)
        return tn__fail(b->err, TN_ENOMEM, "%s: out of memory", source->object->name);
    if (!b->inflate(bytes, header.ch_size, section->bytes + sizeof header, packed))
        return 0;
    section->bytes = bytes;
    section->size = header.ch_size;
    section->alignment = 1; /* DWARF units follow each other without padding */
    section->compressed = false;
    return 0;
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
    if (!object->length) { /* added by tn_add_section, or stubs */
        source->data.arch = tn__arch_host;
        return count_symbols(b, source);
    }
    int code = tn__object_read(&source->data, b->err);
    if (!code &&
        (source->data.section_count != object->section_count || source->data.symbol_count != object->symbol_count))
        code = tn__fail(b->err, TN_EFORMAT, "%s: the file has changed while it was linked", object->name);
    for (uint32_t i = 0; !code && i < source->data.section_count; i++)
        code = unpack(b, source, &source->data.sections[i]);
    if (code)
        return code;
    source->pieces = tn__arena_array(&source->data.arena, source->data.section_count, sizeof *source->pieces);
    if (!source->pieces)
        return tn__fail(b->err, TN_ENOMEM, "%s: out of memory", object->name);
    code = count_symbols(b, source);
    return code ? code : place_pieces(b, source);
}

/* ---- layout ---- */

static const char symtab_name[] = ".symtab", strtab_name[] = ".strtab", shstrtab_name[] = ".shstrtab",
                  text_name[] = ".text";

static uint64_t take(uint64_t *end, uint64_t size)
{
    uint64_t at = tn__align_up(*end, 16);
    *end = at + size;
    return at;
}

static uint64_t section_names_size(const struct builder *b)
{
    uint64_t size = 1 + sizeof symtab_name + sizeof strtab_name + sizeof shstrtab_name + sizeof text_name;
    for (int i = 0; i < OUT_COUNT; i++)
        size += b->sizes[i] ? strlen(outs[i].name) + 1 : 0;
    return size;
}

static uint64_t section_count(const struct builder *b)
{
    uint64_t count = 1 + b->code_sections + 3;
    for (int i = 0; i < OUT_COUNT; i++)
        count += b->sizes[i] != 0;
    return count;
}

static struct tn__image_range range_of(const struct builder *b, int out)
{
    return (struct tn__image_range){b->places[out], b->sizes[out]};
}

static int lay_out(struct builder *b)
{
    struct tn__debug_image *image = b->image;
    uint64_t end = sizeof(Elf64_Ehdr);
    for (int i = 0; i < OUT_COUNT; i++)
        b->places[i] = take(&end, b->sizes[i]);
    b->local_count++; /* the empty first symbol */
    b->strings_size++;
    image->symbols = take(&end, (b->local_count + b->global_count) * sizeof(Elf64_Sym));
    b->strings = take(&end, b->strings_size);
    b->section_names = take(&end, section_names_size(b));
    image->sections = take(&end, section_count(b) * sizeof(Elf64_Shdr));
    image->size = (size_t)end;
    image->bytes = tn__alloc_zeroed(image->from, 1, image->size);
    image->parts = tn__alloc_zeroed(image->from, image->part_count, sizeof *image->parts);
    if (!image->bytes || !image->parts)
        return tn__fail(b->err, TN_ENOMEM, "out of memory");
    image->line = range_of(b, OUT_LINE);
    image->line_str = range_of(b, OUT_LINE_STR);
    image->str = range_of(b, OUT_STR);
    b->local_at = b->string_at = 1;
    b->global_at = b->local_count;
    return 0;
}

/* ---- the second pass ---- */

/* The value of a symbol as debug data refers to it. */
static uint64_t value_of(const struct builder *b, const struct source *source, uint32_t index, uint64_t discarded)
{
    const struct tn__symbol *symbol = &source->data.symbols[index];
    if (symbol->place != TN__PLACE_SECTION)
        return source->object->symbol_addresses[index];
    const struct piece *piece = &source->pieces[symbol->section];
    if (is_debug(piece->out))
        return piece->offset + symbol->value;
    if (piece->out == OUT_EH_FRAME)
        return b->frames_address + piece->offset + symbol->value;
    uint64_t address = source->object->section_addresses[symbol->section];
    bool gone = address == TN_SECTION_DISCARDED || source->data.sections[symbol->section].kind == TN__SECTION_UNLOADED;
    return gone ? discarded : address + symbol->value;
}

/* Debug data has absolute and relative references. Others (to a personality routine through the GOT, say) are of no use
 * to a debugger and remain as they are. */
static void relocate(const struct builder *b, const struct source *source, const struct piece *piece,
                     const struct tn__section *section, const struct tn__reloc *reloc)
{
    const struct tn__arch *arch = source->data.arch;
    if (reloc->type >= arch->row_count || reloc->symbol >= source->data.symbol_count)
        return;
    const struct tn__row *row = &arch->rows[reloc->type];
    size_t size = row->size;
    if ((row->value != TN__V_S_A && row->value != TN__V_S_A_P) || !tn__inside(reloc->offset, size, section->size))
        return;
    uint64_t value = value_of(b, source, reloc->symbol, outs[piece->out].discarded) + (uint64_t)reloc->addend;
    if (row->value == TN__V_S_A_P)
        value -= b->frames_address + piece->offset + reloc->offset;
    memcpy(b->image->bytes + b->places[piece->out] + piece->offset + reloc->offset, &value, size);
}

static void copy_piece(const struct builder *b, const struct source *source, uint32_t index)
{
    const struct piece *piece = &source->pieces[index];
    const struct tn__section *section = &source->data.sections[index];
    memcpy(b->image->bytes + b->places[piece->out] + piece->offset, section->bytes, section->size);
    struct tn__relocs relocs;
    tn__relocs_begin(&relocs, &source->data, section);
    for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));)
        relocate(b, source, piece, section, reloc);
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

static uint8_t symbol_type(const struct tn__symbol *symbol, bool in_code)
{
    if (symbol->type == TN__TYPE_FUNCTION || symbol->type == TN__TYPE_IFUNC)
        return STT_FUNC;
    return in_code ? STT_NOTYPE : STT_OBJECT;
}

/* All fields but the name are set by the caller. */
static void put_symbol(struct builder *b, const char *name, Elf64_Sym out)
{
    size_t name_size = strlen(name) + 1;
    uint64_t *at = ELF64_ST_BIND(out.st_info) == STB_LOCAL ? &b->local_at : &b->global_at;
    out.st_name = (Elf64_Word)b->string_at;
    memcpy(b->image->bytes + b->image->symbols + (*at)++ * sizeof out, &out, sizeof out);
    memcpy(b->image->bytes + b->strings + b->string_at, name, name_size);
    b->string_at += name_size;
}

static void write_symbol(struct builder *b, const struct source *source, uint32_t index, uint64_t address,
                         uint32_t code_section)
{
    static const uint8_t bindings[] = {
        [TN__BIND_LOCAL] = STB_LOCAL, [TN__BIND_WEAK] = STB_WEAK, [TN__BIND_GLOBAL] = STB_GLOBAL};
    const struct tn__symbol *symbol = &source->data.symbols[index];
    bool in_code =
        symbol->place == TN__PLACE_SECTION && source->data.sections[symbol->section].kind == TN__SECTION_CODE;
    put_symbol(b, symbol->name,
               (Elf64_Sym){.st_info = ELF64_ST_INFO(bindings[symbol->binding], symbol_type(symbol, in_code)),
                           .st_shndx = in_code && code_section ? (Elf64_Section)code_section : SHN_ABS,
                           .st_value = address,
                           .st_size = tn__symbol_size(&source->data, symbol)});
}

static void write_extra(struct builder *b, const struct tn_function *function, uint32_t code_section)
{
    put_symbol(b, function->name,
               (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                           .st_shndx = (Elf64_Section)code_section,
                           .st_value = function->address,
                           .st_size = function->size});
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
            write_extra(b, &source->object->functions[i], part->code_section);
    part->locals.count = (uint32_t)b->local_at - part->locals.first;
    part->globals.count = (uint32_t)b->global_at - part->globals.first;
    note_extent(b, source, OUT_INFO, &part->units, &part->units_size);
    note_extent(b, source, OUT_EH_FRAME, &part->frames, &part->frames_size);
    note_extent(b, source, OUT_FRAME, &part->old_frames, &part->old_frames_size);
}

/* ---- headers ---- */

static uint32_t write_section_name(struct builder *b, uint64_t *at, const char *name)
{
    uint32_t offset = (uint32_t)*at;
    size_t size = strlen(name) + 1;
    memcpy(b->image->bytes + b->section_names + offset, name, size);
    *at += size;
    return offset;
}

static void write_header(struct builder *b, uint64_t *number, Elf64_Shdr header)
{
    memcpy(b->image->bytes + b->image->sections + (*number)++ * sizeof header, &header, sizeof header);
}

static void write_code_headers(struct builder *b, uint64_t *number, uint32_t name)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct tn_range *code = &b->sources[i].object->zones[TN_ZONE_CODE];
        if (code->size)
            write_header(b, number,
                         (Elf64_Shdr){.sh_name = name,
                                      .sh_type = SHT_NOBITS,
                                      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                      .sh_addr = code->address,
                                      .sh_size = code->size,
                                      .sh_addralign = 1});
    }
}

static void write_headers(struct builder *b)
{
    uint64_t names = 1, number = 1;
    write_code_headers(b, &number, write_section_name(b, &names, text_name));
    for (int i = 0; i < OUT_COUNT; i++)
        if (b->sizes[i])
            write_header(b, &number,
                         (Elf64_Shdr){.sh_name = write_section_name(b, &names, outs[i].name),
                                      .sh_type = SHT_PROGBITS,
                                      .sh_addr = i == OUT_EH_FRAME ? b->frames_address : 0,
                                      .sh_offset = b->places[i],
                                      .sh_size = b->sizes[i],
                                      .sh_addralign = 1});
    write_header(b, &number,
                 (Elf64_Shdr){.sh_name = write_section_name(b, &names, symtab_name),
                              .sh_type = SHT_SYMTAB,
                              .sh_offset = b->image->symbols,
                              .sh_size = (b->local_count + b->global_count) * sizeof(Elf64_Sym),
                              .sh_link = (Elf64_Word)number + 1,
                              .sh_info = (Elf64_Word)b->local_count,
                              .sh_addralign = 8,
                              .sh_entsize = sizeof(Elf64_Sym)});
    write_header(b, &number,
                 (Elf64_Shdr){.sh_name = write_section_name(b, &names, strtab_name),
                              .sh_type = SHT_STRTAB,
                              .sh_offset = b->strings,
                              .sh_size = b->strings_size,
                              .sh_addralign = 1});
    write_header(b, &number,
                 (Elf64_Shdr){.sh_name = write_section_name(b, &names, shstrtab_name),
                              .sh_type = SHT_STRTAB,
                              .sh_offset = b->section_names,
                              .sh_size = section_names_size(b),
                              .sh_addralign = 1});
    const Elf64_Ehdr elf = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = b->sources[0].data.arch->elf_machine,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof elf,
        .e_shoff = b->image->sections,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)number,
        .e_shstrndx = (Elf64_Half)(number - 1),
    };
    memcpy(b->image->bytes, &elf, sizeof elf);
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
    write_headers(b);
    return 0;
}

int tn__debug_image_make(struct tn__debug_image *image, const struct tn_allocator *from, tn__inflate *inflate,
                         const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    *image = (struct tn__debug_image){.from = from, .part_count = count};
    struct builder b = {.image = image, .inflate = inflate, .count = count, .err = err};
    b.sources = tn__alloc_zeroed(from, count, sizeof *b.sources);
    int code = b.sources ? build(&b, objects) : tn__fail(err, TN_ENOMEM, "out of memory");
    for (size_t i = 0; b.sources && i < count; i++)
        tn__arena_free(&b.sources[i].data.arena);
    tn__free(from, b.sources);
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
