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
    struct show *show;
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

void inspect_begin(struct show *show, const struct file *file, const char *format, const char *kind,
                   const char *machine)
{
    show_text(show, "file", 0, file->name);
    show_plain(show, ": ");
    show_text(show, "format", 0, format);
    show_plain(show, *format ? " " : "");
    show_text(show, "kind", 0, kind);
    if (machine) {
        show_plain(show, " for ");
        show_text(show, "machine", 0, machine);
    }
    show_plain(show, ", ");
    show_number(show, "size", 0, file->size);
    show_plain(show, " bytes\n");
}

/* ---- one object ---- */

static void show_sections(struct show *show, const struct tn__object_data *object)
{
    bool is_elf = object->format->reader == &tn__reader_elf;
    show_plain(show, "\nsections: %u\n  %4s %-8s %10s %6s %7s  %s\n",
               object->section_count ? object->section_count - 1 : 0, "no", "kind", "size", "align", "relocs", "name");
    show_list(show, "sections");
    for (uint32_t i = 1; i < object->section_count; i++) {
        const struct tn__input_section *s = &object->sections[i];
        show_item(show, NULL);
        show_number(show, "number", 6, i);
        show_plain(show, " ");
        show_text(show, "kind", 8, kinds[s->kind]);
        show_number(show, "size", 11, s->size);
        show_number(show, "alignment", 7, s->alignment);
        show_number(show, "relocations", 8, s->kind == TN__SECTION_UNLOADED ? 0 : s->reloc_count);
        show_plain(show, "  ");
        show_text(show, "name", 0, s->name);
        show_plain(show, s->role ? " (" : "");
        show_text(show, "role", 0, roles[s->role]);
        if (s->role && is_elf && s->priority && s->priority < TN__PRIORITY_UNNUMBERED) {
            show_plain(show, ", priority ");
            show_number(show, "priority", 0, s->priority / TN__PRIORITY_STEPS);
        }
        show_plain(show, s->role ? ")\n" : "\n");
        show_end(show);
    }
    show_end(show);
}

static void show_place(struct show *show, const struct tn__object_data *object, const struct tn__symbol *symbol)
{
    switch (symbol->place) {
    case TN__PLACE_SECTION:
        show_text(show, "section", 0, object->sections[symbol->section].name);
        show_plain(show, "+");
        show_address(show, "offset", 0, symbol->value);
        break;
    case TN__PLACE_ALIAS:
        show_text(show, "alias_of", 0, object->symbols[symbol->value].name);
        break;
    case TN__PLACE_COMMON:
        show_plain(show, "common, aligned to ");
        show_number(show, "common_alignment", 0, symbol->value);
        break;
    default:
        show_plain(show, "absolute ");
        show_address(show, "absolute", 0, symbol->value);
    }
}

static void show_symbol(struct show *show, const struct tn__object_data *object, const struct tn__symbol *symbol)
{
    show_item(show, NULL);
    show_plain(show, "  ");
    show_text(show, "binding", 6, bindings[symbol->binding]);
    show_plain(show, " ");
    show_text(show, "type", 8, types[symbol->type]);
    show_number(show, "size", 11, symbol->size);
    show_plain(show, "  ");
    show_text(show, "name", 0, symbol->name);
    show_flag(show, "hidden", symbol->hidden, " (hidden)");
    show_plain(show, " = ");
    show_place(show, object, symbol);
    show_plain(show, "\n");
    show_end(show);
}

static void show_symbols(struct show *show, const struct tn__object_data *object)
{
    uint32_t locals = 0;
    show_plain(show, "\nsymbols defined:\n");
    show_list(show, "symbols");
    for (uint32_t i = 1; i < object->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->symbols[i];
        bool is_local = symbol->binding == TN__BIND_LOCAL;
        if (symbol->place == TN__PLACE_UNDEFINED)
            continue;
        locals += is_local;
        if (!is_local)
            show_symbol(show, object, symbol);
    }
    show_end(show);
    show_plain(show, "  and ");
    show_number(show, "local_symbols", 0, locals);
    show_plain(show, " local ones\n");
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

static void show_relocs(const struct view *view)
{
    struct show *show = view->show;
    show_plain(show, "\nrelocations by type:\n");
    show_list(show, "relocations");
    for (uint32_t type = 0; type <= view->format->row_count; type++) {
        if (!view->relocs[type])
            continue;
        const struct tn__row *row = type < view->format->row_count ? &view->format->rows[type] : NULL;
        bool known = row && row->value != TN__V_UNKNOWN;
        char number[40];
        snprintf(number, sizeof number, "type %u%s", type, row ? "" : " or above");
        show_item(show, NULL);
        show_number(show, "count", 10, view->relocs[type]);
        show_plain(show, "  ");
        show_text(show, "type", 0, known ? row->name : number);
        show_flag(show, "unsupported", !known || row->value == TN__V_UNSUPPORTED, " (not supported)");
        show_plain(show, "\n");
        show_end(show);
    }
    show_end(show);
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

/* Shows one missing name; `needs` are all objects that need it. */
static void show_need(struct show *show, const struct need *needs, size_t count, bool with_members)
{
    bool weak = true;
    for (size_t i = 0; i < count; i++)
        weak = weak && needs[i].weak;
    show_item(show, NULL);
    show_plain(show, "  ");
    show_text(show, "name", 0, needs->entry->name);
    show_flag(show, "weak", weak, " (weak)");
    show_list(show, "needed_by");
    for (size_t i = 0; with_members && i < count; i++) {
        show_plain(show, i ? ", " : ", needed by ");
        show_text(show, NULL, 0, needs[i].by);
    }
    show_end(show);
    show_plain(show, "\n");
    show_end(show);
}

/* Shows the missing names that `tenon run` would find in the host, or nowhere. */
static void show_needs(const struct view *view, const char *key, int where, bool with_members)
{
    bool any = false;
    show_list(view->show, key);
    for (size_t i = 0, next; i < view->need_count; i = next) {
        const struct tn__entry *entry = view->needs[i].entry;
        for (next = i + 1; next < view->need_count && view->needs[next].entry == entry;)
            next++;
        if (!belongs(view, entry, where))
            continue;
        show_need(view->show, &view->needs[i], next - i, with_members);
        any = true;
    }
    show_end(view->show);
    if (!any)
        show_plain(view->show, "  nothing\n");
}

static void show_totals(struct view *view, bool with_members)
{
    if (view->any && view->format->arch)
        show_relocs(view);
    qsort(view->needs, view->need_count, sizeof *view->needs, by_name);
    if (!view->any || view->format->arch == tn__arch_host) {
        show_plain(view->show, "\nfound in the host by 'tenon run':\n");
        show_needs(view, "from_host", FROM_HOST, false);
    }
    show_plain(view->show, "\nundefined:\n");
    show_needs(view, "undefined", UNDEFINED, with_members);
}

/* ---- files ---- */

static bool inspect_object(const struct file *file, struct view *view)
{
    struct tn__object_data object = {.name = file->name, .bytes = file->bytes, .size = file->size};
    if (!add_object(view, &object))
        return false;
    inspect_begin(view->show, file, object.format->reader->name, "object", machine_name(object.arch));
    show_sections(view->show, &object);
    show_symbols(view->show, &object);
    show_totals(view, false);
    return true;
}

/* Ends a member's row. */
static void show_member_name(struct show *show, const struct tn__member *member)
{
    char name[member->name_length + 1];
    snprintf(name, sizeof name, "%.*s", (int)member->name_length, member->name);
    show_plain(show, "  ");
    show_text(show, "name", 0, name);
    show_plain(show, "\n");
    show_end(show);
}

/* Members of other kinds (a text file, say) are named and passed over: the linker never loads them. */
static bool inspect_member(const struct tn__archive *archive, const struct tn__member *member, struct view *view)
{
    struct tn_error error;
    struct tn_input input = {.size = sizeof input};
    struct show *show = view->show;
    char *name;
    if (tn__archive_load(archive, member->offset, &input, &name, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    bool is_object = tn__object_is_known(input.bytes, input.length);
    struct tn__object_data object = {.name = name, .bytes = input.bytes, .size = input.length};
    if (is_object && !add_object(view, &object))
        return false;
    show_item(show, NULL);
    show_number(show, "size", 12, input.length);
    if (is_object) {
        uint64_t relocs = 0;
        for (uint32_t i = 1; i < object.section_count; i++)
            relocs += object.sections[i].kind == TN__SECTION_UNLOADED ? 0 : object.sections[i].reloc_count;
        show_number(show, "sections", 9, object.section_count - 1);
        /* Imports of a DLL have no table of them. */
        show_number(show, "symbols", 9, object.symbol_count ? object.symbol_count - 1 : 0);
        show_number(show, "relocations", 9, relocs);
    } else {
        show_plain(show, " %26s", "not an object");
    }
    show_member_name(show, member);
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
    if (!rc) {
        inspect_begin(view->show, file, "", archive.thin ? "thin archive" : "archive", NULL);
        show_plain(view->show, "\n  %10s %8s %8s %8s  %s\n", "size", "sections", "symbols", "relocs", "member");
        show_list(view->show, "members");
    }
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
    show_end(view->show);
    show_plain(view->show, "  %zu members\n", count);
    show_totals(view, true);
    return true;
}

static bool inspect(const char *name, const struct settings *settings, struct show *show)
{
    struct file file;
    struct view view = {.show = show, .flags = settings->thin_anywhere ? TN_INPUT_ANY_FOLDER : 0};
    if (!tool_read(name, &file))
        return false;
    if (file.kind == FILE_IR && tool_explain_source(&file))
        return false;
    if (file.kind == FILE_FLAT && show->json)
        return tool_fail(STATUS_FAILURE, "'%s' is a flat file, which --json does not show", name), false;
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
        good = tool_is_linked(&file) ? inspect_linked(show, &file, &view.sizes) : inspect_object(&file, &view);
    if (good)
        show_list(show, "images");
    for (size_t place = 0; good && tool_next_image(&file, &place, &arena, &image, &err);) {
        show_plain(show, "\n");
        inspect_image(show, &image, &view.sizes);
    }
    if (good && *err.text)
        good = (tool_fail(STATUS_FAILURE, "%s", err.text), false);
    tn__arena_free(&arena);
    return good;
}

int command_inspect(struct settings *settings)
{
    enum { FILE_DEPTH = 3 }; /* within the whole and its list */
    tool_quote_output();
    struct show show = {.out = stdout, .json = settings->json};
    int status = STATUS_OK;
    show_item(&show, NULL);
    show_list(&show, "files");
    for (int i = 0; i < settings->file_count; i++) {
        show_plain(&show, i ? "\n" : "");
        show_item(&show, NULL);
        bool good = inspect(settings->files[i], settings, &show);
        show_end_to(&show, FILE_DEPTH);
        show_flag(&show, "complete", good, "");
        show_end(&show);
        if (!good)
            status = STATUS_FAILURE;
    }
    show_end_to(&show, 0);
    return status;
}
