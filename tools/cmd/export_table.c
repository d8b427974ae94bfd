/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon export-table: C source of a table for tn_resolve_table, so that loaded code finds functions and data of a
 * static and stripped program.
 *
 * From objects and archives: what they define for others; the table then pulls all of it into the program. From the
 * link map of the program: what a link without the table left in it. Maps do not tell static names from global ones,
 * and the program may change before its next link, so these references are weak: a name that is not there any more is a
 * name that the table does not find.
 *
 * With --for: what shared libraries take of glibc. What its archives lack is a weak reference.
 *
 * With --libc: also what plugins take of libc, libm and the unwinder, C++ and Rust plugins too. */

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cmd/export_needs.h"
#include "link/passes/link.h"
#include "lib/tool.h"

struct name {
    char *text;
    bool is_weak; /* it may be missing in the program */
};

struct names {
    struct name *items;
    size_t count, capacity;
    size_t demangled; /* passed over */
    struct tn__arena arena;
    const char *only;  /* patterns separated by commas, or NULL */
    const char *table; /* the table's own name */
    bool no_memory;
};

/* ---- which names ---- */

static bool is_symbol(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_$.", name[i]))
            return false;
    return length && !isdigit((unsigned char)name[0]) && name[0] != '.';
}

static bool is_wanted(const struct names *names, const char *name)
{
    char pattern[256];
    if (strcmp(name, names->table) == 0 || strncmp(name, "tn__", 4) == 0) /* the runtime's own are hidden */
        return false;
    for (const char *at = names->only, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ",");
        snprintf(pattern, sizeof pattern, "%.*s", (int)(end - at), at);
        if (fnmatch(pattern, name, 0) == 0)
            return true;
    }
    return !names->only;
}

static void add(struct names *names, const char *text, size_t length, bool is_weak)
{
    char *name = tn__arena_text(&names->arena, text, length);
    if (!name || !tn__grow(NULL, &names->items, &names->capacity, names->count + 1, sizeof *names->items))
        names->no_memory = true;
    else if (is_wanted(names, name))
        names->items[names->count++] = (struct name){name, is_weak};
}

/* A word where a map has a symbol. Linkers show C++ names as the source has them, which is of no use here. Names with a
 * dot are parts that the compiler made of functions. */
static void add_from_map(struct names *names, const char *word, size_t length)
{
    while (length && isspace((unsigned char)word[length - 1]))
        length--;
    if (memchr(word, '(', length) || memmem(word, length, "::", 2))
        names->demangled++;
    else if (is_symbol(word, length) && !memchr(word, '.', length))
        add(names, word, length, true);
}

/* ---- link maps ---- */

static bool is_thread_local(const char *section, size_t length)
{
    static const char *const sections[] = {".tdata", ".tbss"};
    for (size_t i = 0; i < TN_COUNT(sections); i++)
        if (length >= strlen(sections[i]) && strncmp(section, sections[i], strlen(sections[i])) == 0)
            return true;
    return false;
}

/* Reads maps line by line: `header` begins the part with the symbols. */
struct map_format {
    const char *header;
    void (*read)(struct names *names, const char *line, size_t length, size_t *state);
};

/* GNU ld: output sections begin in the first column; a symbol is an address and a name, far from the left. An input
 * section has a size where the name would be, an assignment has an '='. *in_tls: the output section is thread-local. */
static void read_gnu(struct names *names, const char *line, size_t length, size_t *in_tls)
{
    enum { ADDRESS = 16 };
    if (length && !isspace((unsigned char)line[0]))
        *in_tls = is_thread_local(line, length);
    if (*in_tls || length < ADDRESS + 3 || strspn(line, " ") != ADDRESS || strncmp(line + ADDRESS, "0x", 2) != 0)
        return;
    size_t at = ADDRESS + strcspn(line + ADDRESS, " ");
    at += strspn(line + at, " ");
    if (at < length && strncmp(line + at, "0x", 2) != 0 && !memmem(line + at, length - at, " = ", 3))
        add_from_map(names, line + at, length - at);
}

/* lld: what a line is shows in the column where its text begins; the header says which. */
static const char lld_header[] = "             VMA              LMA     Size Align Out     In      Symbol";

static void read_lld(struct names *names, const char *line, size_t length, size_t *in_tls)
{
    enum { OUT = 49, SYMBOL = OUT + 16 };
    if (length <= OUT)
        return;
    if (line[OUT] != ' ')
        *in_tls = is_thread_local(line + OUT, length - OUT);
    if (!*in_tls && length > SYMBOL && strspn(line + OUT, " ") == SYMBOL - OUT)
        add_from_map(names, line + SYMBOL, length - SYMBOL);
}

static const struct map_format map_formats[] = {{"Linker script and memory map", read_gnu}, {lld_header, read_lld}};

static bool read_map(struct names *names, const char *name)
{
    struct file file;
    if (!tool_read_any(name, &file))
        return false;
    const struct map_format *format = NULL;
    size_t state = 0;
    const char *line = file.bytes, *end = line + file.size;
    for (const char *next; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        char *copy = newline ? tn__arena_text(&names->arena, line, length) : NULL; /* a cut line is none */
        next = newline ? newline + 1 : end;
        names->no_memory |= newline && !copy;
        for (size_t i = 0; copy && !format && i < TN_COUNT(map_formats); i++)
            if (strncmp(copy, map_formats[i].header, strlen(map_formats[i].header)) == 0)
                format = &map_formats[i];
        if (copy && format)
            format->read(names, copy, length, &state);
    }
    tool_release(&file);
    if (!format)
        return tool_fail(STATUS_FAILURE, "'%s' is not a link map of GNU ld or lld (-Wl,-Map=FILE)", name), false;
    if (names->demangled)
        fprintf(stderr, "tenon export-table: %zu C++ names left out; to get them link with -Wl,--no-demangle\n",
                names->demangled);
    return true;
}

/* ---- objects and archives ---- */

static bool add_object(struct names *names, const char *name, const void *bytes, size_t size)
{
    struct tn_error error;
    struct tn__object_data object = {.name = name, .bytes = bytes, .size = size};
    if (tn__object_read(&object, tool_formats, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    for (uint32_t i = 1; i < object.symbol_count; i++) {
        const struct tn__symbol *s = &object.symbols[i];
        bool placed = s->place == TN__PLACE_SECTION || s->place == TN__PLACE_COMMON;
        size_t length = strlen(s->name);
        if (placed && s->binding != TN__BIND_LOCAL && !s->hidden && s->type != TN__TYPE_TLS &&
            is_symbol(s->name, length))
            add(names, s->name, length, false);
    }
    tn__arena_free(&object.arena);
    return true;
}

/* Members of other kinds are passed over, as linkers do. */
static bool add_archive(struct names *names, const struct file *file)
{
    struct tn__archive archive = {
        .name = (char *)file->name,
        .input = {.size = sizeof archive.input, .name = file->name, .bytes = file->bytes, .length = file->size}};
    struct tn__member member;
    struct tn_error error;
    bool end = false;
    int code = tn__archive_open(&archive, &error);
    for (uint64_t at = 0; !code; at = member.next) {
        struct tn_input input = {.size = sizeof input};
        char *name;
        code = tn__archive_member(&archive, at, &member, &end, &error);
        if (code || end)
            break;
        code = tn__archive_load(&archive, member.offset, &input, &name, &error);
        if (!code && tn__object_is_known(input.bytes, input.length) &&
            !add_object(names, name, input.bytes, input.length))
            return false;
    }
    return code ? tool_fail(STATUS_FAILURE, "%s", error.text), false : true;
}

static bool add_file(struct names *names, const char *name)
{
    struct file file; /* stays: a thin archive's members are read through its name */
    if (!tool_read(name, &file))
        return false;
    switch (file.kind) {
    case FILE_OBJECT:
        return add_object(names, file.name, file.bytes, file.size);
    case FILE_ARCHIVE:
        return add_archive(names, &file);
    default:
        return tool_fail(STATUS_FAILURE, "'%s' is no object or archive; a link map is given with --map", name), false;
    }
}

/* What this command offers to programs: all that glibc exports and its archives define, and libgcc's functions, whose
 * symbols are hidden in its archives. */
static void add_libc(struct names *names)
{
    for (size_t i = 0; i < tn__host_symbols.count; i++)
        add(names, tn__host_symbols.entries[i].name, strlen(tn__host_symbols.entries[i].name), false);
}

static void add_need(void *context, const char *name)
{
    bool is_there = tn_resolve_table((void *)(uintptr_t)&tn__host_symbols, name);
    if (is_symbol(name, strlen(name)))
        add(context, name, strlen(name), !is_there);
}

/* What the shared libraries named by --for need. */
static bool add_needs(struct names *names, const struct settings *settings)
{
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--for") && !tool_each_need(settings->items[i].value, add_need, names))
            return false;
    return true;
}

/* ---- the table ---- */

static int by_name(const void *a, const void *b)
{
    const struct name *first = a, *second = b;
    int order = strcmp(first->text, second->text);
    return order ? order : first->is_weak - second->is_weak;
}

static void sort(struct names *names)
{
    size_t kept = 0;
    qsort(names->items, names->count, sizeof *names->items, by_name);
    for (size_t i = 0; i < names->count; i++)
        if (!kept || strcmp(names->items[kept - 1].text, names->items[i].text) != 0)
            names->items[kept++] = names->items[i];
    names->count = kept;
}

/* The names are those of assembler labels, because as names of C they would clash with the compiler's own ideas of
 * them. */
static void print(const struct names *names, FILE *out)
{
    fprintf(out,
            "/* Made by `tenon export-table`. Link it into the program, which says:\n"
            " *     extern const struct tn_symbol_table %s;\n"
            " *     tn_add_resolver(library, tn_resolve_table, (void *)&%s, &error) */\n\n"
            "#include <tenon.h>\n\n",
            names->table, names->table);
    for (size_t i = 0; i < names->count; i++)
        fprintf(out, "extern const char symbol_%zu[] __asm__(\"%s\")%s;\n", i, names->items[i].text,
                names->items[i].is_weak ? " __attribute__((weak))" : "");
    fprintf(out, "\nstatic const struct tn_export entries[] = {\n");
    for (size_t i = 0; i < names->count; i++)
        fprintf(out, "    {\"%s\", symbol_%zu},\n", names->items[i].text, i);
    fprintf(out, "};\n\nextern const struct tn_symbol_table %s;\nconst struct tn_symbol_table %s = {entries, %zu};\n",
            names->table, names->table, names->count);
}

static int write_table(const struct names *names, const struct settings *settings)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out)
        print(names, out);
    bool good = out && !ferror(out) && fclose(out) == 0;
    if (!good)
        tool_fail(STATUS_FAILURE, "out of memory");
    good = good && tool_write(settings->output, text, size);
    free(text);
    return good ? STATUS_OK : STATUS_FAILURE;
}

int command_export_table(struct settings *settings)
{
    struct names names = {.only = settings->only, .table = settings->table ? settings->table : "tn_host_symbols"};
    if (settings->map && settings->file_count)
        return tool_fail(STATUS_USAGE, "either --map or files, not both ('%s')", settings->files[0]);
    if (settings->map && settings->libc)
        return tool_fail(STATUS_USAGE, "either --map or --libc, not both");
    if (settings->map && tool_has_item(settings, "--for"))
        return tool_fail(STATUS_USAGE, "either --map or --for, not both");
    if (!is_symbol(names.table, strlen(names.table)) || strpbrk(names.table, ".$"))
        return tool_fail(STATUS_USAGE, "option '--name': '%s' is not a name in C", names.table);
    if (!settings->output)
        return tool_fail(STATUS_USAGE, "no output named; add -o OUT.c (- is standard output)");
    bool good = !settings->map || read_map(&names, settings->map);
    if (settings->libc)
        add_libc(&names);
    good = good && add_needs(&names, settings);
    for (int i = 0; good && i < settings->file_count; i++)
        good = add_file(&names, settings->files[i]);
    if (!good)
        return STATUS_FAILURE;
    if (names.no_memory)
        return tool_fail(STATUS_FAILURE, "out of memory");
    sort(&names);
    if (!names.count)
        return tool_fail(STATUS_FAILURE, "no symbol %s; no table was written",
                         settings->only ? "matches --only" : "was found");
    return write_table(&names, settings);
}
