/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Writing ELF files into memory (gABI 4.1, chapter 4): the file header, section headers, tables of names and symbols.
 * The caller lists the sections, asks for the size of the file and allocates it; then the file is written. */

#ifndef TENON_ELF_WRITER_H
#define TENON_ELF_WRITER_H

#include <elf.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct tn__elf_section {
    const char *name;
    uint32_t type;
    uint64_t flags, address, offset, size, alignment, entry_size;
    uint32_t link, info;
    uint8_t *bytes; /* NULL: the caller stores the contents in the file, or there are none (SHT_NOBITS) */
};

/* The sections of a file by number. [0] stays empty; the last one has the names of all. */
struct tn__elf_sections {
    struct tn__elf_section *items;
    size_t count;
    uint64_t end; /* of the contents in the file */
};

/* Appends a section, whose contents follow those of all others in the file. */
struct tn__elf_section *tn__elf_append(struct tn__elf_sections *all, struct tn__elf_section section);
/* Appends the section with the names and returns the size of the file. */
uint64_t tn__elf_end(struct tn__elf_sections *all);
/* Writes the file into zeroed memory of that size, except for program headers. `header` has the members that depend on
 * the kind of file. */
void tn__elf_write(uint8_t *file, const struct tn__elf_sections *all, Elf64_Ehdr header);
/* The same for a file of which only two parts are in memory: its beginning, for the ELF header, and what is behind
 * offset `from`: the section headers and all sections with bytes. */
void tn__elf_write_parts(uint8_t *file, uint8_t *rest, uint64_t from, const struct tn__elf_sections *all,
                         Elf64_Ehdr header);

/* Where the section headers are in the file. */
static inline uint64_t tn__elf_headers(const struct tn__elf_sections *all)
{
    return tn__align_up(all->end, 8);
}

/* Stores a name at *end of a table of names and returns its place there. */
static inline uint32_t tn__elf_put_name(uint8_t *names, uint64_t *end, const char *name)
{
    uint32_t at = (uint32_t)*end;
    size_t size = strlen(name) + 1;
    memcpy(names + at, name, size);
    *end += size;
    return at;
}

/* The same for the name of a symbol, which is stored as well. */
static inline void tn__elf_put_symbol(uint8_t *to, Elf64_Sym symbol, uint8_t *names, uint64_t *end, const char *name)
{
    symbol.st_name = tn__elf_put_name(names, end, name);
    memcpy(to, &symbol, sizeof symbol);
}

#pragma GCC visibility pop
#endif
