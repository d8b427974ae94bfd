/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as .debug_line, which is its own .debug_str and .debug_line_str. What is read is sorted and can be
 * found. */

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "fuzz.h"
#include "link/observe/lines.h"

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void look_up(const struct tn__lines *lines, size_t i)
{
    char path[64];
    const struct tn__line *item = &lines->items[i], *found = tn__lines_find(lines, item->address);
    check(!i || item[-1].address <= item->address);
    check(!found || (found >= item && found->address == item->address));
    if (item->file)
        check(tn__source_path(item->file, path, sizeof path) >= (int)strlen(item->file->name));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct tn__image_range all = {0, size};
    const struct tn__debug_image image = {
        .bytes = (uint8_t *)(uintptr_t)bytes, .size = size, .line = all, .line_str = all, .str = all};
    struct tn__lines lines = {.arena.from = &bounds_allocator};
    struct tn_error err;
    bounds_begin();
    check(tn__lines_add(&lines, &image, &err) == 0);
    for (size_t i = 0; i < lines.count; i++)
        look_up(&lines, i);
    tn__lines_free(&lines);
    bounds_end(size);
    return 0;
}
