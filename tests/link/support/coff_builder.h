/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Builds COFF objects from descriptions: the header, the section headers, the bytes and relocations of each section,
 * the symbols, the strings. */

#ifndef TENON_TESTS_LINK_COFF_BUILDER_H
#define TENON_TESTS_LINK_COFF_BUILDER_H

#include "support.h"

enum { COFF_X86_64 = 0x8664, COFF_AARCH64 = 0xaa64 };
enum { COFF_HEADER = 20, COFF_SECTION = 40, COFF_RELOC = 10, COFF_SYMBOL = 18 };
enum {
    COFF_CODE = 0x60000020,
    COFF_CONSTANTS = 0x40000040,
    COFF_COMDAT = 0x1000,
    COFF_ALIGN_8 = 4 << 20,
};

struct coff_reloc {
    uint32_t offset, symbol;
    uint16_t type;
};

struct coff_section {
    const char *name; /* at most 8 letters */
    uint32_t flags;
    const void *bytes;
    uint32_t size;
    const struct coff_reloc *relocs;
    uint16_t reloc_count;
};

/* An auxiliary record is a symbol whose name is NULL. */
struct coff_symbol {
    const char *name;
    uint32_t value;
    uint16_t section, type;
    uint8_t class, more;
    uint8_t record[COFF_SYMBOL];
};

struct coff {
    uint16_t machine;
    struct coff_section sections[4];
    uint16_t section_count;
    struct coff_symbol symbols[16];
    uint32_t symbol_count;
};

/* Where the parts of the object are that coff_build makes. */
struct coff_places {
    size_t bytes[4], relocs[4], symbols, strings;
};

/* `places` may be NULL. */
struct bytes coff_build(const struct coff *coff, struct coff_places *places);

#endif
