/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon image check: which images can be opened together, in which order, and why the others cannot. The loader opens
 * them here, up to the relocations: it checks what it always does, and nothing of them runs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cmd/image_check.h"
#include "image/load/image.h"
#include "lib/elf_file.h"
#include "lib/tool.h"
#include "tenon_heap.h"

struct entry {
    const char *file;
    struct tn_image *image; /* NULL: it cannot be opened, as far as is known */
    struct tn_error why;
};

struct check {
    const struct settings *settings;
    struct tn_cpu cpu;
    size_t abi; /* of the runtime that is asked about */
    struct entry *entries;
    size_t count;
    struct tn_image **open; /* in the order in which they can be */
    size_t open_count;
    const char **symbols; /* of the program, sorted */
    size_t symbol_count, symbol_capacity;
    struct tn__arena arena;
};

/* ---- the program ---- */

static int in_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool add_symbol(struct check *c, const char *name)
{
    const char *copy = tn__arena_text(&c->arena, name, strlen(name));
    if (!copy || !tn__grow(NULL, &c->symbols, &c->symbol_capacity, c->symbol_count + 1, sizeof *c->symbols))
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    c->symbols[c->symbol_count++] = copy;
    return true;
}

/* What a file defines for others. */
static bool add_symbols(struct check *c, Elf *elf, Elf_Scn *section)
{
    const Elf64_Shdr *header = elf64_getshdr(section);
    Elf_Data *data = elf_getdata(section, NULL);
    const Elf64_Sym *symbols = data ? data->d_buf : NULL;
    bool good = true;
    for (size_t i = 0; symbols && i < data->d_size / sizeof *symbols && good; i++) {
        const char *name = elf_strptr(elf, header->sh_link, symbols[i].st_name);
        if (name && *name && symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL)
            good = add_symbol(c, name);
    }
    return good;
}

/* Its dynamic symbols, or all that it has if it is static. */
static bool read_program(struct check *c, const char *name)
{
    struct file file;
    if (!tool_read(name, &file))
        return false;
    Elf *elf = tool_elf_open(&file);
    Elf_Scn *section = elf ? tool_elf_next(elf, NULL, SHT_DYNSYM) : NULL;
    if (elf && !section)
        section = tool_elf_next(elf, NULL, SHT_SYMTAB);
    bool good = elf && (!section || add_symbols(c, elf, section));
    if (good && !section)
        good = (tool_fail(STATUS_FAILURE, "--program: '%s' has no symbols", name), false);
    elf_end(elf);
    tool_release(&file);
    return good;
}

static bool read_programs(struct check *c)
{
    bool good = true;
    for (int i = 0; i < c->settings->item_count && good; i++)
        if (tool_is_item(&c->settings->items[i], "--program"))
            good = read_program(c, c->settings->items[i].value);
    if (c->symbol_count)
        qsort(c->symbols, c->symbol_count, sizeof *c->symbols, in_order);
    return good;
}

/* Any address stands for a symbol of the program; if no program is given, it has all. */
static void *resolve(void *context, const char *name)
{
    struct check *c = context;
    if (!tool_has_item(c->settings, "--program"))
        return c;
    return c->symbol_count ? bsearch(&name, c->symbols, c->symbol_count, sizeof *c->symbols, in_order) : NULL;
}

/* ---- the CPU ---- */

/* The first architecture that knows a CPU of this name; this machine's before others. */
static bool find_cpu(struct check *c, const char *name)
{
    const struct tn_cpu *host = tool_host();
    if (!host)
        return false;
    c->cpu = *host;
    struct tn_cpu_parse_options options = {.size = sizeof options, .flags = TN_CPU_ONE_TARGET};
    for (size_t i = 0; name; i++) {
        struct tn_cpu_targets *targets;
        options.arch = i ? tn_cpu_arch_at(i - 1) : host->arch;
        options.native = options.arch == host->arch ? host : NULL;
        if (!options.arch)
            return tool_fail(STATUS_USAGE, "option '--cpu': no CPU is called '%s'", name), false;
        if (tn_cpu_parse_targets(name, &options, &targets, NULL))
            continue;
        const struct tn_cpu_target *target = tn_cpu_target_at(targets, 0);
        bool is_known = !(target->flags & (TN_CPU_UNKNOWN_NAME | TN_CPU_UNKNOWN_FEATURE | TN_CPU_HELP));
        c->cpu.arch = options.arch;
        c->cpu.name = tn__arena_text(&c->arena, target->name, strlen(target->name));
        for (size_t word = 0; word < TN_CPU_WORDS; word++)
            c->cpu.features.words[word] = target->enabled.words[word] | target->unasked.words[word];
        tn_cpu_targets_destroy(targets);
        if (is_known && c->cpu.name)
            return true;
    }
    return true;
}

/* ---- images ---- */

/* Called for an image that is rejected; returns false. */
static bool reject(struct entry *entry)
{
    tn__image_close_checked(entry->image);
    entry->image = NULL;
    return false;
}

static bool has_type(const struct check *c, const char *name)
{
    if (!tool_has_item(c->settings, "--type"))
        return true;
    for (int i = 0; i < c->settings->item_count; i++)
        if (tool_is_item(&c->settings->items[i], "--type") && strcmp(c->settings->items[i].value, name) == 0)
            return true;
    return false;
}

static void list_lacking(struct entry *entry, const char *what, const char *name)
{
    if (!entry->why.code)
        tn__fail(&entry->why, TN_EUNDEF, "%s: the program does not have: %s%s", entry->file, what, name);
    else
        tn__append(&entry->why, ", %s%s", what, name);
}

static void need_symbol(struct entry *entry, const struct tn_image_load_options *options, const char *name)
{
    if (!tn_image_lookup(entry->image, name) && !tn__image_resolve(entry->image, options, name))
        list_lacking(entry, "", name);
}

static void check_types(const struct check *c, struct entry *entry)
{
    const struct tn__image_view *view = &entry->image->view;
    const struct tn__image_rows *types = &view->tables[TN__IMAGE_TYPE_TABLE];
    for (uint32_t i = 0; i < types->count && entry->why.code != TN_EFORMAT; i++) {
        const uint8_t *row = tn__image_row(types, i);
        const char *name = tn__image_text(view, row + TN__IMAGE_TYPE_NAME);
        if (!name)
            tn__fail(&entry->why, TN_EFORMAT, "%s: type %u: its name lies outside", entry->file, i);
        else if (tn__get32(row + TN__IMAGE_TYPE_FLAGS) & TN__IMAGE_HOST_TYPE && !has_type(c, name))
            list_lacking(entry, "type ", name);
    }
}

static void check_bindings(struct entry *entry, const struct tn_image_load_options *options)
{
    const struct tn__image_view *view = &entry->image->view;
    const struct tn__image_rows *bindings = &view->tables[TN__IMAGE_BINDING_TABLE];
    for (uint32_t i = 0; i < bindings->count && entry->why.code != TN_EFORMAT; i++) {
        const char *name = tn__image_text(view, tn__image_row(bindings, i) + TN__IMAGE_BINDING_NAME);
        if (name)
            need_symbol(entry, options, name);
        else
            tn__fail(&entry->why, TN_EFORMAT, "%s: binding %u: its name lies outside", entry->file, i);
    }
}

/* What is stored to words of other images' objects. */
static void check_patches(struct entry *entry, const struct tn_image_load_options *options)
{
    const struct tn__image_view *view = &entry->image->view;
    const struct tn__image_rows *patches = &view->tables[TN__IMAGE_PATCH_TABLE];
    for (uint32_t i = 0; i < patches->count && entry->why.code != TN_EFORMAT; i++) {
        const uint8_t *row = tn__image_row(patches, i);
        const char *name = tn__image_text(view, row + TN__IMAGE_PATCH_INDEX);
        if (tn__get32(row + TN__IMAGE_PATCH_OF) != TN__PATCH_SYMBOL)
            continue;
        if (name)
            need_symbol(entry, options, name);
        else
            tn__fail(&entry->why, TN_EFORMAT, "%s: patch %u: its name lies outside", entry->file, i);
    }
}

/* What its saved objects use of the program: types, and symbols that they have the addresses of. Patches come when the
 * rest is in place. */
static bool check_objects(const struct check *c, struct entry *entry, const struct tn_image_load_options *options)
{
    entry->why = (struct tn_error){.code = 0};
    check_types(c, entry);
    if (entry->why.code != TN_EFORMAT)
        check_bindings(entry, options);
    if (!entry->why.code)
        check_patches(entry, options);
    return !entry->why.code || reject(entry);
}

/* Against those that are open. */
static void try(struct check *c, struct entry *entry)
{
    const struct tn_image_load_options options = {.size = sizeof options,
                                                  .cpu = &c->cpu,
                                                  .resolver = resolve,
                                                  .context = c,
                                                  .images = c->open,
                                                  .image_count = c->open_count,
                                                  .managed = tn_managed_runtime()};
    struct tn__image_source from = {.size = 0};
    int error = tn__os_open(entry->file, &from.fd);
    if (error) {
        tn__fail(&entry->why, TN_EIO, "%s: cannot be opened: %s", entry->file, strerror(error));
        return;
    }
    int code = tn__image_open_checked(&from, entry->file, &options, &entry->image, &entry->why);
    tn__os_close(from.fd);
    if (code)
        return;
    uint32_t abi = tn__get32(entry->image->view.header + TN__IMAGE_AT_ABI);
    if (abi != c->abi) {
        tn__fail(&entry->why, TN_ENOTSUP, "%s: runtime ABI %u; the runtime's is %zu", entry->file, abi, c->abi);
        reject(entry);
        return;
    }
    if (!check_objects(c, entry, &options))
        return;
    c->open[c->open_count++] = entry->image;
    printf("%zu %s: '%s', for target %zu of %zu, %s\n", c->open_count, entry->file, tn__image_name(&entry->image->view),
           tn_image_chosen(entry->image), tn_image_target_count(entry->image),
           tn_image_target(entry->image, tn_image_chosen(entry->image))->name);
}

/* Goes on as long as one more image is opened: others may have to wait for it. */
static void try_all(struct check *c)
{
    for (size_t before = SIZE_MAX; before != c->open_count;) {
        before = c->open_count;
        for (size_t i = 0; i < c->count; i++)
            if (!c->entries[i].image)
                try(c, &c->entries[i]);
    }
}

/* ---- intended addresses ---- */

/* Where its saved objects are intended to be; false: it has none. */
static bool find_range(const struct tn_image *image, uint64_t *start, uint64_t *end)
{
    const struct tn__image_rows *zones = &image->view.tables[TN__IMAGE_ZONE_TABLE];
    *start = UINT64_MAX;
    *end = 0;
    for (uint32_t i = 0; i < zones->count; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        uint64_t address = tn__get64(row + TN__IMAGE_ZONE_ADDRESS), size = tn__get64(row + TN__IMAGE_ZONE_SIZE);
        *start = size ? tn__min64(*start, address) : *start;
        *end = size ? tn__max64(*end, address + size) : *end;
    }
    return *start < *end;
}

static void print_overlaps(const struct check *c)
{
    uint64_t start, end, other, other_end;
    for (size_t i = 0; i < c->open_count; i++)
        for (size_t k = 0; k < i && find_range(c->open[i], &start, &end); k++)
            if (find_range(c->open[k], &other, &other_end) && start < other_end && other < end)
                printf("%zu and %zu are intended for the same addresses: %zu is moved\n", k + 1, i + 1, i + 1);
}

/* ---- the command ---- */

static void finish(struct check *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->entries[i].image)
            tn__image_close_checked(c->entries[i].image);
    tn__free(NULL, c->symbols);
    tn__arena_free(&c->arena);
}

int command_image_check(const struct settings *settings)
{
    struct check c = {.settings = settings, .abi = TN_RUNTIME_ABI, .count = (size_t)settings->file_count - 1};
    if (!c.count)
        return tool_fail(STATUS_USAGE, "check, and files with images");
    if (!tool_take_number("--runtime", settings->runtime, 0, UINT32_MAX, &c.abi))
        return STATUS_USAGE;
    c.entries = tn__arena_array(&c.arena, c.count, sizeof *c.entries);
    c.open = tn__arena_array(&c.arena, c.count, sizeof *c.open);
    int status = STATUS_USAGE;
    if (!c.entries || !c.open)
        tool_fail(STATUS_USAGE, "out of memory");
    else if (find_cpu(&c, settings->cpu) && read_programs(&c)) {
        for (size_t i = 0; i < c.count; i++)
            c.entries[i].file = settings->files[i + 1];
        try_all(&c);
        for (size_t i = 0; i < c.count; i++)
            if (!c.entries[i].image)
                printf("- %s: %s\n", tn_error_name(c.entries[i].why.code), c.entries[i].why.text);
        print_overlaps(&c);
        status = c.open_count == c.count ? STATUS_OK : STATUS_FAILURE;
    } else
        c.count = 0;
    finish(&c);
    return status;
}
