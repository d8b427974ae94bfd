/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* x86-64: instructions that load from the GOT and can do without (psABI 1.0, B.2 "Optimize GOTPCRELX Relocations"; 11.1
 * "Initial Exec to Local Exec" of Drepper's "ELF Handling For Thread-Local Storage"). Loaded code has its final
 * address, so the forms for position-dependent programs are open to it too.
 *
 * Which of equivalent encodings is taken is ld.lld's choice, which makes its bytes ours. Instructions are recognised
 * exactly: a relocation says what the compiler promises, not what stands there. */

#include "link/arch/x86_64/x86_64.h"

enum { REX_R = 4, REX_B = 1, REX2_R = 0x44, REX2_B = 0x11 };

/* The instruction whose displacement is at `field`. */
struct load {
    uint8_t *field;
    uint64_t before; /* bytes of the section before it */
    uint8_t *prefix; /* the REX byte or the payload of a REX2 prefix; NULL if there is none that may be changed */
    uint8_t opcode, modrm;
    uint8_t r_bits, b_bits; /* of the prefix: where the fourth (and fifth) bit of a register's number stand */
};

static bool fits_signed(uint64_t value)
{
    return (uint64_t)(int64_t)(int32_t)value == value;
}

static uint8_t register_of(const struct load *load)
{
    return load->modrm >> 3 & 7;
}

/* Writes an instruction that has the register as its operand instead of a memory operand. */
static void write_immediate(const struct load *load, uint8_t opcode, uint8_t modrm, uint64_t value)
{
    uint8_t r = *load->prefix & load->r_bits;
    *load->prefix = (uint8_t)((*load->prefix & ~load->r_bits) | r >> 2); /* from the R bits to the B bits */
    load->field[-2] = opcode;
    load->field[-1] = modrm;
    tn__put32(load->field, (uint32_t)value);
}

/* ---- GOTPCRELX ---- */

/* An opcode of two bytes with its displacement. */
static void write_relative(uint8_t *at, uint8_t first, uint8_t second, uint64_t displacement)
{
    at[0] = first;
    at[1] = second;
    tn__put32(at + 2, (uint32_t)displacement);
}

/* One of one byte, filled up with a nop; it ends a byte earlier. */
static void write_branch(uint8_t *at, uint8_t opcode, uint64_t displacement)
{
    at[0] = opcode;
    tn__put32(at + 1, (uint32_t)displacement + 1);
    at[5] = 0x90;
}

/* The call of general-dynamic code is data16 rex.W call *__tls_get_addr@GOTPCREL(%rip). A prefix behind these would
 * make rex.W void and data16 effective, and AMD's processors call 16 bits far then. */
static bool has_tls_prefixes(const struct load *load)
{
    return load->before >= 4 && load->field[-4] == 0x66 && load->field[-3] == 0x48;
}

/* `displacement` is that from the instruction's end. */
static bool relax_relative(const struct load *load, uint64_t displacement)
{
    uint8_t *at = load->field - 2;
    if (load->opcode == 0x8b && (load->modrm & 0xc7) == 0x05 && fits_signed(displacement)) {
        write_relative(at, 0x8d, load->modrm, displacement); /* mov to lea */
        return true;
    }
    if (load->opcode != 0xff || !fits_signed(displacement) || !fits_signed(displacement + 1))
        return false;
    if (load->modrm == 0x15 && !has_tls_prefixes(load))
        write_relative(at, 0x67, 0xe8, displacement); /* call *, to call with a prefix that only fills */
    else if (load->modrm == 0x15 || load->modrm == 0x25)
        write_branch(at, load->modrm == 0x15 ? 0xe8 : 0xe9, displacement);
    else
        return false;
    return true;
}

/* test, and the eight operations whose opcodes are 0x03 + 8 * n. */
static bool relax_operation(const struct load *load, uint64_t S)
{
    if (!load->prefix || (load->modrm & 0xc7) != 0x05 || !fits_signed(S))
        return false;
    uint8_t direct = 0xc0 | register_of(load);
    if (load->opcode == 0x85)
        write_immediate(load, 0xf7, direct, S);
    else if ((load->opcode & 0xc7) == 0x03)
        write_immediate(load, 0x81, direct | (load->opcode & 0x38), S);
    else
        return false;
    return true;
}

/* ---- GOTTPOFF ---- */

static bool relax_thread_offset(const struct load *load, uint64_t offset)
{
    if (!load->prefix || (load->modrm & 0xc7) != 0x05 || !fits_signed(offset))
        return false;
    uint8_t reg = register_of(load);
    if (load->opcode == 0x8b) {
        write_immediate(load, 0xc7, 0xc0 | reg, offset); /* mov to mov $ */
    } else if (load->opcode == 0x03 && (reg == 4 || load->r_bits == REX2_R)) {
        write_immediate(load, 0x81, 0xc0 | reg,
                        offset);       /* add to add $: lea cannot address the stack pointer and r12 so */
    } else if (load->opcode == 0x03) { /* add to lea: the register is both target and base */
        uint8_t r = *load->prefix & load->r_bits;
        write_immediate(load, 0x8d, (uint8_t)(0x80 | reg << 3 | reg), offset);
        *load->prefix |= r;
    } else {
        return false;
    }
    return true;
}

/* ---- both ---- */

uint64_t tn__x86_64_relax(const struct tn__sequence *code)
{
    uint32_t form = code->form;
    uint8_t *field = code->field;
    bool rex2 = form == TN__X86_64_GOT_REX2 || form == TN__X86_64_TPOFF_REX2;
    bool rex = form == TN__X86_64_GOT_REX || form == TN__X86_64_TPOFF_REX;
    if (code->A != -4 || code->before < (rex2 ? 4 : rex ? 3 : 2))
        return 0;
    struct load load = {
        .field = field,
        .before = code->before,
        .opcode = field[-2],
        .modrm = field[-1],
        .r_bits = rex2 ? REX2_R : REX_R,
        .b_bits = rex2 ? REX2_B : REX_B,
    };
    bool has_prefix = rex2 ? field[-4] == 0xd5 : rex && (field[-3] & 0xf8) == 0x48;
    if (has_prefix && !(field[-3] & load.b_bits))
        load.prefix = field - 3;
    bool done = form == TN__X86_64_TPOFF_REX || form == TN__X86_64_TPOFF_REX2
                    ? relax_thread_offset(&load, code->S)
                    : relax_relative(&load, code->S - 4 - code->P) || relax_operation(&load, code->S);
    return done ? 4 : 0;
}
