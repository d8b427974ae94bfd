/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* No two sections may share bytes of the file. So work that is done once for each section is bounded by the size of the
 * file. (Thousands of sections that are one table would be read thousands of times.) */

#include <stdlib.h>

#include "link/format/elf/reader.h"

struct piece {
    struct tn__elf_extent extent;
    uint32_t section;
};

static bool meet(struct tn__elf_extent a, struct tn__elf_extent b)
{
    return a.start < b.end && b.start < a.end;
}

/* True if a section other than this one has bytes in the extent. */
static bool meets_other(const struct tn__elf_reader *r, struct tn__elf_extent extent)
{
    unsigned count = 0; /* with the section itself */
    for (uint32_t i = 1; i < r->object->section_count; i++) {
        const Elf64_Shdr header = tn__elf_header_of(r, i);
        count += header.sh_type != SHT_NOBITS && header.sh_size &&
                 meet(extent, (struct tn__elf_extent){header.sh_offset, header.sh_offset + header.sh_size});
    }
    return count > 1;
}

/* True if the order in which assemblers write files shows that nothing overlaps, so that nothing has to be sorted. */
static bool is_usual(const struct tn__elf_reader *r)
{
    const struct tn__elf_places *places = &r->places;
    if (places->unsorted || meet(places->contents, places->relocs))
        return false;
    for (uint32_t i = 0; i < places->loose_count; i++) {
        bool between = meet(places->loose[i], places->contents) || meet(places->loose[i], places->relocs);
        for (uint32_t k = 0; k < i; k++)
            if (meet(places->loose[i], places->loose[k]))
                return false;
        if (between && meets_other(r, places->loose[i]))
            return false;
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return (x->extent.start > y->extent.start) - (x->extent.start < y->extent.start);
}

static int check_sorted(const struct tn__elf_reader *r, struct piece *pieces, size_t count)
{
    const struct tn__object_data *object = r->object;
    if (count)
        qsort(pieces, count, sizeof *pieces, by_start);
    for (size_t i = 1; i < count; i++) {
        uint32_t first = pieces[i - 1].section, second = pieces[i].section;
        if (pieces[i].extent.start < pieces[i - 1].extent.end)
            return TN__ELF_FAIL(r, "%s: sections %u (%s) and %u (%s) overlap in the file", object->name, first,
                                object->sections[first].name, second, object->sections[second].name);
    }
    return 0;
}

int tn__elf_check_overlap(const struct tn__elf_reader *r)
{
    const struct tn__object_data *object = r->object;
    if (is_usual(r))
        return 0;
    struct piece *pieces = tn__alloc(object->arena.from, object->section_count * sizeof *pieces);
    size_t count = 0;
    if (!pieces)
        return tn__no_memory(r->err, object->name);
    for (uint32_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr header = tn__elf_header_of(r, i);
        if (header.sh_type != SHT_NOBITS && header.sh_size)
            pieces[count++] = (struct piece){{header.sh_offset, header.sh_offset + header.sh_size}, i};
    }
    int code = check_sorted(r, pieces, count);
    tn__free(object->arena.from, pieces);
    return code;
}
