/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64: the fields of instructions (Arm Architecture Reference Manual for A-profile, C6.2 and C7.2; which bits of a
 * value each takes: AAELF64, "Static AArch64 relocations"). */

#include "link/arch/aarch64/aarch64.h"

/* Replaces `width` bits from bit `first` on. */
static void put_bits(uint8_t *at, uint64_t value, unsigned first, unsigned width)
{
    uint32_t mask = ((1u << width) - 1) << first;
    tn__put32(at, (tn__get32(at) & ~mask) | ((uint32_t)value << first & mask));
}

/* ---- adr, adrp: immlo is bits 30..29, immhi bits 23..5 ---- */

static void put_adr(uint8_t *at, uint64_t value)
{
    put_bits(at, value, 29, 2);
    put_bits(at, value >> 2, 5, 19);
}

static void put_adrp(uint8_t *at, uint64_t value)
{
    put_adr(at, value >> 12);
}

/* ---- imm12 in bits 21..10: of add, and of loads and stores, which count in what they move ---- */

static void put_imm12(uint8_t *at, uint64_t value)
{
    put_bits(at, value, 10, 12);
}

static void put_hi12(uint8_t *at, uint64_t value)
{
    put_imm12(at, value >> 12);
}

static void put_lo12_2(uint8_t *at, uint64_t value)
{
    put_imm12(at, (value & 0xfff) >> 1);
}

static void put_lo12_4(uint8_t *at, uint64_t value)
{
    put_imm12(at, (value & 0xfff) >> 2);
}

static void put_lo12_8(uint8_t *at, uint64_t value)
{
    put_imm12(at, (value & 0xfff) >> 3);
}

static void put_lo12_16(uint8_t *at, uint64_t value)
{
    put_imm12(at, (value & 0xfff) >> 4);
}

static void put_lo15_8(uint8_t *at, uint64_t value)
{
    put_imm12(at, value >> 3);
}

/* "Load/store register (unsigned immediate)" has 111.01 in bits 29..24, with the size in bits 31..30; vector registers
 * (bit 26) of 16 bytes have size 0 and bit 23. Everything else counts in bytes. */
static uint32_t unit_of(const uint8_t *at)
{
    uint32_t instruction = tn__get32(at);
    if ((instruction & 0x3b000000) != 0x39000000)
        return 1;
    return (instruction & 0xc4800000) == 0x04800000 ? 16 : 1u << (instruction >> 30);
}

static void put_lo12_any(uint8_t *at, uint64_t value)
{
    put_imm12(at, (value & 0xfff) / unit_of(at));
}

/* ---- movz, movk, movn: imm16 is bits 20..5 ---- */

static void put_movw_g0(uint8_t *at, uint64_t value)
{
    put_bits(at, value, 5, 16);
}

static void put_movw_g1(uint8_t *at, uint64_t value)
{
    put_movw_g0(at, value >> 16);
}

static void put_movw_g2(uint8_t *at, uint64_t value)
{
    put_movw_g0(at, value >> 32);
}

static void put_movw_g3(uint8_t *at, uint64_t value)
{
    put_movw_g0(at, value >> 48);
}

/* The opcode is bits 30..29: 0 movn, which stores the complement, 2 movz, 3 movk, which stays what it is. */
static void put_movs_g0(uint8_t *at, uint64_t value)
{
    enum { KEEPS = 1u << 29, ZEROES = 1u << 30, NEGATIVE = 1u << 16 };
    uint32_t instruction = tn__get32(at);
    bool negative = !(instruction & KEEPS) && value & NEGATIVE;
    if (!(instruction & KEEPS))
        tn__put32(at, negative ? instruction & ~ZEROES : instruction | ZEROES);
    put_movw_g0(at, negative ? ~value : value);
}

static void put_movs_g1(uint8_t *at, uint64_t value)
{
    put_movs_g0(at, value >> 16);
}

static void put_movs_g2(uint8_t *at, uint64_t value)
{
    put_movs_g0(at, value >> 32);
}

/* ---- branches ---- */

static void put_branch14(uint8_t *at, uint64_t value)
{
    put_bits(at, value >> 2, 5, 14);
}

static void put_branch19(uint8_t *at, uint64_t value)
{
    put_bits(at, value >> 2, 5, 19);
}

static void put_branch26(uint8_t *at, uint64_t value)
{
    put_bits(at, value >> 2, 0, 26);
}

#define FIELD(field) [TN__AARCH64_##field - TN__FIELDS]

const struct tn__encoder tn__aarch64_encoders[] = {
    FIELD(ADR) = {"adr", put_adr},
    FIELD(ADRP) = {"adrp", put_adrp, .unit = 4096},
    FIELD(LO12) = {"lo12", put_imm12},
    FIELD(HI12) = {"hi12", put_hi12},
    FIELD(LO12_2) = {"lo12/2", put_lo12_2, .unit = 2},
    FIELD(LO12_4) = {"lo12/4", put_lo12_4, .unit = 4},
    FIELD(LO12_8) = {"lo12/8", put_lo12_8, .unit = 8},
    FIELD(LO12_16) = {"lo12/16", put_lo12_16, .unit = 16},
    FIELD(LO15_8) = {"lo15/8", put_lo15_8, .unit = 8},
    FIELD(LO12_ANY) = {"lo12/any", put_lo12_any, .unit_of = unit_of},
    FIELD(MOVW_G0) = {"movw0", put_movw_g0},
    FIELD(MOVW_G1) = {"movw1", put_movw_g1},
    FIELD(MOVW_G2) = {"movw2", put_movw_g2},
    FIELD(MOVW_G3) = {"movw3", put_movw_g3},
    FIELD(MOVS_G0) = {"movs0", put_movs_g0},
    FIELD(MOVS_G1) = {"movs1", put_movs_g1},
    FIELD(MOVS_G2) = {"movs2", put_movs_g2},
    FIELD(BRANCH14) = {"branch14", put_branch14, .unit = 4},
    FIELD(BRANCH19) = {"branch19", put_branch19, .unit = 4},
    FIELD(BRANCH26) = {"branch26", put_branch26, .unit = 4},
};
