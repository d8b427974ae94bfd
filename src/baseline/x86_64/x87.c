/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Values of 80 bits, which the x87 computes: Intel's manual, volume 1, chapter 8. What is not exact there is rounded to
 * 64 bits of precision, as the processor's control word says in a new thread. */

#include "baseline/x86_64/state.h"

enum { TWO_63 = 0x5f000000, TWO_64 = 0x5f800000 }; /* as float */

static void emit_memory(struct tn__x64 *c, enum tn__x64_op op, int32_t at)
{
    tn__x64_emit(c, op, 4, 0, tn__x64_memory(TN__RBP, at));
}

static void emit(struct tn__x64 *c, enum tn__x64_op op)
{
    tn__x64_emit(c, op, 4, 0, tn__x64_register(0));
}

/* ---- where they are ---- */

static uint64_t half_of(const struct tn__x64 *c, uint32_t operand, unsigned which)
{
    bool is_zero = (operand & TN__FLAT_KIND) == TN__FLAT_IMMEDIATE;
    return is_zero ? 0 : c->flat->constants[tn__flat_index(operand) + which];
}

void tn__x64_store_wide(struct tn__x64 *c, uint32_t operand, struct tn__x64_rm to)
{
    if (tn__flat_is_value(operand)) {
        tn__x64_emit(c, TN__X64_MOVAPS, 4, TN__XMM15, tn__x64_memory(TN__RBP, c->s->values[operand].slot));
        tn__x64_emit(c, TN__X64_MOVAPS_MR, 4, TN__XMM15, to);
        return;
    }
    for (unsigned i = 0; i < 2; i++, to.disp += 8) {
        tn__x64_emit_constant(c, TN__R11, half_of(c, operand, i));
        tn__x64_emit(c, TN__X64_MOV_MR, 8, TN__R11, to);
    }
}

void tn__x64_push(struct tn__x64 *c, uint32_t operand)
{
    if (tn__flat_is_value(operand)) {
        emit_memory(c, TN__X64_FLD_T, c->s->values[operand].slot);
    } else if ((operand & TN__FLAT_KIND) == TN__FLAT_IMMEDIATE) {
        emit(c, TN__X64_FLDZ);
    } else {
        tn__x64_store_wide(c, operand, tn__x64_memory(TN__RBP, tn__x64_spare(c)));
        emit_memory(c, TN__X64_FLD_T, c->spare);
    }
}

void tn__x64_pop(struct tn__x64 *c, uint32_t value)
{
    if (!c->s->values[value].uses) {
        emit(c, TN__X64_FSTP_ST0);
        return;
    }
    emit_memory(c, TN__X64_FSTP_T, tn__x64_slot(c, value));
    c->s->values[value].place = TN__X64_IN_SLOT;
}

/* ---- operations ---- */

void tn__x64_compare_x87(struct tn__x64 *c, uint32_t left, uint32_t right)
{
    tn__x64_push(c, right);
    tn__x64_push(c, left);
    emit(c, TN__X64_FUCOMPI);
    emit(c, TN__X64_FSTP_ST0);
}

/* The operand is fetched before the jump, in which flags may be those of the comparison before. */
static void compile_select(struct tn__x64 *c, const uint32_t *o)
{
    uint32_t end = tn__x64_new_label(c);
    if (c->failed)
        return;
    tn__x64_push(c, o[2]);
    tn__x64_jump_if(c, tn__x64_test(c, o[0]) ^ 1, end);
    emit(c, TN__X64_FSTP_ST0);
    tn__x64_push(c, o[1]);
    tn__x64_place_label(c, end);
}

/* ---- conversions ---- */

static void push_float(struct tn__x64 *c, uint32_t operand, unsigned type)
{
    unsigned reg = tn__x64_in_register(c, operand, type);
    tn__x64_emit_store(c, type, reg, tn__x64_memory(TN__RBP, tn__x64_spare(c)));
    emit_memory(c, type == TN__FLAT_F64 ? TN__X64_FLD_Q : TN__X64_FLD_S, c->spare);
}

static unsigned pop_float(struct tn__x64 *c, unsigned type)
{
    unsigned reg = tn__x64_take(c, TN__X64_FLOAT);
    emit_memory(c, type == TN__FLAT_F64 ? TN__X64_FSTP_Q : TN__X64_FSTP_S, tn__x64_spare(c));
    tn__x64_emit_load(c, type, reg, tn__x64_memory(TN__RBP, c->spare));
    return reg;
}

/* The x87 takes all of 64 bits as signed; what is missing then is 2^64. */
static void push_integer(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    bool is_signed = inst->op == TN__FLAT_SITOFP;
    unsigned reg = tn__x64_extended(c, inst->sub, is_signed, 8);
    tn__x64_emit(c, TN__X64_MOV_MR, 8, reg, tn__x64_memory(TN__RBP, tn__x64_spare(c)));
    emit_memory(c, TN__X64_FILD_Q, c->spare);
    if (is_signed || inst->sub != TN__FLAT_I64)
        return;
    uint32_t small = tn__x64_new_label(c);
    if (c->failed)
        return;
    tn__x64_emit(c, TN__X64_TEST_MR, 8, reg, tn__x64_register(reg));
    tn__x64_jump_if(c, TN__CC_S ^ 1, small);
    tn__x64_emit_immediate(c, TN__X64_MOV_MI, 4, 0, tn__x64_memory(TN__RBP, c->spare), TWO_64);
    emit_memory(c, TN__X64_FADD_S, c->spare);
    tn__x64_place_label(c, small);
}

/* Subtracts 2^63 from what is on top if it is no less; `reg` gets the bit that the integer lacks then. */
static void push_lower(struct tn__x64 *c, uint32_t operand, unsigned reg)
{
    uint32_t small = tn__x64_new_label(c);
    if (c->failed)
        return;
    tn__x64_emit_immediate(c, TN__X64_MOV_MI, 4, 0, tn__x64_memory(TN__RBP, tn__x64_spare(c)), TWO_63);
    emit_memory(c, TN__X64_FLD_S, c->spare);
    tn__x64_push(c, operand);
    tn__x64_emit_constant(c, reg, 0);
    emit(c, TN__X64_FUCOMI);
    tn__x64_jump_if(c, TN__CC_B, small);
    emit(c, TN__X64_FSUB_ST1);
    tn__x64_emit_constant(c, reg, UINT64_C(1) << 63);
    tn__x64_place_label(c, small);
    emit(c, TN__X64_FSTP_ST1);
}

/* Cut off to an integer: the way of rounding is in the control word. */
static unsigned pop_integer(struct tn__x64 *c, const struct tn__flat_inst *inst, uint32_t operand)
{
    enum { OLD = 8, NEW = 10, TOWARDS_ZERO = 0xc00 };
    bool is_large = inst->op == TN__FLAT_FPTOUI && inst->type == TN__FLAT_I64;
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    int32_t at = tn__x64_spare(c);
    if (is_large)
        push_lower(c, operand, reg);
    else
        tn__x64_push(c, operand);
    emit_memory(c, TN__X64_FNSTCW, at + OLD);
    tn__x64_emit(c, TN__X64_MOVZX16, 4, TN__R11, tn__x64_memory(TN__RBP, at + OLD));
    tn__x64_emit_immediate(c, TN__X64_OR_MI, 4, 0, tn__x64_register(TN__R11), TOWARDS_ZERO);
    tn__x64_emit(c, TN__X64_MOV_MR, 2, TN__R11, tn__x64_memory(TN__RBP, at + NEW));
    emit_memory(c, TN__X64_FLDCW, at + NEW);
    emit_memory(c, TN__X64_FISTP_Q, at);
    emit_memory(c, TN__X64_FLDCW, at + OLD);
    tn__x64_emit(c, is_large ? TN__X64_XOR_RM : TN__X64_MOV_RM, 8, reg, tn__x64_memory(TN__RBP, at));
    return reg;
}

/* ---- */

static const uint8_t rows[TN__FLAT_OPS] = {
    [TN__FLAT_FADD] = TN__X64_FADDP, [TN__FLAT_FSUB] = TN__X64_FSUBP, [TN__FLAT_FMUL] = TN__X64_FMULP,
    [TN__FLAT_FDIV] = TN__X64_FDIVP, [TN__FLAT_FNEG] = TN__X64_FCHS,  [TN__FLAT_FABS] = TN__X64_FABS,
    [TN__FLAT_SQRT] = TN__X64_FSQRT};

/* Pushes the instruction's value; false: it is in a register already, or it has none. */
static bool push_result(struct tn__x64 *c, const struct tn__flat_inst *inst, const uint32_t *o)
{
    uint32_t value = tn__x64_number(c, c->inst);
    switch (inst->op) {
    case TN__FLAT_COPY:
        tn__x64_push(c, o[0]);
        return true;
    case TN__FLAT_SELECT:
        compile_select(c, o);
        return true;
    case TN__FLAT_LOAD:
        tn__x64_emit(c, TN__X64_FLD_T, 4, 0, tn__x64_at_address(c, o[0]));
        return true;
    case TN__FLAT_STORE:
        tn__x64_push(c, o[0]);
        tn__x64_emit(c, TN__X64_FSTP_T, 4, 0, tn__x64_at_address(c, o[1]));
        return false;
    case TN__FLAT_FPEXT:
        push_float(c, o[0], inst->sub);
        return true;
    case TN__FLAT_FPTRUNC:
        tn__x64_push(c, o[0]);
        tn__x64_define(c, value, pop_float(c, inst->type));
        return false;
    case TN__FLAT_SITOFP:
    case TN__FLAT_UITOFP:
        push_integer(c, inst);
        return true;
    case TN__FLAT_FPTOSI:
    case TN__FLAT_FPTOUI:
        tn__x64_define(c, value, pop_integer(c, inst, o[0]));
        return false;
    default:
        for (uint32_t k = 0; k < inst->count; k++)
            tn__x64_push(c, o[k]);
        emit(c, (enum tn__x64_op)rows[inst->op]);
        return true;
    }
}

void tn__x64_compile_x87(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    if (push_result(c, inst, tn__x64_operands(c)) && !c->failed)
        tn__x64_pop(c, tn__x64_number(c, c->inst));
}
