/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Makes small ELF objects in memory. The file's layout is fixed, so that tests may corrupt any field: header, section
 * contents in order, section headers. Sections are numbered from 1 in order of creation, followed by a relocation
 * section for each section that has relocations, .symtab, .strtab and .shstrtab. */

#ifndef TENON_TESTS_LINK_ELF_BUILDER_H
#define TENON_TESTS_LINK_ELF_BUILDER_H

#include <elf.h>

#include "machine.h"
#include "support.h"

enum { ELF_SECTIONS = 64, ELF_SYMBOLS = 256, ELF_RELOCS = 1024, ELF_STRINGS = 1 << 16 };

struct elf {
    struct {
        Elf64_Shdr header;
        const char *name;
        const void *bytes;
    } sections[ELF_SECTIONS];
    unsigned section_count; /* without the empty first one */
    Elf64_Sym symbols[ELF_SYMBOLS];
    unsigned symbol_count; /* without the empty first one */
    struct {
        unsigned section;
        Elf64_Rela rela;
    } relocs[ELF_RELOCS];
    unsigned reloc_count;
    char strings[ELF_STRINGS];
    size_t strings_size;
};

/* Each returns the index of the new item. `bytes` must last until elf_finish. */
unsigned elf_section(struct elf *elf, const char *name, uint32_t type, uint64_t flags, const void *bytes, size_t size);
unsigned elf_code(struct elf *elf, const void *bytes, size_t size); /* .text */
unsigned elf_symbol(struct elf *elf, const char *name, unsigned bind, unsigned type, unsigned section, uint64_t value,
                    uint64_t size);
unsigned elf_function(struct elf *elf, const char *name, unsigned section, uint64_t value);
unsigned elf_undefined(struct elf *elf, const char *name);
void elf_reloc(struct elf *elf, unsigned section, uint64_t offset, unsigned symbol, uint32_t type, int64_t addend);

/* The file's bytes; release with free(). */
struct bytes elf_finish(const struct elf *elf);

/* Records in a finished file. */
Elf64_Ehdr *elf_header(struct bytes file);
Elf64_Shdr *elf_section_header(struct bytes file, unsigned index);
/* The first section of this type; fails the test if there is none. */
Elf64_Shdr *elf_section_of_type(struct bytes file, uint32_t type);
Elf64_Sym *elf_symbol_entry(struct bytes file, unsigned index);
Elf64_Rela *elf_rela_entry(struct bytes file, unsigned index); /* of the first relocation section */

#endif
