/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon disasm: code with symbols, relocations and source lines. Objects are shown as they are in their files; with
 * --linked, or where symbols are named, what the linker makes of them in this process. IR is compiled first; what is
 * linked already is shown as it is. */

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/disasm.h"
#include "cmd/packed_tables.h"
#include "lib/elf_file.h"
#include "link/passes/link.h"

enum { BYTES_SHOWN = 10 };

/* ---- names ---- */

bool tool_add_label(struct labels *labels, const char *name, uint64_t address, uint64_t size, bool function)
{
    if (!tn__grow(NULL, &labels->items, &labels->capacity, labels->count + 1, sizeof *labels->items))
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    labels->items[labels->count++] = (struct label){name, address, size, function};
    return true;
}

/* Of several names for one address the last one names it: a function, one that tells its size. */
static int by_address(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->function != y->function)
        return x->function - y->function;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return -strcmp(x->name, y->name);
}

void tool_sort_labels(struct labels *labels)
{
    if (labels->count)
        qsort(labels->items, labels->count, sizeof *labels->items, by_address);
}

const struct label *tool_find_label(const struct labels *labels, uint64_t address)
{
    size_t below = TN_COUNT_UP_TO(labels->items, labels->count, address, address);
    const struct label *label = below ? &labels->items[below - 1] : NULL;
    return label && (!label->size || address - label->address < label->size) ? label : NULL;
}

const char *tool_describe(char *text, const char *name, uint64_t offset)
{
    if (offset)
        snprintf(text, TEXT_SIZE, "%s+0x%" PRIx64, name, offset);
    else
        snprintf(text, TEXT_SIZE, "%s", name);
    return text;
}

/* ---- one stretch of code ---- */

struct shown_line {
    char path[TEXT_SIZE];
    uint32_t number;
};

/* Where the line changes; files may have several entries in a table. */
static void print_line(const struct stretch *s, uint64_t address, struct shown_line *last)
{
    const struct tn__line *line = tn__lines_find(s->lines, s->lines_at + address);
    struct shown_line here;
    if (!line || !line->line)
        return;
    tn__source_path(line->file, here.path, sizeof here.path);
    here.number = line->line;
    if (here.number == last->number && !strcmp(here.path, last->path))
        return;
    printf("; %s:%" PRIu32 "\n", here.path, here.number);
    *last = here;
}

static void print_instruction(const struct stretch *s, uint64_t at, size_t size, const char *text)
{
    const char *remark = s->remark ? s->remark(s->context) : NULL;
    printf("%8" PRIx64 ":", s->address + at);
    for (size_t i = 0; i < size; i++)
        printf(" %02x", s->bytes[at + i]);
    printf("%*s%s", size < BYTES_SHOWN ? (int)(3 * (BYTES_SHOWN - size)) + 1 : 1, "", text + (*text == '\t'));
    printf(remark ? " # %s\n" : "\n", remark);
}

void tool_disassemble(struct tn__disasm *disasm, const struct stretch *s)
{
    struct shown_line line = {.number = 0};
    for (uint64_t at = 0, size; at < s->size; at += size) {
        char text[TEXT_SIZE];
        uint64_t address = s->address + at;
        if (s->print_labels)
            s->print_labels(s->context, address);
        print_line(s, address, &line);
        size = tn__disasm_next(disasm, s->bytes + at, s->size - at, address, text, sizeof text);
        if (!size) {
            snprintf(text, sizeof text, ".byte\t0x%02x", s->bytes[at]);
            size = 1;
        }
        print_instruction(s, at, size, text);
        if (s->print_relocs)
            s->print_relocs(s->context, address, address + size);
    }
}

/* ---- files ---- */

static bool show_archive(const struct file *file, const struct settings *settings)
{
    struct tn__archive archive = {
        .name = (char *)file->name,
        .formats = tool_seen_formats,
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
        if (rc)
            continue;
        if (tn__object_is_known(input.bytes, input.length))
            ok = tool_show_object(name, input.bytes, input.length, settings);
        if (input.release)
            input.release(input.context, input.bytes, input.length);
        tn__free(NULL, name);
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
        return show_archive(&file, settings);
    if (tool_is_linked(&file))
        return tool_show_program(&file, settings);
    if (file.kind == FILE_OBJECT)
        return tool_show_object(file.name, file.bytes, file.size, settings);
    return tool_compile(&file, settings, NULL, &object, &stats) &&
           tool_show_object(file.name, object.data, object.size, settings);
}

bool tool_is_file(const char *name)
{
    return !strcmp(name, "-") || !access(name, F_OK);
}

/* Whether the linker has nothing left to do. */
static bool are_linked(const struct settings *settings)
{
    bool any = false;
    for (int i = 0; i < settings->file_count && !any; i++) {
        struct file file;
        bool is_regular = tool_is_same_file(settings->files[i], settings->files[i]);
        if (!is_regular || !tool_read(settings->files[i], &file))
            continue;
        any = tool_is_linked(&file);
        tool_release(&file);
    }
    return any;
}

int command_disasm(struct settings *settings)
{
    tool_quote_output();
    int symbols = 0, status = STATUS_OK;
    for (int i = 0; i < settings->file_count; i++)
        symbols += !tool_is_file(settings->files[i]);
    if (symbols == settings->file_count)
        return tool_fail(STATUS_FAILURE, "'%s': no such file", settings->files[0]);
    if (!tool_unfold_disassembler())
        return tool_fail(STATUS_FAILURE, "out of memory");
    if ((symbols || settings->linked) && !are_linked(settings))
        return tool_show_linked(settings);
    for (int i = 0; i < settings->file_count; i++)
        if (tool_is_file(settings->files[i]) && !show_file(settings->files[i], settings))
            status = STATUS_FAILURE;
    return status;
}
