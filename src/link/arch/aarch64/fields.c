/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64: the fields of instructions (Arm Architecture Reference Manual for A-profile, C6.2 and C7.2; which bits of a
 * value each takes: AAELF64, "Static AArch64 relocations"). */

#include "link/arch/aarch64/aarch64.h"

/* "Load/store register (unsigned immediate)" has 111.01 in bits 29..24, with the size in bits 31..30; vector registers
 * (bit 26) of 16 bytes have size 0 and bit 23. Everything else counts in bytes. As a power of two. */
static unsigned scale_of(uint32_t instruction)
{
    if ((instruction & 0x3b000000) != 0x39000000)
        return 0;
    return (instruction & 0xc4800000) == 0x04800000 ? 4 : instruction >> 30;
}

static uint32_t unit_of(const uint8_t *at)
{
    return 1u << scale_of(tn__get32(at));
}

static bool put_lo12_any(uint8_t *at, uint64_t value)
{
    enum { SHIFT = 10, MASK = 0xfff };
    uint32_t instruction = tn__get32(at), low = value & MASK;
    unsigned scale = scale_of(instruction);
    tn__put32(at, (instruction & ~(uint32_t)(MASK << SHIFT)) | low >> scale << SHIFT);
    return low >> scale << scale == low;
}

/* ---- movz, movk, movn: imm16 is bits 20..5 ---- */

/* The opcode is bits 30..29: 0 movn, which stores the complement, 2 movz, 3 movk, which stays what it is. */
static bool put_movs_g0(uint8_t *at, uint64_t value)
{
    enum { KEEPS = 1u << 29, ZEROES = 1u << 30, NEGATIVE = 1u << 16 };
    uint32_t instruction = tn__get32(at);
    bool negative = !(instruction & KEEPS) && value & NEGATIVE;
    if (!(instruction & KEEPS))
        tn__put32(at, negative ? instruction & ~ZEROES : instruction | ZEROES);
    return tn__encode(&tn__aarch64_encoders[TN__AARCH64_MOVW_G0 - TN__FIELDS], at, negative ? ~value : value);
}

static bool put_movs_g1(uint8_t *at, uint64_t value)
{
    return put_movs_g0(at, value >> 16);
}

static bool put_movs_g2(uint8_t *at, uint64_t value)
{
    return put_movs_g0(at, value >> 32);
}

#define FIELD(field) [TN__AARCH64_##field - TN__FIELDS]
/* adr, adrp: immlo is bits 30..29, immhi bits 23..5. */
#define ADR(shift) TN__BITS2(shift, 29, 2, (shift) + 2, 5, 19), .reach = UINT64_C(1) << (20 + (shift))
/* imm12 in bits 21..10: of add, and of loads and stores, which count in what they move. */
#define SCALED(shift)                                                                                                  \
    TN__BITS_KEPT(shift, 10, 12 - (shift)), .clears = TN__MASK(10, 12), .zeros = (1 << (shift)) - 1,                   \
                                            .reach = TN__ANY_VALUE
#define MOVW(shift)      TN__BITS(shift, 5, 16)
#define BRANCH(to, bits) TN__BITS(2, to, bits), .zeros = 3, .reach = 2 << (bits)

const struct tn__encoder tn__aarch64_encoders[] = {
    FIELD(ADR) = {"adr", ADR(0)},
    FIELD(ADRP) = {"adrp", ADR(12), .zeros = 4095},
    FIELD(LO12) = {"lo12", SCALED(0)},
    FIELD(HI12) = {"hi12", TN__BITS(12, 10, 12)},
    FIELD(LO12_2) = {"lo12/2", SCALED(1)},
    FIELD(LO12_4) = {"lo12/4", SCALED(2)},
    FIELD(LO12_8) = {"lo12/8", SCALED(3)},
    FIELD(LO12_16) = {"lo12/16", SCALED(4)},
    FIELD(LO15_8) = {"lo15/8", TN__BITS(3, 10, 12), .zeros = 7},
    FIELD(LO12_ANY) = {"lo12/any", .put = put_lo12_any, .clears = TN__MASK(10, 12), .unit_of = unit_of,
                       .reach = TN__ANY_VALUE},
    FIELD(MOVW_G0) = {"movw0", MOVW(0)},
    FIELD(MOVW_G1) = {"movw1", MOVW(16)},
    FIELD(MOVW_G2) = {"movw2", MOVW(32)},
    FIELD(MOVW_G3) = {"movw3", MOVW(48)},
    FIELD(MOVS_G0) = {"movs0", .put = put_movs_g0},
    FIELD(MOVS_G1) = {"movs1", .put = put_movs_g1},
    FIELD(MOVS_G2) = {"movs2", .put = put_movs_g2},
    FIELD(BRANCH14) = {"branch14", BRANCH(5, 14)},
    FIELD(BRANCH19) = {"branch19", BRANCH(5, 19)},
    FIELD(BRANCH26) = {"branch26", BRANCH(0, 26)},
};
