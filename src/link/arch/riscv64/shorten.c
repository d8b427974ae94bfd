/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V code that becomes shorter (RISC-V ELF psABI, chapter "Linker Relaxation"). Assemblers leave the longest form
 * of each instruction and as much padding as an alignment can ever take. Forms that need the global pointer are left
 * alone: loaded code has none. What is shortened, and to which of equivalent encodings, is ld.lld's choice. */

#include "link/arch/riscv64/riscv64.h"

enum { CALL = 8, INSTRUCTION = 4, COMPRESSED = 2 };
enum { R_JAL = 17, R_RVC_JUMP = 45 };                     /* relocation types */
enum { X0 = 0, TP = 4 };                                  /* registers */
enum { JAL = 0x6f, C_J = 0xa001, NOP = 0x13, C_NOP = 1 }; /* instructions without their operands */
enum { RD_SHIFT = 7, RS1_SHIFT = 15, REGISTER = 31 };

static bool fits_signed(uint64_t value, unsigned bits)
{
    return (value + (1ULL << (bits - 1))) >> bits == 0;
}

/* Where a call's return address goes. */
static uint32_t link_register(const struct tn__short *code)
{
    return tn__get32(code->bytes + INSTRUCTION) >> RD_SHIFT & REGISTER;
}

static uint64_t call_size(const struct tn__short *code)
{
    uint64_t distance = code->S + (uint64_t)code->A - code->P;
    if (!code->permitted || distance % 2)
        return CALL;
    if (code->variant & TN__RISCV64_COMPRESSED && link_register(code) == X0 && fits_signed(distance, 12))
        return COMPRESSED;
    return fits_signed(distance, 21) ? INSTRUCTION : CALL;
}

/* True if the 12 bits of the second instruction are enough. */
static bool is_small(const struct tn__short *code)
{
    return code->permitted && fits_signed(code->S + (uint64_t)code->A, 12);
}

/* The assembler has put in padding for every place that the code may come to, in units of instructions. Behind bytes of
 * data in code, the place may be odd. */
static bool measure_padding(struct tn__short *code)
{
    uint64_t most = (uint64_t)code->A, alignment = COMPRESSED;
    if (most > code->left || most % 2)
        return false;
    while (alignment < most + COMPRESSED)
        alignment *= 2;
    code->span = most;
    code->size = tn__align_up(code->P, alignment) - code->P;
    return code->size <= most;
}

static bool measure(struct tn__short *code)
{
    if (code->form == TN__RISCV64_PADDING)
        return measure_padding(code);
    code->span = code->form == TN__RISCV64_NEAR_CALL ? CALL : INSTRUCTION;
    if (code->span > code->left)
        return false;
    bool high = code->form == TN__RISCV64_HIGH || code->form == TN__RISCV64_TLS_HIGH;
    code->size = code->form == TN__RISCV64_NEAR_CALL ? call_size(code) : high && is_small(code) ? 0 : INSTRUCTION;
    return true;
}

/* Padding that keeps its size stays what the assembler has written. */
static void write_padding(const struct tn__short *code, uint8_t *out)
{
    uint64_t left = code->size;
    if (code->size == code->span) {
        memcpy(out, code->bytes, code->size);
        return;
    }
    for (; left >= INSTRUCTION; left -= INSTRUCTION, out += INSTRUCTION)
        tn__put32(out, NOP);
    if (left >= COMPRESSED)
        tn__put16(out, C_NOP);
    if (left % COMPRESSED) /* one byte, as ld.lld has it, which is no instruction */
        out[left - 1] = left == 1 ? C_NOP : 0;
}

static uint32_t write_call(const struct tn__short *code, uint8_t *out)
{
    switch (code->size) {
    case COMPRESSED:
        tn__put16(out, C_J);
        return R_RVC_JUMP;
    case INSTRUCTION:
        tn__put32(out, JAL | link_register(code) << RD_SHIFT);
        return R_JAL;
    default:
        memcpy(out, code->bytes, CALL);
        return code->type;
    }
}

static uint32_t write(const struct tn__short *code, uint8_t *out)
{
    if (code->form == TN__RISCV64_PADDING) {
        write_padding(code, out);
        return 0;
    }
    if (code->form == TN__RISCV64_NEAR_CALL)
        return write_call(code, out);
    if (!code->size)
        return 0;
    uint32_t instruction = tn__get32(code->bytes), base = code->form == TN__RISCV64_TLS_LOW ? TP : X0;
    bool low = code->form == TN__RISCV64_LOW || code->form == TN__RISCV64_TLS_LOW;
    if (low && is_small(code))
        instruction = (instruction & ~((uint32_t)REGISTER << RS1_SHIFT)) | base << RS1_SHIFT;
    tn__put32(out, instruction);
    return code->type;
}

const struct tn__shortener tn__riscv64_shortener = {TN__RISCV64_PADDING, TN__RISCV64_PADDING, measure, write};

/* An address that is out of reach from its place, but not from zero: that of an undefined weak symbol, say. */
uint64_t tn__riscv64_relax(const struct tn__sequence *code)
{
    enum { AUIPC = 0x17, LUI = 0x37, OPCODE = 0x7f, ROUND = 0x800 };
    uint64_t address = code->S + (uint64_t)code->A;
    if (code->form != TN__RISCV64_PAIR || (*code->field & OPCODE) != AUIPC ||
        fits_signed(address - code->P + ROUND, 32) || !fits_signed(address + ROUND, 32))
        return 0;
    uint32_t target = tn__get32(code->field) & REGISTER << RD_SHIFT;
    tn__put32(code->field, LUI | target | ((uint32_t)(address + ROUND) & 0xfffff000));
    return 4;
}
