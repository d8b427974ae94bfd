/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Takes one root away from an object's stack maps.
 *     mutate IN OUT N      the Nth slot of a reference, from 0, is that of the saved frame pointer in OUT
 *     mutate IN            prints how many there are
 * Reads what our own compiler wrote: nothing is checked. */

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_gc.h"

static unsigned char bytes[1 << 22];
static long seen, wanted = -1;

static uint32_t get(const unsigned char *at, unsigned size)
{
    uint32_t value = 0;
    memcpy(&value, at, size);
    return value;
}

static unsigned char *mutate_slots(unsigned char *at, uint32_t count, unsigned slot)
{
    for (; count; count--, at += slot)
        if (seen++ == wanted)
            memset(at, 0, slot);
    return at;
}

static void mutate_section(unsigned char *start, size_t size)
{
    unsigned char *at = start;
    while (at + 8 <= start + size) {
        uint32_t counts = get(at + 4, 4);
        unsigned slot = counts & TN_GC_MAP_WIDE ? 4 : 2, width = slot / 2;
        at = mutate_slots(at + 8, TN_GC_MAP_ROOTS(counts), slot);
        for (uint32_t i = TN_GC_MAP_SAFEPOINTS(counts); i; i--) {
            uint32_t place = get(at, 4), bases = get(at + 4, width), derived = get(at + 4 + width, width);
            at = mutate_slots(at + 4 + 2 * width, bases, slot) + 2 * (size_t)slot * derived;
            if (place & TN_GC_MAP_PINNED)
                at += 2 + (size_t)slot * get(at, 2);
        }
        at = start + (((size_t)(at - start) + 3) & ~(size_t)3);
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    const Elf64_Ehdr *elf = (const void *)bytes;
    const Elf64_Shdr *sections = (const void *)(bytes + elf->e_shoff);
    if (!size || size == sizeof bytes)
        return 1;
    wanted = argc > 3 ? atol(argv[3]) : -1;
    for (unsigned i = 1; i < elf->e_shnum; i++)
        if (!strcmp((const char *)bytes + sections[elf->e_shstrndx].sh_offset + sections[i].sh_name, "tenon_maps"))
            mutate_section(bytes + sections[i].sh_offset, sections[i].sh_size);
    if (argc < 4)
        return printf("%ld\n", seen) < 0;
    FILE *out = fopen(argv[2], "wb");
    return !out || fwrite(bytes, 1, size, out) != size || fclose(out);
}
