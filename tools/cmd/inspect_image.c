/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon inspect, of an image in a file of any kind. */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/inspect.h"
#include "image/load/image.h"

static void show_id(struct show *show, const char *key, const uint8_t id[16])
{
    char text[33];
    for (size_t i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    show_text(show, key, 0, text);
}

static void show_head(struct show *show, const struct tn__image_view *view)
{
    uint32_t gc_abi = tn__get32(view->header + TN__IMAGE_AT_GC_ABI);
    show_plain(show, "image: ");
    show_text(show, "name", 0, tn__image_name(view));
    show_plain(show, ", format version ");
    show_number(show, "format_version", 0, TN__IMAGE_VERSION);
    show_plain(show, ", ELF machine ");
    show_number(show, "elf_machine", 0, view->machine);
    show_plain(show, ", build id ");
    show_id(show, "build_id", view->header + TN__IMAGE_AT_BUILD_ID);
    if (gc_abi) {
        show_plain(show, ", managed code for version ");
        show_number(show, "gc_abi", 0, gc_abi);
        show_plain(show, " of the collector's ABI");
    }
    show_plain(show, "\n");
}

static void show_targets(struct show *show, const struct tn__image_view *view)
{
    uint32_t count = view->tables[TN__IMAGE_TARGET_TABLE].count;
    show_plain(show, "\ntargets: %u\n", count);
    show_list(show, "targets");
    for (uint32_t i = 0; i < count; i++) {
        const struct tn_cpu_target *target = &view->targets[i];
        bool group = view->groups >> i & 1;
        show_item(show, NULL);
        show_number(show, "number", 5, i);
        show_plain(show, " ");
        show_text(show, "name", 0, target->name);
        show_plain(show, *target->extra ? "," : "");
        show_text(show, "extra", 0, target->extra);
        show_plain(show, ", ");
        show_flag(show, "complete", group, "a version of every function");
        if (!group) {
            show_plain(show, "some versions, the rest from target ");
            show_number(show, "base", 0, target->base);
        }
        show_plain(show, "\n");
        show_end(show);
    }
    show_end(show);
}

/* The size of a version; a function with one version may have no other symbol than its name. */
static const struct inspect_size *size_of(const struct tn__image_view *view, struct inspect_sizes *sizes,
                                          uint32_t function, unsigned target)
{
    const char *name = tn__image_function_name(view, function);
    char *version = NULL;
    if (asprintf(&version, "%s.%s.%u", name, tn__image_name(view), target) < 0)
        return NULL;
    const struct inspect_size *size = inspect_find_size(sizes, version);
    free(version);
    return size ? size : inspect_find_size(sizes, name);
}

/* The targets that have a version of it, and how large these are. Text has no room for a line each. */
static void show_versions(struct show *show, const struct tn__image_view *view, struct inspect_sizes *sizes,
                          uint32_t index)
{
    uint64_t clones = tn__image_function_clones(view, index);
    char versions[3 * 64 + 1] = "", bytes[21 * 64 + 1] = "";
    size_t length = 0, end = 0;
    show_list(show, "versions");
    for (unsigned target = 0; target < 64; target++) {
        if (!(clones >> target & 1))
            continue;
        const struct inspect_size *size = size_of(view, sizes, index, target);
        length += (size_t)snprintf(versions + length, sizeof versions - length, length ? ",%u" : "%u", target);
        end += (size_t)snprintf(bytes + end, sizeof bytes - end, "%s", end ? "," : "");
        end += size ? (size_t)snprintf(bytes + end, sizeof bytes - end, "%" PRIu64, size->size)
                    : (size_t)snprintf(bytes + end, sizeof bytes - end, "?");
        if (!show->json)
            continue;
        show_item(show, NULL);
        show_number(show, "target", 0, target);
        if (size)
            show_number(show, "size", 0, size->size);
        show_end(show);
    }
    show_end(show);
    show_plain(show, " %-8s %-10s ", clones == 1 ? "one" : versions, bytes);
}

/* A line each: the slot, which targets have a version, how large these are, the name. */
static void show_function(struct show *show, const struct tn__image_view *view, struct inspect_sizes *sizes,
                          uint32_t index)
{
    show_item(show, NULL);
    if (index < view->slots)
        show_number(show, "slot", 8, index);
    else
        show_plain(show, "  %6s", "-");
    show_versions(show, view, sizes, index);
    show_text(show, "name", 0, tn__image_function_name(view, index));
    show_flag(show, "local", !tn__image_function_is_public(view, index), " (local)");
    show_flag(show, "replaceable", tn__image_cell(view, index) != TN__IMAGE_NO_CELL, " (replaceable)");
    show_plain(show, "\n");
    show_end(show);
}

static void show_functions(struct show *show, const struct tn__image_view *view, struct inspect_sizes *sizes)
{
    uint32_t count = view->tables[TN__IMAGE_FUNCTION_TABLE].count;
    show_plain(show, "\nfunctions: %u, slots: %u\n  %6s %-8s %-10s %s\n", count, view->slots, "slot", "versions",
               "bytes", "name");
    show_list(show, "functions");
    for (uint32_t i = 0; i < count; i++)
        show_function(show, view, sizes, i);
    show_end(show);
}

static void show_needs(struct show *show, const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_NEED_TABLE];
    show_plain(show, "\nhost symbols: %u\n", table->count);
    show_list(show, "host_symbols");
    for (uint32_t i = 0; i < table->count; i++) {
        show_plain(show, "  ");
        show_text(show, NULL, 0, view->text + tn__get32(tn__image_row(table, i)));
        show_plain(show, "\n");
    }
    show_end(show);
}

static void show_edge(struct show *show, const struct tn__image_item *item)
{
    static const char *const kinds[TN__ITEMS] = {"function", "variable", "thread-local variable", "type", "fact",
                                                 "body",     "constant"};
    show_item(show, NULL);
    show_plain(show, "    ");
    show_text(show, "kind", 0, kinds[item->kind]);
    show_plain(show, " '");
    show_text(show, "name", 0, item->name);
    show_plain(show, "'");
    if (item->kind >= TN__ITEM_BODY) {
        char digest[17];
        snprintf(digest, sizeof digest, "%016" PRIx64, item->size);
        show_plain(show, " ");
        show_text(show, "digest", 0, digest);
    } else if (item->kind != TN__ITEM_FUNCTION && item->kind != TN__ITEM_FACT) {
        show_plain(show, ", ");
        show_number(show, "size", 0, item->size);
        show_plain(show, " bytes, aligned to ");
        show_number(show, "alignment", 0, item->alignment);
    }
    show_plain(show, *item->text ? ": " : "");
    show_text(show, "text", 0, item->text);
    show_plain(show, "\n");
    show_end(show);
}

/* What it uses of a dependency, as the other image had it. */
static void show_edges(struct show *show, const struct tn__image_view *view, uint32_t dependency)
{
    show_list(show, "uses");
    for (uint32_t i = 0; i < view->tables[TN__IMAGE_EDGE_TABLE].count; i++) {
        struct tn__image_item item;
        if (tn__image_item(view, TN__IMAGE_EDGE_TABLE, i, &item) && item.dependency == dependency)
            show_edge(show, &item);
    }
    show_end(show);
}

/* Which functions have copies, and of what. */
static void show_reliances(struct show *show, const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_RELIANCE_TABLE];
    uint32_t last = UINT32_MAX;
    show_list(show, "copies");
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        uint32_t cell = tn__get32(row + TN__IMAGE_RELIANCE_CELL);
        struct tn__image_item item;
        show_item(show, NULL);
        if (cell != last)
            show_plain(show, "%s  ", i ? "\n" : "\nmay contain copies\n");
        if (cell != last || show->json)
            show_text(show, "function", 0, tn__image_function_name(view, tn__image_cell_function(view, cell)));
        show_plain(show, cell != last ? ": " : "");
        if (tn__image_item(view, TN__IMAGE_EDGE_TABLE, tn__get32(row + TN__IMAGE_RELIANCE_EDGE), &item)) {
            show_plain(show, cell == last ? ", " : "");
            show_text(show, "of", 0, item.name);
        }
        show_end(show);
        last = cell;
    }
    show_end(show);
    show_plain(show, table->count ? "\n" : "");
}

static void show_dependencies(struct show *show, const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_DEPENDENCY_TABLE];
    show_list(show, "dependencies");
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        show_item(show, NULL);
        show_plain(show, "%s  ", i ? "" : "\ndepends on\n");
        show_text(show, "name", 0, view->text + tn__get32(row));
        show_plain(show, ", build id ");
        show_id(show, "build_id", row + TN__IMAGE_DEPENDENCY_ID);
        show_plain(show, "\n");
        show_edges(show, view, i);
        show_end(show);
    }
    show_end(show);
    table = &view->tables[TN__IMAGE_REACHED_TABLE];
    show_list(show, "reached");
    for (uint32_t i = 0; i < table->count; i++) {
        show_plain(show, i ? ", " : "  ");
        show_text(show, NULL, 0, view->text + tn__get32(tn__image_row(table, i)));
    }
    show_end(show);
    show_plain(show, table->count ? ", through others\n" : "");
}

static void show_values(struct show *show, const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_VALUE_TABLE];
    show_list(show, "values");
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        bool is_root = tn__get32(row + TN__IMAGE_VALUE_OF) == TN_IMAGE_VALUE_ROOT;
        show_item(show, NULL);
        show_plain(show, "%s  ", i ? "" : "\nits code uses\n");
        show_text(show, "kind", 0, is_root ? "root" : "type");
        show_plain(show, " '");
        show_text(show, "name", 0, view->text + tn__get32(row + TN__IMAGE_VALUE_NAME));
        show_plain(show, "'\n");
        show_end(show);
    }
    show_end(show);
}

static void show_layouts(struct show *show, const struct tn__image_view *view)
{
    static const char *const kinds[] = {"leaf", "fixed", "references", "structs", "weak", "ephemeron", "custom"};
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_LAYOUT_TABLE];
    show_list(show, "types");
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        uint32_t kind = tn__get32(row + TN__IMAGE_LAYOUT_KIND);
        show_item(show, NULL);
        show_plain(show, "%s  '", i ? "" : "\nits code's types\n");
        show_text(show, "name", 0, view->text + tn__get32(row + TN__IMAGE_LAYOUT_NAME));
        show_plain(show, "', ");
        show_text(show, "kind", 0, kind < TN_COUNT(kinds) ? kinds[kind] : "?");
        show_plain(show, ", ");
        show_number(show, "size", 0, tn__get64(row + TN__IMAGE_LAYOUT_SIZE));
        show_plain(show, " bytes\n");
        show_end(show);
    }
    show_end(show);
}

/* Sizes and intended places of its zones, and the roots. */
static void show_objects(struct show *show, const struct tn__image_view *view)
{
    static const char *const kinds[TN__ZONES] = {"frozen", "sealed", "bound", "mutable"};
    const struct tn__image_rows *zones = &view->tables[TN__IMAGE_ZONE_TABLE],
                                *roots = &view->tables[TN__IMAGE_ROOT_TABLE];
    show_list(show, "zones");
    for (uint32_t i = 0; i < zones->count; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        uint32_t kind = tn__get32(row + TN__IMAGE_ZONE_KIND);
        show_item(show, NULL);
        show_plain(show, "%s  ", i ? "" : "\nsaved objects\n");
        show_text(show, "kind", 8, kind < TN__ZONES ? kinds[kind] : "?");
        show_number(show, "size", 11, tn__get64(row + TN__IMAGE_ZONE_SIZE));
        show_plain(show, " bytes at ");
        show_address(show, "address", 0, tn__get64(row + TN__IMAGE_ZONE_ADDRESS));
        show_plain(show, "\n");
        show_end(show);
    }
    show_end(show);
    show_list(show, "roots");
    for (uint32_t i = 0; i < roots->count; i++) {
        const char *name = tn__image_text(view, tn__image_row(roots, i) + TN__IMAGE_ROOT_NAME);
        show_plain(show, "  root '");
        show_text(show, NULL, 0, name ? name : "?");
        show_plain(show, "'\n");
    }
    show_end(show);
}

void inspect_image(struct show *show, const struct tn__image_view *view, struct inspect_sizes *sizes)
{
    show_item(show, NULL);
    show_head(show, view);
    show_targets(show, view);
    show_functions(show, view, sizes);
    show_needs(show, view);
    show_dependencies(show, view);
    show_reliances(show, view);
    show_values(show, view);
    show_layouts(show, view);
    show_objects(show, view);
    show_end(show);
}
