/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon link: joins objects and runs them, or, with --noexec, places them at chosen addresses to be looked at. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/file/detached.h"
#include "lib/tool.h"

/* Below 2 GiB, so that code of any kind can be linked there; as in usual programs, nothing lies at and near 0. */
enum { DEFAULT_ADDRESS = 0x100000, DEFAULT_SIZE = 1 << 30 };

static struct tn__detached where = {.address = DEFAULT_ADDRESS, .size = DEFAULT_SIZE};

/* ---- arguments ---- */

/* Cuts "left=right" in two, at the last sign: section names may contain one. */
static bool cut(const struct item *item, char sign, char **left, char **right)
{
    *left = strdup(item->value);
    *right = *left ? strrchr(*left, sign) : NULL;
    if (!*right || *right == *left || !(*right)[1])
        return tool_fail(STATUS_USAGE, "option '%s': '%s' has no two parts with '%c' between them", item->option,
                         item->value, sign),
               false;
    *(*right)++ = '\0';
    return true;
}

/* Whatever decides where things lie has to be known before the session is made. */
static bool read_places(const struct settings *settings)
{
    const struct {
        const char *name, *text;
        uint64_t value;
    } slab[] = {{"--slab-address", settings->slab_address, DEFAULT_ADDRESS},
                {"--slab-size", settings->slab_size, DEFAULT_SIZE},
                {"--slab-page-size", settings->slab_page_size, tn__os_page_size()}};
    uint64_t value[TN_COUNT(slab)];
    for (size_t i = 0; i < TN_COUNT(slab); i++) {
        value[i] = slab[i].value;
        if (slab[i].text && !tool_number(slab[i].name, slab[i].text, &value[i]))
            return false;
        if (slab[i].text && !settings->noexec)
            return tool_fail(STATUS_USAGE, "option '%s' needs --noexec", slab[i].name), false;
    }
    where.address = value[0], where.size = value[1], where.page_size = value[2];
    struct tn__pin *pins = calloc((size_t)settings->item_count + 1, sizeof *pins);
    for (int i = 0; pins && i < settings->item_count; i++) {
        char *place, *address, *section;
        const struct item *item = &settings->items[i];
        if (!tool_is_item(item, "--map-section"))
            continue;
        if (!settings->noexec)
            return tool_fail(STATUS_USAGE, "option '--map-section' needs --noexec"), false;
        struct tn__pin *pin = &pins[where.pin_count++];
        if (!cut(item, '=', &place, &address) || !tool_number(item->option, address, &pin->address) ||
            !cut(&(struct item){item->option, place}, ',', &place, &section))
            return false;
        pin->file = place;
        pin->section = section;
    }
    where.pins = pins;
    return pins || (tool_fail(STATUS_FAILURE, "out of memory"), false);
}

/* ---- libraries ---- */

/* The libraries in the order of their first mention; the first one is the program. Names that none of them has are
 * looked for in `host`. */
static struct {
    struct tn_library **items, *host;
    size_t count;
} libraries;

static void *answer_phony(void *unused, const char *name)
{
    (void)unused, (void)name;
    return (void *)(uintptr_t)where.address;
}

static bool make_host(const struct settings *settings)
{
    struct tn_error error;
    bool offered = !settings->no_host && tool_is_for_host(settings);
    if (tn_library_create(tool_program.session, "host", &libraries.host, &error) ||
        (offered && tn_add_resolver(libraries.host, tool_resolve_host, NULL, &error)) ||
        (settings->phony && tn_add_resolver(libraries.host, answer_phony, NULL, &error)))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    return true;
}

static bool add_to_list(struct tn_library *library)
{
    struct tn_library **more = realloc(libraries.items, (libraries.count + 1) * sizeof *more);
    if (!more)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    libraries.items = more;
    more[libraries.count++] = library;
    return true;
}

/* Each library sees those behind it. */
static bool order_libraries(void)
{
    struct tn_error error;
    struct tn_search *order = calloc(libraries.count + 1, sizeof *order);
    if (!order)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    for (size_t i = 0; i < libraries.count; i++)
        order[i].library = libraries.items[i];
    order[libraries.count].library = libraries.host;
    int code = 0;
    for (size_t i = 0; !code && i < libraries.count; i++)
        code = tn_library_search(libraries.items[i], &order[i + 1], libraries.count - i, &error);
    free(order);
    return !code || (tool_fail(STATUS_FAILURE, "%s", error.text), false);
}

/* What follows goes into the library of this name. */
static bool choose_library(const struct settings *settings, const struct item *item)
{
    (void)settings;
    struct tn_error error;
    for (size_t i = 0; i < libraries.count; i++)
        if (!strcmp(libraries.items[i]->name, item->value)) {
            tool_program.library = libraries.items[i];
            return true;
        }
    if (tn_library_create(tool_program.session, item->value, &tool_program.library, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    return add_to_list(tool_program.library);
}

/* All but the program itself. */
static bool link_libraries(void)
{
    bool ok = true;
    for (size_t i = libraries.count - 1; ok && i > 0; i--) {
        tool_program.library = libraries.items[i];
        ok = tool_program_link(NULL, NULL, 0, NULL);
    }
    tool_program.library = libraries.items[0];
    return ok;
}

static void finish_libraries(void)
{
    for (size_t i = 1; i < libraries.count; i++)
        tn_run_finalizers(libraries.items[i]);
}

/* After the program's own. They are initialised before it, as libraries that it searches. */
static bool start_libraries(void)
{
    return !atexit(finish_libraries) || (tool_fail(STATUS_FAILURE, "out of memory"), false);
}

/* ---- definitions and inputs, in the order given ---- */

/* Without running anything, names are those of the files. */
static const char *name_of(const struct settings *settings, const char *given)
{
    char *copy; /* kept */
    const char *name = tn__session_name(settings->noexec ? tool_c_prefix(settings) : 0, given, NULL, &copy);
    return name ? name : given;
}

static bool define_absolute(const struct settings *settings, const struct item *item)
{
    char *name, *text;
    uint64_t value;
    struct tn_error error;
    if (!cut(item, '=', &name, &text) || !tool_number(item->option, text, &value))
        return false;
    if (tn_define(tool_program.library, name_of(settings, name), (void *)(uintptr_t)value, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    return true;
}

static bool define_alias(const struct settings *settings, const struct item *item)
{
    char *name, *of;
    struct tn_error error;
    if (!cut(item, '=', &name, &of))
        return false;
    if (tn_define_alias(tool_program.library, name_of(settings, name), name_of(settings, of), &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    return true;
}

static bool add_library_with(const struct settings *settings, const struct item *item, uint64_t flags)
{
    for (int i = 0; i < settings->item_count; i++) {
        char *path;
        if (!tool_is_item(&settings->items[i], "-L"))
            continue;
        if (asprintf(&path, "%s/lib%s.a", settings->items[i].value, item->value) < 0)
            return tool_fail(STATUS_FAILURE, "out of memory"), false;
        if (!access(path, R_OK))
            return tool_program_add(path, settings, flags); /* which keeps the name */
        free(path);
    }
    return tool_fail(STATUS_FAILURE, "no -L names a folder with lib%s.a in it", item->value), false;
}

static bool add_library(const struct settings *settings, const struct item *item)
{
    return add_library_with(settings, item, 0);
}

static bool add_hidden_library(const struct settings *settings, const struct item *item)
{
    return add_library_with(settings, item, TN_INPUT_HIDDEN);
}

static bool add_hidden_file(const struct settings *settings, const struct item *item)
{
    return tool_program_add(item->value, settings, TN_INPUT_HIDDEN);
}

static bool add_harness(const struct settings *settings, const struct item *item)
{
    return tool_program_add(item->value, settings, 0);
}

/* Beside a harness, what is tested gives way. */
static bool add_file(const struct settings *settings, const struct item *item)
{
    uint64_t flags = 0;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--harness"))
            flags = TN_INPUT_WEAK;
    return tool_program_add(item->value, settings, flags);
}

/* "SYM=OFFSET,SYM=OFFSET" behind the sign @; `text` is cut up. */
static bool read_section_symbols(const struct item *item, char *text, struct tn_section *section)
{
    struct tn_section_symbol *symbols = calloc(strlen(text) + 1, sizeof *symbols);
    bool ok = symbols || (tool_fail(STATUS_FAILURE, "out of memory"), false);
    for (char *one = strtok(text, ","); ok && one; one = strtok(NULL, ",")) {
        char *name, *offset;
        uint64_t value;
        ok = cut(&(struct item){item->option, one}, '=', &name, &offset) && tool_number(item->option, offset, &value);
        if (ok)
            symbols[section->symbol_count++] = (struct tn_section_symbol){name, value};
    }
    section->symbols = symbols;
    return ok;
}

/* "NAME,FILE@SYM=OFFSET,...": the section NAME with the bytes of FILE. */
static bool add_section(const struct settings *settings, const struct item *item)
{
    (void)settings;
    struct tn_error error;
    struct tn__os_file file;
    char *name = strdup(item->value), *path = name ? strchr(name, ',') : NULL;
    char *symbols = path ? strchr(path, '@') : NULL;
    if (!path || path == name || !path[1])
        return tool_fail(STATUS_USAGE, "option '%s': '%s' has no two parts with ',' between them", item->option,
                         item->value),
               false;
    *path++ = '\0';
    if (symbols)
        *symbols++ = '\0';
    struct tn_section section = {.size = sizeof section, .name = name, .kind = TN_SECTION_DATA};
    if (symbols && !read_section_symbols(item, symbols, &section))
        return false;
    int failed = tn__os_map_file(path, &file);
    if (failed)
        return tool_fail(STATUS_FAILURE, "cannot read '%s': %s", path, strerror(failed)), false;
    section.bytes = file.bytes;
    section.length = file.size;
    int rc = tn_add_section(tool_program.library, &section, &error);
    tn__os_unmap_file(&file);
    return rc ? (tool_fail(STATUS_FAILURE, "%s", error.text), false) : true;
}

static bool apply_item(const struct settings *settings, const struct item *item)
{
    static const struct {
        const char *option;
        bool (*apply)(const struct settings *settings, const struct item *item);
    } rows[] = {
        {"--abs", define_absolute},         {"--alias", define_alias},          {"-l", add_library},
        {"--hidden-l", add_hidden_library}, {"--load-hidden", add_hidden_file}, {"--harness", add_harness},
        {"--jd", choose_library},           {"--sectcreate", add_section},
    };
    if (!item->option)
        return add_file(settings, item);
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (tool_is_item(item, rows[i].option))
            return rows[i].apply(settings, item);
    return true; /* was looked at before */
}

/* ---- the command ---- */

static bool put_together(const struct settings *settings)
{
    if (!tool_program_create(settings, settings->noexec ? &where : NULL, false, 0) || !make_host(settings) ||
        !add_to_list(tool_program.library) || (!settings->noexec && !tool_watch_crashes(tool_program.session)))
        return false;
    for (int i = 0; i < settings->item_count; i++)
        if (!apply_item(settings, &settings->items[i]))
            return false;
    return order_libraries();
}

static bool link_program(const struct settings *settings, const char *wanted, void **entry)
{
    if (!settings->strip)
        return tool_program_link(wanted, NULL, 0, entry);
    const char **roots = calloc((size_t)settings->item_count + 1, sizeof *roots);
    size_t count = 0;
    if (!roots)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    if (wanted)
        roots[count++] = wanted;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--root"))
            roots[count++] = name_of(settings, settings->items[i].value);
    bool ok = tool_program_link(wanted, roots, count, entry);
    free(roots);
    return ok;
}

int command_link(struct settings *settings)
{
    struct dump *dump = NULL;
    void *entry;
    const char *wanted = settings->entry ? name_of(settings, settings->entry) : settings->noexec ? NULL : "main";
    tool_program.stats.command = "link";
    if (!read_places(settings))
        return STATUS_USAGE;
    if (!put_together(settings) || (settings->dump && !(dump = tool_dump_start(tool_program.session))) ||
        !link_libraries() || !link_program(settings, wanted, &entry))
        return STATUS_FAILURE;
    if (dump && !tool_dump_finish(dump, tool_program.session, settings->triple, settings->dump))
        return STATUS_FAILURE;
    if (!settings->noexec)
        exit(start_libraries() ? tool_program_call(settings, entry) : STATUS_FAILURE);
    if (settings->stats)
        tool_print_stats(&tool_program.stats, tool_program.session, stderr);
    tn_session_destroy(tool_program.session);
    return STATUS_OK;
}
