/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V with 64 bits: RISC-V ELF psABI Specification. */

#include "link/arch/riscv64/riscv64.h"

/* ---- shorter code ---- */

/* RISC-V code that becomes shorter (RISC-V ELF psABI, chapter "Linker Relaxation"). Assemblers leave the longest form
 * of each instruction and as much padding as an alignment can ever take. Forms that need the global pointer are left
 * alone: loaded code has none. What is shortened, and to which of equivalent encodings, is ld.lld's choice. */

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

/* The assembler has inserted enough padding for any place at which the code may end up, in units of instructions. After
 * bytes of data in code, that place may be odd. */
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

static const struct tn__shortener riscv64_shortener = {TN__RISCV64_PADDING, TN__RISCV64_PADDING, measure, write};

/* An address that is out of reach from its place, but not from zero: that of an undefined weak symbol, say. */
static uint64_t riscv64_relax(const struct tn__sequence *code)
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

/* ---- fields ---- */

/* Where RISC-V instructions have their immediates: The RISC-V Instruction Set Manual, Volume I, "Immediate Encoding
 * Variants" and "Compressed Instruction Formats". */

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
/* By number, from TN__FIELDS on. */
static const struct tn__encoder riscv64_encoders[] = {
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

/* ---- the architecture ---- */

/* auipc t3, %pcrel_hi(slot); ld t3, %pcrel_lo(t3); jr t3; unimp. As in a PLT, t3 is free between caller
 * and callee. */
static void write_stub(uint8_t *out, uint64_t address, uint64_t slot)
{
    uint32_t distance = (uint32_t)(slot - address);
    tn__put32(out, 0x00000e17 | ((distance + 0x800) & 0xfffff000));
    tn__put32(out + 4, 0x000e3e03 | distance << 20);
    tn__put32(out + 8, 0x000e0067);
    tn__put32(out + 12, 0);
}

/* Compressed instructions and total store order are no matter of the caller. */
static const struct tn__convention conventions[] = {
    {TN__RISCV64_QUAD, "floating-point ABI", {"soft", "single", "double", "quad"}},
    {TN__RISCV64_RVE, "register file", {"RVI", "RVE"}},
    {0},
};

const struct tn__arch tn__arch_riscv64 = {
    .name = "RISC-V 64",
    .triple = "riscv64-unknown-linux-gnu",
    .elf_machine = 243,
    .encoders = riscv64_encoders,
    .dynamic_types = {[TN__DYNAMIC_RELATIVE] = 3,
                      [TN__DYNAMIC_SLOT] = 2,
                      [TN__DYNAMIC_IMPORT] = 2,
                      [TN__DYNAMIC_TLS_MODULE] = 7,
                      [TN__DYNAMIC_TLS_OFFSET] = 11,
                      [TN__DYNAMIC_TLS_IMPORT] = 11,
                      [TN__DYNAMIC_TLS_DESC] = 12,
                      [TN__DYNAMIC_TLS_DESC_IMPORT] = 12,
                      [TN__DYNAMIC_INDIRECT] = 58},
    .branch_reach = INT32_MAX - 4096,
    .tls_above = true,
    .tls_index_bias = TN__RISCV64_DTP_BIAS,
    .relax = riscv64_relax,
    .shortener = &riscv64_shortener,
    .conventions = conventions,
    .stub_size = 16,
    .write_stub = write_stub,
};
