/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* No two tables may share bytes of the file. So work that is done once for each of them is bounded by the size of the
 * file. */

#include <stdlib.h>

#include "link/format/macho/reader.h"

struct extent {
    uint64_t start, end;
    const char *what;
};

struct extents {
    struct extent *items;
    size_t count;
    bool sorted;
};

static void note(const struct tn__macho_reader *r, struct extents *extents, const void *at, uint64_t size,
                 const char *what)
{
    uint64_t start = (uint64_t)((const uint8_t *)at - r->object->bytes);
    if (!size)
        return;
    extents->sorted &= !extents->count || extents->items[extents->count - 1].end <= start;
    extents->items[extents->count++] = (struct extent){start, start + size, what};
}

static int by_start(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* In the order in which assemblers write them. */
static void note_all(const struct tn__macho_reader *r, struct extents *extents, uint64_t commands_end)
{
    note(r, extents, r->object->bytes, commands_end, "the load commands");
    for (uint32_t i = 1; i < r->section_count; i++)
        if (r->sections[i].bytes)
            note(r, extents, r->sections[i].bytes, r->sections[i].size, r->sections[i].name);
    for (uint32_t i = 1; i < r->section_count; i++)
        note(r, extents, r->sections[i].relocs, (uint64_t)r->sections[i].reloc_count * TN__MACHO_RELOC, "relocations");
    if (r->symtab) {
        note(r, extents, r->symtab, (uint64_t)r->symbol_count * TN__MACHO_SYMBOL, "the symbol table");
        note(r, extents, r->strings, r->strings_size, "the symbols' names");
    }
}

int tn__macho_check_overlap(const struct tn__macho_reader *r, uint64_t commands_end)
{
    struct tn__object_data *object = r->object;
    struct extents extents = {.sorted = true};
    extents.items = tn__alloc(object->arena.from, ((size_t)r->section_count * 2 + 3) * sizeof *extents.items);
    if (!extents.items)
        return tn__no_memory(r->err, object->name);
    note_all(r, &extents, commands_end);
    if (!extents.sorted)
        qsort(extents.items, extents.count, sizeof *extents.items, by_start);
    int code = 0;
    for (size_t i = 1; !code && !extents.sorted && i < extents.count; i++)
        if (extents.items[i].start < extents.items[i - 1].end)
            code = TN__MACHO_FAIL(r, "%s: %s and %s overlap in the file", object->name, extents.items[i - 1].what,
                                  extents.items[i].what);
    tn__free(object->arena.from, extents.items);
    return code;
}
