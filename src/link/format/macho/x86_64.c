/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mach-O for x86-64: the relocation types that Apple's <mach-o/x86_64/reloc.h> describes.
 *
 * A PC-relative field holds its addend and counts from its own end. SIGNED_1, _2 and _4 say that so many bytes of the
 * instruction follow; the addend accounts for them already, except where the field holds the distance itself because
 * the target is given as a section. Loads from the GOT and of the addresses of TLV descriptors are rewritten where the
 * instruction allows it. */

#include "link/arch/x86_64/x86_64.h"
#include "link/format/macho/reader.h"

enum { UNSIGNED, SIGNED, BRANCH, GOT_LOAD, GOT, SUBTRACTOR, SIGNED_1, SIGNED_2, SIGNED_4, TLV };

#define ROW(type, length, relative, value, field, flags, slot, relax)                                                  \
    [TN__MACHO_ROW(type, length, relative)] = TN__ROW("X86_64_RELOC_" #type, TN__V_##value, TN__F_##field,             \
                                                      1 << (length), 8 << (length), flags, TN__SLOT_##slot, relax)
#define PC(type, flags)  ROW(type, 2, 1, S_A_P, LE32, TN__R_SIGNED | (flags), NONE, 0)
#define SLOT(type, form) ROW(type, 2, 1, G_A_P, LE32, TN__R_SIGNED, ADDRESS, form)

/* type, length as a power of two, PC-relative, value, field, flags, GOT slot, form for relax.c */
static const struct tn__row rows[] = {
    ROW(UNSIGNED, 2, 0, S_A, LE32, TN__R_UNSIGNED | TN__R_LOW, NONE, 0),
    ROW(UNSIGNED, 3, 0, S_A, LE64, 0, NONE, 0),
    PC(SIGNED, 0),
    PC(BRANCH, TN__R_STUB),
    SLOT(GOT_LOAD, TN__X86_64_GOT_REX),
    SLOT(GOT, 0),
    ROW(SUBTRACTOR, 2, 0, F_MINUS, LE32, 0, NONE, 0),
    ROW(SUBTRACTOR, 3, 0, F_MINUS, LE64, 0, NONE, 0),
    PC(SIGNED_1, 0),
    PC(SIGNED_2, 0),
    PC(SIGNED_4, 0),
    SLOT(TLV, TN__X86_64_GOT_REX),
    TN__MACHO_OWN_ROWS,
};

static const struct tn__macho_machine machine = {
    .kinds = {[UNSIGNED] = {TN__MACHO_IN_PLACE, 0, 0},
              [SIGNED] = {TN__MACHO_IN_PLACE, 4, 0},
              [BRANCH] = {TN__MACHO_IN_PLACE, 4, 0},
              [GOT_LOAD] = {TN__MACHO_IN_PLACE, 4, 0},
              [GOT] = {TN__MACHO_IN_PLACE, 4, 0},
              [SUBTRACTOR] = {TN__MACHO_MINUS, 0, 0},
              [SIGNED_1] = {TN__MACHO_IN_PLACE, 4, 1},
              [SIGNED_2] = {TN__MACHO_IN_PLACE, 4, 2},
              [SIGNED_4] = {TN__MACHO_IN_PLACE, 4, 4},
              [TLV] = {TN__MACHO_IN_PLACE, 4, 0}},
    .plain = UNSIGNED,
};

const struct tn_format tn_format_macho_x86_64 = {
    .name = "macho-x86-64",
    .reader = &tn__reader_macho,
    .arch = &tn__arch_x86_64,
    .machine = TN__MACHO_X86_64,
    .rows = rows,
    .row_count = TN_COUNT(rows),
    .details = &machine,
};
