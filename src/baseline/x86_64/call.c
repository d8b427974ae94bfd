/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The calling convention: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2. */

#include <elf.h>

#include "baseline/x86_64/state.h"

static const uint8_t argument_registers[] = {TN__RDI, TN__RSI, TN__RDX, TN__RCX, TN__R8, TN__R9};
enum { INTEGERS = TN_COUNT(argument_registers), FLOATS = 8, WORD = 8, WIDE = 16, FIRST_ARGUMENT = 16 };

static const uint8_t returned[2][TN__FLAT_RETURNED] = {{TN__RAX, TN__RDX}, {TN__XMM0, TN__XMM0 + 1}};

/* Where the next argument goes. */
struct places {
    unsigned integers, floats;
    uint32_t memory; /* bytes */
    bool is_divided; /* the first half of an i128 is in memory, where there was one register left at most */
};

/* The register of an argument, or TN__NO_REGISTER and *offset in memory. */
static unsigned place(struct places *p, unsigned kind, uint32_t bytes, uint32_t *offset)
{
    unsigned type = kind & TN__FLAT_KIND_TYPE;
    bool is_float = tn__flat_is_float(type), is_copied = kind & TN__FLAT_BY_VALUE, was_divided = p->is_divided;
    p->is_divided = tn__flat_is_whole(kind) && !is_copied && p->integers + 2 > INTEGERS;
    if (type == TN__FLAT_F80 || p->is_divided || (is_copied && tn__flat_is_whole(kind)))
        p->memory = (uint32_t)tn__align_up(p->memory, WIDE);
    if (type == TN__FLAT_F80) {
        bytes = WIDE;
    } else if (p->is_divided || was_divided) {
        bytes = WORD;
    } else if (!is_copied) {
        if (is_float && p->floats < FLOATS)
            return TN__XMM0 + p->floats++;
        if (!is_float && p->integers < INTEGERS)
            return argument_registers[p->integers++];
        bytes = WORD;
    }
    *offset = p->memory;
    p->memory += (uint32_t)tn__align_up(bytes, WORD);
    return TN__NO_REGISTER;
}

/* ---- many moves at once ---- */

/* The type of what is moved, and an extension of narrow integers. */
static void extend(struct tn__x64 *c, const struct tn__x64_move *move)
{
    bool is_signed = move->kind & TN__FLAT_SIGN_EXTEND;
    struct tn__x64_rm rm = tn__x64_register(move->target);
    if (!(move->kind & (TN__FLAT_SIGN_EXTEND | TN__FLAT_ZERO_EXTEND)) || move->type > TN__FLAT_I16)
        return;
    if (move->type == TN__FLAT_I1) {
        tn__x64_emit_immediate(c, TN__X64_AND_MI, 4, 0, rm, 1);
        if (is_signed)
            tn__x64_emit(c, TN__X64_NEG_M, 4, 0, rm);
        return;
    }
    enum tn__x64_op row = is_signed ? TN__X64_MOVSX8 : TN__X64_MOVZX8;
    tn__x64_emit(c, (enum tn__x64_op)(row + (move->type == TN__FLAT_I16)), 4, move->target, rm);
}

static bool is_source(const struct tn__x64_move *moves, size_t count, unsigned reg)
{
    for (size_t i = 0; i < count; i++)
        if (!moves[i].done && moves[i].source == reg)
            return true;
    return false;
}

/* Moves between registers, each when nothing reads its target any more. In a cycle, two registers are exchanged. */
static void move_registers(struct tn__x64 *c, struct tn__x64_move *moves, size_t count)
{
    for (bool found = true; found;) {
        struct tn__x64_move *waiting = NULL;
        found = false;
        for (struct tn__x64_move *m = moves; m < moves + count; m++) {
            if (m->done || m->source == TN__NO_REGISTER)
                continue;
            m->done = true;
            if (m->target != m->source && is_source(moves, count, m->target)) {
                m->done = false;
                waiting = m;
                continue;
            }
            tn__x64_emit_move(c, m->target, m->source);
            found = true;
        }
        if (found || !waiting)
            continue;
        if (waiting->target >= TN__XMM0) {
            tn__x64_emit_move(c, TN__XMM15, waiting->target);
            tn__x64_emit_move(c, waiting->target, waiting->source);
        } else {
            tn__x64_emit(c, TN__X64_XCHG_MR, 8, waiting->source, tn__x64_register(waiting->target));
        }
        waiting->done = found = true;
        unsigned moved = waiting->target >= TN__XMM0 ? TN__XMM15 : waiting->source;
        for (struct tn__x64_move *m = moves; m < moves + count; m++)
            if (!m->done && m->source == waiting->target)
                m->source = (uint8_t)moved;
    }
}

/* Registers first: what is not in one depends on none. */
static void move_all(struct tn__x64 *c, struct tn__x64_move *moves, size_t count)
{
    move_registers(c, moves, count);
    for (const struct tn__x64_move *m = moves; m < moves + count; m++)
        if (!m->done)
            tn__x64_copy_to(c, m->target, m->operand, m->type);
    for (const struct tn__x64_move *m = moves; m < moves + count; m++)
        extend(c, m);
}

static struct tn__x64_move move_of(const struct tn__x64 *c, uint32_t operand, unsigned kind, unsigned target)
{
    struct tn__x64_move move = {.operand = operand,
                                .type = kind & TN__FLAT_KIND_TYPE,
                                .kind = (uint8_t)kind,
                                .target = (uint8_t)target,
                                .source = TN__NO_REGISTER};
    if (tn__flat_is_value(operand))
        move.source = c->s->values[operand].reg;
    return move;
}

/* ---- arguments in memory ---- */

/* Copies bytes of memory to the arguments' memory; rep movsb if they are many. */
static void copy_bytes(struct tn__x64 *c, uint32_t operand, uint32_t offset, uint32_t bytes)
{
    enum { FEW = 128 };
    if (bytes > FEW) {
        tn__x64_claim(c, TN__RSI);
        tn__x64_claim(c, TN__RDI);
        tn__x64_claim(c, TN__RCX);
        tn__x64_copy_to(c, TN__RSI, operand, TN__FLAT_PTR);
        tn__x64_emit(c, TN__X64_LEA, 8, TN__RDI, tn__x64_memory(TN__RSP, (int32_t)offset));
        tn__x64_emit_constant(c, TN__RCX, bytes);
        tn__x64_emit_byte(c, 0xf3);
        tn__x64_emit_byte(c, 0xa4);
        return;
    }
    struct tn__x64_rm from = tn__x64_at_address(c, operand);
    for (uint32_t at = 0, size; at < bytes; at += size) {
        size = bytes - at >= 8 ? 8 : bytes - at >= 4 ? 4 : bytes - at >= 2 ? 2 : 1;
        struct tn__x64_rm piece = from;
        piece.disp += (int32_t)at;
        tn__x64_emit(c, TN__X64_MOV_RM, size, TN__R11, piece);
        tn__x64_emit(c, TN__X64_MOV_MR, size, TN__R11, tn__x64_memory(TN__RSP, (int32_t)(offset + at)));
    }
}

static void store_argument(struct tn__x64 *c, uint32_t operand, unsigned kind, uint32_t offset)
{
    unsigned type = kind & TN__FLAT_KIND_TYPE;
    struct tn__x64_rm to = tn__x64_memory(TN__RSP, (int32_t)offset);
    if (type == TN__FLAT_F80) {
        tn__x64_store_wide(c, operand, to);
        return;
    }
    if (tn__flat_is_float(type)) {
        tn__x64_emit_store(c, type, tn__x64_in_register(c, operand, type), to);
        return;
    }
    const struct tn__x64_move move = {.type = (uint8_t)type, .kind = (uint8_t)kind, .target = TN__R11};
    tn__x64_copy_to(c, TN__R11, operand, type);
    extend(c, &move);
    tn__x64_emit(c, TN__X64_MOV_MR, 8, TN__R11, to);
}

/* ---- calls ---- */

/* Stores the arguments in memory, and lists those in registers. Returns how many there are; `p` has the sums. */
static size_t place_arguments(struct tn__x64 *c, const struct tn__flat_inst *inst, struct places *p)
{
    const uint32_t *o = tn__x64_operands(c);
    size_t count = 0;
    for (uint32_t k = 1; k < inst->count; k += 3) {
        uint32_t offset;
        bool is_nest = o[k + 1] & TN__FLAT_NEST;
        unsigned reg = is_nest ? (unsigned)TN__R10 : place(p, o[k + 1], o[k + 2], &offset);
        if (reg != TN__NO_REGISTER) {
            c->s->moves[count++] =
                (struct tn__x64_move){.operand = o[k], .kind = (uint8_t)o[k + 1], .target = (uint8_t)reg};
            continue;
        }
        if (!tn__x64_reserve(c, 48 * TN__X64_LONGEST))
            return 0;
        if (o[k + 1] & TN__FLAT_BY_VALUE)
            copy_bytes(c, o[k], offset, o[k + 2]);
        else
            store_argument(c, o[k], o[k + 1], offset);
        tn__x64_give_back(c);
    }
    return count;
}

/* What lives on after the call, in registers that it may change. */
static void spill_clobbered(struct tn__x64 *c)
{
    for (uint32_t left = TN__X64_CLOBBERED & ~c->free; left; left &= left - 1) {
        uint32_t value = c->held[__builtin_ctz(left)];
        if (value != TN__X64_NO_VALUE && c->s->values[value].uses)
            tn__x64_spill(c, value);
    }
}

static void use_up(struct tn__x64 *c, uint32_t operand)
{
    if (tn__flat_is_value(operand))
        c->s->values[operand].uses--;
}

static void drop_used_up(struct tn__x64 *c)
{
    for (uint32_t left = TN__X64_CALLEE_SAVED & ~c->free; left; left &= left - 1) {
        uint32_t value = c->held[__builtin_ctz(left)];
        if (value != TN__X64_NO_VALUE && !c->s->values[value].uses)
            tn__x64_forget(c, left & -left);
    }
}

/* By r10, unless the callee has a name. */
static void emit_call(struct tn__x64 *c, uint32_t callee)
{
    bool is_symbol = !tn__flat_is_value(callee) && !tn__flat_is_number(callee);
    const struct tn__flat_address *address = is_symbol ? &c->flat->addresses[tn__flat_index(callee)] : NULL;
    if (!is_symbol || address->addend) {
        tn__x64_emit(c, TN__X64_CALL_M, 4, 0, tn__x64_register(TN__R10));
        return;
    }
    tn__x64_emit_byte(c, 0xe8);
    tn__x64_relocate(c, tn__x64_offset(c), R_X86_64_PLT32, address->symbol, -4);
    tn__put32(c->at, 0);
    c->at += 4;
}

/* The results are in rax and rdx, xmm0 and xmm1, or on the stack of the x87, each in the order of those of its bank. */
static void define_results(struct tn__x64 *c)
{
    const struct tn__flat_inst *first = tn__x64_inst(c), *inst = first;
    unsigned counts[TN__FLAT_BANKS] = {0};
    if (inst->type == TN__FLAT_VOID)
        return;
    for (; inst == first || inst->op == TN__FLAT_RESULT; inst++) {
        uint32_t value = tn__x64_number(c, (uint32_t)(inst - c->flat->insts));
        unsigned bank = tn__flat_bank(inst->type);
        if (bank == TN__FLAT_OF_X87) {
            tn__x64_pop(c, value);
            continue;
        }
        unsigned reg = returned[bank][counts[bank]++];
        c->free &= ~(1u << reg);
        c->borrowed |= 1u << reg;
        c->pinned |= 1u << reg;
        tn__x64_define(c, value, reg);
    }
}

static bool is_safepoint(const struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    return c->inst > c->flat->blocks[c->block].first && inst[-1].op == TN__FLAT_SAFEPOINT;
}

void tn__x64_compile_call(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    const uint32_t *o = tn__x64_operands(c);
    struct places p = {0};
    bool is_named =
        !tn__flat_is_value(o[0]) && !tn__flat_is_number(o[0]) && !c->flat->addresses[tn__flat_index(o[0])].addend;
    if (!tn__x64_grow(c, &c->s->moves, &c->s->move_room, INTEGERS + FLOATS + 1, sizeof *c->s->moves))
        return;
    size_t count = place_arguments(c, inst, &p);
    if (!tn__x64_reserve(c, 80 * TN__X64_LONGEST))
        return;
    if (p.memory > c->outgoing)
        c->outgoing = p.memory;
    if (!is_named)
        c->s->moves[count++] = (struct tn__x64_move){.operand = o[0], .kind = TN__FLAT_PTR, .target = TN__R10};
    for (TN__FLAT_EACH(inst, k))
        use_up(c, o[k]);
    spill_clobbered(c);
    for (size_t i = 0; i < count; i++)
        c->s->moves[i] = move_of(c, c->s->moves[i].operand, c->s->moves[i].kind, c->s->moves[i].target);
    move_all(c, c->s->moves, count);
    if (inst->flags & TN__FLAT_VARIADIC)
        tn__x64_emit_constant(c, TN__RAX, p.floats);
    c->call = tn__x64_offset(c);
    emit_call(c, o[0]);
    c->call_end = tn__x64_offset(c);
    tn__x64_forget(c, TN__X64_CLOBBERED);
    drop_used_up(c);
    if (is_safepoint(c))
        tn__x64_end_safepoint(c);
    define_results(c);
}

/* ---- thread-local variables: Drepper, "ELF Handling For Thread-Local Storage", 4.4.6 and 4.5.6 ---- */

static uint32_t symbol_of(const struct tn__x64 *c, uint32_t operand)
{
    return c->flat->addresses[tn__flat_index(operand)].symbol;
}

static void emit_distance(struct tn__x64 *c, uint32_t type, uint32_t symbol)
{
    tn__x64_relocate(c, tn__x64_offset(c), type, symbol, -4);
    tn__put32(c->at, 0);
    c->at += 4;
}

static void emit_bytes(struct tn__x64 *c, const uint8_t *bytes, size_t count)
{
    memcpy(c->at, bytes, count);
    c->at += count;
}

/* In the one form that linkers may replace by another model's. */
static void call_for_thread(struct tn__x64 *c, uint32_t variable, uint32_t getter)
{
    static const uint8_t load[] = {0x66, 0x48, 0x8d, 0x3d}, call[] = {0x66, 0x66, 0x48, 0xe8}; /* lea rdi; call */
    spill_clobbered(c);
    emit_bytes(c, load, sizeof load);
    emit_distance(c, R_X86_64_TLSGD, symbol_of(c, variable));
    emit_bytes(c, call, sizeof call);
    emit_distance(c, R_X86_64_PLT32, symbol_of(c, getter));
    tn__x64_forget(c, TN__X64_CLOBBERED);
    tn__x64_claim(c, TN__RAX);
}

/* mov reg, fs:0 */
static void emit_thread_pointer(struct tn__x64 *c, unsigned reg)
{
    const uint8_t bytes[] = {0x64, (uint8_t)(reg & 8 ? 0x4c : 0x48), 0x8b, (uint8_t)(4 | (reg & 7) << 3), 0x25, 0, 0, 0,
                             0};
    emit_bytes(c, bytes, sizeof bytes);
}

void tn__x64_compile_thread(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    const uint32_t *o = tn__x64_operands(c);
    uint8_t *field = NULL;
    unsigned reg = TN__RAX;
    if (inst->sub == TN__FLAT_DYNAMIC) {
        call_for_thread(c, o[0], o[1]);
    } else {
        reg = tn__x64_take(c, TN__X64_GENERAL);
        emit_thread_pointer(c, reg);
    }
    if (inst->sub == TN__FLAT_INITIAL) {
        struct tn__x64_rm ahead = {.is_memory = true, .base = TN__NO_REGISTER, .index = TN__NO_REGISTER};
        c->at = tn__x64_put(c->at, TN__X64_ADD_RM, 8, reg, ahead, 0, &field);
        tn__x64_relocate(c, tn__x64_offset(c) - 4, R_X86_64_GOTTPOFF, symbol_of(c, o[0]), -4);
    } else if (inst->sub == TN__FLAT_LOCAL_EXEC) {
        tn__x64_emit_immediate(c, TN__X64_ADD_MI, 8, 0, tn__x64_register(reg), INT32_MAX);
        tn__put32(c->at - 4, 0);
        tn__x64_relocate(c, tn__x64_offset(c) - 4, R_X86_64_TPOFF32, symbol_of(c, o[0]), 0);
    }
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* ---- variadic functions: 3.5.7 ---- */

enum { FLOAT_WORD = 16, SAVED_ARGUMENTS = INTEGERS * WORD + FLOATS * FLOAT_WORD };

/* Stores the registers that may have further arguments; those of floating point only if al says that there are some. */
static void save_arguments(struct tn__x64 *c, const struct places *p)
{
    uint32_t end = tn__x64_new_label(c);
    c->saved_arguments = tn__x64_frame(c, SAVED_ARGUMENTS, FLOAT_WORD);
    c->va_registers = p->integers * WORD;
    c->va_floats = INTEGERS * WORD + p->floats * FLOAT_WORD;
    c->va_overflow = FIRST_ARGUMENT + p->memory;
    if (!tn__x64_reserve(c, (INTEGERS + FLOATS + 2) * TN__X64_LONGEST))
        return;
    for (unsigned i = p->integers; i < INTEGERS; i++)
        tn__x64_emit(c, TN__X64_MOV_MR, 8, argument_registers[i],
                     tn__x64_memory(TN__RBP, c->saved_arguments + WORD * (int32_t)i));
    tn__x64_emit(c, TN__X64_TEST_MR, 1, TN__RAX, tn__x64_register(TN__RAX));
    tn__x64_jump_if(c, TN__CC_E, end);
    for (unsigned i = p->floats; i < FLOATS; i++)
        tn__x64_emit(c, TN__X64_MOVAPS_MR, 4, TN__XMM0 + i,
                     tn__x64_memory(TN__RBP, c->saved_arguments + INTEGERS * WORD + FLOAT_WORD * (int32_t)i));
    tn__x64_place_label(c, end);
}

void tn__x64_compile_va_start(struct tn__x64 *c)
{
    enum { REGISTERS = 0, OF_FLOATS = 4, OVERFLOW_AREA = 8, SAVE_AREA = 16 };
    unsigned list = tn__x64_in_register(c, tn__x64_operands(c)[0], TN__FLAT_PTR);
    tn__x64_emit_immediate(c, TN__X64_MOV_MI, 4, 0, tn__x64_memory(list, REGISTERS), (int32_t)c->va_registers);
    tn__x64_emit_immediate(c, TN__X64_MOV_MI, 4, 0, tn__x64_memory(list, OF_FLOATS), (int32_t)c->va_floats);
    tn__x64_emit(c, TN__X64_LEA, 8, TN__R11, tn__x64_memory(TN__RBP, (int32_t)c->va_overflow));
    tn__x64_emit(c, TN__X64_MOV_MR, 8, TN__R11, tn__x64_memory(list, OVERFLOW_AREA));
    tn__x64_emit(c, TN__X64_LEA, 8, TN__R11, tn__x64_memory(TN__RBP, c->saved_arguments));
    tn__x64_emit(c, TN__X64_MOV_MR, 8, TN__R11, tn__x64_memory(list, SAVE_AREA));
}

/* ---- the function's own arguments and results ---- */

void tn__x64_compile_entry(struct tn__x64 *c)
{
    struct places p = {0};
    for (uint32_t i = 0; i < c->flat->argument_count; i++) {
        const struct tn__flat_argument *argument = &c->flat->arguments[i];
        uint32_t offset;
        unsigned reg = place(&p, argument->kind, argument->bytes, &offset);
        if (!tn__x64_reserve(c, 4 * TN__X64_LONGEST))
            return;
        if (argument->kind & TN__FLAT_STRUCT)
            c->returned = i;
        if (reg != TN__NO_REGISTER) {
            c->s->values[i].uses += i == c->returned; /* the function's end uses it */
            tn__x64_define(c, i, reg);
            if (c->s->values[i].uses)
                c->free &= ~(1u << reg);
            continue;
        }
        tn__x64_define_frame(c, i, FIRST_ARGUMENT + (int32_t)offset);
        if (!(argument->kind & TN__FLAT_BY_VALUE))
            c->s->values[i].place = TN__X64_IN_SLOT;
    }
    if (c->flat->is_variadic)
        save_arguments(c, &p);
}

void tn__x64_compile_return(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    const uint32_t *o = tn__x64_operands(c);
    unsigned counts[TN__FLAT_BANKS] = {0};
    size_t count = 0;
    if (!tn__x64_grow(c, &c->s->moves, &c->s->move_room, 2 * TN__FLAT_RETURNED, sizeof *c->s->moves))
        return;
    for (uint32_t k = 0; k < inst->count; k += 2) {
        unsigned bank = tn__flat_bank(o[k + 1] & TN__FLAT_KIND_TYPE);
        if (bank != TN__FLAT_OF_X87)
            c->s->moves[count++] = move_of(c, o[k], o[k + 1], returned[bank][counts[bank]++]);
    }
    move_all(c, c->s->moves, count);
    for (uint32_t k = inst->count; k > 0; k -= 2) /* the first one is pushed last */
        if ((o[k - 1] & TN__FLAT_KIND_TYPE) == TN__FLAT_F80)
            tn__x64_push(c, o[k - 2]);
    if (c->returned != TN__X64_NO_VALUE)
        tn__x64_emit_load(c, TN__FLAT_PTR, TN__RAX, tn__x64_memory(TN__RBP, c->s->values[c->returned].slot));
    if (c->position + 1 < c->analysis->reached)
        tn__x64_jump(c, c->epilogue);
}
