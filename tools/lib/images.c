/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finding images in files. Header and tables are the same bytes in objects, archives, libraries and
 * programs, and begin with a magic number and a checksum, so they are found without parsing what is around them. */

#include <stdlib.h>
#include <string.h>

#include "image/load/image.h"
#include "lib/tool.h"

/* The magic number also occurs in programs that use images; in code that writes headers, even the byte order stands
 * where a header would have it. */
static bool is_header(const uint8_t *at, const uint8_t *end)
{
    return end - at >= TN__IMAGE_HEADER && tn__get32(at + TN__IMAGE_AT_BYTE_ORDER) == TN__IMAGE_BYTE_ORDER &&
           at[TN__IMAGE_AT_POINTER] == 8 && at[TN__IMAGE_AT_SYSTEM] == TN__IMAGE_LINUX;
}

bool tool_next_image(const struct file *file, size_t *place, struct tn__arena *arena, struct tn__image_view *view,
                     struct tn_error *err)
{
    const uint8_t *at = (const uint8_t *)file->bytes + *place, *end = (const uint8_t *)file->bytes + file->size;
    *err = (struct tn_error){0};
    while ((at = memmem(at, (size_t)(end - at), TN__IMAGE_MAGIC, 8))) {
        bool good = is_header(at, end) && tn__image_read(file->name, at, (uint64_t)(end - at), arena, view, err) == 0 &&
                    tn__image_check_functions(file->name, view, err) == 0 &&
                    tn__image_check_items(file->name, view, err) == 0;
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
