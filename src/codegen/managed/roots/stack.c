/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* References in stack memory. Variables of the program that hold references are null at first and are named at every
 * safepoint: the stack map lists their words, and the collector updates them.
 *
 * Values that live into a landing pad or behind the second return of a returns_twice function cannot be relocated
 * there. They move to such variables: stored once behind their definition, loaded before every use. A derived pointer
 * is kept as a distance from its base. */

#include "codegen/managed/roots/roots.h"
#include "codegen/managed/verify/verify.h"

/* ---- the program's variables ---- */

static bool is_marked(struct tn__roots *roots, LLVMValueRef variable, const char *mark)
{
    unsigned kind = LLVMGetMDKindIDInContext(roots->gc->context, mark, (unsigned)strlen(mark));
    return LLVMGetMetadata(variable, kind) != NULL;
}

/* Words of a variable that are made null together. */
struct clearing {
    struct tn__roots *roots;
    LLVMValueRef variable;
    uint64_t start, end; /* in bytes */
};

enum { WORD = 8, FEW = 4 };

static void clear_run(struct clearing *c)
{
    struct tn__roots *roots = c->roots;
    if (c->end - c->start > FEW * WORD)
        LLVMBuildMemSet(roots->gc->builder, tn__field(roots->gc, c->variable, (int64_t)c->start),
                        LLVMConstNull(roots->gc->i8), LLVMConstInt(roots->gc->i64, c->end - c->start, 0), WORD);
    else
        for (uint64_t at = c->start; at < c->end; at += WORD)
            LLVMBuildStore(roots->gc->builder, LLVMConstNull(roots->gc->reference),
                           tn__field(roots->gc, c->variable, (int64_t)at));
    c->start = c->end;
}

static void add_word(void *context, uint64_t offset)
{
    struct clearing *c = context;
    if (offset != c->end) {
        clear_run(c);
        c->start = offset;
    }
    c->end = offset + WORD;
}

/* True if control may come back to the block after it has left it. */
static bool is_in_cycle(struct tn__gc *gc, LLVMBasicBlockRef block)
{
    struct tn__values reached = {.count = 0}; /* blocks */
    LLVMBasicBlockRef at = block;
    for (size_t n = 0;; at = LLVMValueAsBasicBlock(reached.list[n++])) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(at);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
            if (LLVMGetSuccessor(end, s) == block)
                return true;
            tn__values_add(gc, &reached, LLVMBasicBlockAsValue(LLVMGetSuccessor(end, s)));
        }
        if (n == reached.count)
            return false;
    }
}

/* Makes the variable one of those at the beginning of the function: it is null before the first safepoint, whose map
 * names it, and its place in the frame is known. */
static void add_stack_root(struct tn__roots *roots, LLVMValueRef variable)
{
    tn__llvm_hoist(variable);
    TN__APPEND(roots->gc, roots->stack_roots, roots->stack_root_count, variable);
    for (LLVMUseRef use = LLVMGetFirstUse(variable), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        /* Without these LLVM could let the memory serve other variables, which hold no references. */
        if (tn__calls_llvm(user, "lifetime."))
            LLVMInstructionEraseFromParent(user);
    }
}

void tn__find_stack_roots(struct tn__roots *roots)
{
    LLVMValueRef *variables = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(b, roots->function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (LLVMIsAAllocaInst(i) && !is_marked(roots, i, TN__PINNED) &&
                (tn__type_holds(LLVMGetAllocatedType(i), IN_TRACKED) || is_marked(roots, i, TN__HOLDS_REFERENCES)))
                TN__APPEND(roots->gc, variables, count, i);
    for (size_t n = 0; n < count; n++) {
        LLVMBasicBlockRef block = LLVMGetInstructionParent(variables[n]);
        bool once = block == LLVMGetEntryBasicBlock(roots->function) || !is_in_cycle(roots->gc, block);
        if (once && LLVMIsAConstantInt(LLVMGetOperand(variables[n], 0)))
            add_stack_root(roots, variables[n]);
        else
            tn__gc_reject(
                roots->gc, variables[n], "dynamic-stack",
                "memory with references whose size is not constant, or which is made in a loop, has no place in "
                "the frame: give it a constant size and make it in the entry block, or allocate an object");
    }
    roots->gc->stats->stack_roots += roots->stack_root_count;
}

void tn__clear_stack_roots(struct tn__roots *roots)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(roots->gc->module);
    LLVMPositionBuilderBefore(roots->gc->builder, tn__behind_variables(roots->function));
    for (uint32_t i = 0; i < roots->stack_root_count; i++) {
        struct clearing c = {.roots = roots, .variable = roots->stack_roots[i]};
        tn__each_reference(layout, LLVMGetAllocatedType(c.variable), 0, add_word, &c);
        clear_run(&c);
    }
}

/* ---- values that move to memory ---- */

struct moving {
    struct tn__roots *roots;
    uint64_t *chosen;                /* variables */
    LLVMValueRef *slots, *distances; /* by variable: where references, and distances of derived pointers, are kept */
    struct tn__map own;              /* instructions that put a value into its memory */
    struct tn__map arriving;         /* stores at ends of blocks, for phis of landing pads */
};

static void choose(struct moving *m, uint32_t variable)
{
    if (m->roots->variables[variable].base == NO_VARIABLE ||
        tn__space_of(m->roots->variables[variable].value) == LOADED)
        return;
    tn__set_bit(m->chosen, variable);
    tn__set_bit(m->chosen, m->roots->variables[variable].base);
}

static void choose_for_landing_pad(struct moving *m, LLVMBasicBlockRef pad)
{
    const struct tn__roots *roots = m->roots;
    const uint64_t *live = roots->live_in[tn__cfg_number(roots->cfg, pad)];
    for (uint32_t v = 0; v < roots->variable_count; v++)
        if (tn__bit(live, v))
            choose(m, v);
    for (LLVMValueRef i = LLVMGetFirstInstruction(pad); LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
        if (tn__variable_of(roots, i) != NO_VARIABLE)
            choose(m, tn__variable_of(roots, i));
}

/* True if a second return may lead to what lives behind the safepoint: it is the call that returns twice or, if that is
 * none, the call on the way of its second return. */
static bool is_before_second_return(const struct tn__safepoint *safepoint)
{
    LLVMValueRef callee = LLVMGetCalledValue(safepoint->call);
    return tn__returns_twice(safepoint->call) ||
           (LLVMIsAFunction(callee) && strcmp(LLVMGetValueName2(callee, &(size_t){0}), "tn__gc_return_twice") == 0);
}

static bool choose_all(struct moving *m)
{
    for (uint32_t s = 0; s < m->roots->safepoint_count; s++) {
        const struct tn__safepoint *safepoint = &m->roots->safepoints[s];
        if (LLVMIsAInvokeInst(safepoint->call))
            choose_for_landing_pad(m, LLVMGetUnwindDest(safepoint->call));
        for (uint32_t i = 0; is_before_second_return(safepoint) && i < safepoint->live_count; i++)
            choose(m, safepoint->live[i]);
    }
    for (uint32_t v = 0; v < m->roots->variable_count; v++)
        if (tn__bit(m->chosen, v))
            return true;
    return false;
}

static LLVMValueRef address_of(struct moving *m, LLVMValueRef value)
{
    return LLVMBuildPtrToInt(m->roots->gc->builder, value, m->roots->gc->i64, "");
}

static LLVMValueRef load_variable(struct moving *m, uint32_t variable)
{
    struct tn__roots *roots = m->roots;
    struct tn__gc *gc = roots->gc;
    const struct tn__variable *v = &roots->variables[variable];
    LLVMTypeRef type = LLVMTypeOf(v->value);
    if (m->slots[variable])
        return LLVMBuildLoad2(gc->builder, type, m->slots[variable], "");
    LLVMValueRef base = LLVMBuildLoad2(gc->builder, gc->reference, m->slots[v->base], "");
    LLVMValueRef distance = LLVMBuildLoad2(gc->builder, gc->i64, m->distances[variable], "");
    if (type != gc->reference)
        base = LLVMBuildAddrSpaceCast(gc->builder, base, type, "");
    return LLVMBuildGEP2(gc->builder, gc->i8, base, &distance, 1, "");
}

/* A derived pointer's distance from `base`, NULL if it has none. */
static LLVMValueRef measure(struct moving *m, LLVMValueRef derived, LLVMValueRef base)
{
    LLVMValueRef from = base ? address_of(m, base) : LLVMConstNull(m->roots->gc->i64);
    return LLVMBuildSub(m->roots->gc->builder, address_of(m, derived), from, "");
}

static void make_memory(struct moving *m, uint32_t variable)
{
    struct tn__roots *roots = m->roots;
    if (tn__is_reference(roots, variable))
        m->slots[variable] = tn__make_variable(roots->gc, roots->function, roots->gc->reference, "root");
    else
        m->distances[variable] = tn__make_variable(roots->gc, roots->function, m->roots->gc->i64, "distance");
}

static bool is_pad_phi(LLVMValueRef value)
{
    LLVMValueRef i = value;
    while (LLVMIsAPHINode(i))
        i = LLVMGetNextInstruction(i);
    return LLVMIsAPHINode(value) && LLVMIsALandingPadInst(i);
}

/* A phi of a landing pad is stored by those who come there: what they bring is stale when they have arrived. */
static void store_incoming(struct moving *m, uint32_t variable)
{
    struct tn__gc *gc = m->roots->gc;
    LLVMValueRef phi = m->roots->variables[variable].value, slot = m->slots[variable];
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef value = LLVMGetIncomingValue(phi, i), base = slot ? NULL : tn__base_of(m->roots->bases, value);
        LLVMValueRef end = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, i)), at = end, before;
        /* In front of the stores for other phis: all of them take what was there before any of them. */
        while ((before = LLVMGetPreviousInstruction(at)) && tn__map_find(&m->arriving, before))
            at = before;
        LLVMPositionBuilderBefore(gc->builder, at);
        value = slot ? LLVMBuildFreeze(gc->builder, value, "") : measure(m, value, base);
        LLVMPositionBuilderBefore(gc->builder, end); /* an invoke there has not happened yet */
        LLVMValueRef store = LLVMBuildStore(gc->builder, value, slot ? slot : m->distances[variable]);
        *tn__map_add(gc, &m->arriving, store) = 1;
    }
}

/* Stores the value after its definition. Phis of one block are all stored in front of what follows them, and the
 * references among them first: a distance is computed from the reference that is stored. */
static void store_value(struct moving *m, uint32_t variable)
{
    struct tn__gc *gc = m->roots->gc;
    const struct tn__variable *v = &m->roots->variables[variable];
    LLVMValueRef slot = m->slots[variable];
    if (is_pad_phi(v->value)) {
        store_incoming(m, variable);
        return;
    }
    LLVMValueRef at = tn__place_behind(v->value), own;
    while (!slot && tn__map_find(&m->own, at))
        at = LLVMGetNextInstruction(at);
    LLVMPositionBuilderBefore(gc->builder, at);
    if (slot) {
        own = LLVMBuildStore(gc->builder, v->value, slot);
    } else {
        LLVMValueRef distance = measure(m, v->value, load_variable(m, v->base));
        own = LLVMGetOperand(distance, 0);
        LLVMBuildStore(gc->builder, distance, m->distances[variable]);
    }
    *tn__map_add(gc, &m->own, own) = 1;
}

static void load_everywhere(struct moving *m, uint32_t variable)
{
    LLVMValueRef value = m->roots->variables[variable].value;
    struct tn__values users = {.count = 0};
    for (TN__EACH_USE(use, value)) {
        LLVMValueRef user = LLVMGetUser(use);
        uint32_t other = is_pad_phi(user) ? tn__variable_of(m->roots, user) : NO_VARIABLE;
        bool goes_away = other != NO_VARIABLE && tn__bit(m->chosen, other);
        if (!goes_away && !tn__map_find(&m->own, user))
            tn__values_add(m->roots->gc, &users, user);
    }
    for (size_t n = 0; n < users.count; n++)
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(users.list[n]); i++) {
            LLVMValueRef user = users.list[n], at = user;
            if (LLVMGetOperand(user, i) != value)
                continue;
            if (LLVMIsAPHINode(user))
                at = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, i));
            LLVMPositionBuilderBefore(m->roots->gc->builder, at);
            LLVMSetOperand(user, i, load_variable(m, variable));
        }
}

static void each_chosen(struct moving *m, bool references, void (*visit)(struct moving *, uint32_t))
{
    for (uint32_t v = 0; v < m->roots->variable_count; v++)
        if (tn__bit(m->chosen, v) && tn__is_reference(m->roots, v) == references)
            visit(m, v);
}

static void erase_pad_phi(struct moving *m, uint32_t variable)
{
    LLVMValueRef value = m->roots->variables[variable].value;
    if (!is_pad_phi(value))
        return;
    LLVMReplaceAllUsesWith(value, LLVMConstNull(LLVMTypeOf(value))); /* by others of them only */
    tn__bases_forget(m->roots->bases, value);
    LLVMInstructionEraseFromParent(value);
}

bool tn__move_to_stack(struct tn__roots *roots)
{
    struct moving m = {.roots = roots};
    m.chosen = tn__gc_array(roots->gc, roots->variable_count / 64 + 1, sizeof *m.chosen);
    if (!choose_all(&m))
        return false;
    m.slots = tn__gc_array(roots->gc, roots->variable_count, sizeof *m.slots);
    m.distances = tn__gc_array(roots->gc, roots->variable_count, sizeof *m.distances);
    static void (*const steps[])(struct moving *, uint32_t) = {make_memory, store_value, load_everywhere,
                                                               erase_pad_phi};
    for (size_t i = 0; i < TN_COUNT(steps); i++) { /* references first: a distance is computed from what is stored */
        each_chosen(&m, true, steps[i]);
        each_chosen(&m, false, steps[i]);
    }
    return true;
}
