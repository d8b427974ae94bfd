/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Polls: where threads look for stop requests, besides allocations. */

#include "codegen/llvm/remarks.h"
#include "codegen/managed/lower/lower.h"
#include "codegen/managed/optimize/optimize.h"
#include "tenon_gc.h"

struct polls {
    struct tn__gc *gc;
    struct tn__map entered;     /* functions that poll when they are entered */
    const struct tn__cfg *cfg;  /* of the function at hand */
    bool *looks;                /* blocks in which the thread looks for requests, whatever happens */
    struct tn__map short_loops; /* their latches, and the headers' numbers + 1 */
};

/* The baseline compiler makes the test. */
static void leave_poll(struct tn__gc *gc, LLVMValueRef instruction, LLVMValueRef block)
{
    LLVMTypeRef type = LLVMFunctionType(gc->nothing, NULL, 0, 0);
    LLVMOperandBundleRef bundle = LLVMCreateOperandBundle(TN__INLINE, sizeof TN__INLINE - 1, &block, 1);
    LLVMPositionBuilderBefore(gc->builder, instruction);
    LLVMBuildCallWithOperandBundles(gc->builder, type, tn__runtime_function(gc, "tn__gc_poll", type), NULL, 0, &bundle,
                                    1, "");
    LLVMDisposeOperandBundle(bundle);
}

/* The builder is where the thread has been asked to stop, before the way goes on to what this returns. */
static LLVMBasicBlockRef test_poll(struct tn__gc *gc, LLVMValueRef instruction, LLVMValueRef block)
{
    LLVMBasicBlockRef behind, slow = tn__make_detour(gc, instruction, "poll", &behind);
    LLVMValueRef flag = LLVMBuildLoad2(gc->builder, gc->i32, tn__field(gc, block, TN_GC_BLOCK_POLL), "");
    LLVMSetOrdering(flag, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(flag, 4);
    tn__tag(gc, flag, TN__RUNTIME_MEMORY);
    LLVMValueRef quiet = LLVMBuildICmp(gc->builder, LLVMIntEQ, flag, LLVMConstNull(gc->i32), "");
    tn__likely(gc, LLVMBuildCondBr(gc->builder, quiet, behind, slow));
    LLVMPositionBuilderAtEnd(gc->builder, slow);
    return behind;
}

static void poll_before(struct tn__gc *gc, LLVMValueRef instruction)
{
    LLVMValueRef function = tn__function_of(instruction), block = tn__function_block(gc, function);
    gc->stats->polls++;
    if (tn__leaves_rows(gc, function)) {
        leave_poll(gc, instruction, block);
        return;
    }
    LLVMBasicBlockRef behind = test_poll(gc, instruction, block);
    tn__call_runtime(gc, false, "tn__gc_poll", gc->nothing, NULL, 0);
    LLVMBuildBr(gc->builder, behind);
}

/* The thread's block, of a poll that was left to the baseline compiler; NULL: it is something else. */
static LLVMValueRef block_of_poll(LLVMValueRef i)
{
    if (!LLVMIsACallInst(i) || !LLVMGetNumOperandBundles(i) || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind)
        return NULL;
    LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(i, 0);
    bool is_poll = strcmp(LLVMGetOperandBundleTag(bundle, &(size_t){0}), TN__INLINE) == 0 &&
                   LLVMGetNumOperandBundleArgs(bundle) == 1;
    LLVMValueRef block = is_poll ? LLVMGetOperandBundleArgAtIndex(bundle, 0) : NULL;
    LLVMDisposeOperandBundle(bundle);
    return block && LLVMGetTypeKind(LLVMTypeOf(block)) == LLVMPointerTypeKind ? block : NULL;
}

void tn__expand_polls(struct tn__gc *gc, LLVMValueRef function)
{
    LLVMValueRef *polls = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (block_of_poll(i))
                TN__APPEND(gc, polls, count, i);
    for (size_t i = 0; i < count; i++) {
        LLVMBasicBlockRef behind = test_poll(gc, polls[i], block_of_poll(polls[i]));
        LLVMInstructionRemoveFromParent(polls[i]);
        LLVMInsertIntoBuilder(gc->builder, polls[i]);
        LLVMBuildBr(gc->builder, behind);
    }
}

static void lower_safepoint(struct tn__gc *gc, LLVMValueRef call)
{
    poll_before(gc, call);
    LLVMInstructionEraseFromParent(call);
}

/* ---- loops ---- */

/* Not each safepoint looks for requests: a callee may return without having met a poll. */
static bool looks_in(const struct polls *p, LLVMBasicBlockRef block)
{
    bool omits = !(p->gc->off & TN__OMIT_POLLS);
    for (TN__EACH_INSTRUCTION(i, block))
        if (tn__is_allocation(i) || (omits && (tn__intrinsic_called(i) == TN__SAFEPOINT ||
                                               (tn__is_call(i) && tn__map_find(&p->entered, LLVMGetCalledValue(i))))))
            return true;
    return false;
}

/* True if the thread may come from the block `header` to the block `latch` without looking for requests. */
static bool is_blind(const struct polls *p, uint32_t latch, uint32_t header)
{
    struct tn__gc *gc = p->gc;
    uint32_t *blocks = NULL;
    size_t count = 0;
    bool *seen = tn__gc_array(gc, p->cfg->count, sizeof *seen);
    if (p->looks[latch] || p->looks[header])
        return false;
    TN__APPEND(gc, blocks, count, latch);
    for (size_t i = 0; i < count; i++) {
        const struct tn__block *block = &p->cfg->blocks[blocks[i]];
        if (blocks[i] == header || gc->off & TN__OMIT_POLLS)
            return true;
        for (uint32_t k = 0; k < block->predecessor_count; k++) {
            uint32_t from = block->predecessors[k];
            if (!seen[from] && !p->looks[from])
                TN__APPEND(gc, blocks, count, from);
            seen[from] = true;
        }
    }
    return false;
}

static void note_short_loop(void *context, LLVMBasicBlockRef latch, LLVMBasicBlockRef header)
{
    struct polls *p = context;
    *tn__map_add(p->gc, &p->short_loops, latch) = tn__cfg_number(p->cfg, header) + 1;
}

static bool is_short(const struct polls *p, uint32_t latch, uint32_t header)
{
    const uint32_t *of = tn__map_find(&p->short_loops, p->cfg->blocks[latch].block);
    return of && *of == header + 1;
}

/* Whether loops go on from the end of this block in which it would be the only place to look. */
static bool needs_poll(struct polls *p, uint32_t latch)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(p->cfg->blocks[latch].block);
    bool needed = false;
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
        uint32_t header = tn__cfg_number(p->cfg, LLVMGetSuccessor(end, s));
        if (header > latch || p->looks[latch] || p->looks[header])
            continue;
        const char *why = !is_blind(p, latch, header)  ? "the thread looks for requests on each way through the loop"
                          : is_short(p, latch, header) ? "the loop ends soon"
                                                       : NULL;
        bool removed = why != NULL;
        tn__llvm_remark(end, "insert-polls", removed ? "PollRemoved" : "Poll", removed,
                        removed ? why : "the loop may go on for long without looking for requests");
        p->gc->stats->removed_polls += removed;
        needed |= !removed;
    }
    return needed;
}

/* The ends of the blocks from which loops go on; all of them are found before the first is changed. */
static void poll_in_loops(struct polls *p, LLVMValueRef function)
{
    struct tn__gc *gc = p->gc;
    LLVMValueRef *ends = NULL;
    size_t count = 0;
    p->cfg = tn__cfg_build(gc, function);
    p->looks = tn__gc_array(gc, p->cfg->count, sizeof *p->looks);
    p->short_loops = (struct tn__map){0};
    for (uint32_t b = 0; b < p->cfg->count; b++)
        p->looks[b] = looks_in(p, p->cfg->blocks[b].block);
    if (!(gc->off & TN__OMIT_POLLS))
        tn__each_short_loop(function, note_short_loop, p);
    for (uint32_t b = 0; b < p->cfg->count; b++)
        if (needs_poll(p, b))
            TN__APPEND(gc, ends, count, LLVMGetBasicBlockTerminator(p->cfg->blocks[b].block));
    if (count && !(gc->off & TN__OMIT_POLLS))
        gc->stats->spaced_polls += tn__space_polls(function, ends, count);
    for (size_t i = 0; i < count; i++)
        poll_before(gc, ends[i]);
}

/* ---- the pass ---- */

static bool is_candidate(LLVMValueRef function)
{
    return !LLVMIsDeclaration(function) && !tn__has_text(function, TN__LEAF);
}

static bool is_entered_with_poll(const struct tn__gc *gc, LLVMValueRef function)
{
    return gc->options->polls & TN_POLL_ENTRIES && is_candidate(function) && tn__find_safepoint(function);
}

/* Behind the place where scalarize takes arguments apart: no whole may be live across a safepoint. */
static void poll_at_entry(struct tn__gc *gc, LLVMValueRef function)
{
    LLVMValueRef first = LLVMGetNextInstruction(tn__function_block(gc, function));
    while (LLVMIsAExtractElementInst(first) || LLVMIsAExtractValueInst(first))
        first = LLVMGetNextInstruction(first);
    poll_before(gc, first);
}

static bool is_what_is_called(LLVMValueRef function)
{
    LLVMLinkage linkage = LLVMGetLinkage(function);
    return (tn__is_local(function) || linkage == LLVMExternalLinkage) && !tn__is_naked(function);
}

void tn__insert_polls(struct tn__gc *gc)
{
    struct polls p = {.gc = gc};
    for (TN__EACH_FUNCTION(f, gc)) {
        if (is_candidate(f))
            tn__llvm_remove_unreachable(f);
        if (is_entered_with_poll(gc, f) && is_what_is_called(f))
            *tn__map_add(gc, &p.entered, f) = 1;
    }
    for (TN__EACH_FUNCTION(f, gc)) {
        if (!is_candidate(f))
            continue;
        bool at_entry = is_entered_with_poll(gc, f);
        if (gc->options->polls & TN_POLL_LOOPS && tn__may_be_managed(gc, f)) /* a poll would make it managed */
            poll_in_loops(&p, f);
        if (at_entry)
            poll_at_entry(gc, f);
    }
    tn__each_call(gc, 1u << TN__SAFEPOINT, NULL, lower_safepoint);
}
