/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64, for the tables of its relocations in src/link/format: the fields of its instructions, and those that may be
 * rewritten. */

#ifndef TENON_AARCH64_H
#define TENON_AARCH64_H

#include "link/arch/reloc.h"

#pragma GCC visibility push(hidden)

/* Fields of instructions (fields.c). Each takes the whole value and keeps the bits that it has space for: the distance
 * of a branch, not a quarter of it. The bits in comments are those of the value. */
enum tn__aarch64_field {
    TN__AARCH64_ADR = TN__FIELDS, /* adr: 20..0 */
    TN__AARCH64_ADRP,             /* adrp: 32..12 */
    TN__AARCH64_LO12,             /* add, and loads and stores of bytes: 11..0 */
    TN__AARCH64_HI12,             /* add with lsl #12: 23..12 */
    TN__AARCH64_LO12_2,           /* loads and stores of 2 bytes: 11..1 */
    TN__AARCH64_LO12_4,           /* of 4 bytes: 11..2 */
    TN__AARCH64_LO12_8,           /* of 8 bytes: 11..3 */
    TN__AARCH64_LO12_16,          /* of 16 bytes: 11..4 */
    TN__AARCH64_LO15_8,           /* of 8 bytes, with all bits that the field holds: 14..3 */
    TN__AARCH64_LO12_ANY,         /* add, loads and stores: the instruction says how many bytes it moves */
    TN__AARCH64_MOVW_G0,          /* movz, movk, movn: 15..0 */
    TN__AARCH64_MOVW_G1,          /* 31..16 */
    TN__AARCH64_MOVW_G2,          /* 47..32 */
    TN__AARCH64_MOVW_G3,          /* 63..48 */
    TN__AARCH64_MOVS_G0,          /* the same; movz and movn become each other, as the value is positive or negative */
    TN__AARCH64_MOVS_G1,
    TN__AARCH64_MOVS_G2,
    TN__AARCH64_BRANCH14, /* tbz, tbnz: 15..2 */
    TN__AARCH64_BRANCH19, /* b.cond, cbz, cbnz, and ldr of a literal: 20..2 */
    TN__AARCH64_BRANCH26, /* b, bl: 27..2 */
    TN__AARCH64_FIELDS,
};

/* By number, from TN__FIELDS on. */
extern const struct tn__encoder tn__aarch64_encoders[TN__AARCH64_FIELDS - TN__FIELDS];

/* Forms of instructions that relax.c may rewrite: each group begins with an adrp. */
enum tn__aarch64_form {
    TN__AARCH64_TLSIE_PAGE = 1,
    TN__AARCH64_TLSIE_LO12,   /* ldr */
    TN__AARCH64_TLSDESC_LO12, /* ldr */
    TN__AARCH64_TLSDESC_ADD,
    TN__AARCH64_GOT_PAGE = TN__FORM_LEADS,
    TN__AARCH64_PAGE,
    TN__AARCH64_TLSDESC_PAGE,
    TN__AARCH64_GOT_LO12 = TN__FORM_TRAILS, /* ldr, after GOT_PAGE */
    TN__AARCH64_LO12_ADD,                   /* add, after PAGE */
};

/* See struct tn__arch. */
void tn__aarch64_note(const struct tn__sequence *code, uint32_t *notes);
uint64_t tn__aarch64_relax(const struct tn__sequence *code);

#pragma GCC visibility pop
#endif
