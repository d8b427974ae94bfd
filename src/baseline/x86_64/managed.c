/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code. At a safepoint, all managed values that live on are in their slots, where the collector finds them, and
 * changes them if objects move. After the call, what registers have of them is out of date. */

#include "baseline/x86_64/state.h"

enum { WORD = 8 };

/* ---- what lives at a safepoint ---- */

/* Whether it is in a slot; the address of a variable is in none, and no object's. */
static bool has_slot(const struct tn__x64 *c, uint32_t operand)
{
    return tn__flat_is_value(operand) && c->s->values[operand].place == TN__X64_IN_SLOT;
}

static bool is_variable(uint32_t what)
{
    return (what & TN__FLAT_ROOT_KIND) != 0;
}

static void add(struct tn__x64 *c, enum tn__code_root kind, int32_t slot, uint32_t base)
{
    if (!tn__code_add_slot(&c->s->map, kind, slot / WORD, base))
        tn__x64_fail(c, TN_ENOMEM, NULL);
}

/* Whether the safepoint has not listed the value before: values have slots of their own as long as they live. */
static bool is_new(struct tn__x64 *c, uint32_t value)
{
    const struct tn__code_map *map = &c->s->map;
    struct tn__x64_root *root = &c->s->roots[value];
    if (root->safepoint == map->count)
        return false;
    *root = (struct tn__x64_root){(uint32_t)map->count, map->safepoints[map->count - 1].counts[TN__CODE_REFERENCE]};
    return true;
}

static void add_references(struct tn__x64 *c, const struct tn__flat_inst *inst, const uint32_t *o)
{
    for (uint32_t k = 0; k < inst->count; k += 2)
        if (!is_variable(o[k + 1]) && 2 * o[k + 1] == k && has_slot(c, o[k]) && is_new(c, o[k]))
            add(c, TN__CODE_REFERENCE, c->s->values[o[k]].slot, 0);
}

static void add_derived(struct tn__x64 *c, const struct tn__flat_inst *inst, const uint32_t *o)
{
    for (uint32_t k = 0; k < inst->count; k += 2) {
        if (is_variable(o[k + 1]) || 2 * o[k + 1] == k || !has_slot(c, o[k]) || !has_slot(c, o[2 * o[k + 1]]))
            continue;
        if (is_new(c, o[k]))
            add(c, TN__CODE_DERIVED, c->s->values[o[k]].slot, c->s->roots[o[2 * o[k + 1]]].number);
    }
}

static void add_variables(struct tn__x64 *c, const struct tn__flat_inst *inst, const uint32_t *o, uint32_t root,
                          enum tn__code_root kind)
{
    for (uint32_t k = 0; k < inst->count; k += 2) {
        if ((o[k + 1] & TN__FLAT_ROOT_KIND) != root)
            continue;
        const struct tn__x64_value *v = tn__flat_is_value(o[k]) ? &c->s->values[o[k]] : NULL;
        if (v && v->place == TN__X64_IS_FRAME && v->slot % WORD == 0)
            add(c, kind, v->slot + WORD * (int32_t)(o[k + 1] & ~(uint32_t)TN__FLAT_ROOT_KIND), 0);
        else
            tn__x64_fail(c, TN_ENOTSUP, "references are in memory that is no variable of the frame");
    }
}

static bool begin_safepoint(struct tn__x64 *c, bool is_entry)
{
    struct tn__x64_scratch *s = c->s;
    size_t values = tn__flat_values(c->flat);
    if (!s->map.count) {
        if (!tn__grow(NULL, &s->roots, &s->root_room, values, sizeof *s->roots))
            return false;
        memset(s->roots, 0, values * sizeof *s->roots);
    }
    return tn__code_add_safepoint(&s->map, is_entry);
}

static void compile_safepoint(struct tn__x64 *c, const struct tn__flat_inst *inst)
{
    const uint32_t *o = tn__x64_operands(c);
    for (uint32_t k = 0; k < inst->count; k += 2)
        if (!is_variable(o[k + 1]) && tn__flat_is_value(o[k]))
            tn__x64_spill(c, o[k]);
    if (!begin_safepoint(c, inst->sub)) {
        tn__x64_fail(c, TN_ENOMEM, NULL);
        return;
    }
    add_references(c, inst, o);
    add_derived(c, inst, o);
    add_variables(c, inst, o, TN__FLAT_OF_PINNED, TN__CODE_PINNED);
    add_variables(c, inst, o, TN__FLAT_OF_MEMORY, TN__CODE_VARIABLE);
}

void tn__x64_end_safepoint(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c) - 1;
    const uint32_t *o = c->flat->operands + inst->first;
    c->s->map.safepoints[c->s->map.count - 1].place = c->call_end;
    for (uint32_t k = 0; k < inst->count; k += 2)
        if (!is_variable(o[k + 1]) && has_slot(c, o[k]) && c->s->values[o[k]].reg != TN__NO_REGISTER)
            tn__x64_forget(c, 1u << c->s->values[o[k]].reg);
}

/* ---- */

void tn__x64_compile_managed(struct tn__x64 *c)
{
    const struct tn__flat_inst *inst = tn__x64_inst(c);
    if (inst->op == TN__FLAT_SAFEPOINT)
        compile_safepoint(c, inst);
    else
        tn__x64_define_frame(c, tn__x64_number(c, c->inst), 0);
}
