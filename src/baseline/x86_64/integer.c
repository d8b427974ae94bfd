/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Operations on integers. Narrow ones are done on 32 bits where what is above the width does not reach what is below
 * it, and else after an extension. */

#include "baseline/x86_64/state.h"

struct row {
    uint8_t rm, mi; /* with a register or memory, with an immediate; of shifts: by cl, by an immediate */
    bool is_commutative;
    uint8_t extension; /* of narrow operands: TN__X64_MOVZX8, TN__X64_MOVSX8 or 0 */
};

static const struct row rows[TN__FLAT_OPS] = {
    [TN__FLAT_ADD] = {TN__X64_ADD_RM, TN__X64_ADD_MI, true},
    [TN__FLAT_SUB] = {TN__X64_SUB_RM, TN__X64_SUB_MI, false},
    [TN__FLAT_AND] = {TN__X64_AND_RM, TN__X64_AND_MI, true},
    [TN__FLAT_OR] = {TN__X64_OR_RM, TN__X64_OR_MI, true},
    [TN__FLAT_XOR] = {TN__X64_XOR_RM, TN__X64_XOR_MI, true},
    [TN__FLAT_SHL] = {TN__X64_SHL_MC, TN__X64_SHL_MB, false},
    [TN__FLAT_LSHR] = {TN__X64_SHR_MC, TN__X64_SHR_MB, false, TN__X64_MOVZX8},
    [TN__FLAT_ASHR] = {TN__X64_SAR_MC, TN__X64_SAR_MB, false, TN__X64_MOVSX8},
    [TN__FLAT_ROTL] = {TN__X64_ROL_MC, TN__X64_ROL_MB, false},
    [TN__FLAT_UDIV] = {TN__X64_DIV_M, 0, false, TN__X64_MOVZX8},
    [TN__FLAT_UREM] = {TN__X64_DIV_M, 0, false, TN__X64_MOVZX8},
    [TN__FLAT_SDIV] = {TN__X64_IDIV_M, 0, false, TN__X64_MOVSX8},
    [TN__FLAT_SREM] = {TN__X64_IDIV_M, 0, false, TN__X64_MOVSX8},
};

static unsigned at_least_32(unsigned type)
{
    return tn__flat_size(type) == 8 ? 8 : 4;
}

/* Extends a narrow integer in its register to 32 bits. */
static void extend(struct tn__x64 *c, unsigned reg, unsigned type, unsigned extension)
{
    if (extension && type <= TN__FLAT_I16)
        tn__x64_emit(c, (enum tn__x64_op)(extension + (type == TN__FLAT_I16)), 4, reg, tn__x64_register(reg));
}

/* The register gets the result of itself and an operand. */
static void combine(struct tn__x64 *c, const struct row *row, unsigned size, unsigned reg, uint32_t operand)
{
    int32_t immediate;
    if (tn__x64_is_immediate(c, operand, size, &immediate))
        tn__x64_emit_immediate(c, row->mi, size, 0, tn__x64_register(reg), immediate);
    else
        tn__x64_emit(c, row->rm, size, reg, tn__x64_in_either(c, operand, tn__x64_inst(c)->type));
}

static void compile_sum(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    const struct row *row = &rows[inst->op];
    bool turned = row->is_commutative && tn__flat_is_number(o[0]);
    unsigned reg = tn__x64_own(c, o[turned], inst->type);
    combine(c, row, at_least_32(inst->type), reg, o[!turned]);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

static void compile_product(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    unsigned size = at_least_32(inst->type);
    bool turned = tn__flat_is_number(o[0]);
    int32_t immediate;
    if (tn__x64_is_immediate(c, o[!turned], size, &immediate)) {
        struct tn__x64_rm rm = tn__x64_in_either(c, o[turned], inst->type);
        unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
        tn__x64_emit_immediate(c, TN__X64_IMUL_RMI, size, reg, rm, immediate);
        tn__x64_define(c, tn__x64_number(c, c->inst), reg);
        return;
    }
    unsigned reg = tn__x64_own(c, o[turned], inst->type);
    tn__x64_emit(c, TN__X64_IMUL_RM, size, reg, tn__x64_in_either(c, o[!turned], inst->type));
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* By cl, unless the amount is a number. Rotations need the width itself. */
static void compile_shift(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    const struct row *row = &rows[inst->op];
    unsigned width = tn__flat_size(inst->type), reg;
    unsigned size = inst->op == TN__FLAT_ROTL ? width : at_least_32(inst->type);
    if (tn__flat_is_number(o[1])) {
        reg = tn__x64_own(c, o[0], inst->type);
        extend(c, reg, inst->type, row->extension);
        uint64_t amount = tn__flat_number(c->flat, o[1]) & (8 * width - 1);
        tn__x64_emit_immediate(c, row->mi, size, 0, tn__x64_register(reg), (int32_t)amount);
    } else {
        tn__x64_claim(c, TN__RCX);
        tn__x64_copy_to(c, TN__RCX, o[1], inst->type);
        reg = tn__x64_own(c, o[0], inst->type);
        extend(c, reg, inst->type, row->extension);
        tn__x64_emit(c, row->rm, size, 0, tn__x64_register(reg));
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* rdx of the product in rdx:rax. */
static void compile_upper_product(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    tn__x64_claim(c, TN__RAX);
    tn__x64_claim(c, TN__RDX);
    tn__x64_copy_to(c, TN__RAX, o[0], inst->type);
    tn__x64_emit(c, TN__X64_MUL_M, 8, 0, tn__x64_in_either(c, o[1], inst->type));
    tn__x64_define(c, tn__x64_number(c, c->inst), TN__RDX);
}

/* rdx:rax by the divisor. */
static void compile_division(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    const struct row *row = &rows[inst->op];
    unsigned size = at_least_32(inst->type);
    bool is_signed = inst->op == TN__FLAT_SDIV || inst->op == TN__FLAT_SREM;
    bool wants_rest = inst->op == TN__FLAT_UREM || inst->op == TN__FLAT_SREM;
    tn__x64_claim(c, TN__RAX);
    tn__x64_claim(c, TN__RDX);
    tn__x64_copy_to(c, TN__RAX, o[0], inst->type);
    extend(c, TN__RAX, inst->type, row->extension);
    struct tn__x64_rm divisor;
    if (inst->type <= TN__FLAT_I16) {
        divisor = tn__x64_register(tn__x64_own(c, o[1], inst->type));
        extend(c, divisor.base, inst->type, row->extension);
    } else {
        divisor = tn__x64_in_either(c, o[1], inst->type);
    }
    if (is_signed) { /* cdq, cqo */
        if (size == 8)
            tn__x64_emit_byte(c, 0x48);
        tn__x64_emit_byte(c, 0x99);
    } else {
        tn__x64_emit(c, TN__X64_XOR_MR, 4, TN__RDX, tn__x64_register(TN__RDX));
    }
    tn__x64_emit(c, row->rm, size, 0, divisor);
    tn__x64_define(c, tn__x64_number(c, c->inst), wants_rest ? TN__RDX : TN__RAX);
}

/* ---- bits ---- */

static void compile_bswap(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    unsigned reg = tn__x64_own(c, tn__x64_operands(c)[0], inst->type);
    if (inst->type == TN__FLAT_I16)
        tn__x64_emit_immediate(c, TN__X64_ROL_MB, 2, 0, tn__x64_register(reg), 8);
    else
        c->at = tn__x64_put_bswap(c->at, tn__flat_size(inst->type), reg);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* Zeros below the lowest bit. A bit above the width stops the search in a 0; of 64 bits there is none. */
static void compile_cttz(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    unsigned width = 8 * tn__flat_size(inst->type), reg = tn__x64_own(c, tn__x64_operands(c)[0], inst->type);
    tn__x64_emit_constant(c, TN__R11, width < 64 ? UINT64_C(1) << width : 64);
    if (width < 64) {
        tn__x64_emit(c, TN__X64_OR_RM, 8, reg, tn__x64_register(TN__R11));
        tn__x64_emit(c, TN__X64_BSF_RM, 8, reg, tn__x64_register(reg));
    } else {
        tn__x64_emit(c, TN__X64_BSF_RM, 8, reg, tn__x64_register(reg));
        c->at = tn__x64_put_cmov(c->at, TN__CC_E, 8, reg, tn__x64_register(TN__R11));
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* Zeros above the highest bit: the width less the number of the highest bit of 2x + 1. */
static void compile_ctlz(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    unsigned size = tn__flat_size(inst->type), reg = tn__x64_own(c, tn__x64_operands(c)[0], inst->type);
    struct tn__x64_rm itself = tn__x64_register(reg);
    if (size == 8) {
        tn__x64_emit_constant(c, TN__R11, 127);
        tn__x64_emit(c, TN__X64_BSR_RM, 8, reg, itself);
        c->at = tn__x64_put_cmov(c->at, TN__CC_E, 8, reg, tn__x64_register(TN__R11));
        tn__x64_emit_immediate(c, TN__X64_XOR_MI, 4, 0, itself, 63);
    } else {
        extend(c, reg, inst->type, TN__X64_MOVZX8);
        if (size == 4)
            tn__x64_emit(c, TN__X64_MOV_MR, 4, reg, itself);
        struct tn__x64_rm twice = {.is_memory = true, .base = (uint8_t)reg, .index = (uint8_t)reg, .disp = 1};
        tn__x64_emit(c, TN__X64_LEA, 8, reg, twice);
        tn__x64_emit(c, TN__X64_BSR_RM, 8, reg, itself);
        tn__x64_emit(c, TN__X64_NEG_M, 4, 0, itself);
        tn__x64_emit_immediate(c, TN__X64_ADD_MI, 4, 0, itself, (int32_t)(8 * size));
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* ---- overflow ---- */

/* The flag is the next instruction's value. */
static void define_flag(struct tn__x64 *c, unsigned cc)
{
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    c->at = tn__x64_put_setcc(c->at, cc, reg);
    tn__x64_define(c, tn__x64_number(c, c->inst) + 1, reg);
}

static void compile_wide_product(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    tn__x64_claim(c, TN__RAX);
    tn__x64_claim(c, TN__RDX);
    tn__x64_copy_to(c, TN__RAX, o[0], inst->type);
    struct tn__x64_rm by = tn__x64_in_either(c, o[1], inst->type);
    unsigned flag = tn__x64_take(c, TN__X64_GENERAL);
    tn__x64_emit(c, TN__X64_MUL_M, tn__flat_size(inst->type), 0, by);
    c->at = tn__x64_put_setcc(c->at, TN__CC_O, flag);
    tn__x64_define(c, tn__x64_number(c, c->inst), TN__RAX);
    tn__x64_define(c, tn__x64_number(c, c->inst) + 1, flag);
}

static void compile_overflow(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    static const struct {
        uint8_t op, cc;
    } kinds[TN__FLAT_OVERFLOWS] = {
        [TN__FLAT_SADD] = {TN__FLAT_ADD, TN__CC_O},
        [TN__FLAT_UADD] = {TN__FLAT_ADD, TN__CC_B},
        [TN__FLAT_SSUB] = {TN__FLAT_SUB, TN__CC_O},
        [TN__FLAT_USUB] = {TN__FLAT_SUB, TN__CC_B},
    };
    const uint32_t *o = tn__x64_operands(c);
    unsigned size = tn__flat_size(inst->type), reg;
    if (inst->sub == TN__FLAT_UMUL) {
        compile_wide_product(c, inst);
        return;
    }
    reg = tn__x64_own(c, o[0], inst->type);
    if (inst->sub == TN__FLAT_SMUL) {
        tn__x64_emit(c, TN__X64_IMUL_RM, size, reg, tn__x64_in_either(c, o[1], inst->type));
        define_flag(c, TN__CC_O);
    } else {
        combine(c, &rows[kinds[inst->sub].op], size, reg, o[1]);
        define_flag(c, kinds[inst->sub].cc);
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

void tn__x64_compile_integer(struct tn__x64 *c)
{
    static void (*const others[TN__FLAT_OPS])(struct tn__x64 *, const struct tn__flat_inst *) = {
        [TN__FLAT_MUL] = compile_product,   [TN__FLAT_MULH] = compile_upper_product, [TN__FLAT_SHL] = compile_shift,
        [TN__FLAT_LSHR] = compile_shift,    [TN__FLAT_ASHR] = compile_shift,         [TN__FLAT_ROTL] = compile_shift,
        [TN__FLAT_UDIV] = compile_division, [TN__FLAT_SDIV] = compile_division,      [TN__FLAT_UREM] = compile_division,
        [TN__FLAT_SREM] = compile_division, [TN__FLAT_BSWAP] = compile_bswap,        [TN__FLAT_CTTZ] = compile_cttz,
        [TN__FLAT_CTLZ] = compile_ctlz,     [TN__FLAT_OVERFLOW] = compile_overflow};
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    (others[inst->op] ? others[inst->op] : compile_sum)(c, inst);
}
