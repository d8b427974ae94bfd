/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COFF for AArch64: "PE Format", Type Indicators, ARM64 Processors.
 *
 * Addends stand in the instructions, in the units of their fields, except that an adrp has one in bytes. The field of a
 * load or store counts in what the instruction moves. */

#include "link/arch/aarch64/aarch64.h"
#include "link/format/coff/reader.h"
#include "link/passes/steps.h"

enum { ADDR64 = 14, REL32 = 17, BRANCH26 = 3 };

#define ROW(no, name, value, field, size, bits, flags)                                                                 \
    [no] = TN__ROW("IMAGE_REL_ARM64_" #name, TN__V_##value, field, size, bits, flags, TN__SLOT_NONE, 0)
#define D(no, name, value, field, bits, flags) ROW(no, name, value, TN__F_##field, 1 << TN__F_##field, bits, flags)
#define I(no, name, value, field, bits, flags) ROW(no, name, value, TN__AARCH64_##field, 4, bits, flags)

#define SIGNED   TN__R_SIGNED
#define UNSIGNED TN__R_UNSIGNED
#define STUB     TN__R_STUB
#define LOW      TN__R_LOW

/* no., name, value, field, bits, flags; D: in data, I: in an instruction */
static const struct tn__row rows[] = {
    D(0, ABSOLUTE, NONE, LE8, 0, 0),
    D(1, ADDR32, S_A, LE32, 32, UNSIGNED | LOW),
    D(2, ADDR32NB, S_A_BASE, LE32, 32, UNSIGNED),
    I(BRANCH26, BRANCH26, S_A_P, BRANCH26, 28, SIGNED | STUB),
    I(4, PAGEBASE_REL21, PAGE_S_A_P, ADRP, 33, SIGNED),
    I(5, REL21, S_A_P, ADR, 21, SIGNED),
    I(6, PAGEOFFSET_12A, S_A, LO12, 12, 0),
    I(7, PAGEOFFSET_12L, S_A, LO12_ANY, 12, 0),
    D(8, SECREL, S_A_SECTION, LE32, 32, UNSIGNED),
    I(9, SECREL_LOW12A, S_A_SECTION, LO12, 12, 0),
    I(10, SECREL_HIGH12A, S_A_SECTION, HI12, 24, UNSIGNED),
    I(11, SECREL_LOW12L, S_A_SECTION, LO12_ANY, 12, 0),
    D(12, TOKEN, UNSUPPORTED, LE64, 64, 0),
    D(13, SECTION, SECTION_A, LE16, 16, UNSIGNED),
    D(ADDR64, ADDR64, S_A, LE64, 64, 0),
    I(15, BRANCH19, S_A_P, BRANCH19, 21, SIGNED),
    I(16, BRANCH14, S_A_P, BRANCH14, 16, SIGNED),
    D(REL32, REL32, S_A_P, LE32, 32, SIGNED),
};

/* `width` bits from bit `first` on, as a signed number. */
static int64_t bits_of(uint32_t instruction, unsigned first, unsigned width)
{
    return (int64_t)((uint64_t)instruction << (64 - first - width)) >> (64 - width);
}

/* The number that an instruction holds. */
static inline int64_t addend_of(unsigned field, const uint8_t *at)
{
    const struct tn__encoder *encoder = &tn__aarch64_encoders[field - TN__FIELDS];
    uint32_t instruction = tn__get32(at);
    uint32_t imm12 = instruction >> 10 & 0xfff;
    if (!(instruction & encoder->clears))
        return 0;
    if (field == TN__AARCH64_ADRP || field == TN__AARCH64_ADR)
        return bits_of(instruction, 5, 19) * 4 + (instruction >> 29 & 3);
    switch (field) {
    case TN__AARCH64_BRANCH26:
        return bits_of(instruction, 0, 26) * 4;
    case TN__AARCH64_BRANCH19:
        return bits_of(instruction, 5, 19) * 4;
    case TN__AARCH64_BRANCH14:
        return bits_of(instruction, 5, 14) * 4;
    case TN__AARCH64_LO12_ANY:
        return (int64_t)imm12 * encoder->unit_of(at);
    case TN__AARCH64_HI12:
        return (int64_t)imm12 << 12;
    default:
        return imm12;
    }
}

static inline int64_t take_addend(const uint8_t *bytes, bool is_code, uint64_t offset, const struct tn__row *row,
                                  uint32_t *type)
{
    (void)is_code;
    const uint8_t *at = bytes + offset;
    if (row->field >= TN__FIELDS)
        return addend_of(row->field, at);
    int64_t addend = tn__coff_number(at, row->size);
    return *type == REL32 ? addend - 4 : addend; /* it counts from the end of the field */
}

static uint64_t convert(const struct tn__coff_records *records, struct tn__reloc *out)
{
    return tn__coff_convert(records, out, rows, TN_COUNT(rows), take_addend);
}

static const struct tn__coff_details details = {.types = TN_COUNT(rows), .convert = convert};

const struct tn_format tn_format_coff_aarch64 = {
    .name = "coff-aarch64",
    .reader = &tn__reader_coff,
    .arch = &tn__arch_aarch64,
    .machine = 0xaa64,
    .rows = rows,
    .row_count = TN_COUNT(rows),
    .details = &details,
    .steps = &tn__steps_coff,
};
