/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The parts of the Mach-O reader:
 *     macho.c     the file as a whole, universal files, sections
 *     kinds.c     what a section is to the linker: its kind and role
 *     macho.c   no two tables share bytes of the file
 *     atoms.c     sections are cut at their symbols
 *     symbols.c   symbols
 *     relocs.c    relocations
 *     eh_frame.c  the references of unwind tables that have no relocations
 *     compact.c   compact unwind entries become an unwind table
 *
 * A file's section becomes one section of the neutral object or, if the file permits that (MH_SUBSECTIONS_VIA_SYMBOLS),
 * one for each atom: the bytes from one symbol to the next. So stripping removes single functions, and of two weak
 * definitions of a name one is not loaded: each weak atom is a COMDAT group of its own. Atoms keep their order, so they
 * have the distances that they have in the file unless some are left out.
 *
 * In files, the names of C begin with an underscore. A session knows them without; another name gets the prefix \1,
 * as LLVM marks names that are taken as they are. */

#ifndef TENON_MACHO_READER_H
#define TENON_MACHO_READER_H

#include "link/arch/reloc.h"
#include "link/format/macho/macho.h"
#include "link/model/object.h"

#pragma GCC visibility push(hidden)

/* ---- what an architecture's table says besides its rows ---- */

/* What a relocation type means to the reader. */
enum tn__macho_form {
    TN__MACHO_UNKNOWN = 0,
    TN__MACHO_IN_PLACE,       /* the field holds the addend */
    TN__MACHO_IN_INSTRUCTION, /* what the field holds does not matter: the addend is 0, or in the record before */
    TN__MACHO_MINUS,          /* subtracts its symbol from what the next record adds */
    TN__MACHO_ADDEND,         /* is the addend of the next record */
};

struct tn__macho_kind {
    uint8_t form;
    uint8_t base;  /* PC-relative fields count from so many bytes after their beginning, */
    uint8_t after; /* and, if the target is given as a section, from so many bytes more */
};

/* How a function is unwound: registers have DWARF's numbers. */
struct tn__macho_frame {
    uint64_t distance; /* of the canonical frame address (CFA) from a register: */
    uint8_t base;
    uint8_t count;
    struct {
        uint8_t number;
        uint16_t depth; /* it is saved at CFA - 8 * depth */
    } saved[20];
};

/* What a compact encoding says: */
enum tn__macho_encoded {
    TN__MACHO_NOTHING = 0, /* that nothing describes the function, or that __eh_frame does */
    TN__MACHO_FRAME,
    TN__MACHO_UNDEFINED_ENCODING,
};

/* The `details` of a format. */
struct tn__macho_machine {
    struct tn__macho_kind kinds[16]; /* by relocation type */
    uint8_t plain;                   /* the type that stores an address */
    uint8_t slot;                    /* the row for the distance of a GOT slot, in 4 bytes */
    uint8_t return_register;         /* the number that DWARF gives to the return address */
    bool pushes_return;              /* it lies at CFA - 8 */
    /* Fills in the frame that a compact encoding describes, of a function that has `size` bytes left at `code` (NULL:
     * it has none in the file). */
    enum tn__macho_encoded (*decode)(uint32_t encoding, const uint8_t *code, uint64_t size,
                                     struct tn__macho_frame *frame);
};

/* The numbers of rows: made from the type, the length as a power of two, and whether it is PC-relative. */
#define TN__MACHO_ROW(type, length, relative) ((type) << 3 | (length) << 1 | (relative))

/* Rows that the reader uses by itself. */
enum {
    TN__MACHO_PC32 = 16 << 3, /* S + A - P */
    TN__MACHO_PC64,
    TN__MACHO_PLUS32, /* the second half of a difference */
    TN__MACHO_PLUS64,
    TN__MACHO_TLS_OFFSET, /* in a descriptor: the variable's distance from the thread pointer */
    TN__MACHO_ROWS,
};

#define TN__MACHO_OWN_ROWS                                                                                             \
    [TN__MACHO_PC32] =                                                                                                 \
        TN__ROW("PC32 (made by the reader)", TN__V_S_A_P, TN__F_LE32, 4, 32, TN__R_SIGNED, TN__SLOT_NONE, 0),          \
    [TN__MACHO_PC64] = TN__ROW("PC64 (made by the reader)", TN__V_S_A_P, TN__F_LE64, 8, 64, 0, TN__SLOT_NONE, 0),      \
    [TN__MACHO_PLUS32] = TN__ROW("PLUS32 (made by the reader)", TN__V_F_S_A, TN__F_LE32, 4, 32, 0, TN__SLOT_NONE, 0),  \
    [TN__MACHO_PLUS64] = TN__ROW("PLUS64 (made by the reader)", TN__V_F_S_A, TN__F_LE64, 8, 64, 0, TN__SLOT_NONE, 0),  \
    [TN__MACHO_TLS_OFFSET] =                                                                                           \
        TN__ROW("TLV_OFFSET (made by the reader)", TN__V_S_A, TN__F_LE64, 8, 64, TN__R_TLS, TN__SLOT_NONE, 0)

/* ---- the reader ---- */

/* A section of the file. */
struct tn__macho_section {
    const char *name;     /* "__TEXT,__text" */
    const uint8_t *bytes; /* NULL: zeros */
    uint64_t address, size, alignment;
    const uint8_t *relocs;
    uint32_t reloc_count, flags;
    uint8_t kind, role;
    uint32_t first, count; /* its sections of the neutral object */
};

/* A symbol that lies in a section. */
struct tn__macho_label {
    uint64_t offset;      /* there */
    uint32_t symbol;      /* in the file's table */
    uint8_t section;      /* from 1 */
    bool kept, alternate; /* its atom is not to be stripped; it begins none */
};

/* How a record that begins with a certain byte is converted, if that can be done at once (relocs.c). */
struct tn__macho_quick {
    uint8_t form; /* TN__MACHO_UNKNOWN: it cannot */
    uint8_t row, base, unused;
};

struct tn__macho_reader {
    struct tn__object_data *object;
    const struct tn__macho_machine *machine;
    struct tn__macho_section *sections; /* from 1 */
    uint32_t section_count;             /* with number 0 */
    const uint8_t *symtab;
    uint32_t symbol_count;
    const char *strings;
    uint32_t strings_size;
    bool splits;
    struct tn__macho_label *labels;   /* by section, and by offset there */
    uint32_t label_count, weak_count; /* weak: of weak definitions among them */
    uint32_t last_atom;               /* that tn__macho_atom_at has found */
    uint64_t *starts;                 /* by section of the neutral object: where in the file's section it begins */
    uint32_t *section_symbols;        /* likewise: the symbol that stands for it; 0: none yet */
    const struct tn__macho_section **by_address; /* loaded ones that are not empty; NULL: not sorted yet (eh_frame.c) */
    uint32_t address_count;
    struct tn__macho_quick quick[256]; /* by the highest byte of a record, once there are any */
    bool has_quick;
    struct tn_error *err;
};

#define TN__MACHO_FAIL(r, ...) tn__fail((r)->err, TN_EFORMAT, __VA_ARGS__)

static inline uint8_t tn__macho_type(const struct tn__macho_section *section)
{
    return section->flags & 0xff;
}

/* Sets the kind and role of a section. TN_ENOTSUP. */
int tn__macho_set_kind(const struct tn__macho_reader *r, struct tn__macho_section *section);
/* True for a section that may be cut. */
bool tn__macho_is_divisible(const struct tn__macho_section *section);

/* Makes the symbols; then the sections of the neutral object. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__macho_read_symbols(struct tn__macho_reader *r);
int tn__macho_divide(struct tn__macho_reader *r);

/* The section of the neutral object at an offset, at most its size, of one of the file's. */
uint32_t tn__macho_find_atom(struct tn__macho_reader *r, const struct tn__macho_section *section, uint64_t offset);
static inline uint32_t tn__macho_atom_at(struct tn__macho_reader *r, const struct tn__macho_section *section,
                                         uint64_t offset)
{
    return section->count == 1 ? section->first : tn__macho_find_atom(r, section, offset);
}
/* The symbol that stands for such a section, made if it is not there yet. */
uint32_t tn__macho_make_symbol(struct tn__macho_reader *r, uint32_t atom);
static inline uint32_t tn__macho_section_symbol(struct tn__macho_reader *r, uint32_t atom)
{
    return r->section_symbols[atom] ? r->section_symbols[atom] : tn__macho_make_symbol(r, atom);
}

/* Converts the relocations of a section into an array in the arena, sorted. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__macho_convert_relocs(struct tn__macho_reader *r, const struct tn__macho_section *section,
                             struct tn__reloc **relocs, uint64_t *count);
int tn__macho_read_relocs(struct tn__macho_reader *r, struct tn__macho_section *section);

/* Adds relocations for what an unwind table refers to without any, to the `count` at `relocs`, which are sorted. The
 * result is in the arena. TN_EFORMAT, TN_ENOMEM. */
int tn__macho_frame_relocs(struct tn__macho_reader *r, const struct tn__macho_section *section,
                           struct tn__reloc **relocs, uint64_t *count);

/* Adds an unwind table for functions that only have compact unwind entries. Comes after all relocations have been read.
 * TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__macho_read_compact(struct tn__macho_reader *r);

#pragma GCC visibility pop
#endif
