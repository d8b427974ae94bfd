/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Blocks in reverse postorder, their predecessors, and dominators (Cooper, Harvey and Kennedy). No recursion: control
 * flow may be as deep as the input likes. */

#include "codegen/managed/ir/gc.h"

struct step {
    LLVMBasicBlockRef block;
    unsigned next; /* successor */
};

static uint32_t find_order(struct tn__gc *gc, struct tn__cfg *cfg, LLVMBasicBlockRef entry,
                           LLVMBasicBlockRef *postorder)
{
    struct step *stack = NULL;
    size_t depth = 0;
    uint32_t count = 0;
    LLVMBasicBlockRef enter = entry;
    for (;;) {
        if (enter) {
            *tn__map_add(gc, &cfg->numbers, enter) = 1;
            TN__APPEND(gc, stack, depth, (struct step){enter, 0});
        }
        struct step *top = &stack[depth - 1];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(top->block);
        if (top->next < LLVMGetNumSuccessors(end)) {
            enter = LLVMGetSuccessor(end, top->next++);
            if (tn__map_find(&cfg->numbers, enter))
                enter = NULL;
            continue;
        }
        enter = NULL;
        postorder[count++] = top->block;
        if (--depth == 0)
            return count;
    }
}

static void add_predecessor(struct tn__gc *gc, struct tn__block *block, uint32_t predecessor)
{
    for (uint32_t i = 0; i < block->predecessor_count; i++)
        if (block->predecessors[i] == predecessor)
            return;
    TN__APPEND(gc, block->predecessors, block->predecessor_count, predecessor);
}

static uint32_t common_dominator(const struct tn__cfg *cfg, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (a > b)
            a = cfg->blocks[a].dominator;
        while (b > a)
            b = cfg->blocks[b].dominator;
    }
    return a;
}

static void find_dominators(struct tn__cfg *cfg)
{
    bool changed = true;
    for (uint32_t b = 1; b < cfg->count; b++)
        cfg->blocks[b].dominator = UINT32_MAX;
    while (changed) {
        changed = false;
        for (uint32_t b = 1; b < cfg->count; b++) {
            struct tn__block *block = &cfg->blocks[b];
            uint32_t found = UINT32_MAX;
            for (uint32_t i = 0; i < block->predecessor_count; i++) {
                uint32_t p = block->predecessors[i];
                if (p == 0 || cfg->blocks[p].dominator != UINT32_MAX)
                    found = found == UINT32_MAX ? p : common_dominator(cfg, p, found);
            }
            changed |= block->dominator != found;
            block->dominator = found;
        }
    }
}

struct tn__cfg *tn__cfg_build(struct tn__gc *gc, LLVMValueRef function)
{
    struct tn__cfg *cfg = tn__gc_array(gc, 1, sizeof *cfg);
    LLVMBasicBlockRef *postorder = tn__gc_array(gc, LLVMCountBasicBlocks(function), sizeof(LLVMBasicBlockRef));
    cfg->count = find_order(gc, cfg, LLVMGetEntryBasicBlock(function), postorder);
    cfg->blocks = tn__gc_array(gc, cfg->count, sizeof *cfg->blocks);
    for (uint32_t b = 0; b < cfg->count; b++) {
        cfg->blocks[b].block = postorder[cfg->count - 1 - b];
        *tn__map_add(gc, &cfg->numbers, cfg->blocks[b].block) = b;
    }
    for (uint32_t b = 0; b < cfg->count; b++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(cfg->blocks[b].block);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++)
            add_predecessor(gc, &cfg->blocks[tn__cfg_number(cfg, LLVMGetSuccessor(end, s))], b);
    }
    find_dominators(cfg);
    return cfg;
}

uint32_t tn__cfg_number(const struct tn__cfg *cfg, LLVMBasicBlockRef block)
{
    return *tn__map_find(&cfg->numbers, block);
}

static bool precedes(const struct tn__cfg *cfg, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBasicBlockRef block_a = LLVMGetInstructionParent(a), block_b = LLVMGetInstructionParent(b);
    if (block_a == block_b) {
        while (a && a != b)
            a = LLVMGetNextInstruction(a);
        return a;
    }
    const uint32_t *dominator = tn__map_find(&cfg->numbers, block_a);
    uint32_t at = tn__cfg_number(cfg, block_b);
    while (dominator && at > *dominator)
        at = cfg->blocks[at].dominator;
    return dominator && at == *dominator;
}

bool tn__region_covers(const struct tn__cfg *cfg, LLVMValueRef begin, LLVMValueRef call)
{
    if (!precedes(cfg, begin, call))
        return false;
    for (TN__EACH_USE(use, begin))
        if (tn__intrinsic_called(LLVMGetUser(use)) == TN__PRESERVE_END && precedes(cfg, LLVMGetUser(use), call))
            return false;
    return true;
}
