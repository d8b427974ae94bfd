/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The formats of instructions: Intel's manual, volume 2, chapter 2. */

#include "baseline/x86_64/encode.h"

const struct tn__x64_row tn__x64_rows[TN__X64_OPS] = {
#define ROW(name, mnemonic, form, extension, reg, rm, sizes, opcode)                                                   \
    {mnemonic, TN__X64_##form, extension, reg, rm, sizes, opcode},
#include "baseline/x86_64/rows.def"
#undef ROW
};

enum { REX = 0x40, REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, NO_BASE = 5, SIB = 4, NO_INDEX = 4 };

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    tn__put32(at, value);
    return at + 4;
}

/* spl to dil are bytes of their registers only after a REX; without one the numbers mean ah to bh. */
static unsigned rex_of_byte(char class, unsigned size, unsigned reg)
{
    bool is_byte = class == 'b' || (class == 'v' && size == 1);
    return is_byte && reg >= TN__RSP && reg <= TN__RDI ? REX : 0;
}

static uint8_t *put_opcode(uint8_t *at, uint32_t opcode, unsigned rex)
{
    if (opcode >> 16)
        *at++ = (uint8_t)(opcode >> 16);
    if (rex)
        *at++ = (uint8_t)(REX | rex);
    if (opcode >> 8 & 0xff)
        *at++ = (uint8_t)(opcode >> 8);
    *at++ = (uint8_t)opcode;
    return at;
}

static uint8_t *put_memory(uint8_t *at, unsigned reg, struct tn__x64_rm rm, uint8_t **field)
{
    unsigned base = rm.base & 7, middle = (reg & 7) << 3;
    if (rm.base == TN__NO_REGISTER) {
        *at++ = (uint8_t)(middle | NO_BASE);
        *field = at;
        return put32(at, (uint32_t)rm.disp);
    }
    bool has_sib = rm.index != TN__NO_REGISTER || base == SIB;
    bool is_short = rm.disp == (int8_t)rm.disp;
    unsigned mode = rm.disp == 0 && base != NO_BASE ? 0 : is_short ? 1 : 2;
    *at++ = (uint8_t)(mode << 6 | middle | (has_sib ? SIB : base));
    if (has_sib) {
        unsigned index = rm.index == TN__NO_REGISTER ? NO_INDEX : rm.index & 7;
        *at++ = (uint8_t)(rm.scale << 6 | index << 3 | base);
    }
    if (mode == 1)
        *at++ = (uint8_t)rm.disp;
    return mode == 2 ? put32(at, (uint32_t)rm.disp) : at;
}

/* What ModRM, SIB and REX say of both operands. */
static unsigned rex_of(unsigned reg, struct tn__x64_rm rm)
{
    unsigned rex = reg >> 3 & 1 ? REX_R : 0;
    if (rm.is_memory && rm.index != TN__NO_REGISTER && rm.index >> 3 & 1)
        rex |= REX_X;
    if (rm.base != TN__NO_REGISTER && rm.base >> 3 & 1)
        rex |= REX_B;
    return rex;
}

static uint8_t *put_operands(uint8_t *at, unsigned reg, struct tn__x64_rm rm, uint8_t **field)
{
    if (rm.is_memory)
        return put_memory(at, reg, rm, field);
    *at++ = (uint8_t)(3 << 6 | (reg & 7) << 3 | (rm.base & 7));
    return at;
}

static uint8_t *put_immediate(uint8_t *at, unsigned size, int32_t immediate)
{
    if (size == 1) {
        *at++ = (uint8_t)immediate;
        return at;
    }
    if (size == 2) {
        tn__put16(at, (uint16_t)immediate);
        return at + 2;
    }
    return put32(at, (uint32_t)immediate);
}

/* The opcode that the row's one becomes if the immediate is a byte, which is extended; 0: there is none. */
static uint32_t opcode_of_byte(const struct tn__x64_row *row, unsigned size, int32_t immediate)
{
    if (size == 1 || immediate != (int8_t)immediate)
        return 0;
    return row->opcode == 0x81 ? 0x83 : row->opcode == 0x69 ? 0x6b : 0;
}

uint8_t *tn__x64_put(uint8_t *at, enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm,
                     int32_t immediate, uint8_t **field)
{
    const struct tn__x64_row *row = &tn__x64_rows[op];
    uint32_t opcode = row->opcode, of_byte = 0;
    unsigned rex = size == 8 ? REX_W : 0;
    if (row->form == TN__X64_N)
        return put_opcode(at, opcode, 0);
    if (row->form >= TN__X64_M)
        reg = row->extension;
    else
        rex |= rex_of_byte(row->reg, size, reg);
    if (!rm.is_memory)
        rex |= rex_of_byte(row->rm, size, rm.base);
    if (row->form == TN__X64_MI || row->form == TN__X64_RMI)
        of_byte = opcode_of_byte(row, size, immediate);
    if (of_byte)
        opcode = of_byte;
    if (size == 1)
        opcode &= ~1u;
    if (size == 2)
        *at++ = 0x66;
    at = put_opcode(at, opcode, rex | rex_of(reg, rm));
    at = put_operands(at, reg, rm, field);
    if (row->form == TN__X64_MB || of_byte)
        return put_immediate(at, 1, immediate);
    return row->form == TN__X64_MI || row->form == TN__X64_RMI ? put_immediate(at, size, immediate) : at;
}

uint8_t *tn__x64_put_constant(uint8_t *at, unsigned reg, uint64_t value)
{
    unsigned rex = reg >> 3 ? REX_B : 0;
    if (value <= UINT32_MAX) {
        at = put_opcode(at, 0xb8 | (reg & 7), rex);
        return put32(at, (uint32_t)value);
    }
    if ((int64_t)value == (int32_t)value)
        return tn__x64_put(at, TN__X64_MOV_MI, 8, 0, tn__x64_register(reg), (int32_t)value, NULL);
    at = put_opcode(at, 0xb8 | (reg & 7), rex | REX_W);
    tn__put64(at, value);
    return at + 8;
}

uint8_t *tn__x64_put_setcc(uint8_t *at, unsigned cc, unsigned reg)
{
    struct tn__x64_rm rm = tn__x64_register(reg);
    at = put_opcode(at, 0x0f90 | cc, rex_of_byte('b', 1, reg) | rex_of(0, rm));
    return put_operands(at, 0, rm, NULL);
}

uint8_t *tn__x64_put_cmov(uint8_t *at, unsigned cc, unsigned size, unsigned reg, struct tn__x64_rm rm)
{
    at = put_opcode(at, 0x0f40 | cc, (size == 8 ? REX_W : 0) | rex_of(reg, rm));
    return put_operands(at, reg, rm, NULL);
}

uint8_t *tn__x64_put_bswap(uint8_t *at, unsigned size, unsigned reg)
{
    return put_opcode(at, 0x0fc8 | (reg & 7), (size == 8 ? REX_W : 0) | (reg >> 3 ? REX_B : 0));
}
