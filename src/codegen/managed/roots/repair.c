/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Behind a safepoint a value is its gc.relocate: uses change to the definition that reaches them. Where different ones
 * meet, and the value still lives, they meet in a phi. One variable after the other finds its phis, then one pass
 * renames. */

#include <stdlib.h>

#include "codegen/managed/roots/roots.h"

struct definition {
    uint32_t variable;
    LLVMValueRef value;
};

struct list {
    struct definition *items;
    uint32_t count;
};

struct repair {
    struct tn__roots *roots;
    struct list *defined;       /* by variable: `variable` is a block here, `value` the last relocation in it */
    struct list *entering;      /* by block: what its variables are at its beginning, if not the original */
    struct tn__map relocations; /* their variables, + 1 */
    /* For one variable, by block; valid where `stamp` says so. */
    LLVMValueRef *at_entry, *at_end;
    uint32_t *stamp, *end_stamp;
    bool *has_phi;
    LLVMValueRef *phis;
    uint32_t phi_count;
    struct tn__map own; /* phis */
};

static void append(struct tn__roots *roots, struct list *list, uint32_t number, LLVMValueRef value)
{
    TN__APPEND(roots->gc, list->items, list->count, (struct definition){number, value});
}

static void collect(struct repair *r)
{
    struct tn__roots *roots = r->roots;
    for (uint32_t s = 0; s < roots->safepoint_count; s++) {
        const struct tn__safepoint *safepoint = &roots->safepoints[s];
        for (uint32_t i = 0; i < safepoint->live_count; i++) {
            LLVMValueRef value = safepoint->relocated[i];
            uint32_t variable = safepoint->live[i];
            uint32_t block = tn__cfg_number(roots->cfg, LLVMGetInstructionParent(value));
            append(roots, &r->defined[variable], block, value);
            *tn__map_add(roots->gc, &r->relocations, value) = variable + 1;
        }
    }
}

/* ---- phis ---- */

/* What the variable is at the end of a block; NULL: not known yet. */
static LLVMValueRef at_end(const struct repair *r, uint32_t variable, uint32_t block)
{
    if (r->end_stamp[block] == variable + 1)
        return r->at_end[block];
    if (block == r->roots->variables[variable].block)
        return r->roots->variables[variable].value;
    return r->stamp[block] == variable + 1 ? r->at_entry[block] : NULL;
}

static LLVMValueRef make_phi(struct repair *r, uint32_t variable, uint32_t block)
{
    struct tn__roots *roots = r->roots;
    LLVMValueRef first = LLVMGetFirstInstruction(roots->cfg->blocks[block].block);
    LLVMPositionBuilderBeforeInstrAndDbgRecords(roots->builder, first);
    LLVMValueRef phi = LLVMBuildPhi(roots->builder, LLVMTypeOf(roots->variables[variable].value), "");
    TN__APPEND(roots->gc, r->phis, r->phi_count, phi);
    *tn__map_add(roots->gc, &r->own, phi) = 1;
    return phi;
}

/* One look at a block; true if what reaches it changed. */
static bool meet(struct repair *r, uint32_t variable, uint32_t block)
{
    const struct tn__block *at = &r->roots->cfg->blocks[block];
    bool seen = r->stamp[block] == variable + 1;
    if (seen && r->has_phi[block])
        return false;
    LLVMValueRef same = NULL;
    bool differ = false;
    for (uint32_t i = 0; i < at->predecessor_count; i++) {
        LLVMValueRef value = at_end(r, variable, at->predecessors[i]);
        differ |= same && value && value != same;
        same = value ? value : same;
    }
    if (!same || (seen && !differ && same == r->at_entry[block]))
        return false;
    r->stamp[block] = variable + 1;
    r->has_phi[block] = differ;
    r->at_entry[block] = differ ? make_phi(r, variable, block) : same;
    return true;
}

static void fill_phi(struct repair *r, uint32_t variable, uint32_t block)
{
    const struct tn__cfg *cfg = r->roots->cfg;
    const struct tn__block *at = &cfg->blocks[block];
    for (uint32_t i = 0; i < at->predecessor_count; i++) {
        LLVMBasicBlockRef from = cfg->blocks[at->predecessors[i]].block;
        LLVMValueRef value = at_end(r, variable, at->predecessors[i]), end = LLVMGetBasicBlockTerminator(from);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) /* a switch may come here more than once */
            if (LLVMGetSuccessor(end, s) == at->block)
                LLVMAddIncoming(r->at_entry[block], &value, &from, 1);
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void place_phis(struct repair *r, uint32_t variable)
{
    struct tn__variable *v = &r->roots->variables[variable];
    for (uint32_t i = 0; i < r->defined[variable].count; i++) { /* the last one of a block stays */
        uint32_t block = r->defined[variable].items[i].variable;
        r->end_stamp[block] = variable + 1;
        r->at_end[block] = r->defined[variable].items[i].value;
    }
    if (v->live_block_count)
        qsort(v->live_blocks, v->live_block_count, sizeof *v->live_blocks, by_number);
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < v->live_block_count; i++)
            changed |= meet(r, variable, v->live_blocks[i]);
    }
    for (uint32_t i = 0; i < v->live_block_count; i++) {
        uint32_t block = v->live_blocks[i];
        if (r->stamp[block] != variable + 1)
            continue;
        if (r->has_phi[block])
            fill_phi(r, variable, block);
        if (r->at_entry[block] != v->value)
            append(r->roots, &r->entering[block], variable, r->at_entry[block]);
    }
}

/* ---- renaming ---- */

struct current {
    LLVMValueRef *values; /* by variable; NULL: the original */
    uint32_t *touched, count;
};

static void set_current(struct repair *r, struct current *now, uint32_t variable, LLVMValueRef value)
{
    if (!now->values[variable])
        TN__APPEND(r->roots->gc, now->touched, now->count, variable);
    now->values[variable] = value;
}

static void rename_operand(struct repair *r, const struct current *now, LLVMValueRef user, unsigned operand)
{
    LLVMValueRef old = LLVMGetOperand(user, operand);
    if (tn__space_of(old) < TRACKED)
        return;
    uint32_t variable = tn__variable_of(r->roots, old);
    if (variable != NO_VARIABLE && now->values[variable] && now->values[variable] != old)
        LLVMSetOperand(user, operand, now->values[variable]);
}

static void rename_in_successors(struct repair *r, const struct current *now, LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
        LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetSuccessor(end, s));
        for (; LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
            for (unsigned k = 0; !tn__map_find(&r->own, i) && k < LLVMCountIncoming(i); k++)
                if (LLVMGetIncomingBlock(i, k) == block)
                    rename_operand(r, now, i, k);
    }
}

static void rename_block(struct repair *r, struct current *now, uint32_t block)
{
    for (uint32_t i = 0; i < r->entering[block].count; i++)
        set_current(r, now, r->entering[block].items[i].variable, r->entering[block].items[i].value);
    for (TN__EACH_INSTRUCTION(i, r->roots->cfg->blocks[block].block)) {
        for (unsigned k = 0; !LLVMIsAPHINode(i) && k < (unsigned)LLVMGetNumOperands(i); k++)
            rename_operand(r, now, i, k);
        const uint32_t *relocated = tn__map_find(&r->relocations, i);
        if (relocated)
            set_current(r, now, *relocated - 1, i);
    }
    rename_in_successors(r, now, r->roots->cfg->blocks[block].block);
    while (now->count)
        now->values[now->touched[--now->count]] = NULL;
}

/* ---- tidying up ---- */

static void remove_needless(struct repair *r)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < r->phi_count; i++) {
            LLVMValueRef phi = r->phis[i], only = phi ? tn__only_choice(phi) : NULL;
            if (!phi || (!only && LLVMGetFirstUse(phi)))
                continue;
            if (only)
                LLVMReplaceAllUsesWith(phi, only);
            LLVMInstructionEraseFromParent(phi);
            r->phis[i] = NULL;
            changed = true;
        }
    }
}

void tn__repair(struct tn__roots *roots)
{
    struct repair r = {.roots = roots};
    uint32_t blocks = roots->cfg->count;
    r.defined = tn__gc_array(roots->gc, roots->variable_count, sizeof *r.defined);
    r.entering = tn__gc_array(roots->gc, blocks, sizeof *r.entering);
    r.at_entry = tn__gc_array(roots->gc, blocks, sizeof *r.at_entry);
    r.at_end = tn__gc_array(roots->gc, blocks, sizeof *r.at_end);
    r.stamp = tn__gc_array(roots->gc, blocks, sizeof *r.stamp);
    r.end_stamp = tn__gc_array(roots->gc, blocks, sizeof *r.end_stamp);
    r.has_phi = tn__gc_array(roots->gc, blocks, sizeof *r.has_phi);
    collect(&r);
    for (uint32_t v = 0; v < roots->variable_count; v++)
        if (r.defined[v].count)
            place_phis(&r, v);
    struct current now = {.values = tn__gc_array(roots->gc, roots->variable_count, sizeof *now.values)};
    for (uint32_t b = 0; b < blocks; b++)
        rename_block(&r, &now, b);
    remove_needless(&r);
}
