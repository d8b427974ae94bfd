/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Ends of blocks, and the code on edges, which stores the values of phis. */

#include <stdlib.h>

#include "baseline/x86_64/state.h"

/* ---- edges ---- */

static bool has_phis(const struct tn__x64 *c, uint32_t block)
{
    return c->flat->insts[c->flat->blocks[block].first].op == TN__FLAT_PHI;
}

/* What a phi of a block gets from the block at hand. Edges, and the phis of one, mostly have an order, so the search
 * begins where the last one for that block ended, and goes both ways. */
static uint32_t source_of(const struct tn__x64 *c, uint32_t to, const struct tn__flat_inst *phi)
{
    const uint32_t *operands = c->flat->operands + phi->first;
    uint32_t *last = &c->s->edges[to].source;
    uint32_t below = *last < phi->count ? *last : phi->count, above = below;
    for (;; above += 2) {
        if (above < phi->count && operands[above + 1] == c->block)
            return operands[*last = above];
        if (below && operands[(below -= 2) + 1] == c->block)
            return operands[*last = below];
    }
}

/* Stores an operand to a slot, by registers that hold no values. */
static void store_to(struct tn__x64 *c, uint32_t operand, unsigned type, int32_t slot)
{
    struct tn__x64_rm to = tn__x64_memory(TN__RBP, slot);
    bool is_value = tn__flat_is_value(operand);
    const struct tn__x64_value *v = is_value ? &c->s->values[operand] : NULL;
    int32_t immediate;
    if (type == TN__FLAT_F80) {
        tn__x64_store_wide(c, operand, to);
    } else if (is_value && v->place != TN__X64_IS_FRAME && v->reg != TN__NO_REGISTER) {
        tn__x64_emit_store(c, tn__flat_is_float(type) ? type : TN__FLAT_I64, v->reg, to);
    } else if (is_value && v->place == TN__X64_IN_SLOT) {
        tn__x64_emit(c, TN__X64_MOV_RM, 8, TN__R11, tn__x64_memory(TN__RBP, v->slot));
        tn__x64_emit(c, TN__X64_MOV_MR, 8, TN__R11, to);
    } else if (tn__x64_is_immediate(c, operand, tn__flat_is_float(type) ? 8 : tn__flat_size(type), &immediate)) {
        tn__x64_emit_immediate(c, TN__X64_MOV_MI, 8, 0, to, immediate);
    } else {
        tn__x64_copy_to(c, TN__R11, operand, TN__FLAT_I64);
        tn__x64_emit(c, TN__X64_MOV_MR, 8, TN__R11, to);
    }
}

/* Which phi's slot a move reads: its number among those of the block; at least `count`: none's. */
static uint32_t read_by(const struct tn__x64 *c, const struct tn__x64_move *move, uint32_t first_phi, uint32_t count)
{
    uint32_t phi = move->operand - first_phi;
    return phi < count && move->source == TN__NO_REGISTER && c->s->values[move->operand].place == TN__X64_IN_SLOT
               ? phi
               : UINT32_MAX;
}

/* Stores a phi, and then those whose slots nothing reads any more. */
static void store_chain(struct tn__x64 *c, struct tn__x64_move *moves, uint32_t count, uint32_t first_phi, uint32_t at)
{
    while (at < count && !moves[at].readers && !moves[at].done && tn__x64_reserve(c, 4 * TN__X64_LONGEST)) {
        struct tn__x64_move *move = &moves[at];
        at = read_by(c, move, first_phi, count);
        store_to(c, move->operand, move->type, tn__x64_slot(c, first_phi + (uint32_t)(move - moves)));
        move->done = true;
        if (at < count)
            moves[at].readers--;
    }
}

/* Saves a phi's old value in a slot of its own, for the one move that still needs it. The value that stands for that
 * slot is the number behind all values. */
static void break_cycle(struct tn__x64 *c, struct tn__x64_move *moves, uint32_t count, uint32_t first_phi, uint32_t at)
{
    uint32_t saved = tn__flat_values(c->flat), reader = at, next;
    c->s->values[saved] = (struct tn__x64_value){
        .reg = TN__NO_REGISTER, .place = TN__X64_IN_SLOT, .has_slot = true, .slot = tn__x64_spare(c)};
    if (!tn__x64_reserve(c, 4 * TN__X64_LONGEST))
        return;
    store_to(c, first_phi + at, moves[at].type == TN__FLAT_F80 ? TN__FLAT_F80 : TN__FLAT_I64, c->spare);
    while ((next = read_by(c, &moves[reader], first_phi, count)) != at)
        reader = next;
    moves[reader].operand = saved;
    moves[at].readers = 0;
}

/* All moves of an edge happen at once: a slot is written after the last move that reads it. What is left then are
 * cycles, in which one move reads each slot. */
static void order_moves(struct tn__x64 *c, struct tn__x64_move *moves, uint32_t count, uint32_t first_phi)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t read = read_by(c, &moves[i], first_phi, count);
        moves[i].done |= moves[i].operand == first_phi + i;
        if (read < count && !moves[i].done)
            moves[read].readers++;
    }
    for (uint32_t i = 0; i < count; i++)
        store_chain(c, moves, count, first_phi, i);
    for (uint32_t i = 0; i < count && !c->failed; i++)
        if (!moves[i].done) {
            break_cycle(c, moves, count, first_phi, i);
            store_chain(c, moves, count, first_phi, i);
        }
}

static void compile_edge(struct tn__x64 *c, uint32_t to)
{
    const struct tn__flat_block *block = &c->flat->blocks[to];
    uint32_t count = 0;
    while (c->flat->insts[block->first + count].op == TN__FLAT_PHI)
        count++;
    if (!count)
        return;
    if (!tn__x64_grow(c, &c->s->moves, &c->s->move_room, count, sizeof *c->s->moves))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct tn__flat_inst *phi = &c->flat->insts[block->first + i];
        uint32_t operand = source_of(c, to, phi);
        c->s->moves[i] = (struct tn__x64_move){.operand = operand, .type = phi->type, .source = TN__NO_REGISTER};
        if (tn__flat_is_value(operand))
            c->s->moves[i].source = c->s->values[operand].reg;
    }
    order_moves(c, c->s->moves, count, tn__x64_number(c, block->first));
}

/* The uses on an edge are over once its code is there. */
static void end_edge(struct tn__x64 *c, uint32_t to)
{
    for (const struct tn__flat_inst *phi = &c->flat->insts[c->flat->blocks[to].first]; phi->op == TN__FLAT_PHI; phi++)
        tn__x64_used(c, source_of(c, to, phi));
}

/* ---- jumps and branches ---- */

static bool is_next(const struct tn__x64 *c, uint32_t block)
{
    return c->analysis->position[block] == c->position + 1;
}

static void go(struct tn__x64 *c, uint32_t to)
{
    compile_edge(c, to);
    if (!is_next(c, to) && tn__x64_reserve(c, TN__X64_LONGEST))
        tn__x64_jump(c, to);
}

/* The edge to the block that follows comes last. */
static void compile_branch(struct tn__x64 *c, const uint32_t *to)
{
    unsigned cc = tn__x64_test(c, tn__x64_operands(c)[0]);
    uint32_t taken = to[0], other = to[1];
    if (taken == other) {
        go(c, taken);
        return;
    }
    if (is_next(c, taken)) {
        taken = to[1];
        other = to[0];
        cc ^= 1;
    }
    if (!has_phis(c, taken)) {
        tn__x64_jump_if(c, cc, taken);
        go(c, other);
        return;
    }
    uint32_t over = tn__x64_new_label(c);
    if (c->failed)
        return;
    tn__x64_jump_if(c, cc ^ 1, over);
    compile_edge(c, taken);
    if (!tn__x64_reserve(c, TN__X64_LONGEST))
        return;
    tn__x64_jump(c, taken);
    tn__x64_place_label(c, over);
    go(c, other);
}

/* ---- exceptions ---- */

static uint32_t landing_of(const struct tn__x64 *c, uint32_t block)
{
    uint32_t i = c->flat->blocks[block].first;
    while (c->flat->insts[i].op == TN__FLAT_PHI)
        i++;
    return i;
}

/* The call before it gets a landing: the block, or the code on the edge to it. */
static void compile_invoked(struct tn__x64 *c, const uint32_t *to)
{
    uint32_t landing = has_phis(c, to[1]) ? tn__x64_new_label(c) : to[1];
    if (c->failed || !tn__x64_grow(c, &c->s->sites, &c->s->site_room, c->sites + 1, sizeof *c->s->sites))
        return;
    c->s->sites[c->sites++] = (struct tn__code_site){c->call, c->call_end, landing, landing_of(c, to[1]), 0};
    if (landing == to[1]) {
        go(c, to[0]);
        return;
    }
    compile_edge(c, to[0]);
    if (!tn__x64_reserve(c, TN__X64_LONGEST))
        return;
    tn__x64_jump(c, to[0]);
    tn__x64_place_label(c, landing);
    go(c, to[1]);
}

static void compile_landing(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    for (uint32_t k = 0; k < inst->count; k += 2)
        if (o[k + 1] != TN__FLAT_CLEANUP && !(o[k + 1] != TN__FLAT_CATCH && tn__flat_is_number(o[k])) &&
            !tn__code_type(c->flat, &c->s->types, o[k]))
            tn__x64_fail(c, TN_ENOMEM, NULL);
    tn__x64_claim(c, TN__RAX);
    tn__x64_claim(c, TN__RDX);
    tn__x64_define(c, tn__x64_number(c, c->inst), TN__RAX);
    tn__x64_define(c, tn__x64_number(c, c->inst) + 1, TN__RDX);
}

static void compile_type_id(struct tn__x64 *c)
{
    unsigned reg = tn__x64_take(c, TN__X64_GENERAL);
    uint32_t type = tn__code_type(c->flat, &c->s->types, tn__x64_operands(c)[0]);
    if (!type)
        tn__x64_fail(c, TN_ENOMEM, NULL);
    tn__x64_emit_constant(c, reg, type);
    tn__x64_define(c, tn__x64_number(c, c->inst), reg);
}

/* ---- switches ---- */

enum { FEW = 4, SPARSE = 8 }; /* up to FEW cases are compared in turn; a table has at most SPARSE entries for a case */

struct search {
    struct tn__x64_case *cases;
    unsigned reg, size;
    uint32_t otherwise; /* a label */
};

static void compare_with(struct tn__x64 *c, const struct search *s, uint64_t value)
{
    if (s->size == 8 && (int64_t)value != (int32_t)value) {
        tn__x64_emit_constant(c, TN__R11, value);
        tn__x64_emit(c, TN__X64_CMP_RM, 8, s->reg, tn__x64_register(TN__R11));
    } else {
        int32_t immediate = (int32_t)value;
        tn__x64_emit_immediate(c, TN__X64_CMP_MI, s->size, 0, tn__x64_register(s->reg), immediate);
    }
}

/* Jumps by a table of distances, which follows the jump. Writes the register. */
static void search_table(struct tn__x64 *c, const struct search *s, size_t first, size_t last)
{
    uint64_t low = s->cases[first].value, entries = s->cases[last].value - low + 1;
    if (!tn__x64_reserve(c, 8 * TN__X64_LONGEST + 4 * entries))
        return;
    tn__x64_emit_constant(c, TN__R11, low);
    tn__x64_emit(c, TN__X64_SUB_RM, s->size, s->reg, tn__x64_register(TN__R11));
    tn__x64_emit_immediate(c, TN__X64_CMP_MI, s->size, 0, tn__x64_register(s->reg), (int32_t)(entries - 1));
    tn__x64_jump_if(c, TN__CC_A, s->otherwise);
    uint8_t *field = NULL; /* lea r11, [rip + table] */
    struct tn__x64_rm ahead = {.is_memory = true, .base = TN__NO_REGISTER, .index = TN__NO_REGISTER};
    c->at = tn__x64_put(c->at, TN__X64_LEA, 8, TN__R11, ahead, 0, &field);
    const uint8_t *after = c->at;
    struct tn__x64_rm entry = {.is_memory = true, .base = TN__R11, .index = (uint8_t)s->reg, .scale = 2};
    tn__x64_emit(c, TN__X64_MOVSXD, 8, s->reg, entry);
    tn__x64_emit(c, TN__X64_ADD_RM, 8, s->reg, tn__x64_register(TN__R11));
    tn__x64_emit(c, TN__X64_JMP_M, 4, 0, tn__x64_register(s->reg));
    uint32_t table = tn__x64_offset(c);
    tn__put32(field, (uint32_t)(c->at - after));
    for (uint64_t i = 0; i < entries; i++, c->at += 4) {
        bool is_case = s->cases[first].value == low + i;
        tn__x64_refer(c, tn__x64_offset(c), is_case ? s->cases[first].label : s->otherwise, table);
        first += is_case;
    }
}

/* Finds the case among some of them, and jumps to its label. */
static void search(struct tn__x64 *c, const struct search *s, size_t first, size_t count)
{
    while (count > FEW) {
        uint64_t span = s->cases[first + count - 1].value - s->cases[first].value;
        if (span / SPARSE < count) {
            search_table(c, s, first, first + count - 1);
            return;
        }
        size_t half = count / 2;
        uint32_t upper = tn__x64_new_label(c);
        if (!tn__x64_reserve(c, 4 * TN__X64_LONGEST))
            return;
        compare_with(c, s, s->cases[first + half].value);
        tn__x64_jump_if(c, TN__CC_AE, upper);
        search(c, s, first, half);
        if (c->failed)
            return;
        tn__x64_place_label(c, upper);
        first += half;
        count -= half;
    }
    if (!tn__x64_reserve(c, (3 * count + 1) * TN__X64_LONGEST))
        return;
    for (size_t i = first; i < first + count; i++) {
        compare_with(c, s, s->cases[i].value);
        tn__x64_jump_if(c, TN__CC_E, s->cases[i].label);
    }
    tn__x64_jump(c, s->otherwise);
}

/* The label of the edge to a block: that of its code, or the block itself if there is none. */
static uint32_t edge_label(struct tn__x64 *c, uint32_t to)
{
    if (!has_phis(c, to))
        return to;
    if (c->s->edges[to].stub == TN__X64_NO_LABEL)
        c->s->edges[to].stub = tn__x64_new_label(c);
    return c->s->edges[to].stub;
}

static void compile_stubs(struct tn__x64 *c, const uint32_t *to, uint32_t count)
{
    for (uint32_t k = 0; k < count && !c->failed; k++) {
        uint32_t label = c->s->edges[to[k]].stub;
        if (label == TN__X64_NO_LABEL)
            continue;
        tn__x64_place_label(c, label);
        compile_edge(c, to[k]);
        if (tn__x64_reserve(c, TN__X64_LONGEST))
            tn__x64_jump(c, to[k]);
        c->s->edges[to[k]].stub = TN__X64_NO_LABEL;
    }
}

/* The number is extended, so that cases of all sizes are numbers of 32 or 64 bits. */
static void compile_switch(struct tn__x64 *c, const struct tn__flat_inst *inst, const uint32_t *to)
{
    const uint32_t *o = tn__x64_operands(c);
    unsigned width = tn__flat_size(inst->type);
    uint64_t mask = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
    if (!tn__x64_grow(c, &c->s->cases, &c->s->case_room, inst->count, sizeof *c->s->cases))
        return;
    struct search s = {.cases = c->s->cases, .reg = tn__x64_own(c, o[0], inst->type), .size = width == 8 ? 8 : 4};
    if (inst->type <= TN__FLAT_I16)
        tn__x64_emit(c, inst->type == TN__FLAT_I16 ? TN__X64_MOVZX16 : TN__X64_MOVZX8, 4, s.reg,
                     tn__x64_register(s.reg));
    for (uint32_t k = 1; k < inst->count; k++) {
        uint64_t value = tn__flat_number(c->flat, o[k]) & mask;
        s.cases[k - 1] = (struct tn__x64_case){value, edge_label(c, to[k])};
    }
    s.otherwise = edge_label(c, to[0]);
    qsort(s.cases, inst->count - 1, sizeof *s.cases, tn__flat_compare_numbers);
    search(c, &s, 0, inst->count - 1);
    compile_stubs(c, to, inst->count);
}

/* ---- */

/* The uses of phis count once for each block before them, however many of its one or two edges there are. */
static void end_edges(struct tn__x64 *c, const uint32_t *to, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (k == 0 || to[k] != to[0])
            end_edge(c, to[k]);
}

void tn__x64_compile_control(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    const struct tn__flat_block *block = &c->flat->blocks[c->block];
    const uint32_t *to = c->flat->successors + block->first_successor;
    switch (inst->op) {
    case TN__FLAT_JUMP:
        go(c, to[0]);
        break;
    case TN__FLAT_BRANCH:
        compile_branch(c, to);
        break;
    case TN__FLAT_SWITCH:
        compile_switch(c, inst, to);
        return; /* no block keeps registers behind a switch */
    case TN__FLAT_RETURN:
        tn__x64_compile_return(c);
        return;
    case TN__FLAT_INVOKED:
        compile_invoked(c, to);
        break;
    case TN__FLAT_LANDING:
        compile_landing(c, inst);
        return;
    case TN__FLAT_TYPE_ID:
        compile_type_id(c);
        return;
    default: /* ud2 */
        tn__x64_emit_byte(c, 0x0f);
        tn__x64_emit_byte(c, 0x0b);
        return;
    }
    end_edges(c, to, block->successors);
}
