/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon disasm: code with symbols, relocations and source lines. Objects are shown as they are in their files; with --linked,
 * or where symbols are named, what the linker makes of them in this process. IR is compiled first. */

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/disasm.h"
#include "codegen/dwarf.h"
#include "link/link.h"
#include "tool.h"

enum { BYTES_SHOWN = 10, TEXT_SIZE = 1024 };

/* ---- one stretch of code ---- */

/* Whatever is disassembled: where it is, who names what is in it, who knows its lines. */
struct stretch {
    const uint8_t *bytes;
    uint64_t address, size;
    void (*before)(void *context, uint64_t address);              /* prints labels */
    void (*after)(void *context, uint64_t address, uint64_t end); /* prints relocations */
    bool (*line)(void *context, uint64_t address, tn__frame_fn *frame, void *user);
    void *context;
};

struct line {
    char file[256];
    uint32_t line;
};

static void take_innermost(void *user, const char *function, const char *file, uint32_t line, uint32_t column)
{
    struct line *here = user;
    (void)function, (void)column;
    if (here->line || !file)
        return;
    const char *slash = strrchr(file, '/');
    snprintf(here->file, sizeof here->file, "%s", slash ? slash + 1 : file);
    here->line = line;
}

static void print_line(const struct stretch *s, uint64_t address, struct line *last)
{
    struct line here = {.line = 0};
    if (!s->line(s->context, address, take_innermost, &here) || !here.line ||
        (here.line == last->line && !strcmp(here.file, last->file)))
        return;
    printf("; %s:%" PRIu32 "\n", here.file, here.line);
    *last = here;
}

static void print_instruction(uint64_t address, const uint8_t *bytes, size_t size, const char *text)
{
    printf("%8" PRIx64 ":", address);
    for (size_t i = 0; i < size; i++)
        printf(" %02x", bytes[i]);
    printf("%*s%s\n", size < BYTES_SHOWN ? (int)(3 * (BYTES_SHOWN - size)) : 1, "", text + (*text == '\t'));
}

static void disassemble(struct tn__disasm *disasm, const struct stretch *s)
{
    struct line last = {.line = 0};
    for (uint64_t at = 0, size; at < s->size; at += size) {
        char text[TEXT_SIZE];
        uint64_t address = s->address + at;
        s->before(s->context, address);
        print_line(s, address, &last);
        size = tn__disasm_next(disasm, s->bytes + at, s->size - at, address, text, sizeof text);
        if (!size) {
            snprintf(text, sizeof text, "\t.byte\t0x%02x", s->bytes[at]);
            size = 1;
        }
        print_instruction(address, s->bytes + at, size, text);
        s->after(s->context, address, address + size);
    }
}

/* ---- objects ---- */

struct label {
    const char *name;
    uint64_t address;
};

struct object {
    const struct tn__object_data *data;
    uint32_t section; /* that is being shown */
    struct label *labels;
    size_t label_count;
    struct tn__reloc *relocs;
    size_t reloc_count;
    struct tn__dwarf *dwarf;
    char text[TEXT_SIZE];
};

static int by_address(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static int by_offset(const void *a, const void *b)
{
    const struct tn__reloc *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Labels and relocations of the section. False when memory is out. */
static bool gather(struct object *o)
{
    const struct tn__section *section = &o->data->sections[o->section];
    o->label_count = 0;
    for (uint32_t i = 1; i < o->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &o->data->symbols[i];
        if (symbol->place == TN__PLACE_SECTION && symbol->section == o->section && *symbol->name &&
            symbol->type != TN__TYPE_SECTION)
            o->labels[o->label_count++] = (struct label){symbol->name, symbol->value};
    }
    if (o->label_count)
        qsort(o->labels, o->label_count, sizeof *o->labels, by_address);
    o->reloc_count = section->reloc_count;
    o->relocs = calloc(o->reloc_count + 1, sizeof *o->relocs);
    if (!o->relocs)
        return false;
    o->data->format->decode(section, 0, o->relocs, o->reloc_count);
    qsort(o->relocs, o->reloc_count, sizeof *o->relocs, by_offset);
    return true;
}

static size_t first_reloc(const struct object *o, uint64_t offset)
{
    size_t low = 0, high = o->reloc_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->relocs[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const char *reloc_name(const struct object *o, const struct tn__reloc *reloc)
{
    if (reloc->symbol >= o->data->symbol_count)
        return "?";
    const struct tn__symbol *symbol = &o->data->symbols[reloc->symbol];
    return symbol->type == TN__TYPE_SECTION ? o->data->sections[symbol->section].name : symbol->name;
}

static const struct tn__row *row_of(const struct object *o, const struct tn__reloc *reloc)
{
    return reloc->type < o->data->arch->row_count ? &o->data->arch->rows[reloc->type] : NULL;
}

static bool object_field(void *context, uint64_t at, uint64_t end, const char **name, int64_t *offset)
{
    struct object *o = context;
    size_t i = first_reloc(o, at);
    if (i == o->reloc_count || o->relocs[i].offset != at)
        return false;
    const struct tn__row *row = row_of(o, &o->relocs[i]);
    bool relative = row && (row->value == TN__V_S_A_P || row->value == TN__V_G_A_P || row->value == TN__V_GOT_A_P);
    *name = reloc_name(o, &o->relocs[i]);
    *offset = o->relocs[i].addend + (relative ? (int64_t)(end - at) : 0);
    return true;
}

static const char *describe(char *text, const char *name, uint64_t offset)
{
    if (offset)
        snprintf(text, TEXT_SIZE, "%s+0x%" PRIx64, name, offset);
    else
        snprintf(text, TEXT_SIZE, "%s", name);
    return text;
}

static const char *object_target(void *context, uint64_t address)
{
    struct object *o = context;
    const struct label *best = NULL;
    for (size_t i = 0; i < o->label_count && o->labels[i].address <= address; i++)
        best = &o->labels[i];
    return best ? describe(o->text, best->name, address - best->address) : NULL;
}

static void print_labels(void *context, uint64_t address)
{
    const struct object *o = context;
    for (size_t i = 0; i < o->label_count && o->labels[i].address <= address; i++)
        if (o->labels[i].address == address)
            printf("%016" PRIx64 " <%s>:\n", address, o->labels[i].name);
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

static bool object_line(void *context, uint64_t address, tn__frame_fn *frame, void *user)
{
    struct object *o = context;
    return o->dwarf && tn__dwarf_find(o->dwarf, o->section, address, frame, user);
}

static bool show_section(struct object *o, struct tn__disasm *disasm)
{
    const struct tn__section *section = &o->data->sections[o->section];
    if (!gather(o))
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    printf("\n%s: section %u, %s\n", o->data->name, o->section, section->name);
    const struct stretch stretch = {.bytes = section->bytes,
                                    .size = section->size,
                                    .before = print_labels,
                                    .after = print_relocs,
                                    .line = object_line,
                                    .context = o};
    disassemble(disasm, &stretch);
    free(o->relocs);
    return true;
}

static bool show_sections(struct object *o, bool intel)
{
    const struct tn__namer namer = {.context = o, .field = object_field, .target = object_target};
    struct tn__disasm *disasm;
    struct tn_error error;
    if (tn__disasm_open(o->data->arch->elf_machine, &namer, intel, &disasm, &error))
        return tool_fail(STATUS_FAILURE, "%s: %s", o->data->name, error.text), false;
    bool ok = true;
    for (o->section = 1; ok && o->section < o->data->section_count; o->section++) {
        const struct tn__section *section = &o->data->sections[o->section];
        if (section->kind == TN__SECTION_CODE && section->size)
            ok = show_section(o, disasm);
    }
    tn__disasm_close(disasm);
    return ok;
}

static bool show_object(const char *name, const void *bytes, size_t size, bool intel)
{
    struct tn_error error;
    struct tn__object_data data = {.name = name, .bytes = bytes, .size = size};
    if (tn__object_read(&data, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    struct object object = {.data = &data, .labels = calloc((size_t)data.symbol_count + 1, sizeof *object.labels)};
    object.dwarf = tn__dwarf_open(bytes, size, true);
    bool ok = object.labels ? show_sections(&object, intel) : (tool_fail(STATUS_FAILURE, "out of memory"), false);
    tn__dwarf_close(object.dwarf);
    free(object.labels);
    tn__arena_free(&data.arena);
    return ok;
}

static bool show_archive(const struct file *file, bool intel)
{
    struct tn__archive archive = {
        .name = (char *)file->name,
        .input = {.size = sizeof archive.input, .name = file->name, .bytes = file->bytes, .length = file->size}};
    struct tn__member member;
    struct tn_error error;
    bool end = false, ok = true;
    int rc = tn__archive_open(&archive, &error);
    for (uint64_t at = 0; !rc && !end && ok; at = member.next) {
        struct tn_input input = {.size = sizeof input};
        char *name;
        rc = tn__archive_member(&archive, at, &member, &end, &error);
        if (rc || end || tn__archive_is_table(&member))
            continue;
        rc = tn__archive_load(&archive, member.offset, &input, &name, &error);
        if (!rc && tn__format_elf.claims(input.bytes, input.length))
            ok = show_object(name, input.bytes, input.length, intel);
    }
    if (rc)
        tool_fail(STATUS_FAILURE, "%s", error.text);
    return !rc && ok;
}

static bool show_file(const char *name, const struct settings *settings)
{
    struct file file;
    struct tn_buffer object;
    struct tn_compile_stats stats = {.size = sizeof stats};
    if (!tool_read(name, &file))
        return false;
    if (file.kind == FILE_ARCHIVE)
        return show_archive(&file, settings->intel);
    if (file.kind == FILE_OBJECT)
        return show_object(file.name, file.bytes, file.size, settings->intel);
    return tool_compile(&file, settings, &object, &stats) &&
           show_object(file.name, object.data, object.size, settings->intel);
}

/* ---- linked code ---- */

static struct {
    struct function {
        char *name;
        const char *object;
        uint64_t address, size;
        bool shown;
    } * items;
    size_t count, capacity;
    uint16_t machine;
    char text[TEXT_SIZE];
} functions;

static int note_functions(void *context, const struct tn_linked_object *const *objects, size_t count,
                          struct tn_error *err)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < objects[i]->function_count; k++) {
            const struct tn_function *from = &objects[i]->functions[k];
            char *name = strdup(from->name);
            if (!name ||
                !tn__grow(NULL, &functions.items, &functions.capacity, functions.count + 1, sizeof *functions.items))
                return tn__fail(err, TN_ENOMEM, "out of memory");
            functions.items[functions.count++] =
                (struct function){name, objects[i]->name, from->address, from->size, false};
            functions.machine = tn__get16((const uint8_t *)objects[i]->bytes + offsetof(Elf64_Ehdr, e_machine));
        }
    return 0;
}

/* Everything was relocated already. */
static bool no_field(void *context, uint64_t at, uint64_t end, const char **name, int64_t *offset)
{
    (void)context, (void)at, (void)end, (void)name, (void)offset;
    return false;
}

static const char *linked_target(void *context, uint64_t address)
{
    struct tn_place place = {.size = sizeof place};
    (void)context;
    if (!tn_symbolize(tool_program.session, (const void *)(uintptr_t)address, &place, NULL))
        return place.function ? describe(functions.text, place.function, place.offset) : NULL;
    for (size_t i = 0; i < tn__host_symbols.count; i++)
        if ((uintptr_t)tn__host_symbols.entries[i].address == address)
            return tn__host_symbols.entries[i].name;
    return NULL;
}

struct frame_sink {
    tn__frame_fn *frame;
    void *user;
};

static void pass_on(void *context, const struct tn_source *source)
{
    const struct frame_sink *sink = context;
    sink->frame(sink->user, source->function, source->file, source->line, source->column);
}

static bool linked_line(void *context, uint64_t address, tn__frame_fn *frame, void *user)
{
    struct frame_sink sink = {frame, user};
    (void)context;
    return !tn_symbolize_source(tool_program.session, (const void *)(uintptr_t)address, pass_on, &sink, NULL);
}

static void no_labels(void *context, uint64_t address)
{
    (void)context, (void)address;
}

static void no_relocs(void *context, uint64_t address, uint64_t end)
{
    (void)context, (void)address, (void)end;
}

static void show_function(struct tn__disasm *disasm, struct function *function)
{
    const struct stretch stretch = {.bytes = (const uint8_t *)(uintptr_t)function->address,
                                    .address = function->address,
                                    .size = function->size,
                                    .before = no_labels,
                                    .after = no_relocs,
                                    .line = linked_line};
    printf("\n%s:\n%016" PRIx64 " <%s>:\n", function->object, function->address, function->name);
    disassemble(disasm, &stretch);
    function->shown = true;
}

/* NULL: all. */
static bool show_functions(struct tn__disasm *disasm, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < functions.count; i++) {
        struct function *function = &functions.items[i];
        if (function->shown || (name && strcmp(function->name, name)))
            continue;
        show_function(disasm, function);
        found = true;
    }
    return found || !name;
}

static bool is_file(const char *name)
{
    return !strcmp(name, "-") || !access(name, F_OK);
}

static bool link_files(const struct settings *settings)
{
    struct tn_error error;
    const struct tn_observer observer = {.size = sizeof observer, .linked = note_functions};
    if (!tool_program_create(NULL, true))
        return false;
    if (tn_observe_functions(tool_program.session, &error) || tn_observe_sources(tool_program.session, &error) ||
        tn_add_observer(tool_program.session, &observer, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    for (int i = 0; i < settings->file_count; i++)
        if (is_file(settings->files[i]) && !tool_program_add(settings->files[i], settings, 0))
            return false;
    return tool_program_link(NULL, NULL, 0, NULL);
}

static int show_linked(const struct settings *settings, bool all)
{
    static const struct tn__namer namer = {.field = no_field, .target = linked_target};
    struct tn__disasm *disasm;
    struct tn_error error;
    int status = STATUS_OK;
    if (!link_files(settings))
        return STATUS_FAILURE;
    if (!functions.count)
        return tool_fail(STATUS_FAILURE, "no function was linked");
    if (tn__disasm_open(functions.machine, &namer, settings->intel, &disasm, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text);
    if (all)
        show_functions(disasm, NULL);
    for (int i = 0; i < settings->file_count && !all; i++)
        if (!is_file(settings->files[i]) && !show_functions(disasm, settings->files[i]))
            status = tool_fail(STATUS_FAILURE, "no file and no function of a FILE is called '%s'", settings->files[i]);
    tn__disasm_close(disasm);
    return status;
}

int command_disasm(struct settings *settings)
{
    int symbols = 0, status = STATUS_OK;
    for (int i = 0; i < settings->file_count; i++)
        symbols += !is_file(settings->files[i]);
    if (symbols == settings->file_count)
        return tool_fail(STATUS_FAILURE, "'%s': no such file", settings->files[0]);
    if (symbols || settings->linked)
        return show_linked(settings, !symbols);
    for (int i = 0; i < settings->file_count; i++)
        if (!show_file(settings->files[i], settings))
            status = STATUS_FAILURE;
    return status;
}
