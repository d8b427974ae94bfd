/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Variables of the frame come first, then the instructions of each block in the order in which they were made. */

#include "baseline/build/build.h"

struct laying {
    const struct tn_build_function *f;
    struct tn__flat *flat;
    uint32_t *place; /* of each instruction: its number in the flat form */
    uint32_t *next;  /* of frame variables, and of each block: the place of the next one */
};

static uint32_t kind_of(const struct tn__build_inst *inst)
{
    return inst->inst.op == TN__FLAT_ALLOCA ? 0 : inst->block + 1;
}

static void place_instructions(struct laying *l)
{
    const struct tn_build_function *f = l->f;
    uint32_t at = 0;
    for (size_t i = 0; i < f->inst_count; i++)
        l->next[kind_of(&f->insts[i])]++;
    for (size_t b = 0; b <= f->block_count; b++) {
        uint32_t count = l->next[b];
        l->next[b] = at;
        at += count;
    }
    for (size_t i = 0; i < f->inst_count; i++)
        l->place[i] = l->next[kind_of(&f->insts[i])]++;
    for (size_t b = 0, first = 0; b < f->block_count; first = l->next[++b])
        l->flat->blocks[b] = (struct tn__flat_block){(uint32_t)first, l->next[b + 1], f->blocks[b].first_successor,
                                                     f->blocks[b].successors};
}

static uint32_t operand_of(struct laying *l, uint32_t value)
{
    enum { LIMIT = 1 << 29 };
    struct tn__flat *flat = l->flat;
    const struct tn__build_value *v = &l->f->values[value - 1];
    int64_t number = (int64_t)v->number;
    switch (v->kind) {
    case TN__BUILD_ARGUMENT:
        return (uint32_t)v->number;
    case TN__BUILD_INST:
        return (uint32_t)l->f->argument_count + l->place[v->number];
    case TN__BUILD_ADDRESS:
        flat->addresses[flat->address_count] = (struct tn__flat_address){(uint32_t)v->number, v->addend};
        return TN__FLAT_SYMBOL | (uint32_t)flat->address_count++;
    default:
        if (number >= -LIMIT && number < LIMIT)
            return TN__FLAT_IMMEDIATE | ((uint32_t)number & ~(uint32_t)TN__FLAT_KIND);
        flat->constants[flat->constant_count] = v->number;
        return TN__FLAT_CONSTANT | (uint32_t)flat->constant_count++;
    }
}

static void put_operands(struct laying *l, const struct tn__build_inst *from, struct tn__flat_inst *inst)
{
    const uint32_t *operands = l->f->operands + from->inst.first;
    uint32_t *to = l->flat->operands + l->flat->operand_count;
    inst->first = (uint32_t)l->flat->operand_count;
    if (inst->count)
        memcpy(to, operands, inst->count * sizeof *to);
    for (TN__FLAT_EACH(inst, k))
        to[k] = operand_of(l, operands[k]);
    l->flat->operand_count += inst->count;
}

/* Those of phis follow all others. They come from the list of what the client has said, which has no order. */
static void put_incoming(struct laying *l)
{
    const struct tn_build_function *f = l->f;
    struct tn__flat *flat = l->flat;
    for (size_t i = 0; i < f->incoming_count; i++)
        flat->insts[l->place[f->incoming[i].phi]].count += 2;
    for (size_t i = 0; i < flat->inst_count; i++)
        if (flat->insts[i].op == TN__FLAT_PHI) {
            flat->insts[i].first = (uint32_t)flat->operand_count;
            flat->operand_count += flat->insts[i].count;
            flat->insts[i].count = 0;
        }
    for (size_t i = 0; i < f->incoming_count; i++) {
        struct tn__flat_inst *phi = &flat->insts[l->place[f->incoming[i].phi]];
        flat->operands[phi->first + phi->count++] = operand_of(l, f->incoming[i].value);
        flat->operands[phi->first + phi->count++] = f->incoming[i].block;
    }
}

static void lay_out(struct laying *l)
{
    const struct tn_build_function *f = l->f;
    struct tn__flat *flat = l->flat;
    flat->operand_count = flat->constant_count = flat->address_count = 0;
    flat->symbols = (uint32_t)f->build->symbol_count;
    for (size_t i = 0; i < f->argument_count; i++)
        flat->arguments[i] = (struct tn__flat_argument){f->values[i].type, 0};
    place_instructions(l);
    for (size_t i = 0; i < f->inst_count; i++) {
        struct tn__flat_inst *inst = &flat->insts[l->place[i]];
        *inst = f->insts[i].inst;
        put_operands(l, &f->insts[i], inst);
    }
    put_incoming(l);
    if (f->successor_count)
        memcpy(flat->successors, f->successors, f->successor_count * sizeof *f->successors);
}

bool tn__build_lay_out(const struct tn_build_function *f, struct tn__flat *flat)
{
    struct laying l = {.f = f, .flat = flat};
    size_t operands = f->operand_count + 2 * f->incoming_count;
    /* Each operand may be a constant or an address. */
    const struct tn__flat_counts counts = {f->argument_count,  f->inst_count, operands, f->block_count,
                                           f->successor_count, operands,      operands};
    l.place = tn__alloc(NULL, (f->inst_count + 1) * sizeof *l.place);
    l.next = tn__alloc_zeroed(NULL, f->block_count + 2, sizeof *l.next);
    bool good = l.place && l.next && tn__flat_provide(flat, &counts);
    if (good)
        lay_out(&l);
    tn__free(NULL, l.place);
    tn__free(NULL, l.next);
    return good;
}
