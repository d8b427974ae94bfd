/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon disasm --linked, tenon disasm FILE SYMBOL: what the linker made of code, at the addresses where it would run.
 * An observer writes down what is linked: names of symbols, functions, debug information. */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/disasm.h"
#include "link/model/object.h"
#include "link/observe/debug_image.h"
#include "link/arch/reloc.h"

static struct program_view {
    struct labels labels; /* of all objects */
    struct view_function {
        char *name;
        const char *object;
        uint64_t address, size;
    } * functions;
    size_t function_count, function_capacity;
    struct tn_range *zones; /* that can be read */
    size_t zone_count, zone_capacity;
    struct tn__lines lines;
    uint16_t machine;
    bool with_lines;
    char target[TEXT_SIZE], remark[TEXT_SIZE]; /* what is empty says nothing */
} view;

/* ---- writing down ---- */

static int no_memory(struct tn_error *err)
{
    return tn__fail(err, TN_ENOMEM, "out of memory");
}

static int note_symbols(const struct tn_linked_object *object, struct tn_error *err)
{
    struct tn__object_data data = {.name = object->name, .bytes = object->bytes, .size = object->length};
    int code =
        object->format ? tn__object_read(&data, (const struct tn_format *const[]){object->format, NULL}, err) : 0;
    if (!code && object->format)
        view.machine = data.arch->elf_machine;
    for (uint32_t i = 1; !code && i < data.symbol_count; i++) {
        const struct tn__symbol *symbol = &data.symbols[i];
        uint64_t address = object->symbol_addresses[i];
        if (!address || !*symbol->name || symbol->type == TN__TYPE_SECTION || symbol->type == TN__TYPE_TLS)
            continue;
        char *name = strdup(symbol->name); /* the object is given back before anything is shown */
        if (!name || !tool_add_label(&view.labels, name, address, tn__symbol_size(&data, symbol),
                                     symbol->type == TN__TYPE_FUNCTION))
            code = no_memory(err);
    }
    tn__arena_free(&data.arena);
    return code;
}

static int note_functions(const struct tn_linked_object *object, struct tn_error *err)
{
    for (size_t i = 0; i < object->function_count; i++) {
        const struct tn_function *from = &object->functions[i];
        char *name = strdup(from->name);
        if (!name ||
            !tn__grow(NULL, &view.functions, &view.function_capacity, view.function_count + 1, sizeof *view.functions))
            return no_memory(err);
        view.functions[view.function_count++] = (struct view_function){name, object->name, from->address, from->size};
    }
    return 0;
}

static int note_zones(const struct tn_linked_object *object, struct tn_error *err)
{
    if (!tn__grow(NULL, &view.zones, &view.zone_capacity, view.zone_count + TN_ZONES, sizeof *view.zones))
        return no_memory(err);
    for (int zone = 0; zone < TN_ZONES; zone++)
        view.zones[view.zone_count++] = object->zones[zone];
    return 0;
}

/* The image stays: lines refer to its names. */
static int note_lines(const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    struct tn__debug_image image;
    int code = tn__debug_image_make(&image, NULL, tn_codegen_decompress, objects, count, err);
    return code ? code : tn__lines_add(&view.lines, &image, err);
}

static int note(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    int code = view.with_lines ? note_lines(objects, count, err) : 0;
    (void)context;
    for (size_t i = 0; !code && i < count; i++) {
        code = note_symbols(objects[i], err);
        if (!code)
            code = note_functions(objects[i], err);
        if (!code)
            code = note_zones(objects[i], err);
    }
    return code;
}

/* ---- what the disassembler asks ---- */

/* Everything was relocated. */
static bool name_field(void *context, uint64_t at, uint64_t end, const char **name, int64_t *offset)
{
    (void)context, (void)at, (void)end, (void)name, (void)offset;
    return false;
}

/* Of several names, the one that programs use: names that begin with an underscore are libc's own. */
static const char *host_name(uint64_t address)
{
    const char *best = NULL;
    for (size_t i = 0; i < tn__host_symbols.count; i++) {
        const struct tn_export *symbol = &tn__host_symbols.entries[i];
        if ((uintptr_t)symbol->address == address && (!best || *best == '_'))
            best = symbol->name;
    }
    return best;
}

static bool is_linked(uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < view.zone_count; i++)
        if (address >= view.zones[i].address && tn__inside(address - view.zones[i].address, size, view.zones[i].size))
            return true;
    return false;
}

/* Looks in this order: symbols of what was linked; functions, among them stubs, which have no symbols; symbols of the
 * host. */
static const char *name_of(char *text, uint64_t address)
{
    const struct label *label = is_linked(address, 1) ? tool_find_label(&view.labels, address) : NULL;
    if (label && (label->size || label->address == address))
        return tool_describe(text, label->name, address - label->address);
    for (size_t i = 0; i < view.function_count; i++)
        if (address - view.functions[i].address < view.functions[i].size)
            return tool_describe(text, view.functions[i].name, address - view.functions[i].address);
    const char *name = host_name(address);
    return name ? tool_describe(text, name, 0) : NULL;
}

static const char *name_target(void *context, uint64_t address)
{
    (void)context;
    return name_of(view.target, address);
}

/* Something without a name that contains the address of something with a name is a slot of the GOT. */
static void note_mention(void *context, uint64_t address)
{
    char text[TEXT_SIZE];
    (void)context;
    const char *name = name_of(text, address);
    if (!name && is_linked(address, sizeof(uint64_t)) &&
        (name = name_of(text, tn__get64((const void *)(uintptr_t)address))))
        snprintf(view.remark, sizeof view.remark, "0x%" PRIx64 " -> %.*s", address, TEXT_SIZE - 32, name);
    else if (name)
        tool_describe(view.remark, name, 0);
}

static const char *take_remark(void *context)
{
    static char taken[TEXT_SIZE];
    (void)context;
    if (!*view.remark)
        return NULL;
    tool_describe(taken, view.remark, 0);
    *view.remark = 0;
    return taken;
}

/* ---- showing ---- */

static void show_function(struct tn__disasm *disasm, const struct view_function *function)
{
    const struct stretch stretch = {.bytes = (const uint8_t *)(uintptr_t)function->address,
                                    .address = function->address,
                                    .size = function->size,
                                    .lines = &view.lines,
                                    .remark = take_remark};
    printf("\n%s:\n%016" PRIx64 " <%s>:\n", function->object, function->address, function->name);
    tool_disassemble(disasm, &stretch);
}

/* NULL: all. False if there is none. */
static bool show_functions(struct tn__disasm *disasm, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < view.function_count; i++) {
        if (name && strcmp(view.functions[i].name, name))
            continue;
        show_function(disasm, &view.functions[i]);
        found = true;
    }
    return found;
}

static bool link_files(const struct settings *settings)
{
    struct tn_error error;
    const struct tn_observer observer = {.size = sizeof observer, .linked = note};
    view.with_lines = settings->lines;
    if (!tool_program_create(settings, NULL, true, 0))
        return false;
    if (tn_add_observer(tool_program.session, &observer, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    for (int i = 0; i < settings->file_count; i++)
        if (tool_is_file(settings->files[i]) && !tool_program_add(settings->files[i], settings, 0))
            return false;
    return tool_program_link(NULL, NULL, 0, NULL);
}

int tool_show_linked(const struct settings *settings)
{
    static const struct tn__namer namer = {.field = name_field, .target = name_target, .mention = note_mention};
    struct tn__disasm *disasm;
    struct tn_error error;
    int status = STATUS_OK, symbols = 0;
    if (!link_files(settings))
        return STATUS_FAILURE;
    if (!view.function_count)
        return tool_fail(STATUS_FAILURE, "no function was linked");
    tool_sort_labels(&view.labels);
    if (tn__disasm_open(view.machine, &namer, settings->intel, &disasm, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text);
    for (int i = 0; i < settings->file_count; i++) {
        const char *name = settings->files[i];
        if (tool_is_file(name))
            continue;
        symbols++;
        if (!show_functions(disasm, name))
            status = tool_fail(STATUS_FAILURE, "no file and no function of a FILE is called '%s'", name);
    }
    if (!symbols)
        show_functions(disasm, NULL);
    tn__disasm_close(disasm);
    return status;
}
