/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Comparisons, and what is chosen by them. A comparison whose only use is the next instruction stays in the flags. */

#include "baseline/x86_64/state.h"

/* ---- flags ---- */

void tn__x64_define_flags(struct tn__x64 *c, uint32_t value, unsigned cc)
{
    const struct tn__flat_inst *next = tn__x64_inst(c) + 1;
    if (next->op == TN__FLAT_BRANCH && c->flat->operands[next->first] == value && c->s->values[value].uses == 1) {
        c->fused = value;
        c->fused_cc = cc;
        return;
    }
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    c->at = tn__x64_put_setcc(c->at, cc, reg);
    tn__x64_define(c, value, reg);
}

unsigned tn__x64_test(struct tn__x64 *c, uint32_t operand)
{
    if (tn__flat_is_value(operand) && c->fused == operand) {
        c->fused = TN__X64_NO_VALUE;
        return c->fused_cc;
    }
    struct tn__x64_rm rm = tn__x64_in_either(c, operand, TN__FLAT_I1);
    tn__x64_emit_immediate(c, TN__X64_TEST_MI, 1, 0, rm, 1);
    return TN__CC_NE;
}

/* ---- integers ---- */

static const uint8_t conditions[TN__FLAT_CONDITIONS] = {
    [TN__FLAT_EQ] = TN__CC_E,  [TN__FLAT_NE] = TN__CC_NE,  [TN__FLAT_UGT] = TN__CC_A, [TN__FLAT_UGE] = TN__CC_AE,
    [TN__FLAT_ULT] = TN__CC_B, [TN__FLAT_ULE] = TN__CC_BE, [TN__FLAT_SGT] = TN__CC_G, [TN__FLAT_SGE] = TN__CC_GE,
    [TN__FLAT_SLT] = TN__CC_L, [TN__FLAT_SLE] = TN__CC_LE,
};

/* Of b and a, where it is of a and b. */
static unsigned turn(unsigned condition)
{
    static const uint8_t turned[TN__FLAT_CONDITIONS] = {
        [TN__FLAT_EQ] = TN__FLAT_EQ,   [TN__FLAT_NE] = TN__FLAT_NE,   [TN__FLAT_UGT] = TN__FLAT_ULT,
        [TN__FLAT_UGE] = TN__FLAT_ULE, [TN__FLAT_ULT] = TN__FLAT_UGT, [TN__FLAT_ULE] = TN__FLAT_UGE,
        [TN__FLAT_SGT] = TN__FLAT_SLT, [TN__FLAT_SGE] = TN__FLAT_SLE, [TN__FLAT_SLT] = TN__FLAT_SGT,
        [TN__FLAT_SLE] = TN__FLAT_SGE,
    };
    return turned[condition];
}

/* The bit at the top of a byte, so that signs are compared as well. */
static unsigned single_bit(struct tn__x64 *c, uint32_t operand)
{
    unsigned reg = tn__x64_own(c, operand, TN__FLAT_I1);
    tn__x64_emit_immediate(c, TN__X64_SHL_MB, 4, 0, tn__x64_register(reg), 7);
    return reg;
}

static void compile_icmp(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    unsigned size = tn__flat_size(inst->type), condition = inst->sub;
    bool turned = tn__flat_is_number(o[0]) && inst->type != TN__FLAT_I1;
    uint32_t left = o[turned], right = o[!turned];
    int32_t immediate;
    if (turned)
        condition = turn(condition);
    if (inst->type == TN__FLAT_I1) {
        unsigned reg = single_bit(c, left);
        tn__x64_emit(c, TN__X64_CMP_RM, 1, reg, tn__x64_register(single_bit(c, right)));
    } else if (tn__x64_is_immediate(c, right, size, &immediate)) {
        struct tn__x64_rm rm = tn__x64_in_either(c, left, inst->type);
        if (immediate || rm.is_memory)
            tn__x64_emit_immediate(c, TN__X64_CMP_MI, size, 0, rm, immediate);
        else
            tn__x64_emit(c, TN__X64_TEST_MR, size, rm.base, rm);
    } else {
        unsigned reg = tn__x64_in_register(c, left, inst->type);
        tn__x64_emit(c, TN__X64_CMP_RM, size, reg, tn__x64_in_either(c, right, inst->type));
    }
    tn__x64_define_flags(c, tn__x64_number(c, c->inst), conditions[condition]);
}

/* ---- floating point ---- */

enum { NEVER = 0xfe, ALWAYS = 0xff };

/* ucomis sets CF for less, ZF for equal, and CF, ZF and PF for unordered. Some sets need two conditions: both have to
 * hold, or either. */
static const struct {
    uint8_t cc, second;
    bool turned, either;
} float_conditions[16] = {
    [0] = {NEVER},
    [TN__FLAT_EQUAL] = {TN__CC_E, TN__CC_NP},
    [TN__FLAT_GREATER] = {TN__CC_A},
    [TN__FLAT_GREATER | TN__FLAT_EQUAL] = {TN__CC_AE},
    [TN__FLAT_LESS] = {TN__CC_A, 0, true},
    [TN__FLAT_LESS | TN__FLAT_EQUAL] = {TN__CC_AE, 0, true},
    [TN__FLAT_LESS | TN__FLAT_GREATER] = {TN__CC_NE},
    [TN__FLAT_LESS | TN__FLAT_GREATER | TN__FLAT_EQUAL] = {TN__CC_NP},
    [TN__FLAT_UNORDERED] = {TN__CC_P},
    [TN__FLAT_UNORDERED | TN__FLAT_EQUAL] = {TN__CC_E},
    [TN__FLAT_UNORDERED | TN__FLAT_GREATER] = {TN__CC_B, 0, true},
    [TN__FLAT_UNORDERED | TN__FLAT_GREATER | TN__FLAT_EQUAL] = {TN__CC_BE, 0, true},
    [TN__FLAT_UNORDERED | TN__FLAT_LESS] = {TN__CC_B},
    [TN__FLAT_UNORDERED | TN__FLAT_LESS | TN__FLAT_EQUAL] = {TN__CC_BE},
    [TN__FLAT_UNORDERED | TN__FLAT_LESS | TN__FLAT_GREATER] = {TN__CC_NE, TN__CC_P, false, true},
    [15] = {ALWAYS},
};

static void compile_fcmp(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    uint32_t value = tn__x64_number(c, c->inst);
    unsigned cc = float_conditions[inst->sub].cc, second = float_conditions[inst->sub].second;
    bool turned = float_conditions[inst->sub].turned;
    if (cc >= NEVER) {
        unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
        tn__x64_emit_constant(c, reg, cc == ALWAYS);
        tn__x64_define(c, value, reg);
        return;
    }
    if (inst->type == TN__FLAT_F80) {
        tn__x64_compare_x87(c, o[turned], o[!turned]);
    } else {
        unsigned left = tn__x64_in_register(c, o[turned], inst->type);
        struct tn__x64_rm right = tn__x64_in_either(c, o[!turned], inst->type);
        tn__x64_emit(c, inst->type == TN__FLAT_F64 ? TN__X64_UCOMISD : TN__X64_UCOMISS, 4, left, right);
    }
    if (!second) {
        tn__x64_define_flags(c, value, cc);
        return;
    }
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    c->at = tn__x64_put_setcc(c->at, cc, reg);
    c->at = tn__x64_put_setcc(c->at, second, TN__R11);
    tn__x64_emit(c, float_conditions[inst->sub].either ? TN__X64_OR_RM : TN__X64_AND_RM, 4, reg,
                 tn__x64_register(TN__R11));
    tn__x64_define(c, value, reg);
}

/* ---- select ---- */

/* The operands are fetched before the test: to fetch them may change the flags. */
static void compile_select(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    unsigned reg = tn__x64_own(c, o[2], inst->type);
    if (tn__flat_is_float(inst->type)) {
        unsigned other = tn__x64_in_register(c, o[1], inst->type);
        uint32_t end = tn__x64_new_label(c);
        if (c->failed)
            return;
        tn__x64_jump_if(c, tn__x64_test(c, o[0]) ^ 1, end);
        tn__x64_emit_move(c, reg, other);
        tn__x64_place_label(c, end);
    } else {
        unsigned other = tn__x64_in_register(c, o[1], inst->type);
        unsigned cc = tn__x64_test(c, o[0]);
        c->at = tn__x64_put_cmov(c->at, cc, tn__flat_size(inst->type) == 8 ? 8 : 4, reg, tn__x64_register(other));
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

void tn__x64_compile_compare(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    if (inst->op == TN__FLAT_ICMP)
        compile_icmp(c, inst);
    else if (inst->op == TN__FLAT_FCMP)
        compile_fcmp(c, inst);
    else if (inst->type == TN__FLAT_F80)
        tn__x64_compile_x87(c);
    else
        compile_select(c, inst);
}
