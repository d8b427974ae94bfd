/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Counters of calls and back edges, for code of a tier that may give way to a higher one (doc/TIERS.md). They are
 * inserted after all other passes, in managed code and other code alike: the call that tells of a counter that has run
 * out is no safepoint, and roots are placed already.
 *
 * An entry decrements one counter, the end of each block from which a loop goes on the other. A call from a loop says
 * which one it is, by a number that is the same whenever the function is compiled. */

#include <stdio.h>

#include "codegen/managed/lower/lower.h"
#include "jit/counter.h"

struct counting {
    struct tn__gc *gc;
    LLVMValueRef record, told; /* NULL: no function has been counted yet */
    LLVMTypeRef told_type;
};

/* The end of a block from which a loop goes on. */
struct back_edge {
    LLVMValueRef from;
    uint32_t loop; /* loops are counted from 1, in the order of their first blocks */
};

/* ---- the record ---- */

/* `function` NULL: it is a number. */
static LLVMValueRef declare(struct counting *c, const char *name, LLVMTypeRef function)
{
    struct tn__gc *gc = c->gc;
    LLVMValueRef symbol =
        function ? LLVMAddFunction(gc->module, name, function) : LLVMAddGlobal(gc->module, gc->i8, name);
    LLVMSetVisibility(symbol, LLVMHiddenVisibility);
    return symbol;
}

static void make_record(struct counting *c)
{
    static const struct tn__counters none = {.tag = "0"};
    struct tn__gc *gc = c->gc;
    const struct tn__counters *names = gc->counters ? gc->counters : &none;
    char limits[100], module[100], told_name[100];
    snprintf(limits, sizeof limits, TN__COUNTER_LIMITS "%d.%s", names->level, names->tag);
    snprintf(module, sizeof module, TN__COUNTER_MODULE "%s", names->tag);
    snprintf(told_name, sizeof told_name, TN__COUNTER_TOLD "%s", names->tag);
    c->told_type = LLVMFunctionType(gc->nothing, (LLVMTypeRef[]){gc->pointer, gc->i32}, 2, 0);
    c->told = declare(c, told_name, c->told_type);
    tn__set_text(c->told, TN__LEAF, "");
    LLVMValueRef zero = LLVMConstNull(gc->i32);
    LLVMValueRef members[] = {zero,
                              zero,
                              declare(c, limits, NULL),
                              declare(c, module, NULL),
                              LLVMConstInt(gc->i32, names->part, 0),
                              LLVMConstInt(gc->i32, (unsigned)names->level, 0),
                              zero,
                              zero};
    LLVMValueRef value = LLVMConstStructInContext(gc->context, members, TN_COUNT(members), 0);
    c->record = LLVMAddGlobal(gc->module, LLVMTypeOf(value), "tenon.counter");
    LLVMSetInitializer(c->record, value);
    LLVMSetLinkage(c->record, LLVMInternalLinkage);
    LLVMSetAlignment(c->record, 64); /* no other part's counters are in its cache line */
}

/* ---- counting ---- */

/* At level 0 they are plain: FastISel gives atomic ones, and with them the rest of their block, to SelectionDAG, which
 * takes longer than all of the counters. No pass over IR comes after this one, and those of level 0 over machine code
 * neither merge nor move accesses. */
static void relax(const struct counting *c, LLVMValueRef access)
{
    bool is_quick = !c->gc->counters || c->gc->counters->level == 0;
    if (!is_quick)
        LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(access, 4);
}

static void count_before(struct counting *c, LLVMValueRef instruction, size_t member, uint32_t loop)
{
    struct tn__gc *gc = c->gc;
    LLVMBuilderRef b = gc->builder;
    LLVMBasicBlockRef behind, slow = tn__make_detour(gc, instruction, "told", &behind);
    LLVMValueRef offset = LLVMConstInt(gc->i64, member, 0);
    LLVMValueRef place = member ? LLVMConstInBoundsGEP2(gc->i8, c->record, &offset, 1) : c->record;
    LLVMValueRef left = LLVMBuildLoad2(b, gc->i32, place, "");
    relax(c, left);
    LLVMValueRef less = LLVMBuildSub(b, left, LLVMConstInt(gc->i32, 1, 0), "");
    LLVMValueRef store = LLVMBuildStore(b, less, place);
    relax(c, store);
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntSGE, less, LLVMConstNull(gc->i32), "");
    tn__likely(gc, LLVMBuildCondBr(b, some, behind, slow));
    LLVMPositionBuilderAtEnd(b, slow);
    LLVMValueRef arguments[] = {c->record, LLVMConstInt(gc->i32, loop, 0)};
    LLVMBuildCall2(b, c->told_type, c->told, arguments, TN_COUNT(arguments), "");
    LLVMBuildBr(b, behind);
}

/* Variables of the frame have to stay in the first block. Arguments that are stored there at once are stored before: at
 * level 0 all that another block uses goes to the stack and back. */
static LLVMValueRef find_entry(LLVMValueRef function)
{
    LLVMBasicBlockRef first = LLVMGetEntryBasicBlock(function);
    LLVMValueRef at = LLVMGetFirstInstruction(first);
    for (TN__EACH_INSTRUCTION(i, first))
        if (LLVMIsAAllocaInst(i))
            at = LLVMGetNextInstruction(i);
    while (LLVMIsAStoreInst(at) && LLVMIsAArgument(LLVMGetOperand(at, 0)))
        at = LLVMGetNextInstruction(at);
    return at;
}

static size_t find_back_edges(struct tn__gc *gc, LLVMValueRef function, struct back_edge **edges)
{
    const struct tn__cfg *cfg = tn__cfg_build(gc, function);
    bool *known = tn__gc_array(gc, cfg->count, sizeof *known);
    size_t count = 0;
    uint32_t loops = 0;
    for (uint32_t header = 0; header < cfg->count; header++) {
        const struct tn__block *block = &cfg->blocks[header];
        bool is_header = false;
        for (uint32_t i = 0; i < block->predecessor_count; i++) {
            uint32_t latch = block->predecessors[i];
            if (latch < header)
                continue;
            loops += !is_header;
            is_header = true;
            if (!known[latch]) { /* one count is enough where two loops go on from one block */
                struct back_edge edge = {LLVMGetBasicBlockTerminator(cfg->blocks[latch].block), loops};
                TN__APPEND(gc, *edges, count, edge);
            }
            known[latch] = true;
        }
    }
    return count;
}

/* Functions that a pass has made are parts of others, which count. */
static bool is_counted(LLVMValueRef function)
{
    return !LLVMIsDeclaration(function) && LLVMGetLinkage(function) != LLVMAvailableExternallyLinkage &&
           !tn__is_naked(function) && *tn__module_name(function);
}

void tn__count_calls(struct tn__gc *gc)
{
    struct counting c = {.gc = gc};
    for (TN__EACH_FUNCTION(f, gc)) {
        struct back_edge *edges = NULL;
        if (!is_counted(f))
            continue;
        if (!c.record)
            make_record(&c);
        tn__llvm_remove_unreachable(f);
        size_t count = find_back_edges(gc, f, &edges);
        for (size_t i = 0; i < count; i++)
            count_before(&c, edges[i].from, offsetof(struct tn__counter, loops), edges[i].loop);
        count_before(&c, find_entry(f), offsetof(struct tn__counter, calls), 0);
    }
}
