/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which managed values are needed behind each safepoint. From every use the way back to the definition is marked, block
 * by block; a derived pointer takes its base along, for without it the collector could not find the object. */

#include "codegen/managed/roots/roots.h"

/* ---- variables ---- */

uint32_t tn__variable_of(const struct tn__roots *roots, LLVMValueRef value)
{
    const uint32_t *number = tn__map_find(&roots->numbers, value);
    return number ? *number - 1 : NO_VARIABLE;
}

static bool is_managed_pointer(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind && tn__type_holds(type, IN_MANAGED);
}

static void add_variable(struct tn__roots *roots, LLVMValueRef value, uint32_t block)
{
    /* A cast from space 0 names an object outside the heap, which stays where it is. */
    bool is_permanent =
        LLVMIsAIntToPtrInst(value) || (LLVMIsAAddrSpaceCastInst(value) && tn__space_of(LLVMGetOperand(value, 0)) == 0);
    if (!is_managed_pointer(value) || is_permanent)
        return;
    TN__APPEND(roots->gc, roots->variables, roots->variable_count,
               (struct tn__variable){.value = value, .block = block});
    *tn__map_add(roots->gc, &roots->numbers, value) = roots->variable_count;
}

static void each_managed(struct tn__roots *roots, void (*visit)(struct tn__roots *, LLVMValueRef, uint32_t))
{
    for (LLVMValueRef p = LLVMGetFirstParam(roots->function); p; p = LLVMGetNextParam(p))
        visit(roots, p, 0);
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            visit(roots, i, b);
}

static void ask_for_base(struct tn__roots *roots, LLVMValueRef value, uint32_t block)
{
    (void)block;
    if (is_managed_pointer(value))
        tn__base_of(roots->bases, value);
}

void tn__find_variables(struct tn__roots *roots)
{
    roots->variables = NULL;
    roots->variable_count = 0;
    roots->numbers = (struct tn__map){0};
    each_managed(roots, ask_for_base); /* inserts what is missing */
    tn__bases_simplify(roots->bases);
    each_managed(roots, add_variable);
    for (uint32_t v = 0; v < roots->variable_count; v++) {
        struct tn__variable *variable = &roots->variables[v];
        LLVMValueRef base = tn__base_of(roots->bases, variable->value);
        variable->base = base ? tn__variable_of(roots, base) : NO_VARIABLE;
        if (variable->base != NO_VARIABLE && variable->base != v)
            variable->is_fixed = tn__constant_distance(variable->value, base, &variable->distance);
    }
}

bool tn__is_reference(const struct tn__roots *roots, uint32_t variable)
{
    return roots->variables[variable].base == variable;
}

/* ---- where they live ---- */

struct walk {
    struct tn__roots *roots;
    uint32_t *blocks, count;
};

static void enter_block(struct walk *walk, struct tn__variable *variable, uint32_t number, uint32_t block)
{
    struct tn__roots *roots = walk->roots;
    if (block == variable->block || tn__bit(roots->live_in[block], number))
        return;
    tn__set_bit(roots->live_in[block], number);
    TN__APPEND(roots->gc, variable->live_blocks, variable->live_block_count, block);
    TN__APPEND(roots->gc, walk->blocks, walk->count, block);
}

static void mark_live(struct walk *walk, uint32_t number, uint32_t block)
{
    struct tn__roots *roots = walk->roots;
    struct tn__variable *variable = &roots->variables[number];
    enter_block(walk, variable, number, block);
    while (walk->count) {
        const struct tn__block *at = &roots->cfg->blocks[walk->blocks[--walk->count]];
        for (uint32_t i = 0; i < at->predecessor_count; i++) {
            tn__set_bit(roots->live_out[at->predecessors[i]], number);
            enter_block(walk, variable, number, at->predecessors[i]);
        }
    }
}

static void mark_with_base(struct walk *walk, uint32_t number, uint32_t block, bool at_end)
{
    uint32_t base = walk->roots->variables[number].base;
    uint32_t both[] = {number, base};
    for (size_t i = 0; i < TN_COUNT(both); i++) {
        if (both[i] == NO_VARIABLE || (i && base == number))
            continue;
        if (at_end)
            tn__set_bit(walk->roots->live_out[block], both[i]);
        mark_live(walk, both[i], block);
    }
}

static void mark_uses(struct walk *walk, uint32_t number)
{
    struct tn__roots *roots = walk->roots;
    LLVMValueRef value = roots->variables[number].value;
    for (TN__EACH_USE(use, value)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAPHINode(user)) {
            mark_with_base(walk, number, tn__cfg_number(roots->cfg, LLVMGetInstructionParent(user)), false);
            continue;
        }
        for (unsigned i = 0; i < LLVMCountIncoming(user); i++)
            if (LLVMGetIncomingValue(user, i) == value)
                mark_with_base(walk, number, tn__cfg_number(roots->cfg, LLVMGetIncomingBlock(user, i)), true);
    }
}

/* ---- at the safepoints ---- */

static void set_live(struct tn__roots *roots, uint64_t *live, LLVMValueRef value)
{
    uint32_t number = is_managed_pointer(value) ? tn__variable_of(roots, value) : NO_VARIABLE;
    if (number == NO_VARIABLE)
        return;
    tn__set_bit(live, number);
    if (roots->variables[number].base != NO_VARIABLE)
        tn__set_bit(live, roots->variables[number].base);
}

static void record(struct tn__roots *roots, struct tn__safepoint *safepoint, const uint64_t *live)
{
    for (uint32_t v = 0; v < roots->variable_count; v++) {
        if (!tn__bit(live, v)) {
            v |= live[v / 64] >> v % 64 ? 0 : 63; /* nothing more in this word */
            continue;
        }
        TN__APPEND(roots->gc, safepoint->live, safepoint->live_count, v);
    }
}

/* Goes through a block backwards; its safepoints are the last ones before `*next`. */
static void scan(struct tn__roots *roots, uint32_t block, uint64_t *live, uint32_t *next)
{
    for (LLVMValueRef i = LLVMGetLastInstruction(roots->cfg->blocks[block].block); i;
         i = LLVMGetPreviousInstruction(i)) {
        uint32_t own = tn__variable_of(roots, i);
        if (own != NO_VARIABLE)
            tn__clear_bit(live, own);
        struct tn__safepoint *safepoint = *next ? &roots->safepoints[*next - 1] : NULL;
        if (safepoint && safepoint->call == i) {
            record(roots, safepoint, live);
            for (uint32_t p = 0; p < safepoint->pinned_count; p++)
                set_live(roots, live, safepoint->pinned[p]);
            --*next;
        }
        for (int o = 0; !LLVMIsAPHINode(i) && o < LLVMGetNumOperands(i); o++)
            set_live(roots, live, LLVMGetOperand(i, (unsigned)o));
    }
}

void tn__find_liveness(struct tn__roots *roots)
{
    size_t words = (roots->variable_count + 63) / 64;
    roots->live_in = tn__gc_array(roots->gc, roots->cfg->count, sizeof *roots->live_in);
    roots->live_out = tn__gc_array(roots->gc, roots->cfg->count, sizeof *roots->live_out);
    for (uint32_t b = 0; b < roots->cfg->count; b++) {
        roots->live_in[b] = tn__gc_array(roots->gc, words, sizeof(uint64_t));
        roots->live_out[b] = tn__gc_array(roots->gc, words, sizeof(uint64_t));
    }
    struct walk walk = {.roots = roots};
    for (uint32_t v = 0; v < roots->variable_count; v++)
        mark_uses(&walk, v);
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        for (uint32_t p = 0; p < roots->safepoints[s].pinned_count; p++) {
            uint32_t pinned = tn__variable_of(roots, roots->safepoints[s].pinned[p]);
            if (pinned != NO_VARIABLE)
                mark_with_base(&walk, pinned, roots->safepoints[s].block, false);
        }
    uint64_t *live = tn__gc_array(roots->gc, words, sizeof *live);
    uint32_t next = roots->safepoint_count;
    while (next) {
        uint32_t block = roots->safepoints[next - 1].block;
        memcpy(live, roots->live_out[block], words * sizeof *live);
        scan(roots, block, live, &next);
    }
}
