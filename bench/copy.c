/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* copy OBJECT: the floor under linking an object in the ordinary way: mmap for the sections that are loaded, memcpy,
 * and mprotect to the permissions they need. No symbol is looked up and nothing is relocated. Prints `copy_us
 * NUMBER`. Trusts the file. */

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "measure.h"

enum { CODE, RODATA, DATA, KINDS };

static int kind_of(const Elf64_Shdr *section)
{
    return section->sh_flags & SHF_EXECINSTR ? CODE : section->sh_flags & SHF_WRITE ? DATA : RODATA;
}

static void copy(const char *file, char *to, int kind)
{
    const Elf64_Ehdr *header = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
    size_t at = 0;
    for (int i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (!(section->sh_flags & SHF_ALLOC) || kind_of(section) != kind)
            continue;
        at = (at + section->sh_addralign - 1) & -section->sh_addralign;
        if (section->sh_type != SHT_NOBITS)
            memcpy(to + at, file + section->sh_offset, section->sh_size);
        at += section->sh_size;
    }
}

static size_t size_of(const char *file, int kind)
{
    const Elf64_Ehdr *header = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
    size_t size = 0;
    for (int i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_flags & SHF_ALLOC && kind_of(&sections[i]) == kind)
            size += sections[i].sh_size + sections[i].sh_addralign;
    return (size + 4095) & -(size_t)4096;
}

int main(int argc, char **argv)
{
    static const int protection[KINDS] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    size_t length, sizes[KINDS], total = 0, at = 0;
    const char *file = argc == 2 ? read_touched(argv[1], &length) : NULL;
    if (!file || length < sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG) != 0)
        return 1;
    uint64_t start = now_ns();
    for (int kind = 0; kind < KINDS; kind++)
        total += sizes[kind] = size_of(file, kind);
    char *memory = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    for (int kind = 0; kind < KINDS; at += sizes[kind++]) {
        copy(file, memory + at, kind);
        if (kind != DATA && mprotect(memory + at, sizes[kind], protection[kind]) != 0)
            return 1;
    }
    printf("copy_us %.1f\n", (double)(now_ns() - start) / 1e3);
    return 0;
}
