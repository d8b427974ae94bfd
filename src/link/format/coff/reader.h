/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The parts of the COFF reader, which implements Microsoft's "PE Format" as far as it is about objects:
 *     coff.c        the file as a whole, its tables, section headers, string table
 *     coff.c       what a section is to the linker: its kind, role and priority
 *     symbols.c     symbols with their auxiliary records: COMDAT groups, weak externals, imports
 *     coff.c      relocations
 *     directives.c  what .drectve sections say to the linker
 * All numbers of sections and symbols are those of the file: symbols and their auxiliary records are counted from 0, in
 * which the neutral object reserves the number 0; each has the number that follows its own there. */

#ifndef TENON_COFF_READER_H
#define TENON_COFF_READER_H

#include "link/model/coff_header.h"
#include "link/model/object.h"

#pragma GCC visibility push(hidden)

/* Characteristics of sections ("Section Flags"). */
enum {
    TN__SCN_CODE = 0x20,
    TN__SCN_DATA = 0x40,
    TN__SCN_ZEROS = 0x80,
    TN__SCN_INFO = 0x200,
    TN__SCN_REMOVE = 0x800,
    TN__SCN_COMDAT = 0x1000,
    TN__SCN_ALIGN_SHIFT = 20,
    TN__SCN_ALIGN_MASK = 15,
    TN__SCN_MANY_RELOCS = 0x1000000,
    TN__SCN_DISCARDABLE = 0x2000000,
    TN__SCN_EXECUTE = 0x20000000,
    TN__SCN_READ = 0x40000000,
};
#define TN__SCN_WRITE 0x80000000U

/* A section's header. */
struct tn__coff_section {
    const uint8_t *name; /* 8 bytes */
    uint32_t address, size, offset, relocs, reloc_count, flags;
};

/* What the symbol table says of a section (symbols.c). */
struct tn__coff_comdat {
    uint8_t selection; /* TN__COMDAT_...; 0: not known, or it is in no group */
    bool led;          /* the symbol that it is selected by has been read */
    uint32_t number;   /* of the section that it is associated with */
    uint32_t length;   /* of its contents; some assemblers pad sections */
};

struct tn__coff_reader {
    struct tn__object_data *object;
    const uint8_t *headers, *symtab, *strings;
    uint64_t headers_end;
    uint32_t strings_size; /* with the four bytes at its beginning, which are the size; 0: there is none */
    uint32_t symbol_count; /* in the file, with auxiliary records */
    uint32_t symbol_size;
    bool big;                        /* sections have 32-bit numbers */
    struct tn__coff_comdat *comdats; /* by section; NULL: there are none */
    uint32_t comdat_count, weak_count;
    uint32_t alias_count, setting_count;
    uint64_t section_names; /* bytes of those in the string table, in sum, so far */
    uint32_t added;         /* symbols that follow those of the file, so far */
    bool counting;          /* they are only counted */
    bool including;         /* directives that ask for symbols are looked at, and no others */
    bool uses_base;         /* in a relocation */
    uint8_t common_shift;   /* the least alignment of common symbols, as a power of two */
    struct tn_error *err;
};

#define TN__COFF_FAIL(r, ...) tn__fail((r)->err, TN_EFORMAT, __VA_ARGS__)

/* The relocations of a section in the file. */
struct tn__coff_records {
    const struct tn__input_section *section;
    const uint8_t *at;
    uint64_t count;
    uint32_t base;    /* from which places are counted */
    uint32_t symbols; /* of the file */
    uint64_t *seen;   /* results: bit N is set if one has type N, */
    bool *outside;    /* and whether one may lie outside of the section */
};
enum { TN__COFF_RELOC = 10 }; /* bytes of one */

/* What the reader has to know of an architecture: the details of its struct tn_format. */
struct tn__coff_details {
    uint32_t types; /* numbers of types from here on do not occur in files */
    /* Converts `count` of a section's relocations, which are in `records`, to `out`: calls tn__coff_convert with the
     * function that knows addends. Returns how many are sound; the first that is not, and those after it, are not
     * converted. */
    uint64_t (*convert)(const struct tn__coff_records *records, struct tn__reloc *out);
};

/* The number of a file's symbol in the neutral object. */
static inline uint32_t tn__coff_symbol(uint32_t index)
{
    return index + 1;
}

/* See struct tn__coff_details. Inlined, so that each architecture has a loop of its own. `take` returns the addend of a
 * relocation, which stands in the field at `offset` of a section's bytes, and may change its type where several rows
 * share one of the file. */
typedef int64_t tn__coff_take(const uint8_t *bytes, bool is_code, uint64_t offset, const struct tn__row *row,
                              uint32_t *type);
__attribute__((always_inline)) static inline uint64_t tn__coff_convert(const struct tn__coff_records *records,
                                                                       struct tn__reloc *out,
                                                                       const struct tn__row *rows, uint32_t types,
                                                                       tn__coff_take *take)
{
    const uint8_t *const bytes = records->section->bytes;
    const uint64_t size = records->section->size;
    const bool is_code = records->section->kind == TN__SECTION_CODE;
    const uint32_t base = records->base, symbols = records->symbols;
    const uint8_t *at = records->at, *const end = at + records->count * TN__COFF_RELOC;
    uint64_t seen = 0;
    for (; at < end; at += TN__COFF_RELOC, out++) {
        uint32_t place = tn__get32(at), symbol = tn__get32(at + 4), type = tn__get16(at + 8);
        if (symbol >= symbols || type >= types)
            break;
        const struct tn__row *row = &rows[type];
        seen |= 1ULL << type;
        const uint64_t offset = (uint32_t)(place - base); /* of 32 bits, like the size: no sum overflows */
        int64_t addend = 0;
        if (row->value > TN__V_NONE && offset + row->size <= size)
            addend = take(bytes, is_code, offset, row, &type);
        else if (place < base)
            break;
        else
            *records->outside = true;
        *out = (struct tn__reloc){offset, type, tn__coff_symbol(symbol), addend};
    }
    *records->seen |= seen;
    return (uint64_t)(at - records->at) / TN__COFF_RELOC;
}

/* The number that a field of data holds. */
static inline int64_t tn__coff_number(const uint8_t *at, unsigned size)
{
    return size == 4 ? (int32_t)tn__get32(at) : size == 8 ? (int64_t)tn__get64(at) : (int16_t)tn__get16(at);
}

/* The header of section `index`, from 1 on. */
static inline struct tn__coff_section tn__coff_section(const struct tn__coff_reader *r, uint32_t index)
{
    const uint8_t *at = r->headers + (size_t)(index - 1) * TN__COFF_SECTION_HEADER;
    return (struct tn__coff_section){
        .name = at,
        .address = tn__get32(at + 12),
        .size = tn__get32(at + 16),
        .offset = tn__get32(at + 20),
        .relocs = tn__get32(at + 24),
        .reloc_count = tn__get16(at + 32),
        .flags = tn__get32(at + 36),
    };
}

/* coff.c: a string of the file's table; NULL: there is none at that offset. */
const char *tn__coff_string(const struct tn__coff_reader *r, uint64_t offset);

/* symbols.c */
/* Reads all symbols, and adds those that directives and imports need. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__coff_read_symbols(struct tn__coff_reader *r);
/* A hash of bytes that have to be the same in all copies. */
uint32_t tn__coff_hash(const void *bytes, uint64_t size);
/* Adds a symbol to those of the file, or counts it; returns its number in the neutral object. */
uint32_t tn__coff_add_symbol(struct tn__coff_reader *r, struct tn__symbol symbol);

/* An alias is added. Resolving a chain of them takes as many steps as it is long, for each reference. TN_ENOTSUP. */
int tn__coff_count_alias(struct tn__coff_reader *r);

/* directives.c: does what the directives of all sections say. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__coff_read_directives(struct tn__coff_reader *r);

/* coff.c */

#pragma GCC visibility pop
#endif
