/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finding and showing images in files. Header and tables are the same bytes in objects, archives, libraries and
 * programs, and begin with a magic number and a checksum, so they are found without parsing what is around them. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "cmd/inspect.h"

/* The magic number alone also occurs in programs that use images. */
static bool is_header(const uint8_t *at, const uint8_t *end)
{
    return end - at >= TN__IMAGE_HEADER && tn__get32(at + TN__IMAGE_AT_BYTE_ORDER) == TN__IMAGE_BYTE_ORDER;
}

bool tool_next_image(const struct file *file, size_t *place, struct tn__arena *arena, struct tn__image_view *view,
                     struct tn_error *err)
{
    const uint8_t *at = (const uint8_t *)file->bytes + *place, *end = (const uint8_t *)file->bytes + file->size;
    *err = (struct tn_error){0};
    while ((at = memmem(at, (size_t)(end - at), TN__IMAGE_MAGIC, 8))) {
        bool good = is_header(at, end) &&
                    tn__image_read(file->name, at, (uint64_t)(end - at), arena, view, err) == TN_OK &&
                    tn__image_check_functions(file->name, view, err) == TN_OK;
        at += 8;
        *place = (size_t)(at - (const uint8_t *)file->bytes);
        if (good)
            return true;
    }
    return false;
}

bool tool_find_image(const struct file *file, struct tn__arena *arena, struct tn__image_view *view,
                     struct tn_error *err)
{
    size_t place = 0;
    return tool_next_image(file, &place, arena, view, err);
}

const struct tn_cpu_arch *tool_image_arch(const struct tn__image_view *view)
{
    return tn_cpu_arch_find(tn__image_arch_name(view->machine));
}

char *tool_image_targets(const struct tn__image_view *view)
{
    const struct tn_cpu_arch *arch = tool_image_arch(view);
    size_t count = arch ? view->tables[TN__IMAGE_TARGET_TABLE].count : 0, size = 0, length = 0;
    for (size_t i = 0; i < count; i++)
        size += tn_cpu_format_target(arch, &view->targets[i], NULL, 0) + 1;
    char *text = size ? malloc(size) : NULL;
    for (size_t i = 0; text && i < count; i++) {
        length += tn_cpu_format_target(arch, &view->targets[i], text + length, size - length);
        text[length++] = i + 1 < count ? ';' : 0;
    }
    return text;
}

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
    printf(" %-8s %-10s %s%s\n", clones == 1 ? "one" : versions, bytes, tn__image_function_name(view, index),
           tn__image_function_is_public(view, index) ? "" : " (local)");
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
        printf("  %s\n", view->text + tn__get32(table->rows + 4 * (size_t)i));
}

static void print_dependencies(const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_DEPENDENCY_TABLE];
    for (uint32_t i = 0; i < table->count; i++) {
        const uint8_t *row = table->rows + TN__IMAGE_DEPENDENCY * (size_t)i;
        printf("%s  %s, build id ", i ? "" : "\ndepends on\n", view->text + tn__get32(row));
        print_bytes(row + TN__IMAGE_DEPENDENCY_ID);
        putchar('\n');
    }
}

void inspect_image(const struct tn__image_view *view, struct inspect_sizes *sizes)
{
    print_id(view);
    print_targets(view);
    print_functions(view, sizes);
    print_needs(view);
    print_dependencies(view);
}
