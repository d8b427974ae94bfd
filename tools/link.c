/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon link: joins objects and runs them, or, with --noexec, places them at chosen addresses to be looked at. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/detached.h"
#include "tool.h"

/* Below 2 GiB, so that code of any kind can be linked there; as in usual programs, nothing lies at and near 0. */
enum { DEFAULT_ADDRESS = 0x100000, DEFAULT_SIZE = 1 << 30 };

static struct tn__detached where = {.address = DEFAULT_ADDRESS, .size = DEFAULT_SIZE};

/* ---- arguments ---- */

static bool number(const char *what, const char *text, uint64_t *value)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix) {
        int shift = 10 * (int)(suffix - suffixes + 1);
        *value = *value << shift >> shift == *value ? *value << shift : (errno = ERANGE, 0);
        end++;
    }
    if (end == text || *end || *text == '-' || errno)
        return tool_fail(STATUS_USAGE, "option '%s': '%s' is no number of 64 bits", what, text), false;
    return true;
}

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

static bool is_option(const struct item *item, const char *name)
{
    return item->option && !strcmp(item->option, name);
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
        if (slab[i].text && !number(slab[i].name, slab[i].text, &value[i]))
            return false;
        if (slab[i].text && !settings->noexec)
            return tool_fail(STATUS_USAGE, "option '%s' needs --noexec", slab[i].name), false;
    }
    where.address = value[0], where.size = value[1], where.page_size = value[2];
    struct tn__pin *pins = calloc((size_t)settings->item_count + 1, sizeof *pins);
    for (int i = 0; pins && i < settings->item_count; i++) {
        char *place, *address, *section;
        const struct item *item = &settings->items[i];
        if (!is_option(item, "--map-section"))
            continue;
        if (!settings->noexec)
            return tool_fail(STATUS_USAGE, "option '--map-section' needs --noexec"), false;
        struct tn__pin *pin = &pins[where.pin_count++];
        if (!cut(item, '=', &place, &address) || !number(item->option, address, &pin->address) ||
            !cut(&(struct item){item->option, place}, ',', &place, &section))
            return false;
        pin->file = place;
        pin->section = section;
    }
    where.pins = pins;
    return pins || (tool_fail(STATUS_FAILURE, "out of memory"), false);
}

/* ---- definitions and inputs, in the order given ---- */

static bool define_absolute(const struct settings *settings, const struct item *item)
{
    (void)settings;
    char *name, *text;
    uint64_t value;
    struct tn_error error;
    if (!cut(item, '=', &name, &text) || !number(item->option, text, &value))
        return false;
    if (tn_define(tool_program.library, name, (void *)(uintptr_t)value, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    return true;
}

static bool define_alias(const struct settings *settings, const struct item *item)
{
    (void)settings;
    char *name, *of;
    struct tn_error error;
    if (!cut(item, '=', &name, &of))
        return false;
    if (tn_define_alias(tool_program.library, name, of, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    return true;
}

static bool add_library_with(const struct settings *settings, const struct item *item, uint64_t flags)
{
    for (int i = 0; i < settings->item_count; i++) {
        char *path;
        if (!is_option(&settings->items[i], "-L"))
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
        if (is_option(&settings->items[i], "--harness"))
            flags = TN_INPUT_WEAK;
    return tool_program_add(item->value, settings, flags);
}

static bool apply_item(const struct settings *settings, const struct item *item)
{
    static const struct {
        const char *option;
        bool (*apply)(const struct settings *settings, const struct item *item);
    } rows[] = {
        {"--abs", define_absolute},         {"--alias", define_alias},          {"-l", add_library},
        {"--hidden-l", add_hidden_library}, {"--load-hidden", add_hidden_file}, {"--harness", add_harness},
    };
    if (!item->option)
        return add_file(settings, item);
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (is_option(item, rows[i].option))
            return rows[i].apply(settings, item);
    return true; /* was looked at before */
}

static void *answer_phony(void *unused, const char *name)
{
    (void)unused, (void)name;
    return (void *)(uintptr_t)where.address;
}

/* ---- the command ---- */

static bool put_together(const struct settings *settings)
{
    struct tn_error error;
    if (!tool_program_create(settings->noexec ? &where : NULL, !settings->no_host))
        return false;
    if (settings->phony && tn_add_resolver(tool_program.library, answer_phony, NULL, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    for (int i = 0; i < settings->item_count; i++)
        if (!apply_item(settings, &settings->items[i]))
            return false;
    return true;
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
        if (is_option(&settings->items[i], "--root"))
            roots[count++] = settings->items[i].value;
    bool ok = tool_program_link(wanted, roots, count, entry);
    free(roots);
    return ok;
}

int command_link(struct settings *settings)
{
    struct dump *dump = NULL;
    void *entry;
    const char *wanted = settings->entry || settings->noexec ? settings->entry : "main";
    tool_program.stats.command = "link";
    if (!read_places(settings))
        return STATUS_USAGE;
    if (!put_together(settings) || (settings->dump && !(dump = tool_dump_start(tool_program.session))) ||
        !link_program(settings, wanted, &entry))
        return STATUS_FAILURE;
    if (dump && !tool_dump_finish(dump, tool_program.library, settings->triple, settings->dump))
        return STATUS_FAILURE;
    if (!settings->noexec)
        exit(tool_program_call(settings, entry));
    if (settings->stats)
        tool_print_stats(&tool_program.stats, tool_program.session, stderr);
    tn_session_destroy(tool_program.session);
    return STATUS_OK;
}
