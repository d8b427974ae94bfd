/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* References in stack memory. Variables of the program that hold references are null at first and are named at every
 * safepoint: the stack map lists their words, and the collector updates them.
 *
 * Values that live into a landing pad or behind the second return of a returns_twice function cannot be relocated
 * there. They move to such variables: stored once behind their definition, loaded before every use. A derived pointer
 * is kept as a distance from its base. */

#include "codegen/managed/ir/blocks.h"
#include "codegen/managed/roots/roots.h"
#include "codegen/managed/verify/memory.h"

/* ---- the program's variables ---- */

static bool is_marked(struct tn__roots *roots, LLVMValueRef variable, const char *mark)
{
    unsigned kind = LLVMGetMDKindIDInContext(roots->gc->context, mark, (unsigned)strlen(mark));
    return LLVMGetMetadata(variable, kind) != NULL;
}

static bool is_pin(struct tn__roots *roots, LLVMValueRef variable)
{
    return is_marked(roots, variable, TN__PINNED);
}

static bool holds_references(struct tn__roots *roots, LLVMValueRef variable)
{
    return tn__type_holds(LLVMGetAllocatedType(variable), IN_TRACKED) ||
           is_marked(roots, variable, TN__HOLDS_REFERENCES);
}

/* Without these LLVM could let the memory serve other variables, which hold no references. */
static void erase_lifetime(LLVMValueRef variable)
{
    LLVMUseRef next;
    for (LLVMUseRef use = LLVMGetFirstUse(variable); use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        LLVMValueRef callee = LLVMIsACallInst(user) ? LLVMGetCalledValue(user) : NULL;
        size_t length;
        if (callee && LLVMIsAFunction(callee) &&
            strncmp(LLVMGetValueName2(callee, &length), "llvm.lifetime.", strlen("llvm.lifetime.")) == 0)
            LLVMInstructionEraseFromParent(user);
    }
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
    LLVMTypeRef byte = LLVMInt8TypeInContext(roots->gc->context), i64 = LLVMInt64TypeInContext(roots->gc->context);
    if (c->end - c->start > FEW * WORD)
        LLVMBuildMemSet(roots->builder, tn__field(roots->gc, roots->builder, c->variable, (int64_t)c->start),
                        LLVMConstNull(byte), LLVMConstInt(i64, c->end - c->start, 0), WORD);
    else
        for (uint64_t at = c->start; at < c->end; at += WORD)
            LLVMBuildStore(roots->builder, LLVMConstNull(roots->reference),
                           tn__field(roots->gc, roots->builder, c->variable, (int64_t)at));
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

static void clear(struct tn__roots *roots, LLVMValueRef variable)
{
    struct clearing c = {.roots = roots, .variable = variable};
    tn__each_reference(LLVMGetModuleDataLayout(roots->gc->module), LLVMGetAllocatedType(variable), 0, add_word, &c);
    clear_run(&c);
}

/* True if control may come back to the block after it has left it. */
static bool is_in_cycle(struct tn__gc *gc, LLVMBasicBlockRef block)
{
    struct tn__map seen = {0};
    LLVMBasicBlockRef *blocks = tn__gc_room(gc, NULL, 0, sizeof *blocks);
    size_t count = 1;
    for (blocks[0] = block; count;) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(blocks[--count]);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
            LLVMBasicBlockRef next = LLVMGetSuccessor(end, s);
            uint32_t *known = tn__map_add(gc, &seen, next);
            if (next == block)
                return true;
            if (*known)
                continue;
            *known = 1;
            blocks = tn__gc_room(gc, blocks, count, sizeof *blocks);
            blocks[count++] = next;
        }
    }
    return false;
}

/* True if its memory is made at most once in a call and has a constant size: then it has a place in the frame. */
static bool is_fixed_variable(struct tn__gc *gc, LLVMValueRef variable)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(variable);
    LLVMValueRef count = LLVMGetOperand(variable, 0);
    bool once = block == LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)) || !is_in_cycle(gc, block);
    return once && LLVMIsAConstantInt(count);
}

/* Makes the variable one of those at the beginning of the function: it is null before the first safepoint, whose map
 * names it, and its place in the frame is known. */
static void add_stack_root(struct tn__roots *roots, LLVMValueRef variable)
{
    tn__llvm_hoist(variable);
    roots->stack_roots =
        tn__gc_room(roots->gc, roots->stack_roots, roots->stack_root_count, sizeof *roots->stack_roots);
    roots->stack_roots[roots->stack_root_count++] = variable;
    erase_lifetime(variable);
}

void tn__find_stack_roots(struct tn__roots *roots)
{
    LLVMValueRef *variables = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(b, roots->function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (LLVMIsAAllocaInst(i) && holds_references(roots, i) && !is_pin(roots, i)) {
                variables = tn__gc_room(roots->gc, variables, count, sizeof *variables);
                variables[count++] = i;
            }
    for (size_t n = 0; n < count; n++)
        if (is_fixed_variable(roots->gc, variables[n]))
            add_stack_root(roots, variables[n]);
        else
            tn__gc_reject(
                roots->gc, variables[n], NULL, "dynamic-stack",
                "memory with references whose size is not constant, or which is made in a loop, has no place in "
                "the frame: give it a constant size and make it in the entry block, or allocate an object");
    roots->gc->stats->stack_roots += roots->stack_root_count;
}

void tn__clear_stack_roots(struct tn__roots *roots)
{
    LLVMPositionBuilderBefore(roots->builder, tn__behind_variables(roots->function));
    for (uint32_t i = 0; i < roots->stack_root_count; i++)
        clear(roots, roots->stack_roots[i]);
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

static bool choose_all(struct moving *m)
{
    for (uint32_t s = 0; s < m->roots->safepoint_count; s++) {
        const struct tn__safepoint *safepoint = &m->roots->safepoints[s];
        if (LLVMIsAInvokeInst(safepoint->call))
            choose_for_landing_pad(m, LLVMGetUnwindDest(safepoint->call));
        for (uint32_t i = 0; tn__returns_twice(safepoint->call) && i < safepoint->live_count; i++)
            choose(m, safepoint->live[i]);
    }
    for (uint32_t v = 0; v < m->roots->variable_count; v++)
        if (tn__bit(m->chosen, v))
            return true;
    return false;
}

static LLVMTypeRef i64_type(const struct moving *m)
{
    return LLVMInt64TypeInContext(m->roots->gc->context);
}

static LLVMValueRef address_of(struct moving *m, LLVMValueRef value)
{
    return LLVMBuildPtrToInt(m->roots->builder, value, i64_type(m), "");
}

static LLVMValueRef load(struct moving *m, uint32_t variable)
{
    struct tn__roots *roots = m->roots;
    LLVMBuilderRef builder = roots->builder;
    const struct tn__variable *v = &roots->variables[variable];
    LLVMTypeRef type = LLVMTypeOf(v->value);
    if (m->slots[variable])
        return LLVMBuildLoad2(builder, type, m->slots[variable], "");
    LLVMValueRef base = LLVMBuildLoad2(builder, roots->reference, m->slots[v->base], "");
    LLVMValueRef distance = LLVMBuildLoad2(builder, i64_type(m), m->distances[variable], "");
    if (type != roots->reference)
        base = LLVMBuildAddrSpaceCast(builder, base, type, "");
    return LLVMBuildGEP2(builder, LLVMInt8TypeInContext(roots->gc->context), base, &distance, 1, "");
}

/* A derived pointer's distance from `base`, NULL if it has none. */
static LLVMValueRef measure(struct moving *m, LLVMValueRef derived, LLVMValueRef base)
{
    LLVMValueRef from = base ? address_of(m, base) : LLVMConstNull(i64_type(m));
    return LLVMBuildSub(m->roots->builder, address_of(m, derived), from, "");
}

static void make_memory(struct moving *m, uint32_t variable)
{
    struct tn__roots *roots = m->roots;
    LLVMPositionBuilderBefore(roots->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(roots->function)));
    if (tn__is_reference(roots, variable))
        m->slots[variable] = LLVMBuildAlloca(roots->builder, roots->reference, "root");
    else
        m->distances[variable] = LLVMBuildAlloca(roots->builder, i64_type(m), "distance");
}

/* The end of the block, before its terminator: an invoke there has not happened yet. */
static void position_at_end(struct moving *m, LLVMBasicBlockRef block)
{
    LLVMPositionBuilderBefore(m->roots->builder, LLVMGetBasicBlockTerminator(block));
}

static bool is_landing_pad(LLVMBasicBlockRef block)
{
    LLVMValueRef i = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(i))
        i = LLVMGetNextInstruction(i);
    return LLVMIsALandingPadInst(i);
}

/* In front of the stores for phis of the landing pad: all of them take what was there before any of them. */
static void position_before_arriving(struct moving *m, LLVMBasicBlockRef block)
{
    LLVMValueRef at = LLVMGetBasicBlockTerminator(block), before;
    while ((before = LLVMGetPreviousInstruction(at)) && tn__map_find(&m->arriving, before))
        at = before;
    LLVMPositionBuilderBefore(m->roots->builder, at);
}

/* A phi of a landing pad is stored by those who come there: what they bring is stale when they have arrived. */
static void store_incoming(struct moving *m, uint32_t variable)
{
    LLVMBuilderRef builder = m->roots->builder;
    LLVMValueRef phi = m->roots->variables[variable].value, slot = m->slots[variable];
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef value = LLVMGetIncomingValue(phi, i), base = slot ? NULL : tn__base_of(m->roots->bases, value);
        position_before_arriving(m, LLVMGetIncomingBlock(phi, i));
        value = slot ? LLVMBuildFreeze(builder, value, "") : measure(m, value, base);
        position_at_end(m, LLVMGetIncomingBlock(phi, i));
        *tn__map_add(m->roots->gc, &m->arriving, LLVMBuildStore(builder, value, slot ? slot : m->distances[variable])) =
            1;
    }
}

static bool is_pad_phi(LLVMValueRef value)
{
    return LLVMIsAPHINode(value) && is_landing_pad(LLVMGetInstructionParent(value));
}

/* Behind the value's definition. Phis of one block are all stored in front of what follows them, and the references
 * among them first: a distance is computed from the reference that is stored. */
static void store_value(struct moving *m, uint32_t variable)
{
    const struct tn__variable *v = &m->roots->variables[variable];
    LLVMBuilderRef builder = m->roots->builder;
    LLVMValueRef slot = m->slots[variable];
    if (is_pad_phi(v->value)) {
        store_incoming(m, variable);
        return;
    }
    LLVMValueRef at = tn__place_behind(v->value), own;
    while (!slot && tn__map_find(&m->own, at))
        at = LLVMGetNextInstruction(at);
    LLVMPositionBuilderBefore(builder, at);
    if (slot) {
        own = LLVMBuildStore(builder, v->value, slot);
    } else {
        LLVMValueRef distance = measure(m, v->value, load(m, v->base));
        own = LLVMGetOperand(distance, 0);
        LLVMBuildStore(builder, distance, m->distances[variable]);
    }
    *tn__map_add(m->roots->gc, &m->own, own) = 1;
}

/* Phis of landing pads go away, so nothing is loaded for those. */
static bool is_moved_phi(const struct moving *m, LLVMValueRef user)
{
    uint32_t variable = tn__variable_of(m->roots, user);
    return variable != NO_VARIABLE && tn__bit(m->chosen, variable) && is_pad_phi(user);
}

static void load_for(struct moving *m, uint32_t variable, LLVMValueRef user)
{
    LLVMValueRef value = m->roots->variables[variable].value;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++) {
        if (LLVMGetOperand(user, i) != value)
            continue;
        if (LLVMIsAPHINode(user))
            position_at_end(m, LLVMGetIncomingBlock(user, i));
        else
            LLVMPositionBuilderBefore(m->roots->builder, user);
        LLVMSetOperand(user, i, load(m, variable));
    }
}

static void load_everywhere(struct moving *m, uint32_t variable)
{
    LLVMValueRef *users = NULL, value = m->roots->variables[variable].value;
    size_t count = 0;
    for (TN__EACH_USE(use, value)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (tn__map_find(&m->own, user) || is_moved_phi(m, user))
            continue;
        users = tn__gc_room(m->roots->gc, users, count, sizeof *users);
        users[count++] = user;
    }
    for (size_t i = 0; i < count; i++)
        load_for(m, variable, users[i]);
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
