/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where RISC-V instructions have their immediates: The RISC-V Instruction Set Manual, Volume I, "Immediate Encoding
 * Variants" and "Compressed Instruction Formats". */

#include "link/arch/riscv64/riscv64.h"

/* The bits `high` to `low` of a value, moved to begin at `to`. */
static uint32_t bits(uint64_t value, unsigned high, unsigned low, unsigned to)
{
    return (uint32_t)(value >> low & ((1U << (high - low + 1)) - 1)) << to;
}

static void put32(uint8_t *at, uint32_t mask, uint32_t field)
{
    tn__put32(at, (tn__get32(at) & ~mask) | field);
}

static void put16(uint8_t *at, uint32_t mask, uint32_t field)
{
    tn__put16(at, (uint16_t)((tn__get16(at) & ~mask) | field));
}

static bool put_branch(uint8_t *at, uint64_t v)
{
    put32(at, 0xfe000f80, bits(v, 12, 12, 31) | bits(v, 10, 5, 25) | bits(v, 4, 1, 8) | bits(v, 11, 11, 7));
    return true;
}

static bool put_jal(uint8_t *at, uint64_t v)
{
    put32(at, 0xfffff000, bits(v, 20, 20, 31) | bits(v, 10, 1, 21) | bits(v, 11, 11, 20) | bits(v, 19, 12, 12));
    return true;
}

static void put_high(uint8_t *at, uint64_t v)
{
    put32(at, 0xfffff000, (uint32_t)(v + 0x800) & 0xfffff000);
}

static void put_low_i(uint8_t *at, uint64_t v)
{
    put32(at, 0xfff00000, bits(v, 11, 0, 20));
}

static bool put_call(uint8_t *at, uint64_t v)
{
    put_high(at, v);
    put_low_i(at + 4, v);
    return true;
}

static bool put_rvc_branch(uint8_t *at, uint64_t v)
{
    put16(at, 0x1c7c, bits(v, 8, 8, 12) | bits(v, 4, 3, 10) | bits(v, 7, 6, 5) | bits(v, 2, 1, 3) | bits(v, 5, 5, 2));
    return true;
}

static bool put_rvc_jump(uint8_t *at, uint64_t v)
{
    put16(at, 0x1ffc,
          bits(v, 11, 11, 12) | bits(v, 4, 4, 11) | bits(v, 9, 8, 9) | bits(v, 10, 10, 8) | bits(v, 6, 6, 7) |
              bits(v, 7, 7, 6) | bits(v, 3, 1, 3) | bits(v, 5, 5, 2));
    return true;
}

static bool put_low6(uint8_t *at, uint64_t v)
{
    *at = (uint8_t)((*at & 0xc0) | (v & 0x3f));
    return true;
}

static bool put_dtprel32(uint8_t *at, uint64_t v)
{
    tn__put32(at, (uint32_t)(v - TN__RISCV64_DTP_BIAS));
    return true;
}

static bool put_dtprel64(uint8_t *at, uint64_t v)
{
    tn__put64(at, v - TN__RISCV64_DTP_BIAS);
    return true;
}

#define FIELD(field) [TN__RISCV64_##field - TN__FIELDS]
#define REACH(bits)  .reach = UINT64_C(1) << ((bits)-1)
#define ANY          .reach = TN__ANY_VALUE
const struct tn__encoder tn__riscv64_encoders[] = {
    FIELD(BRANCH) = {"branch", .put = put_branch, .zeros = 1, REACH(13)},
    FIELD(JAL) = {"jal", .put = put_jal, .zeros = 1, REACH(21)},
    FIELD(HI20) = {"hi20", TN__BITS(12, 12, 20), .plus = 0x800, REACH(32)},
    FIELD(LO12_I) = {"lo12i", TN__BITS(0, 20, 12), ANY},
    FIELD(LO12_S) = {"lo12s", TN__BITS2(5, 25, 7, 0, 7, 5), ANY},
    FIELD(CALL) = {"call", .put = put_call, .plus = 0x800, REACH(32)},
    FIELD(RVC_BRANCH) = {"cb", .put = put_rvc_branch, .zeros = 1, REACH(9)},
    FIELD(RVC_JUMP) = {"cj", .put = put_rvc_jump, .zeros = 1, REACH(12)},
    FIELD(LOW6) = {"low6", .put = put_low6, ANY},
    FIELD(DTPREL32) = {"dtprel32", .put = put_dtprel32, ANY},
    FIELD(DTPREL64) = {"dtprel64", .put = put_dtprel64, ANY},
};
