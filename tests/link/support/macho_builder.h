/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Makes small Mach-O objects in memory. The file's layout is fixed, so that tests may corrupt any field: header, the
 * commands of the segment and of the symbol table, contents in order, relocations, symbols, names. */

#ifndef TENON_TESTS_LINK_MACHO_BUILDER_H
#define TENON_TESTS_LINK_MACHO_BUILDER_H

#include "link/format/macho/macho.h"
#include "support.h"

enum { MACHO_SECTIONS = 64, MACHO_SYMBOLS = 256, MACHO_RELOCS = 1024, MACHO_STRINGS = 1 << 16 };

struct macho {
    struct {
        const char *segment, *name;
        uint32_t flags, shift;
        const void *bytes; /* NULL: zeros that the file does not have */
        uint64_t size, address;
    } sections[MACHO_SECTIONS];
    unsigned section_count; /* numbered from 1 */
    struct {
        uint32_t name;
        uint8_t type, section;
        uint16_t desc;
        uint64_t value;
    } symbols[MACHO_SYMBOLS];
    unsigned symbol_count; /* numbered from 0 */
    struct {
        unsigned section;
        uint32_t address, bits;
    } relocs[MACHO_RELOCS];
    unsigned reloc_count;
    char strings[MACHO_STRINGS];
    size_t strings_size;
    uint32_t machine; /* 0: x86-64 */
};

/* Each returns the number of the new item. `bytes` must last until macho_finish. */
unsigned macho_section(struct macho *macho, const char *segment, const char *name, uint32_t flags, const void *bytes,
                       size_t size);
unsigned macho_code(struct macho *macho, const void *bytes, size_t size); /* __TEXT,__text */
/* `offset`: in the section, if there is one, else the value. `type`: with TN__MACHO_EXTERNAL and so on. */
unsigned macho_symbol(struct macho *macho, const char *name, unsigned type, unsigned section, unsigned desc,
                      uint64_t offset);
unsigned macho_function(struct macho *macho, const char *name, unsigned section, uint64_t offset);
unsigned macho_undefined(struct macho *macho, const char *name);
/* `length`: as a power of two. */
void macho_reloc(struct macho *macho, unsigned section, uint32_t address, unsigned symbol, unsigned type,
                 unsigned length, bool relative, bool external);

/* The file's bytes; release with free(). */
struct bytes macho_finish(const struct macho *macho);

/* Places in a finished file. */
uint8_t *macho_section_header(struct bytes file, unsigned section);
uint8_t *macho_symtab_command(struct bytes file);
uint8_t *macho_symbol_entry(struct bytes file, unsigned symbol);
uint8_t *macho_reloc_entry(struct bytes file, unsigned section, unsigned index);

#endif
