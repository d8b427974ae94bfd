/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers and slots. */

#include "baseline/x86_64/state.h"

static struct tn__x64_value *value_of(const struct tn__x64 *c, uint32_t value)
{
    return &c->s->values[value];
}

/* ---- the frame ---- */

int32_t tn__x64_frame(struct tn__x64 *c, uint32_t bytes, uint32_t alignment)
{
    enum { LARGEST = 1 << 28 };
    int64_t frame = (int64_t)tn__align_up((uint64_t)c->frame + bytes, alignment);
    if (frame > LARGEST)
        tn__x64_fail(c, TN_ENOTSUP, "its frame is too large");
    else
        c->frame = (int32_t)frame;
    return -c->frame;
}

int32_t tn__x64_spare(struct tn__x64 *c)
{
    if (!c->spare)
        c->spare = tn__x64_frame(c, 16, 16);
    return c->spare;
}

int32_t tn__x64_slot(struct tn__x64 *c, uint32_t value)
{
    struct tn__x64_value *v = value_of(c, value);
    if (v->has_slot)
        return v->slot;
    v->has_slot = true;
    v->is_wide = tn__flat_type_of(c->flat, value) == TN__FLAT_F80;
    uint32_t bytes = v->is_wide ? 16 : 8;
    size_t *free_slots = &c->free_slots[v->is_wide];
    v->slot = *free_slots ? c->s->free_slots[v->is_wide][--*free_slots] : tn__x64_frame(c, bytes, bytes);
    uint32_t last = c->analysis->last[value];
    if (value == c->returned)
        return v->slot;
    v->next = c->s->ending[last];
    c->s->ending[last] = value;
    return v->slot;
}

void tn__x64_end_block(struct tn__x64 *c)
{
    for (uint32_t value = c->s->ending[c->position]; value != TN__X64_NO_VALUE;) {
        const struct tn__x64_value *v = value_of(c, value);
        int32_t **slots = &c->s->free_slots[v->is_wide];
        if (!tn__x64_grow(c, slots, &c->s->slot_room[v->is_wide], c->free_slots[v->is_wide] + 1, sizeof **slots))
            return;
        (*slots)[c->free_slots[v->is_wide]++] = v->slot;
        value = v->next;
    }
}

static struct tn__x64_rm slot_rm(const struct tn__x64 *c, uint32_t value)
{
    return tn__x64_memory(TN__RBP, value_of(c, value)->slot);
}

/* Slots have all bits of general registers. */
static unsigned slot_type(unsigned type)
{
    return tn__flat_is_float(type) ? type : TN__FLAT_I64;
}

void tn__x64_spill(struct tn__x64 *c, uint32_t value)
{
    struct tn__x64_value *v = value_of(c, value);
    if (v->place != TN__X64_IN_REGISTER_ONLY || v->reg == TN__NO_REGISTER)
        return;
    int32_t slot = tn__x64_slot(c, value);
    tn__x64_emit_store(c, slot_type(tn__flat_type_of(c->flat, value)), v->reg, tn__x64_memory(TN__RBP, slot));
    v->place = TN__X64_IN_SLOT;
}

/* ---- registers ---- */

static void release(struct tn__x64 *c, unsigned reg)
{
    uint32_t value = c->held[reg];
    if (value != TN__X64_NO_VALUE)
        value_of(c, value)->reg = TN__NO_REGISTER;
    c->held[reg] = TN__X64_NO_VALUE;
    c->free |= 1u << reg;
}

void tn__x64_forget(struct tn__x64 *c, uint32_t registers)
{
    for (uint32_t left = registers & (TN__X64_GENERAL | TN__X64_FLOAT) & ~c->free; left; left &= left - 1)
        release(c, (unsigned)__builtin_ctz(left));
}

static unsigned borrow(struct tn__x64 *c, unsigned reg)
{
    c->free &= ~(1u << reg);
    c->pinned |= 1u << reg;
    c->borrowed |= 1u << reg;
    c->saved |= 1u << reg & TN__X64_CALLEE_SAVED;
    return reg;
}

/* The one that is needed last is not known; one whose value is in its slot already costs no store. */
static unsigned choose(const struct tn__x64 *c, uint32_t candidates)
{
    for (uint32_t left = candidates; left; left &= left - 1)
        if (value_of(c, c->held[__builtin_ctz(left)])->place == TN__X64_IN_SLOT)
            return (unsigned)__builtin_ctz(left);
    return (unsigned)__builtin_ctz(candidates);
}

unsigned tn__x64_take(struct tn__x64 *c, uint32_t bank)
{
    uint32_t free = c->free & bank & ~c->pinned;
    if (free & ~TN__X64_CALLEE_SAVED)
        return borrow(c, (unsigned)__builtin_ctz(free & ~TN__X64_CALLEE_SAVED));
    if (free)
        return borrow(c, (unsigned)__builtin_ctz(free));
    unsigned reg = choose(c, bank & ~c->pinned);
    tn__x64_spill(c, c->held[reg]);
    release(c, reg);
    return borrow(c, reg);
}

/* What it holds goes to another register if there is one. */
void tn__x64_claim(struct tn__x64 *c, unsigned reg)
{
    uint32_t bank = 1u << reg & TN__X64_GENERAL ? TN__X64_GENERAL : TN__X64_FLOAT;
    uint32_t value = c->held[reg], free = c->free & bank & ~TN__X64_CALLEE_SAVED & ~c->pinned & ~(1u << reg);
    if (value == TN__X64_NO_VALUE) {
        borrow(c, reg);
        return;
    }
    if (free) {
        unsigned to = (unsigned)__builtin_ctz(free);
        tn__x64_emit_move(c, to, reg);
        release(c, reg);
        c->free &= ~(1u << to);
        c->held[to] = value;
        value_of(c, value)->reg = (uint8_t)to;
    } else {
        tn__x64_spill(c, value);
        release(c, reg);
    }
    borrow(c, reg);
}

void tn__x64_give_back(struct tn__x64 *c)
{
    c->free |= c->borrowed;
    c->borrowed = c->pinned = 0;
}

void tn__x64_used(struct tn__x64 *c, uint32_t operand)
{
    if (!tn__flat_is_value(operand))
        return;
    struct tn__x64_value *v = value_of(c, operand);
    if (--v->uses == 0 && v->reg != TN__NO_REGISTER)
        release(c, v->reg);
}

/* ---- operands ---- */

bool tn__x64_is_immediate(const struct tn__x64 *c, uint32_t operand, unsigned size, int32_t *immediate)
{
    if (!tn__flat_is_number(operand))
        return false;
    uint64_t number = tn__flat_number(c->flat, operand);
    *immediate = size == 1 ? (int8_t)number : size == 2 ? (int16_t)number : (int32_t)number;
    return size < 8 || (int64_t)number == *immediate;
}

/* The bits of a number that its type has, extended as is shortest. */
static uint64_t bits_of(const struct tn__x64 *c, uint32_t operand, unsigned type)
{
    static const uint64_t masks[9] = {[1] = 0xff, [2] = 0xffff, [4] = 0xffffffff, [8] = UINT64_MAX};
    return tn__flat_number(c->flat, operand) & masks[tn__flat_size(type)];
}

static void load_number(struct tn__x64 *c, unsigned reg, uint32_t operand, unsigned type)
{
    uint64_t bits = bits_of(c, operand, type);
    if (reg < TN__XMM0) {
        tn__x64_emit_constant(c, reg, bits);
        return;
    }
    if (!bits) {
        tn__x64_emit(c, TN__X64_XORPS, 4, reg, tn__x64_register(reg));
        return;
    }
    bool is_double = type == TN__FLAT_F64;
    tn__x64_emit_constant(c, TN__R11, bits);
    tn__x64_emit(c, is_double ? TN__X64_MOVQ_XM : TN__X64_MOVD_XM, is_double ? 8 : 4, reg, tn__x64_register(TN__R11));
}

void tn__x64_copy_to(struct tn__x64 *c, unsigned reg, uint32_t operand, unsigned type)
{
    if (tn__flat_is_number(operand)) {
        load_number(c, reg, operand, type);
        return;
    }
    if (!tn__flat_is_value(operand)) {
        tn__x64_emit_address(c, reg, &c->flat->addresses[tn__flat_index(operand)]);
        return;
    }
    const struct tn__x64_value *v = value_of(c, operand);
    if (v->place == TN__X64_IS_FRAME)
        tn__x64_emit(c, TN__X64_LEA, 8, reg, slot_rm(c, operand));
    else if (v->reg != TN__NO_REGISTER)
        tn__x64_emit_move(c, reg, v->reg);
    else
        tn__x64_emit_load(c, slot_type(type), reg, slot_rm(c, operand));
}

/* Its register becomes the value's again. */
static unsigned reload(struct tn__x64 *c, uint32_t operand, unsigned type)
{
    struct tn__x64_value *v = value_of(c, operand);
    unsigned reg = tn__x64_take(c, tn__x64_bank(type));
    tn__x64_copy_to(c, reg, operand, type);
    c->borrowed &= ~(1u << reg);
    c->held[reg] = operand;
    v->reg = (uint8_t)reg;
    return reg;
}

unsigned tn__x64_in_register(struct tn__x64 *c, uint32_t operand, unsigned type)
{
    if (tn__flat_is_value(operand) && value_of(c, operand)->place != TN__X64_IS_FRAME) {
        unsigned reg = value_of(c, operand)->reg;
        if (reg == TN__NO_REGISTER)
            return reload(c, operand, type);
        c->pinned |= 1u << reg;
        return reg;
    }
    unsigned reg = tn__x64_take(c, tn__x64_bank(type));
    tn__x64_copy_to(c, reg, operand, type);
    return reg;
}

unsigned tn__x64_own(struct tn__x64 *c, uint32_t operand, unsigned type)
{
    if (tn__flat_is_value(operand)) {
        const struct tn__x64_value *v = value_of(c, operand);
        unsigned reg = v->reg;
        if (v->uses == 1 && reg != TN__NO_REGISTER && !(c->pinned >> reg & 1)) {
            release(c, reg);
            return borrow(c, reg);
        }
    }
    unsigned reg = tn__x64_take(c, tn__x64_bank(type));
    tn__x64_copy_to(c, reg, operand, type);
    return reg;
}

struct tn__x64_rm tn__x64_in_either(struct tn__x64 *c, uint32_t operand, unsigned type)
{
    if (tn__flat_is_value(operand)) {
        const struct tn__x64_value *v = value_of(c, operand);
        if (v->reg == TN__NO_REGISTER && v->place == TN__X64_IN_SLOT && v->uses == 1)
            return slot_rm(c, operand);
    }
    return tn__x64_register(tn__x64_in_register(c, operand, type));
}

/* ---- addresses ---- */

/* The sum that an address instruction computes, for those that memory.c defers. */
static struct tn__x64_rm sum(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *operands = c->flat->operands + inst->first;
    c->deferred = TN__X64_NO_VALUE;
    struct tn__x64_rm rm = tn__x64_at_address(c, operands[0]);
    rm.disp += (int32_t)inst->aux;
    if (inst->count == 3) {
        rm.index = (uint8_t)tn__x64_in_register(c, operands[1], TN__FLAT_I64);
        rm.scale = (uint8_t)__builtin_ctz(operands[2]);
    }
    return rm;
}

struct tn__x64_rm tn__x64_at_address(struct tn__x64 *c, uint32_t operand)
{
    if (tn__flat_is_value(operand)) {
        uint32_t deferred = c->deferred;
        if (deferred != TN__X64_NO_VALUE && operand == tn__x64_number(c, deferred))
            return sum(c, &c->flat->insts[deferred]);
        if (value_of(c, operand)->place == TN__X64_IS_FRAME)
            return slot_rm(c, operand);
    } else if (!tn__flat_is_number(operand)) {
        const struct tn__flat_address *address = &c->flat->addresses[tn__flat_index(operand)];
        if (c->symbols[address->symbol].direct)
            return (struct tn__x64_rm){.is_memory = true,
                                       .base = TN__NO_REGISTER,
                                       .index = TN__NO_REGISTER,
                                       .disp = address->addend,
                                       .symbol = address->symbol};
    }
    return tn__x64_memory(tn__x64_in_register(c, operand, TN__FLAT_PTR), 0);
}

/* ---- definitions ---- */

void tn__x64_define(struct tn__x64 *c, uint32_t value, unsigned reg)
{
    struct tn__x64_value *v = value_of(c, value);
    if (!v->uses)
        return;
    c->borrowed &= ~(1u << reg);
    c->held[reg] = value;
    v->reg = (uint8_t)reg;
    if (c->analysis->crosses[value] || value == c->returned)
        tn__x64_spill(c, value);
}

void tn__x64_define_frame(struct tn__x64 *c, uint32_t value, int32_t offset)
{
    struct tn__x64_value *v = value_of(c, value);
    v->place = TN__X64_IS_FRAME;
    v->slot = offset;
    v->has_slot = true;
}
