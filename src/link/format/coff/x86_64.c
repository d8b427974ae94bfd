/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COFF for x86-64: "PE Format", Type Indicators, x64 Processors.
 *
 * A displacement counts from the end of its instruction, which REL32_n says to be n bytes after the field. No type
 * tells a branch from a reference to data. But only branches have their opcode right before the displacement (in any
 * other instruction that byte says which registers it has, and this one would say that it has no displacement of 32
 * bits): so those may go through a stub. */

#include "link/arch/reloc.h"
#include "link/format/coff/reader.h"
#include "link/passes/steps.h"

enum { ADDR64 = 1, REL32 = 4, REL32_5 = 9, BRANCH = 17 };

#define ROW(no, name, value, field, bits, flags)                                                                       \
    [no] = TN__ROW("IMAGE_REL_AMD64_" #name, TN__V_##value, TN__F_##field, 1 << TN__F_##field, bits, flags,            \
                   TN__SLOT_NONE, 0)

#define SIGNED   TN__R_SIGNED
#define UNSIGNED TN__R_UNSIGNED
#define STUB     TN__R_STUB
#define LOW      TN__R_LOW

/* no., name, value, field, bits, flags. The last one is none of the file's. */
static const struct tn__row rows[] = {
    ROW(0, ABSOLUTE, NONE, LE8, 0, 0),
    ROW(ADDR64, ADDR64, S_A, LE64, 64, 0),
    ROW(2, ADDR32, S_A, LE32, 32, UNSIGNED | LOW),
    ROW(3, ADDR32NB, S_A_BASE, LE32, 32, UNSIGNED),
    ROW(REL32, REL32, S_A_P, LE32, 32, SIGNED),
    ROW(5, REL32_1, S_A_P, LE32, 32, SIGNED),
    ROW(6, REL32_2, S_A_P, LE32, 32, SIGNED),
    ROW(7, REL32_3, S_A_P, LE32, 32, SIGNED),
    ROW(8, REL32_4, S_A_P, LE32, 32, SIGNED),
    ROW(REL32_5, REL32_5, S_A_P, LE32, 32, SIGNED),
    ROW(10, SECTION, SECTION_A, LE16, 16, UNSIGNED),
    ROW(11, SECREL, S_A_SECTION, LE32, 32, UNSIGNED),
    ROW(12, SECREL7, UNSUPPORTED, LE8, 0, 0),
    ROW(13, TOKEN, UNSUPPORTED, LE64, 64, 0),
    ROW(14, SREL32, UNSUPPORTED, LE32, 32, 0),
    ROW(15, PAIR, UNSUPPORTED, LE32, 32, 0),
    ROW(16, SSPAN32, UNSUPPORTED, LE32, 32, 0),
    [BRANCH] =
        TN__ROW("IMAGE_REL_AMD64_REL32 of a branch", TN__V_S_A_P, TN__F_LE32, 4, 32, SIGNED | STUB, TN__SLOT_NONE, 0),
};

/* call, jmp, and the conditional jumps. */
static inline bool is_branch(const uint8_t *bytes, uint64_t field)
{
    if (!field)
        return false;
    const uint8_t *at = bytes + field;
    return (at[-1] & 0xfe) == 0xe8 || (field > 1 && at[-2] == 0x0f && (at[-1] & 0xf0) == 0x80);
}

static inline int64_t take_addend(const uint8_t *bytes, bool is_code, uint64_t offset, const struct tn__row *row,
                                  uint32_t *type)
{
    int64_t addend = tn__coff_number(bytes + offset, row->size);
    if (*type < REL32 || *type > REL32_5)
        return addend;
    addend -= 4 + (int64_t)(*type - REL32);
    if (*type == REL32 && is_code && is_branch(bytes, offset))
        *type = BRANCH;
    return addend;
}

static uint64_t convert(const struct tn__coff_records *records, struct tn__reloc *out)
{
    return tn__coff_convert(records, out, rows, BRANCH, take_addend);
}

static const struct tn__coff_details details = {.types = BRANCH, .convert = convert};

const struct tn_format tn_format_coff_x86_64 = {
    .name = "coff-x86-64",
    .reader = &tn__reader_coff,
    .arch = &tn__arch_x86_64,
    .machine = 0x8664,
    .rows = rows,
    .row_count = TN_COUNT(rows),
    .details = &details,
    .steps = &tn__steps_coff,
};
