/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bytes of x86-64 instructions, by the rows of rows.def. */

#ifndef TENON_BASELINE_X86_64_ENCODE_H
#define TENON_BASELINE_X86_64_ENCODE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

enum tn__x64_form { TN__X64_RM, TN__X64_MR, TN__X64_RMI, TN__X64_M, TN__X64_MI, TN__X64_MB, TN__X64_MC, TN__X64_N };

enum tn__x64_op {
#define ROW(name, mnemonic, form, extension, reg, rm, sizes, opcode) TN__X64_##name,
#include "baseline/x86_64/rows.def"
#undef ROW
    TN__X64_OPS
};

struct tn__x64_row {
    const char *mnemonic;
    uint8_t form, extension;
    char reg, rm;
    uint8_t sizes;
    uint32_t opcode;
};
extern const struct tn__x64_row tn__x64_rows[TN__X64_OPS];

/* General registers have the numbers of the encoding; xmm registers follow them. */
enum {
    TN__RAX = 0,
    TN__RCX,
    TN__RDX,
    TN__RBX,
    TN__RSP,
    TN__RBP,
    TN__RSI,
    TN__RDI,
    TN__R8,
    TN__R9,
    TN__R10,
    TN__R11,
    TN__R12,
    TN__R13,
    TN__R14,
    TN__R15,
    TN__XMM0,
    TN__XMM15 = TN__XMM0 + 15,
    TN__X64_REGISTERS,
    TN__NO_REGISTER = 0xff
};

/* Conditions, as the last bits of jcc, setcc and cmovcc. */
enum {
    TN__CC_O = 0,
    TN__CC_B = 2,
    TN__CC_AE = 3,
    TN__CC_E = 4,
    TN__CC_NE = 5,
    TN__CC_BE = 6,
    TN__CC_A = 7,
    TN__CC_S = 8,
    TN__CC_P = 10,
    TN__CC_NP = 11,
    TN__CC_L = 12,
    TN__CC_GE = 13,
    TN__CC_LE = 14,
    TN__CC_G = 15
};

/* A register, or memory at [base + index * scale + disp]; without a base, at disp from a symbol. */
struct tn__x64_rm {
    bool is_memory;
    uint8_t base;  /* or the register */
    uint8_t index; /* TN__NO_REGISTER: none */
    uint8_t scale; /* log2 of it */
    int32_t disp;
    uint32_t symbol; /* of no meaning here */
};

enum { TN__X64_LONGEST = 16 };

/* Writes an instruction of at most TN__X64_LONGEST bytes and returns its end. `reg` is of no use in M forms;
 * `immediate` is one that the size has. For memory without a base, *field is where the 32 bits of its distance from the
 * end of the instruction have to be. */
uint8_t *tn__x64_put(uint8_t *at, enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm,
                     int32_t immediate, uint8_t **field);

/* Those that no row describes. */
uint8_t *tn__x64_put_constant(uint8_t *at, unsigned reg, uint64_t value); /* leaves the flags alone */
uint8_t *tn__x64_put_setcc(uint8_t *at, unsigned cc, unsigned reg);
uint8_t *tn__x64_put_cmov(uint8_t *at, unsigned cc, unsigned size, unsigned reg, struct tn__x64_rm rm);
uint8_t *tn__x64_put_bswap(uint8_t *at, unsigned size, unsigned reg);

static inline struct tn__x64_rm tn__x64_register(unsigned reg)
{
    return (struct tn__x64_rm){.base = (uint8_t)reg, .index = TN__NO_REGISTER};
}

static inline struct tn__x64_rm tn__x64_memory(unsigned base, int32_t disp)
{
    return (struct tn__x64_rm){.is_memory = true, .base = (uint8_t)base, .index = TN__NO_REGISTER, .disp = disp};
}

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
