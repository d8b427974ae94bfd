/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Conversions. */

#include "baseline/x86_64/state.h"

static void mask_bit(struct tn__x64 *c, unsigned reg)
{
    tn__x64_emit_immediate(c, TN__X64_AND_MI, 4, 0, tn__x64_register(reg), 1);
}

/* ---- integers ---- */

/* The row that extends from a type. */
static enum tn__x64_op extension(unsigned from, bool is_signed)
{
    static const uint8_t rows[TN__FLAT_TYPES][2] = {
        [TN__FLAT_I8] = {TN__X64_MOVZX8, TN__X64_MOVSX8},
        [TN__FLAT_I16] = {TN__X64_MOVZX16, TN__X64_MOVSX16},
        [TN__FLAT_I32] = {TN__X64_MOV_RM, TN__X64_MOVSXD},
    };
    return rows[from][is_signed];
}

unsigned tn__x64_extended(struct tn__x64 *c, unsigned from, bool is_signed, unsigned size)
{
    uint32_t operand = tn__x64_operands(c)[0];
    if (from == TN__FLAT_I1) {
        unsigned reg = tn__x64_own(c, operand, from);
        mask_bit(c, reg);
        if (is_signed)
            tn__x64_emit(c, TN__X64_NEG_M, size, 0, tn__x64_register(reg));
        return reg;
    }
    if (from == TN__FLAT_I64 || (from == TN__FLAT_I32 && size == 4))
        return tn__x64_own(c, operand, from);
    struct tn__x64_rm rm = tn__x64_in_either(c, operand, from);
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    tn__x64_emit(c, extension(from, is_signed), is_signed ? size : 4, reg, rm);
    return reg;
}

static void compile_copy(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    uint32_t operand = tn__x64_operands(c)[0];
    bool from_float = tn__flat_is_float(inst->sub), to_float = tn__flat_is_float(inst->type);
    unsigned size = tn__flat_size(inst->type), reg;
    if (from_float == to_float) {
        reg = tn__x64_own(c, operand, inst->type);
    } else if (tn__flat_is_number(operand)) {
        reg = tn__x64_take(c, tn__x64_bank(inst->type));
        tn__x64_copy_to(c, reg, operand, inst->type);
    } else if (to_float) {
        unsigned from = tn__x64_in_register(c, operand, inst->sub);
        reg = tn__x64_take(c, TN__X64_FLOAT);
        tn__x64_emit(c, size == 8 ? TN__X64_MOVQ_XM : TN__X64_MOVD_XM, size, reg, tn__x64_register(from));
    } else {
        unsigned from = tn__x64_in_register(c, operand, inst->sub);
        reg = tn__x64_take(c, TN__X64_GENERAL);
        tn__x64_emit(c, size == 8 ? TN__X64_MOVQ_MX : TN__X64_MOVD_MX, size, from, tn__x64_register(reg));
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* ---- floating point ---- */

static void emit_from_integer(struct tn__x64 *c, unsigned to, unsigned reg, unsigned size, unsigned from)
{
    tn__x64_emit(c, to == TN__FLAT_F64 ? TN__X64_CVTSI2SD : TN__X64_CVTSI2SS, size, reg, tn__x64_register(from));
}

/* Of 64 bits with the upper one set: half of it, with the bit that is lost kept for rounding, and twice the result. */
static void convert_large(struct tn__x64 *c, unsigned to, unsigned reg, unsigned from)
{
    uint32_t small = tn__x64_new_label(c), end = tn__x64_new_label(c);
    if (c->failed)
        return;
    tn__x64_emit(c, TN__X64_TEST_MR, 8, from, tn__x64_register(from));
    tn__x64_jump_if(c, TN__CC_S ^ 1, small);
    tn__x64_emit_move(c, TN__R11, from);
    tn__x64_emit_immediate(c, TN__X64_SHR_MB, 8, 0, tn__x64_register(TN__R11), 1);
    mask_bit(c, from);
    tn__x64_emit(c, TN__X64_OR_RM, 8, from, tn__x64_register(TN__R11));
    emit_from_integer(c, to, reg, 8, from);
    tn__x64_emit(c, to == TN__FLAT_F64 ? TN__X64_ADDSD : TN__X64_ADDSS, 4, reg, tn__x64_register(reg));
    tn__x64_jump(c, end);
    tn__x64_place_label(c, small);
    emit_from_integer(c, to, reg, 8, from);
    tn__x64_place_label(c, end);
}

static void compile_from_integer(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    bool is_signed = inst->op == TN__FLAT_SITOFP;
    unsigned size = inst->sub == TN__FLAT_I64 || (!is_signed && inst->sub == TN__FLAT_I32) ? 8 : 4;
    unsigned from = tn__x64_extended(c, inst->sub, is_signed, size), reg = tn__x64_take(c, TN__X64_FLOAT);
    tn__x64_emit(c, TN__X64_XORPS, 4, reg, tn__x64_register(reg)); /* what was in it is not waited for */
    if (!is_signed && inst->sub == TN__FLAT_I64)
        convert_large(c, inst->type, reg, from);
    else
        emit_from_integer(c, inst->type, reg, size, from);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* From 2^63 on: what is left after subtracting that, with the upper bit turned. */
static void convert_unsigned(struct tn__x64 *c, bool is_double, unsigned reg, unsigned from)
{
    enum tn__x64_op convert = is_double ? TN__X64_CVTTSD2SI : TN__X64_CVTTSS2SI;
    uint32_t small = tn__x64_new_label(c), end = tn__x64_new_label(c);
    if (c->failed)
        return;
    tn__x64_emit_constant(c, TN__R11, is_double ? UINT64_C(0x43e0000000000000) : 0x5f000000);
    tn__x64_emit(c, TN__X64_MOVQ_XM, 8, TN__XMM15, tn__x64_register(TN__R11));
    tn__x64_emit(c, is_double ? TN__X64_UCOMISD : TN__X64_UCOMISS, 4, from, tn__x64_register(TN__XMM15));
    tn__x64_jump_if(c, TN__CC_B, small);
    tn__x64_emit(c, is_double ? TN__X64_SUBSD : TN__X64_SUBSS, 4, from, tn__x64_register(TN__XMM15));
    tn__x64_emit(c, convert, 8, reg, tn__x64_register(from));
    tn__x64_emit_constant(c, TN__R11, UINT64_C(1) << 63);
    tn__x64_emit(c, TN__X64_XOR_RM, 8, reg, tn__x64_register(TN__R11));
    tn__x64_jump(c, end);
    tn__x64_place_label(c, small);
    tn__x64_emit(c, convert, 8, reg, tn__x64_register(from));
    tn__x64_place_label(c, end);
}

static void compile_to_integer(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    uint32_t operand = tn__x64_operands(c)[0];
    bool is_double = inst->sub == TN__FLAT_F64, is_signed = inst->op == TN__FLAT_FPTOSI;
    unsigned size = inst->type == TN__FLAT_I64 || (!is_signed && inst->type == TN__FLAT_I32) ? 8 : 4;
    if (!is_signed && inst->type == TN__FLAT_I64) {
        unsigned from = tn__x64_own(c, operand, inst->sub), reg = tn__x64_take(c, TN__X64_GENERAL);
        convert_unsigned(c, is_double, reg, from);
        tn__x64_define(c, tn__x64_number(c, c->inst), reg);
        return;
    }
    struct tn__x64_rm rm = tn__x64_in_either(c, operand, inst->sub);
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    tn__x64_emit(c, is_double ? TN__X64_CVTTSD2SI : TN__X64_CVTTSS2SI, size, reg, rm);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

static void compile_float_size(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    struct tn__x64_rm rm = tn__x64_in_either(c, tn__x64_operands(c)[0], inst->sub);
    unsigned reg = tn__x64_take(c, TN__X64_FLOAT);
    tn__x64_emit(c, inst->op == TN__FLAT_FPEXT ? TN__X64_CVTSS2SD : TN__X64_CVTSD2SS, 4, reg, rm);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

static void compile_integer_size(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    unsigned size = inst->type == TN__FLAT_I64 ? 8 : 4;
    unsigned reg = inst->op == TN__FLAT_TRUNC ? tn__x64_own(c, tn__x64_operands(c)[0], inst->sub)
                                              : tn__x64_extended(c, inst->sub, inst->op == TN__FLAT_SEXT, size);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

void tn__x64_compile_cast(struct tn__x64 *c)
{
    static void (*const forms[TN__FLAT_OPS])(struct tn__x64 *, const struct tn__flat_inst *) = {
        [TN__FLAT_COPY] = compile_copy,           [TN__FLAT_TRUNC] = compile_integer_size,
        [TN__FLAT_ZEXT] = compile_integer_size,   [TN__FLAT_SEXT] = compile_integer_size,
        [TN__FLAT_FPTRUNC] = compile_float_size,  [TN__FLAT_FPEXT] = compile_float_size,
        [TN__FLAT_SITOFP] = compile_from_integer, [TN__FLAT_UITOFP] = compile_from_integer,
        [TN__FLAT_FPTOSI] = compile_to_integer,   [TN__FLAT_FPTOUI] = compile_to_integer};
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    if (inst->type == TN__FLAT_F80 || inst->sub == TN__FLAT_F80)
        tn__x64_compile_x87(c);
    else
        forms[inst->op](c, inst);
}
