/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A value lives from the position of its definition to that of its last use, or to the end of the outermost loop that
 * has a use and does not have the definition. A loop is what an edge backwards spans: the positions from the target to
 * the last source. Where two such spans overlap, the end of the earlier one is moved behind the later one, so spans
 * nest; this holds for graphs with loops of several entries as well. */

#include "baseline/analyse.h"

enum { BLOCK_ARRAYS = 6, VALUE_ARRAYS = 3 };

struct walk {
    const struct tn__flat *flat;
    struct tn__flat_analysis *a;
    uint32_t *end;   /* of each position: that of the loop that begins there, or NOWHERE */
    uint32_t *outer; /* of each position that begins a loop: where the next outer loop begins */
    uint32_t *inner; /* of each position: where the innermost loop begins that has it */
};

/* ---- memory ---- */

static bool provide(struct walk *w)
{
    struct tn__flat_analysis *a = w->a;
    size_t blocks = w->flat->block_count, values = tn__flat_values(w->flat);
    if (!tn__grow(NULL, &a->block_memory, &a->block_room, blocks, BLOCK_ARRAYS * sizeof(uint32_t)) ||
        !tn__grow(NULL, &a->value_memory, &a->value_room, values, VALUE_ARRAYS * sizeof(uint32_t)) ||
        !tn__grow(NULL, &a->crosses, &a->cross_room, values, sizeof *a->crosses))
        return false;
    uint32_t **const arrays[BLOCK_ARRAYS] = {&a->order, &a->position, &a->predecessors, &w->end, &w->outer, &w->inner};
    for (size_t i = 0; i < BLOCK_ARRAYS; i++)
        *arrays[i] = a->block_memory + i * blocks;
    a->uses = a->value_memory;
    a->last = a->value_memory + values;
    a->defined = a->value_memory + 2 * values;
    memset(a->position, 0xff, blocks * sizeof *a->position);
    memset(a->predecessors, 0, blocks * sizeof *a->predecessors);
    memset(a->uses, 0, values * sizeof *a->uses);
    memset(a->crosses, 0, values);
    return true;
}

void tn__flat_analysis_free(struct tn__flat_analysis *a)
{
    tn__free(NULL, a->block_memory);
    tn__free(NULL, a->value_memory);
    tn__free(NULL, a->crosses);
    *a = (struct tn__flat_analysis){0};
}

/* ---- the order of blocks ---- */

/* Walks depth first, with the last successor first, so that the first one follows its block where that is possible.
 * The stack has the path; `inner` is the next successor of each block on it, and `position` its mark. */
static void find_order(struct walk *w)
{
    const struct tn__flat *flat = w->flat;
    struct tn__flat_analysis *a = w->a;
    uint32_t depth = 0, at = (uint32_t)flat->block_count, *path = w->end, *next = w->inner;
    path[depth++] = 0;
    next[0] = a->position[0] = 0;
    while (depth) {
        uint32_t b = path[depth - 1];
        const struct tn__flat_block *block = &flat->blocks[b];
        if (next[b] == block->successors) {
            depth--;
            a->order[--at] = b;
            continue;
        }
        uint32_t to = flat->successors[block->first_successor + block->successors - 1 - next[b]++];
        a->predecessors[to]++;
        if (a->position[to] != TN__FLAT_NOWHERE)
            continue;
        next[to] = a->position[to] = 0;
        path[depth++] = to;
    }
    a->reached = (uint32_t)flat->block_count - at;
    memmove(a->order, a->order + at, a->reached * sizeof *a->order);
    for (uint32_t i = 0; i < a->reached; i++)
        a->position[a->order[i]] = i;
}

/* ---- loops ---- */

static void find_ends(struct walk *w)
{
    const struct tn__flat_analysis *a = w->a;
    memset(w->end, 0xff, a->reached * sizeof *w->end);
    for (uint32_t i = 0; i < a->reached; i++) {
        const struct tn__flat_block *block = &w->flat->blocks[a->order[i]];
        for (uint32_t k = 0; k < block->successors; k++) {
            uint32_t to = a->position[w->flat->successors[block->first_successor + k]];
            if (to <= i)
                w->end[to] = i; /* the last one wins */
        }
    }
}

/* From the last position to the first. The stack has the outermost loops behind the position, the nearest on top. */
static void nest(struct walk *w)
{
    uint32_t depth = 0, *stack = w->inner;
    for (uint32_t i = w->a->reached; i-- > 0;) {
        if (w->end[i] == TN__FLAT_NOWHERE)
            continue;
        while (depth && stack[depth - 1] <= w->end[i]) {
            uint32_t inner = stack[--depth];
            w->end[i] = w->end[inner] > w->end[i] ? w->end[inner] : w->end[i];
            w->outer[inner] = i;
        }
        w->outer[i] = TN__FLAT_NOWHERE;
        stack[depth++] = i;
    }
}

static void find_innermost(struct walk *w)
{
    uint32_t current = TN__FLAT_NOWHERE;
    for (uint32_t i = 0; i < w->a->reached; i++) {
        while (current != TN__FLAT_NOWHERE && w->end[current] < i)
            current = w->outer[current];
        if (w->end[i] != TN__FLAT_NOWHERE)
            current = i;
        w->inner[i] = current;
    }
}

/* ---- values ---- */

static inline void extend(struct walk *w, uint32_t value, uint32_t defined, uint32_t position)
{
    uint32_t loop = w->inner[position];
    for (; loop != TN__FLAT_NOWHERE && loop > defined; loop = w->outer[loop])
        position = w->end[loop];
    if (position > w->a->last[value])
        w->a->last[value] = position;
}

static inline void use(struct walk *w, uint32_t value, uint32_t position)
{
    uint32_t defined = w->a->defined[value];
    w->a->uses[value]++;
    if (defined == position)
        return;
    w->a->crosses[value] = true;
    extend(w, value, defined, position);
}

/* The slot of a phi is written at the end of each predecessor. */
static void use_phi(struct walk *w, uint32_t phi, const struct tn__flat_inst *inst)
{
    const uint32_t *operands = w->flat->operands + inst->first;
    w->a->crosses[phi] = true;
    for (uint32_t k = 0; k < inst->count; k += 2) {
        uint32_t from = w->a->position[operands[k + 1]];
        if (from == TN__FLAT_NOWHERE)
            continue;
        if (tn__flat_is_value(operands[k]))
            use(w, operands[k], from);
        if (from > w->a->last[phi])
            w->a->last[phi] = from;
    }
}

static void find_uses(struct walk *w)
{
    const struct tn__flat *flat = w->flat;
    const struct tn__flat_analysis *a = w->a;
    for (uint32_t p = 0; p < a->reached; p++) {
        const struct tn__flat_block *block = &flat->blocks[a->order[p]];
        for (uint32_t i = block->first; i < block->end; i++) {
            const struct tn__flat_inst *inst = &flat->insts[i];
            if (inst->op == TN__FLAT_PHI) {
                use_phi(w, (uint32_t)flat->argument_count + i, inst);
                continue;
            }
            for (TN__FLAT_EACH(inst, k)) {
                uint32_t operand = flat->operands[inst->first + k];
                if (tn__flat_is_value(operand))
                    use(w, operand, p);
            }
        }
    }
}

bool tn__flat_analyse(const struct tn__flat *flat, struct tn__flat_analysis *a)
{
    struct walk w = {.flat = flat, .a = a};
    if (!provide(&w))
        return false;
    find_order(&w);
    find_ends(&w);
    nest(&w);
    find_innermost(&w);
    memset(a->last, 0, tn__flat_values(flat) * sizeof *a->last);
    for (uint32_t p = 0; p < a->reached; p++) {
        const struct tn__flat_block *block = &flat->blocks[a->order[p]];
        for (uint32_t i = block->first; i < block->end; i++)
            a->last[flat->argument_count + i] = p;
    }
    memcpy(a->defined, a->last, tn__flat_values(flat) * sizeof *a->last);
    find_uses(&w);
    return true;
}
