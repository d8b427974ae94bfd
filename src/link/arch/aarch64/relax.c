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
 * instructions that no compiler gives them. Which groups are rewritten is ld.lld's choice, which makes its bytes ours.
 */

#include "link/arch/aarch64/aarch64.h"

enum { NOP = 0xd503201f, REGISTER = 0x1f, RN = 5 /* the base register's first bit */ };

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
    tn__aarch64_encoders[field - TN__FIELDS].put(at, value);
}

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

/* Another adrp may lead to the load: unless each has its own, none is rewritten. */
static uint64_t relax_got(const struct tn__sequence *code)
{
    const uint64_t page = ~UINT64_C(0xfff);
    uint64_t distance = (code->S & page) - (code->P & page);
    uint32_t target = target_of(code->field);
    if (code->next != TN__AARCH64_GOT_LO12 || code->loose || code->A || !is_pair(code, ldr) ||
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
    return code->next == TN__AARCH64_LO12_ADD && is_pair(code, add) ? write_adr(code, target_of(code->field)) : 0;
}

static void write_distance(const struct tn__sequence *code, uint32_t target)
{
    uint64_t distance = code->S + (uint64_t)code->A;
    put(code->field, movz_lsl16.bits | target, TN__AARCH64_MOVW_G1, distance);
    put(code->field + 4, movk.bits | target, TN__AARCH64_MOVW_G0, distance);
}

static uint64_t relax_initial_exec(const struct tn__sequence *code)
{
    if (code->next != TN__AARCH64_TLSIE_LO12 || !is_pair(code, ldr) || (code->S + (uint64_t)code->A) >> 32)
        return 0;
    write_distance(code, target_of(code->field));
    return 8;
}

/* The convention of descriptors fixes the registers. */
static uint64_t relax_descriptor(const struct tn__sequence *code)
{
    const uint8_t *at = code->field;
    if (code->next != TN__AARCH64_TLSDESC_LO12 || code->after < 16 || (code->S + (uint64_t)code->A) >> 32 ||
        !is(at, adrp) || target_of(at) != 0 || !is(at + 4, ldr) || target_of(at + 4) != 1 || base_of(at + 4) != 0 ||
        !is(at + 8, add) || target_of(at + 8) != 0 || base_of(at + 8) != 0 || !is(at + 12, blr) ||
        base_of(at + 12) != 1)
        return 0;
    write_distance(code, 0);
    tn__put32(code->field + 8, NOP);
    tn__put32(code->field + 12, NOP);
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
        return relax_initial_exec(code);
    case TN__AARCH64_TLSDESC_PAGE:
        return relax_descriptor(code);
    /* The rest of a group that is rewritten: */
    case TN__AARCH64_GOT_LO12:
        return is(at, add) || is(at, adr) ? 4 : 0;
    case TN__AARCH64_LO12_ADD:
        return is(at, adr) ? 4 : 0;
    case TN__AARCH64_TLSDESC_ADD:
        return tn__get32(at) == NOP ? 4 : 0;
    default: /* TN__AARCH64_TLSIE_LO12, TN__AARCH64_TLSDESC_LO12 */
        return is(at, movk) ? 4 : 0;
    }
}
