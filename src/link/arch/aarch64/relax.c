/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64: groups of instructions that load an address or a distance from the GOT and can do without (AAELF64,
 * "Relocation optimization"; "Thread-local storage"), and pairs that one instruction can replace.
 *
 *     adrp xN, :got:s; ldr xN, [xN, :got_lo12:s]          adrp xN, s; add xN, xN, :lo12:s
 *     adrp xN, s; add xN, xN, :lo12:s                     nop; adr xN, s
 *     adrp xN, :gottprel:s; ldr xN, [xN, ...]             movz xN, #:tprel_g1:s, lsl #16; movk xN, #:tprel_g0_nc:s
 *     adrp x0, :tlsdesc:s; ldr x1, [x0, ...];             movz x0, ...; movk x0, ...; nop; nop
 *     add x0, x0, ...; blr x1
 *
 * The first relocation of a group rewrites all of it, if its instructions stand side by side, and the others find
 * instructions that no compiler gives them. Compilers separate the halves of initial-exec code; each is rewritten for
 * itself. Which groups are rewritten is ld.lld's choice, which makes its bytes ours. */

#include "link/arch/aarch64/aarch64.h"

enum { REGISTER = 0x1f, RN = 5 /* the first bit of the base register */ };
static const uint32_t NOP = 0xd503201f;

/* Instructions of 64-bit registers by the bits that do not name registers and immediates. */
struct opcode {
    uint32_t mask, bits;
};
static const struct opcode adrp = {0x9f000000, 0x90000000}, adr = {0x9f000000, 0x10000000},
                           add = {0xffc00000, 0x91000000}, ldr = {0xffc00000, 0xf9400000},
                           movz_lsl16 = {0xffe00000, 0xd2a00000}, movk = {0xffe00000, 0xf2800000},
                           blr = {0xfffffc1f, 0xd63f0000};

static bool is(const uint8_t *at, struct opcode opcode)
{
    return (tn__get32(at) & opcode.mask) == opcode.bits;
}

static uint32_t target_of(const uint8_t *at)
{
    return tn__get32(at) & REGISTER;
}

static uint32_t base_of(const uint8_t *at)
{
    return tn__get32(at) >> RN & REGISTER;
}

static bool fits_signed(uint64_t value, unsigned bits)
{
    return (value + (1ULL << (bits - 1))) >> bits == 0;
}

static void put(uint8_t *at, uint32_t instruction, enum tn__aarch64_field field, uint64_t value)
{
    tn__put32(at, instruction);
    tn__encode(&tn__aarch64_encoders[field - TN__FIELDS], at, value);
}

/* ---- what holds for a whole section ---- */

/* Notes: how often half of a GOT pair stands alone, because another adrp might lead to the load then, or that adrp to
 * another load; and whether an initial-exec load has different registers for the address and the value. */
enum { LONELY = (1 << 30) - 1, TWO_REGISTERS = 1 << 30 };

void tn__aarch64_note(const struct tn__sequence *code, uint32_t *notes)
{
    const uint8_t *at = code->field;
    uint32_t count = 0;
    if (code->form == TN__AARCH64_GOT_PAGE)
        count = code->next == TN__AARCH64_GOT_LO12 ? LONELY : 1; /* less one: the load will count it */
    else if (code->form == TN__AARCH64_GOT_LO12)
        count = 1;
    else if (code->form == TN__AARCH64_TLSIE_LO12 && (!is(at, ldr) || target_of(at) != base_of(at)))
        *notes |= TWO_REGISTERS;
    *notes = (*notes & TWO_REGISTERS) | ((*notes + count) & LONELY);
}

/* ---- rewriting ---- */

/* True if these two stand here: adrp xN; then an instruction that makes xN of xN. */
static bool is_pair(const struct tn__sequence *code, struct opcode second)
{
    const uint8_t *at = code->field;
    return code->after >= 8 && is(at, adrp) && is(at + 4, second) && target_of(at) == target_of(at + 4) &&
           target_of(at) == base_of(at + 4);
}

/* adr reaches 1 MiB. */
static uint64_t write_adr(const struct tn__sequence *code, uint32_t target)
{
    uint64_t distance = code->S + (uint64_t)code->A - (code->P + 4);
    if (!fits_signed(distance, 21))
        return 0;
    tn__put32(code->field, NOP);
    put(code->field + 4, adr.bits | target, TN__AARCH64_ADR, distance);
    return 8;
}

static uint64_t relax_got(const struct tn__sequence *code)
{
    const uint64_t page = ~UINT64_C(0xfff);
    uint64_t distance = (code->S & page) - (code->P & page);
    uint32_t target = target_of(code->field);
    if (code->next != TN__AARCH64_GOT_LO12 || code->notes & LONELY || code->A || !is_pair(code, ldr) ||
        !fits_signed(distance, 33))
        return 0;
    if (write_adr(code, target))
        return 8;
    put(code->field, adrp.bits | target, TN__AARCH64_ADRP, distance);
    put(code->field + 4, add.bits | target | target << RN, TN__AARCH64_LO12, code->S);
    return 8;
}

static uint64_t relax_address(const struct tn__sequence *code)
{
    return code->next == TN__AARCH64_LO12_ADD && !code->A && is_pair(code, add)
               ? write_adr(code, target_of(code->field))
               : 0;
}

static uint64_t relax_initial_exec(const struct tn__sequence *code)
{
    uint8_t *at = code->field;
    uint64_t distance = code->S + (uint64_t)code->A;
    bool first = code->form == TN__AARCH64_TLSIE_PAGE;
    if (code->notes & TWO_REGISTERS || distance >> 32 || !is(at, first ? adrp : ldr))
        return 0;
    put(at, (first ? movz_lsl16.bits : movk.bits) | target_of(at), first ? TN__AARCH64_MOVW_G1 : TN__AARCH64_MOVW_G0,
        distance);
    return 4;
}

/* The convention of descriptors fixes the registers. */
static uint64_t relax_descriptor(const struct tn__sequence *code)
{
    uint8_t *at = code->field;
    uint64_t distance = code->S + (uint64_t)code->A;
    if (code->next != TN__AARCH64_TLSDESC_LO12 || code->after < 16 || distance >> 32 || !is(at, adrp) ||
        target_of(at) != 0 || !is(at + 4, ldr) || target_of(at + 4) != 1 || base_of(at + 4) != 0 || !is(at + 8, add) ||
        target_of(at + 8) != 0 || base_of(at + 8) != 0 || !is(at + 12, blr) || base_of(at + 12) != 1)
        return 0;
    put(at, movz_lsl16.bits, TN__AARCH64_MOVW_G1, distance);
    put(at + 4, movk.bits, TN__AARCH64_MOVW_G0, distance);
    tn__put32(at + 8, NOP);
    tn__put32(at + 12, NOP);
    return 16;
}

uint64_t tn__aarch64_relax(const struct tn__sequence *code)
{
    const uint8_t *at = code->field;
    switch (code->form) {
    case TN__AARCH64_GOT_PAGE:
        return relax_got(code);
    case TN__AARCH64_PAGE:
        return relax_address(code);
    case TN__AARCH64_TLSIE_PAGE:
    case TN__AARCH64_TLSIE_LO12:
        return relax_initial_exec(code);
    case TN__AARCH64_TLSDESC_PAGE:
        return relax_descriptor(code);
    /* The rest of a group that is rewritten: */
    case TN__AARCH64_TLSDESC_ADD:
        return tn__get32(at) == NOP ? 4 : 0;
    default: /* TN__AARCH64_TLSDESC_LO12 */
        return is(at, movk) ? 4 : 0;
    }
}
