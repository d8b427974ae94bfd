/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Operations on float and double. */

#include "baseline/x86_64/state.h"

static const struct {
    uint8_t single, twofold;
} rows[TN__FLAT_OPS] = {
    [TN__FLAT_FADD] = {TN__X64_ADDSS, TN__X64_ADDSD},   [TN__FLAT_FSUB] = {TN__X64_SUBSS, TN__X64_SUBSD},
    [TN__FLAT_FMUL] = {TN__X64_MULSS, TN__X64_MULSD},   [TN__FLAT_FDIV] = {TN__X64_DIVSS, TN__X64_DIVSD},
    [TN__FLAT_SQRT] = {TN__X64_SQRTSS, TN__X64_SQRTSD},
};

static enum tn__x64_op row_of(const struct tn__flat_inst *inst)
{
    return inst->type == TN__FLAT_F64 ? rows[inst->op].twofold : rows[inst->op].single;
}

/* The sign, or all bits but the sign, by a mask in xmm15. */
static void compile_sign(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    bool is_double = inst->type == TN__FLAT_F64, turns = inst->op == TN__FLAT_FNEG;
    uint64_t sign = UINT64_C(1) << (is_double ? 63 : 31);
    unsigned reg = tn__x64_own(c, tn__x64_operands(c)[0], inst->type);
    tn__x64_emit_constant(c, TN__R11, turns ? sign : sign - 1);
    tn__x64_emit(c, TN__X64_MOVQ_XM, 8, TN__XMM15, tn__x64_register(TN__R11));
    tn__x64_emit(c, turns ? TN__X64_XORPS : TN__X64_ANDPS, 4, reg, tn__x64_register(TN__XMM15));
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

void tn__x64_compile_float(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    const uint32_t *o = tn__x64_operands(c);
    unsigned reg;
    if (inst->type == TN__FLAT_F80) {
        tn__x64_compile_x87(c);
        return;
    }
    if (inst->op == TN__FLAT_FNEG || inst->op == TN__FLAT_FABS) {
        compile_sign(c, inst);
        return;
    }
    if (inst->op == TN__FLAT_SQRT) {
        struct tn__x64_rm from = tn__x64_in_either(c, o[0], inst->type);
        reg = tn__x64_take(c, TN__X64_FLOAT);
        tn__x64_emit(c, row_of(inst), 4, reg, from);
    } else {
        reg = tn__x64_own(c, o[0], inst->type);
        tn__x64_emit(c, row_of(inst), 4, reg, tn__x64_in_either(c, o[1], inst->type));
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}
