/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Memory: variables of the frame, addresses, loads and stores, atomic operations. Aligned loads and stores of x86-64
 * are atomic, and ordered as acquire and release are. */

#include "baseline/x86_64/state.h"

enum { FAR = 1 << 29 }; /* sums of two smaller numbers fit into 32 bits */

/* ---- addresses ---- */

static bool is_near(int32_t number)
{
    return number > -FAR && number < FAR;
}

static const struct tn__x64_value *frame_of(const struct tn__x64 *c, uint32_t operand)
{
    const struct tn__x64_value *v = tn__flat_is_value(operand) ? &c->s->values[operand] : NULL;
    return v && v->place == TN__X64_IS_FRAME ? v : NULL;
}

/* Whether one operand of a memory access can be this sum. */
static bool fits_access(const struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = c->flat->operands + inst->first;
    bool is_symbol = !tn__flat_is_value(o[0]) && !tn__flat_is_number(o[0]);
    const struct tn__x64_value *frame = frame_of(c, o[0]);
    if (!is_near((int32_t)inst->aux) || (frame && !is_near(frame->slot)))
        return false;
    if (is_symbol)
        return inst->count == 1 && is_near(c->flat->addresses[tn__flat_index(o[0])].addend);
    if (inst->count == 1)
        return true;
    return inst->count == 3 && (o[2] == 1 || o[2] == 2 || o[2] == 4 || o[2] == 8);
}

/* Whether the next instruction is the only one that uses the address, and accesses memory there. */
static bool is_for_next(const struct tn__x64 *c, uint32_t value)
{
    const struct tn__flat_inst *next = tn__x64_inst(c) + 1;
    const uint32_t *o = c->flat->operands + next->first;
    if (c->s->values[value].uses != 1 || c->analysis->crosses[value])
        return false;
    return (next->op == TN__FLAT_LOAD && o[0] == value) || (next->op == TN__FLAT_STORE && o[1] == value);
}

/* Adds an index times a number to the register. */
static void add_product(struct tn__x64 *c, unsigned reg, uint32_t index, uint32_t step, int32_t more)
{
    struct tn__x64_rm sum = tn__x64_memory(reg, more);
    if (step == 1 || step == 2 || step == 4 || step == 8) {
        sum.index = (uint8_t)tn__x64_in_register(c, index, TN__FLAT_I64);
        sum.scale = (uint8_t)__builtin_ctz(step);
    } else {
        struct tn__x64_rm by = tn__x64_in_either(c, index, TN__FLAT_I64);
        sum.index = TN__R11;
        tn__x64_emit_immediate(c, TN__X64_IMUL_RMI, 8, TN__R11, by, (int32_t)step);
    }
    tn__x64_emit(c, TN__X64_LEA, 8, reg, sum);
}

static void compile_address(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    uint32_t value = tn__x64_number(c, c->inst);
    const struct tn__x64_value *frame = frame_of(c, o[0]);
    int32_t more = (int32_t)inst->aux;
    if (frame && inst->count == 1 && is_near(more) && is_near(frame->slot)) {
        tn__x64_define_frame(c, value, frame->slot + more);
        return;
    }
    if (is_for_next(c, value) && fits_access(c, inst)) {
        c->deferred = c->inst;
        return;
    }
    unsigned reg = tn__x64_own(c, o[0], TN__FLAT_PTR);
    for (uint32_t k = 1; k < inst->count; k += 2, more = 0)
        add_product(c, reg, o[k], o[k + 1], more);
    if (more)
        tn__x64_emit(c, TN__X64_LEA, 8, reg, tn__x64_memory(reg, more));
    tn__x64_define(c, value, reg);
}

static void compile_alloca(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    int32_t at = tn__x64_frame(c, inst->aux, 1u << inst->sub);
    tn__x64_define_frame(c, tn__x64_number(c, c->inst), at);
}

/* What is allocated lies above the arguments in memory, which are at rsp, and are not all known yet. */
static void compile_allocate(struct tn__x64 *c)
{
    unsigned size = tn__x64_in_register(c, tn__x64_operands(c)[0], TN__FLAT_I64),
             reg = tn__x64_take(c, TN__X64_GENERAL);
    tn__x64_emit(c, TN__X64_SUB_RM, 8, TN__RSP, tn__x64_register(size));
    tn__x64_emit(c, TN__X64_LEA, 8, reg, tn__x64_memory(TN__RSP, INT32_MAX));
    tn__x64_refer(c, tn__x64_offset(c) - 4, c->above_arguments, 0);
    c->allocates = true;
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

static void compile_stack(struct tn__x64 *c)
{
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    tn__x64_emit_move(c, reg, TN__RSP);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* ---- loads and stores ---- */

static void compile_load(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    struct tn__x64_rm from = tn__x64_at_address(c, tn__x64_operands(c)[0]);
    unsigned reg = tn__x64_take(c, tn__x64_bank(inst->type));
    tn__x64_emit_load(c, inst->type, reg, from);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* In memory, an i1 is 0 or 1. */
static unsigned stored(struct tn__x64 *c, uint32_t operand, unsigned type)
{
    if (type != TN__FLAT_I1)
        return tn__x64_in_register(c, operand, type);
    unsigned reg = tn__x64_own(c, operand, type);
    tn__x64_emit_immediate(c, TN__X64_AND_MI, 4, 0, tn__x64_register(reg), 1);
    return reg;
}

static void compile_store(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    unsigned size = tn__flat_size(inst->type);
    int32_t immediate;
    struct tn__x64_rm to = tn__x64_at_address(c, o[1]);
    if (!tn__x64_is_immediate(c, o[0], size, &immediate)) {
        tn__x64_emit_store(c, inst->type, stored(c, o[0], inst->type), to);
        return;
    }
    if (inst->type == TN__FLAT_I1)
        immediate &= 1;
    tn__x64_emit_immediate(c, TN__X64_MOV_MI, size, 0, to, immediate);
}

/* ---- atomic operations ---- */

static void compile_exchange(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    unsigned reg = tn__x64_own(c, o[0], inst->type);
    struct tn__x64_rm at = tn__x64_at_address(c, o[1]);
    bool adds = inst->op == TN__FLAT_FETCH_ADD;
    if (adds)
        tn__x64_emit_byte(c, 0xf0); /* xchg locks by itself */
    tn__x64_emit(c, adds ? TN__X64_XADD_MR : TN__X64_XCHG_MR, tn__flat_size(inst->type), reg, at);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* r11 gets the new value of the old one in rax; `cc` is for which of both the operand takes its place. */
static const struct {
    uint8_t row, cc;
} fetches[TN__FLAT_FETCHES] = {
    [TN__FLAT_FETCH_AND] = {TN__X64_AND_RM, 0},         [TN__FLAT_FETCH_OR] = {TN__X64_OR_RM, 0},
    [TN__FLAT_FETCH_XOR] = {TN__X64_XOR_RM, 0},         [TN__FLAT_FETCH_NAND] = {TN__X64_AND_RM, 0},
    [TN__FLAT_FETCH_SMAX] = {TN__X64_CMP_RM, TN__CC_L}, [TN__FLAT_FETCH_SMIN] = {TN__X64_CMP_RM, TN__CC_G},
    [TN__FLAT_FETCH_UMAX] = {TN__X64_CMP_RM, TN__CC_B}, [TN__FLAT_FETCH_UMIN] = {TN__X64_CMP_RM, TN__CC_A},
};

static void compile_fetch(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    unsigned size = tn__flat_size(inst->type);
    uint32_t again = tn__x64_new_label(c);
    if (c->failed)
        return;
    tn__x64_claim(c, TN__RAX);
    struct tn__x64_rm operand = tn__x64_register(tn__x64_in_register(c, o[0], inst->type));
    struct tn__x64_rm at = tn__x64_at_address(c, o[1]);
    tn__x64_emit_load(c, inst->type, TN__RAX, at);
    tn__x64_place_label(c, again);
    tn__x64_emit_move(c, TN__R11, TN__RAX);
    tn__x64_emit(c, fetches[inst->sub].row, size, TN__R11, operand);
    if (fetches[inst->sub].cc)
        c->at = tn__x64_put_cmov(c->at, fetches[inst->sub].cc, size == 8 ? 8 : 4, TN__R11, operand);
    if (inst->sub == TN__FLAT_FETCH_NAND)
        tn__x64_emit_immediate(c, TN__X64_XOR_MI, 8, 0, tn__x64_register(TN__R11), -1);
    tn__x64_emit_byte(c, 0xf0);
    tn__x64_emit(c, TN__X64_CMPXCHG_MR, size, TN__R11, at);
    tn__x64_jump_if(c, TN__CC_NE, again);
    tn__x64_define(c, tn__x64_number(c, c->inst), TN__RAX);
}

/* What was there is in rax; whether it was as expected is the next instruction's value. */
static void compile_compare_exchange(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    tn__x64_claim(c, TN__RAX);
    unsigned flag = tn__x64_take(c, TN__X64_GENERAL), new = tn__x64_in_register(c, o[1], inst->type);
    struct tn__x64_rm at = tn__x64_at_address(c, o[2]);
    tn__x64_copy_to(c, TN__RAX, o[0], inst->type);
    tn__x64_emit_byte(c, 0xf0);
    tn__x64_emit(c, TN__X64_CMPXCHG_MR, tn__flat_size(inst->type), new, at);
    if (inst[1].op == TN__FLAT_RESULT) {
        c->at = tn__x64_put_setcc(c->at, TN__CC_E, flag);
        tn__x64_define(c, tn__x64_number(c, c->inst) + 1, flag);
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), TN__RAX);
}

void tn__x64_compile_memory(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    if (inst->type == TN__FLAT_F80) {
        tn__x64_compile_x87(c);
        return;
    }
    switch (inst->op) {
    case TN__FLAT_ALLOCA:
        compile_alloca(c, inst);
        break;
    case TN__FLAT_ALLOCATE:
        compile_allocate(c);
        break;
    case TN__FLAT_STACK:
        compile_stack(c);
        break;
    case TN__FLAT_SET_STACK:
        tn__x64_emit_move(c, TN__RSP, tn__x64_in_register(c, tn__x64_operands(c)[0], TN__FLAT_PTR));
        break;
    case TN__FLAT_ADDRESS:
        compile_address(c, inst);
        break;
    case TN__FLAT_LOAD:
        compile_load(c, inst);
        break;
    case TN__FLAT_STORE:
        compile_store(c, inst);
        break;
    case TN__FLAT_FETCH:
        compile_fetch(c, inst);
        break;
    case TN__FLAT_COMPARE_EXCHANGE:
        compile_compare_exchange(c, inst);
        break;
    case TN__FLAT_FENCE: /* mfence */
        tn__x64_emit_byte(c, 0x0f);
        tn__x64_emit_byte(c, 0xae);
        tn__x64_emit_byte(c, 0xf0);
        break;
    default:
        compile_exchange(c, inst);
    }
}
