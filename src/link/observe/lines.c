/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Interprets the line number programs of .debug_line, whose bytes are relocated but not checked. */

#include "link/observe/lines.h"

#include <stdlib.h>

#include "link/unwind/cursor.h"

enum { /* standard opcodes, */
       LNS_EXTENDED = 0,
       LNS_COPY,
       LNS_ADVANCE_PC,
       LNS_ADVANCE_LINE,
       LNS_SET_FILE,
       LNS_SET_COLUMN,
       LNS_NEGATE_STMT,
       LNS_SET_BASIC_BLOCK,
       LNS_CONST_ADD_PC,
       LNS_FIXED_ADVANCE_PC,
       /* extended ones, */
       LNE_END_SEQUENCE = 1,
       LNE_SET_ADDRESS = 2,
       /* and contents of the tables of names */
       LNCT_PATH = 1,
       LNCT_DIRECTORY_INDEX = 2
};

/* Tables of strings end with the last of their NULs, so that every string in them has one. */
struct sections {
    struct tn__cursor line, line_str, str;
};

/* A line number program and its state machine. */
struct unit {
    struct tn__lines *lines;
    const struct sections *sections;
    struct tn__cursor in;
    uint16_t version;
    uint8_t offset_size, min_length, max_ops, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *operand_counts; /* indexed by standard opcode - 1 */
    const char **directories;
    struct tn__source_file *files;
    uint64_t directory_count, file_count;
    uint64_t address, op_index, file;
    uint32_t line;
    bool in_sequence, no_memory;
};

/* ---- names ---- */

struct form_value {
    const char *text;
    uint64_t number;
};

static const char *text_at(struct tn__cursor section, uint64_t offset)
{
    return tn__cursor_take(&section, offset) && section.at < section.end ? (const char *)section.at : "";
}

/* False if the form is unknown or not allowed in these tables. */
static bool read_form(struct unit *u, uint64_t form, struct form_value *out)
{
    enum { DATA2 = 5, DATA4, DATA8, STRING, BLOCK, DATA1 = 0x0b, STRP = 0x0e, UDATA, DATA16 = 0x1e, LINE_STRP };
    static const uint8_t sizes[] = {[DATA1] = 1, [DATA2] = 2, [DATA4] = 4, [DATA8] = 8};
    *out = (struct form_value){.text = ""};
    if (form < TN_COUNT(sizes) && sizes[form])
        out->number = tn__cursor_number(&u->in, sizes[form]);
    else if (form == UDATA)
        out->number = tn__cursor_uleb(&u->in);
    else if (form == STRING)
        out->text = tn__cursor_text(&u->in);
    else if (form == STRP)
        out->text = text_at(u->sections->str, tn__cursor_number(&u->in, u->offset_size));
    else if (form == LINE_STRP)
        out->text = text_at(u->sections->line_str, tn__cursor_number(&u->in, u->offset_size));
    else if (form == BLOCK)
        tn__cursor_take(&u->in, tn__cursor_uleb(&u->in));
    else if (form == DATA16)
        tn__cursor_take(&u->in, 16);
    else
        u->in.good = false;
    return u->in.good;
}

static const char *directory_at(const struct unit *u, uint64_t index)
{
    return index < u->directory_count ? u->directories[index] : "";
}

static struct tn__source_file file_in(const struct unit *u, uint64_t directory, const char *name)
{
    const char *path = *name == '/' ? "" : directory_at(u, directory);
    bool from_root = *path && *path != '/' && directory;
    return (struct tn__source_file){from_root ? directory_at(u, 0) : "", path, name};
}

static void *new_table(struct unit *u, uint64_t count, size_t size)
{
    void *table = tn__arena_array(&u->lines->arena, count, size);
    u->no_memory |= !table;
    return table;
}

/* The path and the directory of an entry. */
static bool read_entry(struct unit *u, struct tn__cursor formats, unsigned format_count, const char **path,
                       uint64_t *directory)
{
    *path = "";
    *directory = 0;
    for (unsigned i = 0; i < format_count; i++) {
        struct form_value value;
        uint64_t content = tn__cursor_uleb(&formats);
        if (!read_form(u, tn__cursor_uleb(&formats), &value))
            return false;
        if (content == LNCT_PATH)
            *path = value.text;
        else if (content == LNCT_DIRECTORY_INDEX)
            *directory = value.number;
    }
    return true;
}

/* The header of a DWARF 5 table, which describes the format of its entries. Each entry takes at least one byte. */
static uint64_t read_formats(struct unit *u, struct tn__cursor *formats, uint8_t *format_count)
{
    *format_count = tn__cursor_byte(&u->in);
    *formats = u->in;
    for (unsigned i = 0; i < 2u * *format_count; i++)
        tn__cursor_uleb(&u->in);
    uint64_t count = tn__cursor_uleb(&u->in);
    u->in.good &= count <= (uint64_t)(u->in.end - u->in.at);
    return *format_count && u->in.good ? count : 0;
}

static void read_tables(struct unit *u)
{
    struct tn__cursor formats;
    uint8_t format_count;
    uint64_t directory, count = read_formats(u, &formats, &format_count);
    const char *name;
    u->directories = new_table(u, count, sizeof *u->directories);
    while (u->directories && u->directory_count < count && read_entry(u, formats, format_count, &name, &directory))
        u->directories[u->directory_count++] = name;
    count = read_formats(u, &formats, &format_count);
    u->files = new_table(u, count, sizeof *u->files);
    while (u->files && u->file_count < count && read_entry(u, formats, format_count, &name, &directory))
        u->files[u->file_count++] = file_in(u, directory, name);
}

/* Before DWARF 5, an empty name ends each table, and entry 0, the compilation's directory and file, is stored
 * elsewhere. */
static uint64_t count_old(struct tn__cursor in, unsigned numbers)
{
    uint64_t count = 1;
    for (; *tn__cursor_text(&in); count++)
        for (unsigned i = 0; i < numbers; i++)
            tn__cursor_uleb(&in);
    return count;
}

static void read_old_tables(struct unit *u)
{
    enum { NUMBERS = 3 }; /* directory, time, size of a file */
    const char *name;
    u->directories = new_table(u, count_old(u->in, 0), sizeof *u->directories);
    for (name = ""; u->directories && (!u->directory_count || *name); name = tn__cursor_text(&u->in))
        u->directories[u->directory_count++] = name;
    u->files = new_table(u, count_old(u->in, NUMBERS), sizeof *u->files);
    if (!u->files)
        return;
    u->files[u->file_count++] = file_in(u, 0, "");
    while (*(name = tn__cursor_text(&u->in))) {
        u->files[u->file_count++] = file_in(u, tn__cursor_uleb(&u->in), name);
        for (int i = 1; i < NUMBERS; i++)
            tn__cursor_uleb(&u->in);
    }
}

/* ---- the machine ---- */

static void reset(struct unit *u)
{
    u->address = u->op_index = 0;
    u->file = u->line = 1;
    u->in_sequence = false;
}

/* Only the last of several rows for one address counts; a row equal to the previous one is omitted. */
static void add_row(struct unit *u, bool end)
{
    struct tn__lines *lines = u->lines;
    const struct tn__source_file *file = !end && u->file < u->file_count ? &u->files[u->file] : NULL;
    struct tn__line *last = u->in_sequence ? &lines->items[lines->count - 1] : NULL;
    if (last && last->file == file && last->line == u->line)
        return;
    if (last && last->address == u->address)
        lines->count--;
    if (!tn__grow(lines->arena.from, &lines->items, &lines->capacity, lines->count + 1, sizeof *lines->items)) {
        u->no_memory = true;
        return;
    }
    lines->items[lines->count++] = (struct tn__line){u->address, file, u->line};
    u->in_sequence = true;
}

static void advance(struct unit *u, uint64_t operations)
{
    uint64_t at = u->op_index + operations;
    u->address += u->min_length * (at / u->max_ops);
    u->op_index = at % u->max_ops;
}

static void run_extended(struct unit *u)
{
    uint64_t size = tn__cursor_uleb(&u->in);
    const uint8_t *bytes = tn__cursor_take(&u->in, size);
    if (!bytes || !size)
        return;
    if (bytes[0] == LNE_END_SEQUENCE) {
        add_row(u, true);
        reset(u);
    } else if (bytes[0] == LNE_SET_ADDRESS && size == 1 + sizeof(uint64_t)) {
        u->address = tn__get64(bytes + 1);
        u->op_index = 0;
    }
}

static void run_special(struct unit *u, uint8_t opcode)
{
    unsigned adjusted = opcode - u->opcode_base;
    advance(u, adjusted / u->line_range);
    u->line += (uint32_t)(u->line_base + (int)(adjusted % u->line_range));
    add_row(u, false);
}

static void run_standard(struct unit *u, uint8_t opcode)
{
    switch (opcode) {
    case LNS_EXTENDED:
        run_extended(u);
        break;
    case LNS_COPY:
        add_row(u, false);
        break;
    case LNS_ADVANCE_PC:
        advance(u, tn__cursor_uleb(&u->in));
        break;
    case LNS_ADVANCE_LINE:
        u->line += (uint32_t)tn__cursor_sleb(&u->in);
        break;
    case LNS_SET_FILE:
        u->file = tn__cursor_uleb(&u->in);
        break;
    case LNS_CONST_ADD_PC:
        advance(u, (255u - u->opcode_base) / u->line_range);
        break;
    case LNS_FIXED_ADVANCE_PC:
        u->address += tn__cursor_number(&u->in, 2);
        u->op_index = 0;
        break;
    default:
        for (unsigned i = 0; i < u->operand_counts[opcode - 1]; i++) /* unknown opcodes tell how many they have */
            tn__cursor_uleb(&u->in);
    }
}

static void run_program(struct unit *u)
{
    reset(u);
    while (u->in.good && u->in.at < u->in.end && !u->no_memory) {
        uint8_t opcode = tn__cursor_byte(&u->in);
        if (opcode < u->opcode_base)
            run_standard(u, opcode);
        else
            run_special(u, opcode);
    }
}

/* ---- units ---- */

/* Reads the header up to the tables of names; returns the start of the program. */
static const uint8_t *read_header(struct unit *u)
{
    struct tn__cursor *in = &u->in;
    u->version = (uint16_t)tn__cursor_number(in, 2);
    in->good &= u->version >= 2 && u->version <= 5;
    if (u->version >= 5)
        tn__cursor_number(in, 2); /* sizes of addresses and segment selectors */
    uint64_t header_length = tn__cursor_number(in, u->offset_size);
    struct tn__cursor program = *in;
    tn__cursor_take(&program, header_length);
    u->min_length = tn__cursor_byte(in);
    u->max_ops = u->version >= 4 ? tn__cursor_byte(in) : 1;
    tn__cursor_byte(in); /* default_is_stmt, which only debuggers use */
    u->line_base = (int8_t)tn__cursor_byte(in);
    u->line_range = tn__cursor_byte(in);
    u->opcode_base = tn__cursor_byte(in);
    in->good &= program.good && u->max_ops && u->line_range && u->opcode_base;
    u->operand_counts = tn__cursor_take(in, in->good ? u->opcode_base - 1u : 0);
    return program.at;
}

static void read_unit(struct unit *u)
{
    const uint8_t *program = read_header(u);
    if (!u->in.good)
        return;
    if (u->version >= 5)
        read_tables(u);
    else
        read_old_tables(u);
    if (!u->in.good || u->no_memory)
        return;
    u->in.at = program;
    run_program(u);
}

/* A truncated sequence ends where it is cut off. */
static bool read_units(struct tn__lines *lines, const struct sections *sections)
{
    enum { WIDE = 0xffffffff }; /* 64-bit DWARF */
    struct tn__cursor in = sections->line;
    while (in.good && in.at < in.end) {
        struct unit unit = {.lines = lines, .sections = sections, .offset_size = 4};
        uint64_t length = tn__cursor_number(&in, 4);
        if (length == WIDE) {
            length = tn__cursor_number(&in, 8);
            unit.offset_size = 8;
        }
        const uint8_t *bytes = tn__cursor_take(&in, length);
        if (!bytes)
            break;
        unit.in = tn__cursor(bytes, length);
        read_unit(&unit);
        if (unit.in_sequence && !unit.no_memory)
            add_row(&unit, true);
        if (unit.no_memory)
            return false;
    }
    return true;
}

/* ---- the whole ---- */

/* A sequence may begin where another ends. */
static int by_address(const void *a, const void *b)
{
    const struct tn__line *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->file != NULL) - (y->file != NULL);
}

static struct tn__cursor strings_in(const struct tn__debug_image *image, struct tn__image_range range)
{
    while (range.size && image->bytes[range.at + range.size - 1])
        range.size--;
    return tn__cursor(image->bytes + range.at, range.size);
}

int tn__lines_add(struct tn__lines *lines, const struct tn__debug_image *image, struct tn_error *err)
{
    const struct sections sections = {tn__cursor(image->bytes + image->line.at, image->line.size),
                                      strings_in(image, image->line_str), strings_in(image, image->str)};
    if (!read_units(lines, &sections))
        return tn__no_memory(err, NULL);
    if (lines->count)
        qsort(lines->items, lines->count, sizeof *lines->items, by_address);
    return 0;
}

const struct tn__line *tn__lines_find(const struct tn__lines *lines, uint64_t address)
{
    size_t below = TN_COUNT_UP_TO(lines->items, lines->count, address, address);
    const struct tn__line *line = below ? &lines->items[below - 1] : NULL;
    return line && line->file ? line : NULL;
}

int tn__source_path(const struct tn__source_file *file, char *out, size_t size)
{
    const char *const parts[] = {file->root, *file->root ? "/" : "", file->directory, *file->directory ? "/" : "",
                                 file->name};
    size_t at = 0;
    for (size_t i = 0, length; i < TN_COUNT(parts); i++, at += length) {
        length = strlen(parts[i]);
        if (at < size)
            memcpy(out + at, parts[i], tn__min64(length, size - at));
    }
    if (size)
        out[tn__min64(at, size - 1)] = 0;
    return (int)at;
}

void tn__lines_free(struct tn__lines *lines)
{
    tn__free(lines->arena.from, lines->items);
    tn__arena_free(&lines->arena);
    *lines = (struct tn__lines){.arena.from = lines->arena.from};
}
