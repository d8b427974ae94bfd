/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Polls: where threads look for stop requests, besides allocations. */

#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

static void poll_before(struct tn__gc *gc, LLVMValueRef instruction)
{
    LLVMValueRef block = tn__function_block(gc, tn__function_of(instruction));
    LLVMBasicBlockRef behind, slow = tn__make_detour(gc, instruction, "poll", &behind);
    LLVMValueRef flag = LLVMBuildLoad2(gc->builder, gc->i32, tn__field(gc, block, TN_GC_BLOCK_POLL), "");
    LLVMSetOrdering(flag, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(flag, 4);
    tn__tag(gc, flag, TN__RUNTIME_MEMORY);
    LLVMValueRef quiet = LLVMBuildICmp(gc->builder, LLVMIntEQ, flag, LLVMConstNull(gc->i32), "");
    tn__likely(gc, LLVMBuildCondBr(gc->builder, quiet, behind, slow));
    LLVMPositionBuilderAtEnd(gc->builder, slow);
    tn__call_runtime(gc, false, "tn__gc_poll", gc->nothing, NULL, 0);
    LLVMBuildBr(gc->builder, behind);
    gc->stats->polls++;
}

static void lower_safepoint(struct tn__gc *gc, LLVMValueRef call)
{
    poll_before(gc, call);
    LLVMInstructionEraseFromParent(call);
}

static bool allocates(LLVMBasicBlockRef block)
{
    for (TN__EACH_INSTRUCTION(i, block))
        if (tn__is_allocation(i))
            return true;
    return false;
}

/* The ends of the blocks from which loops go on; a loop that allocates each time round looks for requests there. */
static void poll_in_loops(struct tn__gc *gc, LLVMValueRef function)
{
    const struct tn__cfg *cfg = tn__cfg_build(gc, function);
    for (uint32_t b = 0; b < cfg->count; b++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(cfg->blocks[b].block);
        bool goes_on = false;
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(end, s);
            goes_on |= tn__cfg_number(cfg, to) <= b && !allocates(to);
        }
        if (goes_on && !allocates(cfg->blocks[b].block))
            poll_before(gc, end);
    }
}

void tn__insert_polls(struct tn__gc *gc)
{
    tn__each_call(gc, 1u << TN__SAFEPOINT, NULL, lower_safepoint);
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f) || tn__has_text(f, TN__LEAF))
            continue;
        tn__llvm_remove_unreachable(f);
        bool at_entry = (gc->options->polls & TN_POLL_ENTRIES) && tn__find_safepoint(f);
        if (gc->options->polls & TN_POLL_LOOPS)
            poll_in_loops(gc, f);
        if (at_entry)
            poll_before(gc, LLVMGetNextInstruction(tn__function_block(gc, f)));
    }
}
