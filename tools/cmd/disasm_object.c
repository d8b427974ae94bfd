/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon disasm FILE: an object's code as it is in its file, each relocation behind the instruction that it is for. */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/disasm.h"
#include "link/model/object.h"
#include "link/observe/debug_image.h"
#include "link/arch/reloc.h"

struct object {
    struct tn__object_data data;
    uint32_t section; /* that is being shown: */
    struct labels labels;
    struct tn__reloc *relocs;
    size_t reloc_count;
    struct tn__debug_image image;
    struct tn__lines lines;
    char text[TEXT_SIZE];
};

/* ---- lines: debug information has no addresses yet, so each section gets 4 GiB of its own ---- */

static uint64_t line_base(uint32_t section)
{
    return (uint64_t)section << 32;
}

static int read_lines(struct object *o, struct tn_error *err)
{
    const struct tn__object_data *data = &o->data;
    struct tn__arena *arena = &o->data.arena;
    uint64_t *sections = tn__arena_array(arena, data->section_count, sizeof *sections);
    uint64_t *symbols = tn__arena_array(arena, data->symbol_count, sizeof *symbols);
    if (!sections || !symbols)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < data->section_count; i++)
        sections[i] = line_base(i);
    const struct tn_linked_object linked = {.size = sizeof linked,
                                            .name = data->name,
                                            .bytes = data->bytes,
                                            .length = data->size,
                                            .section_addresses = sections,
                                            .section_count = data->section_count,
                                            .symbol_addresses = symbols,
                                            .symbol_count = data->symbol_count,
                                            .format = data->format};
    int code = tn__debug_image_make(&o->image, NULL, tn_codegen_decompress,
                                    (const struct tn_linked_object *const[]){&linked}, 1, err);
    return code ? code : tn__lines_add(&o->lines, &o->image, err);
}

/* ---- labels and relocations of a section ---- */

static int by_offset(const void *a, const void *b)
{
    const struct tn__reloc *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool gather(struct object *o)
{
    const struct tn__input_section *section = &o->data.sections[o->section];
    o->labels.count = 0;
    for (uint32_t i = 1; i < o->data.symbol_count; i++) {
        const struct tn__symbol *symbol = &o->data.symbols[i];
        if (symbol->place == TN__PLACE_SECTION && symbol->section == o->section && *symbol->name &&
            symbol->type != TN__TYPE_SECTION &&
            !tool_add_label(&o->labels, symbol->name, symbol->value, tn__symbol_size(&o->data, symbol),
                            symbol->type == TN__TYPE_FUNCTION))
            return false;
    }
    tool_sort_labels(&o->labels);
    o->reloc_count = section->reloc_count;
    o->relocs = calloc(o->reloc_count + 1, sizeof *o->relocs);
    if (!o->relocs)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    tn__relocs_copy(section, 0, o->relocs, o->reloc_count);
    qsort(o->relocs, o->reloc_count, sizeof *o->relocs, by_offset);
    return true;
}

static size_t first_reloc(const struct object *o, uint64_t offset)
{
    return TN_BISECT(0, o->reloc_count, i, o->relocs[i].offset < offset);
}

static const char *reloc_name(const struct object *o, const struct tn__reloc *reloc)
{
    if (reloc->symbol >= o->data.symbol_count)
        return "?";
    const struct tn__symbol *symbol = &o->data.symbols[reloc->symbol];
    return symbol->type == TN__TYPE_SECTION ? o->data.sections[symbol->section].name : symbol->name;
}

static const struct tn__row *row_of(const struct object *o, const struct tn__reloc *reloc)
{
    return reloc->type < o->data.format->row_count ? &o->data.format->rows[reloc->type] : NULL;
}

/* ---- what the disassembler asks ---- */

static bool name_field(void *context, uint64_t at, uint64_t end, const char **name, int64_t *offset)
{
    struct object *o = context;
    size_t i = first_reloc(o, at);
    if (i == o->reloc_count || o->relocs[i].offset != at)
        return false;
    const struct tn__row *row = row_of(o, &o->relocs[i]);
    bool relative = row && (row->value == TN__V_S_A_P || row->value == TN__V_G_A_P || row->value == TN__V_GOT_A_P);
    *name = reloc_name(o, &o->relocs[i]);
    *offset = (int64_t)((uint64_t)o->relocs[i].addend + (relative ? end - at : 0));
    return true;
}

static const char *name_target(void *context, uint64_t address)
{
    struct object *o = context;
    const struct label *label = tool_find_label(&o->labels, address);
    return label ? tool_describe(o->text, label->name, address - label->address) : NULL;
}

/* Relocations tell more than addresses that are not final. */
static void ignore_mention(void *context, uint64_t address)
{
    (void)context, (void)address;
}

/* ---- printing ---- */

static void print_labels(void *context, uint64_t address)
{
    const struct object *o = context;
    const struct label *label = tool_find_label(&o->labels, address);
    while (label && label > o->labels.items && label[-1].address == address)
        label--;
    for (; label && label < o->labels.items + o->labels.count && label->address == address; label++)
        printf("%016" PRIx64 " <%s>:\n", address, label->name);
}

static void print_relocs(void *context, uint64_t address, uint64_t end)
{
    const struct object *o = context;
    for (size_t i = first_reloc(o, address); i < o->reloc_count && o->relocs[i].offset < end; i++) {
        const struct tn__reloc *reloc = &o->relocs[i];
        const struct tn__row *row = row_of(o, reloc);
        printf("%8" PRIx64 ":   %s %s", reloc->offset, row && row->name ? row->name : "?", reloc_name(o, reloc));
        if (reloc->addend)
            printf("%c0x%" PRIx64, reloc->addend < 0 ? '-' : '+',
                   reloc->addend < 0 ? -(uint64_t)reloc->addend : (uint64_t)reloc->addend);
        putchar('\n');
    }
}

static bool show_section(struct object *o, struct tn__disasm *disasm)
{
    const struct tn__input_section *section = &o->data.sections[o->section];
    bool ok = gather(o);
    if (ok) {
        const struct stretch stretch = {.bytes = section->bytes,
                                        .size = section->size,
                                        .lines = &o->lines,
                                        .lines_at = line_base(o->section),
                                        .print_labels = print_labels,
                                        .print_relocs = print_relocs,
                                        .context = o};
        printf("\n%s: section %" PRIu32 ", %s\n", o->data.name, o->section, section->name);
        tool_disassemble(disasm, &stretch);
    }
    free(o->relocs);
    o->relocs = NULL;
    return ok;
}

static bool show_sections(struct object *o, const struct settings *settings)
{
    const struct tn__namer namer = {
        .context = o, .field = name_field, .target = name_target, .mention = ignore_mention};
    struct tn__disasm *disasm;
    struct tn_error error;
    if ((settings->lines && read_lines(o, &error)) ||
        tn__disasm_open(o->data.arch->elf_machine, &namer, settings->intel, &disasm, &error))
        return tool_fail(STATUS_FAILURE, "%s: %s", o->data.name, error.text), false;
    bool ok = true;
    for (o->section = 1; ok && o->section < o->data.section_count; o->section++) {
        const struct tn__input_section *section = &o->data.sections[o->section];
        if (section->kind == TN__SECTION_CODE && section->size)
            ok = show_section(o, disasm);
    }
    tn__disasm_close(disasm);
    return ok;
}

bool tool_show_object(const char *name, const void *bytes, size_t size, const struct settings *settings)
{
    struct tn_error error;
    struct object object = {.data = {.name = name, .bytes = bytes, .size = size}};
    bool ok = !tn__object_read(&object.data, tool_formats, &error);
    if (ok)
        ok = show_sections(&object, settings);
    else
        tool_fail(STATUS_FAILURE, "%s", error.text);
    tn__lines_free(&object.lines);
    tn__debug_image_free(&object.image);
    tn__free(NULL, object.labels.items);
    tn__arena_free(&object.data.arena);
    return ok;
}
