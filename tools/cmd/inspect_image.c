/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon inspect, of an image in a file of any kind. */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/inspect.h"
#include "image/load/image.h"

static void print_bytes(const uint8_t id[16])
{
    for (size_t i = 0; i < 16; i++)
        printf("%02x", id[i]);
}

static void print_id(const struct tn__image_view *view)
{
    printf("image: %s, format version %d, ELF machine %u, build id ", tn__image_name(view), TN__IMAGE_VERSION,
           view->machine);
    print_bytes(view->header + TN__IMAGE_AT_BUILD_ID);
    uint32_t gc_abi = tn__get32(view->header + TN__IMAGE_AT_GC_ABI);
    if (gc_abi)
        printf(", managed code for version %u of the collector's ABI", gc_abi);
    putchar('\n');
}

static void print_targets(const struct tn__image_view *view)
{
    uint32_t count = view->tables[TN__IMAGE_TARGET_TABLE].count;
    printf("\ntargets: %u\n", count);
    for (uint32_t i = 0; i < count; i++) {
        const struct tn_cpu_target *target = &view->targets[i];
        bool group = view->groups >> i & 1;
        printf("  %3u %s%s%s, %s", i, target->name, *target->extra ? "," : "", target->extra,
               group ? "a version of every function" : "some versions, the rest from target ");
        if (!group)
            printf("%zu", target->base);
        putchar('\n');
    }
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

/* A line each: the slot, which targets have a version, how large these are, the name. */
static void print_function(const struct tn__image_view *view, struct inspect_sizes *sizes, uint32_t index)
{
    uint64_t clones = tn__image_function_clones(view, index);
    char versions[3 * 64 + 1] = "", bytes[21 * 64 + 1] = "";
    size_t length = 0, end = 0;
    for (unsigned target = 0; target < 64; target++) {
        if (!(clones >> target & 1))
            continue;
        const struct inspect_size *size = size_of(view, sizes, index, target);
        length += (size_t)snprintf(versions + length, sizeof versions - length, length ? ",%u" : "%u", target);
        end += (size_t)snprintf(bytes + end, sizeof bytes - end, "%s", end ? "," : "");
        end += size ? (size_t)snprintf(bytes + end, sizeof bytes - end, "%" PRIu64, size->size)
                    : (size_t)snprintf(bytes + end, sizeof bytes - end, "?");
    }
    if (index < view->slots)
        printf("  %6u", index);
    else
        printf("  %6s", "-");
    printf(" %-8s %-10s %s%s%s\n", clones == 1 ? "one" : versions, bytes, tn__image_function_name(view, index),
           tn__image_function_is_public(view, index) ? "" : " (local)",
           tn__image_cell(view, index) == TN__IMAGE_NO_CELL ? "" : " (replaceable)");
}

static void print_functions(const struct tn__image_view *view, struct inspect_sizes *sizes)
{
    uint32_t count = view->tables[TN__IMAGE_FUNCTION_TABLE].count;
    printf("\nfunctions: %u, slots: %u\n  %6s %-8s %-10s %s\n", count, view->slots, "slot", "versions", "bytes",
           "name");
    for (uint32_t i = 0; i < count; i++)
        print_function(view, sizes, i);
}

static void print_needs(const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_NEED_TABLE];
    printf("\nhost symbols: %u\n", table->count);
    for (uint32_t i = 0; i < table->count; i++)
        printf("  %s\n", view->text + tn__get32(tn__image_row(table, i)));
}

/* What it uses of a dependency, as the other image had it. */
static void print_edges(const struct tn__image_view *view, uint32_t dependency)
{
    static const char *const kinds[TN__ITEMS] = {"function", "variable", "thread-local variable", "type", "fact",
                                                 "body",     "constant"};
    for (uint32_t i = 0; i < view->tables[TN__IMAGE_EDGE_TABLE].count; i++) {
        struct tn__image_item item;
        if (!tn__image_item(view, TN__IMAGE_EDGE_TABLE, i, &item) || item.dependency != dependency)
            continue;
        printf("    %s '%s'", kinds[item.kind], item.name);
        if (item.kind >= TN__ITEM_BODY)
            printf(" %016" PRIx64, item.size);
        else if (item.kind != TN__ITEM_FUNCTION && item.kind != TN__ITEM_FACT)
            printf(", %" PRIu64 " bytes, aligned to %u", item.size, item.alignment);
        printf("%s%s\n", *item.text ? ": " : "", item.text);
    }
}

/* Which functions have copies, and of what. */
static void print_reliances(const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_RELIANCE_TABLE];
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        uint32_t cell = tn__get32(row + TN__IMAGE_RELIANCE_CELL);
        struct tn__image_item item;
        if (cell != last)
            printf("%s  %s: ", i ? "\n" : "\nmay contain copies\n",
                   tn__image_function_name(view, tn__image_cell_function(view, cell)));
        if (tn__image_item(view, TN__IMAGE_EDGE_TABLE, tn__get32(row + TN__IMAGE_RELIANCE_EDGE), &item))
            printf("%s%s", cell == last ? ", " : "", item.name);
        last = cell;
    }
    if (table->count)
        putchar('\n');
}

static void print_dependencies(const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_DEPENDENCY_TABLE];
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        printf("%s  %s, build id ", i ? "" : "\ndepends on\n", view->text + tn__get32(row));
        print_bytes(row + TN__IMAGE_DEPENDENCY_ID);
        putchar('\n');
        print_edges(view, i);
    }
    table = &view->tables[TN__IMAGE_REACHED_TABLE];
    for (uint32_t i = 0; i < table->count; i++)
        printf("%s%s", i ? ", " : "  ", view->text + tn__get32(tn__image_row(table, i)));
    if (table->count)
        puts(", through others");
}

static void print_values(const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_VALUE_TABLE];
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        bool is_root = tn__get32(row + TN__IMAGE_VALUE_OF) == TN_IMAGE_VALUE_ROOT;
        printf("%s  %s '%s'\n", i ? "" : "\nits code uses\n", is_root ? "root" : "type",
               view->text + tn__get32(row + TN__IMAGE_VALUE_NAME));
    }
}

static void print_layouts(const struct tn__image_view *view)
{
    static const char *const kinds[] = {"leaf", "fixed", "references", "structs", "weak", "ephemeron", "custom"};
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_LAYOUT_TABLE];
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = tn__image_row(table, i);
        uint32_t kind = tn__get32(row + TN__IMAGE_LAYOUT_KIND);
        printf("%s  '%s', %s, %" PRIu64 " bytes\n", i ? "" : "\nits code's types\n",
               view->text + tn__get32(row + TN__IMAGE_LAYOUT_NAME), kind < TN_COUNT(kinds) ? kinds[kind] : "?",
               tn__get64(row + TN__IMAGE_LAYOUT_SIZE));
    }
}

/* Sizes and intended places of its zones, and the roots. */
static void print_objects(const struct tn__image_view *view)
{
    static const char *const kinds[TN__ZONES] = {"frozen", "sealed", "bound", "mutable"};
    const struct tn__image_rows *zones = &view->tables[TN__IMAGE_ZONE_TABLE],
                                *roots = &view->tables[TN__IMAGE_ROOT_TABLE];
    for (uint32_t i = 0; i < zones->count; i++) {
        const uint8_t *row = tn__image_row(zones, i);
        uint32_t kind = tn__get32(row + TN__IMAGE_ZONE_KIND);
        printf("%s  %-8s %10" PRIu64 " bytes at 0x%" PRIx64 "\n", i ? "" : "\nsaved objects\n",
               kind < TN__ZONES ? kinds[kind] : "?", tn__get64(row + TN__IMAGE_ZONE_SIZE),
               tn__get64(row + TN__IMAGE_ZONE_ADDRESS));
    }
    for (uint32_t i = 0; i < roots->count; i++) {
        const char *name = tn__image_text(view, tn__image_row(roots, i) + TN__IMAGE_ROOT_NAME);
        printf("  root '%s'\n", name ? name : "?");
    }
}

void inspect_image(const struct tn__image_view *view, struct inspect_sizes *sizes)
{
    print_id(view);
    print_targets(view);
    print_functions(view, sizes);
    print_needs(view);
    print_dependencies(view);
    print_reliances(view);
    print_values(view);
    print_layouts(view);
    print_objects(view);
}
