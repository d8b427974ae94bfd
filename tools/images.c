/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images in files, to be looked at: header and tables are the same bytes in objects, archives, libraries and programs, and
 * begin with a magic number and a checksum, so they are found without a look at anything around them. */

#include <inttypes.h>
#include <string.h>

#include "image/image.h"
#include "tool.h"

bool tool_find_image(const struct file *file, struct tn__arena *arena, struct tn__image_view *view,
                     struct tn_error *err)
{
    const uint8_t *at = file->bytes, *end = at + file->size;
    *err = (struct tn_error){0};
    while ((at = memmem(at, (size_t)(end - at), TN__IMAGE_MAGIC, 8))) {
        if (tn__image_read(file->name, at, (uint64_t)(end - at), arena, view, err) == TN_OK &&
            tn__image_check_functions(file->name, view, err) == TN_OK)
            return true;
        at += 8;
    }
    return false;
}

static void print_id(const struct tn__image_view *view)
{
    printf("image: %s, format version %d, ELF machine %u, build id ", tn__image_name(view), TN__IMAGE_VERSION,
           view->machine);
    for (size_t i = 0; i < 16; i++)
        printf("%02x", view->header[TN__IMAGE_AT_BUILD_ID + i]);
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

/* A line each: the slot, which targets have a version, the name. */
static void print_functions(const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_FUNCTION_TABLE];
    printf("\nfunctions: %u, slots: %u\n  %6s %-8s %s\n", table->count, view->slots, "slot", "versions", "name");
    for (uint32_t i = 0; i < table->count; i++) {
        uint64_t clones = tn__image_function_clones(view, i);
        char versions[3 * 64 + 1] = "";
        size_t length = 0;
        for (unsigned target = 0; target < 64; target++)
            if (clones >> target & 1)
                length += (size_t)snprintf(versions + length, sizeof versions - length, length ? ",%u" : "%u", target);
        if (i < view->slots)
            printf("  %6u", i);
        else
            printf("  %6s", "-");
        printf(" %-8s %s%s\n", clones == 1 ? "one" : versions, tn__image_function_name(view, i),
               tn__image_function_is_public(view, i) ? "" : " (local)");
    }
}

static void print_needs(const struct tn__image_view *view)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_NEED_TABLE];
    printf("\nhost symbols: %u\n", table->count);
    for (uint32_t i = 0; i < table->count; i++)
        printf("  %s\n", view->text + tn__get32(table->rows + 4 * (size_t)i));
}

void tool_print_image(const struct tn__image_view *view)
{
    print_id(view);
    print_targets(view);
    print_functions(view);
    print_needs(view);
}
