/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon inspect: what the linker sees, read by the linker's own readers. An archive is shown as a whole, a line for
 * each member; what no member and no host symbol defines would be undefined.
 *
 * Names point into the files, so nothing is released before the process ends. */

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "image/load/image.h"
#include "lib/elf_file.h"
#include "cmd/inspect.h"
#include "link/session/contents.h"

/* A reference to a symbol that its own object does not define. */
struct need {
    struct tn__entry *entry;
    const char *by;
    bool weak;
};

/* One file: an object, or an archive with all its members. */
struct view {
    struct tn__symtab names; /* an entry's kind tells whether some member defines it */
    struct need *needs;
    size_t need_count, need_capacity;
    const struct tn_format *format; /* of its objects */
    uint64_t flags;                 /* of the archive: TN_INPUT_... */
    bool any;                       /* an object was read */
    uint64_t *relocs;               /* by type; one more for types that the linker does not know */
    struct inspect_sizes sizes;
};

static const char *const kinds[] = {
    [TN__SECTION_UNLOADED] = "-",        [TN__SECTION_CODE] = "code", [TN__SECTION_RODATA] = "rodata",
    [TN__SECTION_DATA] = "data",         [TN__SECTION_ZERO] = "zero", [TN__SECTION_TLS] = "tls",
    [TN__SECTION_TLS_ZERO] = "tls zero",
};
static const char *const roles[] = {[TN__ROLE_NONE] = "",
                                    [TN__ROLE_INIT] = "initializers",
                                    [TN__ROLE_FINI] = "finalizers",
                                    [TN__ROLE_UNWIND] = "unwind table",
                                    [TN__ROLE_MANAGED] = "managed code",
                                    [TN__ROLE_STARTUP] = "startup; not linked"};
static const char *const bindings[] = {
    [TN__BIND_LOCAL] = "local", [TN__BIND_WEAK] = "weak", [TN__BIND_GLOBAL] = "global"};
static const char *const types[] = {
    [TN__TYPE_OTHER] = "data", [TN__TYPE_FUNCTION] = "function", [TN__TYPE_SECTION] = "section",
    [TN__TYPE_TLS] = "thread", [TN__TYPE_IFUNC] = "ifunc",
};

/* ---- one object ---- */

static void print_sections(const struct tn__object_data *object)
{
    bool is_elf = object->format->reader == &tn__reader_elf;
    printf("\nsections: %u\n  %4s %-8s %10s %6s %7s  %s\n", object->section_count ? object->section_count - 1 : 0, "no",
           "kind", "size", "align", "relocs", "name");
    for (uint32_t i = 1; i < object->section_count; i++) {
        const struct tn__input_section *s = &object->sections[i];
        printf("  %4u %-8s %10" PRIu64 " %6" PRIu64 " %7" PRIu64 "  %s", i, kinds[s->kind], s->size, s->alignment,
               s->kind == TN__SECTION_UNLOADED ? 0 : s->reloc_count, s->name);
        if (s->role)
            printf(" (%s", roles[s->role]);
        if (s->role && is_elf && s->priority && s->priority < TN__PRIORITY_UNNUMBERED)
            printf(", priority %u", s->priority / TN__PRIORITY_STEPS);
        puts(s->role ? ")" : "");
    }
}

static void print_place(const struct tn__object_data *object, const struct tn__symbol *symbol)
{
    if (symbol->place == TN__PLACE_SECTION)
        printf("%s+%#" PRIx64, object->sections[symbol->section].name, symbol->value);
    else if (symbol->place == TN__PLACE_ALIAS)
        fputs(object->symbols[symbol->value].name, stdout);
    else if (symbol->place == TN__PLACE_COMMON)
        printf("common, aligned to %" PRIu64, symbol->value);
    else
        printf("absolute %#" PRIx64, symbol->value);
}

static void print_symbols(const struct tn__object_data *object)
{
    uint32_t locals = 0;
    printf("\nsymbols defined:\n");
    for (uint32_t i = 1; i < object->symbol_count; i++) {
        const struct tn__symbol *s = &object->symbols[i];
        if (s->place == TN__PLACE_UNDEFINED)
            continue;
        if (s->binding == TN__BIND_LOCAL) {
            locals++;
            continue;
        }
        printf("  %-6s %-8s %10" PRIu64 "  %s%s = ", bindings[s->binding], types[s->type], s->size, s->name,
               s->hidden ? " (hidden)" : "");
        print_place(object, s);
        putchar('\n');
    }
    printf("  and %u local ones\n", locals);
}

/* ---- gathering ---- */

static bool note_symbols(struct view *view, const struct tn__object_data *object)
{
    for (uint32_t i = 1; i < object->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->symbols[i];
        if (symbol->type == TN__TYPE_FUNCTION && symbol->place == TN__PLACE_SECTION &&
            !inspect_note_size(&view->sizes, symbol->name, tn__symbol_size(object, symbol)))
            return false;
        if (symbol->binding == TN__BIND_LOCAL)
            continue;
        struct tn__entry *entry = tn__symtab_intern(&view->names, symbol->name);
        if (!entry || !tn__grow(NULL, &view->needs, &view->need_capacity, view->need_count + 1, sizeof *view->needs))
            return false;
        if (symbol->place != TN__PLACE_UNDEFINED)
            entry->kind = TN__ENTRY_OBJECT;
        else
            view->needs[view->need_count++] =
                (struct need){.entry = entry, .by = object->name, .weak = symbol->binding == TN__BIND_WEAK};
    }
    return true;
}

static bool note_relocs(struct view *view, const struct tn__object_data *object)
{
    if (!view->relocs)
        view->relocs = calloc(view->format->row_count + 1, sizeof *view->relocs);
    if (!view->relocs)
        return false;
    for (uint32_t i = 1; i < object->section_count; i++) {
        const struct tn__input_section *section = &object->sections[i];
        if (section->kind == TN__SECTION_UNLOADED)
            continue; /* read by observers, not by the linker */
        struct tn__relocs relocs;
        tn__relocs_begin(&relocs, section);
        for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));)
            view->relocs[tn__min64(reloc->type, view->format->row_count)]++;
    }
    return true;
}

static const char *machine_name(const struct tn__arch *arch)
{
    return arch ? arch->name : "another machine";
}

/* Reads one object into the view; *object stays valid until the process ends. */
static bool add_object(struct view *view, struct tn__object_data *object)
{
    struct tn_error error;
    object->any_machine = true;
    if (tn__object_read(object, tool_seen_formats, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    if (view->any && view->format != object->format)
        return tool_fail(STATUS_FAILURE, "%s: for %s, other members for %s", object->name, machine_name(object->arch),
                         machine_name(view->format->arch)),
               false;
    view->any = true;
    view->format = object->format;
    if (!note_relocs(view, object) || !note_symbols(view, object))
        return tool_fail(STATUS_FAILURE, "%s: out of memory", object->name), false;
    return true;
}

/* ---- totals ---- */

static void print_relocs(const struct view *view)
{
    printf("\nrelocations by type:\n");
    for (uint32_t type = 0; type <= view->format->row_count; type++) {
        if (!view->relocs[type])
            continue;
        const struct tn__row *row = type < view->format->row_count ? &view->format->rows[type] : NULL;
        bool known = row && row->value != TN__V_UNKNOWN;
        const char *note = !known || row->value == TN__V_UNSUPPORTED ? " (not supported)" : "";
        if (known)
            printf("  %8" PRIu64 "  %s%s\n", view->relocs[type], row->name, note);
        else
            printf("  %8" PRIu64 "  type %u%s%s\n", view->relocs[type], type, row ? "" : " or above", note);
    }
}

static bool is_hosts(const char *name)
{
    return tn_resolve_table((void *)&tn__host_symbols, name) != NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct need *x = a, *y = b;
    int order = strcmp(x->entry->name, y->entry->name);
    return order ? order : strcmp(x->by, y->by);
}

enum { FROM_HOST, UNDEFINED };

static bool belongs(const struct view *view, const struct tn__entry *entry, int where)
{
    if (entry->kind == TN__ENTRY_OBJECT || tn__is_own_name(entry->name))
        return false;
    return (view->format->arch == tn__arch_host && is_hosts(entry->name)) == (where == FROM_HOST);
}

/* Prints one missing name; `needs` are all who need it. */
static void print_need(const struct need *needs, size_t count, bool with_members)
{
    bool weak = true;
    for (size_t i = 0; i < count; i++)
        weak = weak && needs[i].weak;
    printf("  %s%s", needs->entry->name, weak ? " (weak)" : "");
    for (size_t i = 0; with_members && i < count; i++)
        printf("%s %s", i ? "," : ", needed by", needs[i].by);
    putchar('\n');
}

/* Prints the missing names that `tenon run` would find in the host, or nowhere. */
static void print_needs(const struct view *view, int where, bool with_members)
{
    bool any = false;
    for (size_t i = 0, next; i < view->need_count; i = next) {
        const struct tn__entry *entry = view->needs[i].entry;
        for (next = i + 1; next < view->need_count && view->needs[next].entry == entry;)
            next++;
        if (!belongs(view, entry, where))
            continue;
        print_need(&view->needs[i], next - i, with_members);
        any = true;
    }
    if (!any)
        puts("  nothing");
}

static void print_totals(struct view *view, bool with_members)
{
    if (view->any && view->format->arch)
        print_relocs(view);
    qsort(view->needs, view->need_count, sizeof *view->needs, by_name);
    if (!view->any || view->format->arch == tn__arch_host) {
        printf("\nfound in the host by 'tenon run':\n");
        print_needs(view, FROM_HOST, false);
    }
    printf("\nundefined:\n");
    print_needs(view, UNDEFINED, with_members);
}

/* ---- files ---- */

static bool inspect_object(const struct file *file, struct view *view)
{
    struct tn__object_data object = {.name = file->name, .bytes = file->bytes, .size = file->size};
    if (!add_object(view, &object))
        return false;
    printf("%s: %s object for %s, %zu bytes\n", file->name, object.format->reader->name, machine_name(object.arch),
           file->size);
    print_sections(&object);
    print_symbols(&object);
    print_totals(view, false);
    return true;
}

/* Members of other kinds (a text file, say) are named and passed over: the linker never loads them. */
static bool inspect_member(const struct tn__archive *archive, const struct tn__member *member, struct view *view)
{
    struct tn_error error;
    struct tn_input input = {.size = sizeof input};
    char *name;
    if (tn__archive_load(archive, member->offset, &input, &name, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    if (!tn__object_is_known(input.bytes, input.length)) {
        printf("  %10zu %26s  %.*s\n", input.length, "not an object", (int)member->name_length, member->name);
        return true;
    }
    struct tn__object_data object = {.name = name, .bytes = input.bytes, .size = input.length};
    if (!add_object(view, &object))
        return false;
    uint64_t relocs = 0;
    for (uint32_t i = 1; i < object.section_count; i++)
        relocs += object.sections[i].kind == TN__SECTION_UNLOADED ? 0 : object.sections[i].reloc_count;
    uint32_t symbols = object.symbol_count ? object.symbol_count - 1 : 0; /* imports of a DLL have no table of them */
    printf("  %10zu %8u %8u %8" PRIu64 "  %.*s\n", input.length, object.section_count - 1, symbols, relocs,
           (int)member->name_length, member->name);
    return true;
}

static bool inspect_archive(const struct file *file, struct view *view)
{
    struct tn__archive archive = {.name = (char *)file->name,
                                  .formats = tool_seen_formats,
                                  .input = {.size = sizeof archive.input,
                                            .name = file->name,
                                            .bytes = file->bytes,
                                            .length = file->size,
                                            .flags = view->flags}};
    struct tn__member member;
    struct tn_error error;
    size_t count = 0;
    bool end = false, ok = true;
    int rc = tn__archive_open(&archive, &error);
    if (!rc)
        printf("%s: %sarchive, %zu bytes\n\n  %10s %8s %8s %8s  %s\n", file->name, archive.thin ? "thin " : "",
               file->size, "size", "sections", "symbols", "relocs", "member");
    for (uint64_t at = 0; !rc && !end && ok; at = member.next) {
        rc = tn__archive_member(&archive, at, &member, &end, &error);
        if (rc || end || tn__archive_is_table(&member))
            continue;
        ok = inspect_member(&archive, &member, view);
        count += ok;
    }
    if (rc)
        tool_fail(STATUS_FAILURE, "%s", error.text);
    if (rc || !ok)
        return false;
    printf("  %zu members\n", count);
    print_totals(view, true);
    return true;
}

static bool inspect(const char *name, const struct settings *settings)
{
    struct file file;
    struct view view = {.flags = settings->thin_anywhere ? TN_INPUT_ANY_FOLDER : 0};
    if (!tool_read(name, &file))
        return false;
    if (file.kind == FILE_IR && tool_explain_source(&file))
        return false;
    if (file.kind == FILE_FLAT)
        return tool_show_flat(&file);
    if (file.kind == FILE_IR)
        return tool_fail(STATUS_FAILURE, "'%s' is no object or archive; 'tenon compile' makes one from IR", name),
               false;
    struct tn__image_view image;
    struct tn__arena arena = {.from = NULL};
    struct tn_error err = {0};
    bool good = true;
    if (settings->verify_sums && tn__image_verify(name, file.bytes, file.size, &err) != 0)
        return tool_fail(STATUS_FAILURE, "%s", err.text), tn__arena_free(&arena), false;
    if (file.kind == FILE_ARCHIVE)
        good = inspect_archive(&file, &view);
    else
        good = tool_is_linked(&file) ? inspect_linked(&file, &view.sizes) : inspect_object(&file, &view);
    for (size_t place = 0; good && tool_next_image(&file, &place, &arena, &image, &err);) {
        putchar('\n');
        inspect_image(&image, &view.sizes);
    }
    if (good && *err.text)
        good = (tool_fail(STATUS_FAILURE, "%s", err.text), false);
    tn__arena_free(&arena);
    return good;
}

int command_inspect(struct settings *settings)
{
    tool_quote_output();
    int status = STATUS_OK;
    for (int i = 0; i < settings->file_count; i++) {
        if (i)
            putchar('\n');
        if (!inspect(settings->files[i], settings))
            status = STATUS_FAILURE;
    }
    return status;
}
