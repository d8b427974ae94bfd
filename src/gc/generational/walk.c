/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* All objects of the generational collector: those whose starts are noted, and those that follow each other in pieces
 * and spans. */

#include "gc/generational/generational.h"

typedef void visitor(void *context, void *object);

void tn__gen_each_in(const struct tn__generational *g, const uint64_t *table, uint64_t from, uint64_t size,
                     visitor *visit, void *context)
{
    for (uint64_t word = from / 8 / 64; word < (from + size) / 8 / 64; word++)
        for (uint64_t rest = table[word]; rest; rest &= rest - 1)
            visit(context, (void *)(g->base + (word * 64 + (unsigned)__builtin_ctzll(rest)) * 8));
}

void tn__gen_each_start(const struct tn__generational *g, uint64_t from, uint64_t size, visitor *visit, void *context)
{
    tn__gen_each_in(g, g->starts, from, size, visit, context);
}

void tn__gen_each_object(const struct tn__generational *g, visitor *visit, void *context)
{
    for (uint32_t i = 0; i < TN__PIECES; i++) {
        char *start = (char *)g->base + (uint64_t)i * TN__PIECE;
        if (g->pieces[i] == TN__PIECE_YOUNG)
            tn__each_between(start, start + g->piece_used[i], visit, context);
    }
    tn__gen_each_old(g, visit, context);
}

void tn__gen_each_old(const struct tn__generational *g, visitor *visit, void *context)
{
    for (uint32_t i = 0; i < TN__PIECES; i++)
        if (g->pieces[i] == TN__PIECE_OLD)
            tn__gen_each_start(g, (uint64_t)i * TN__PIECE, TN__PIECE, visit, context);
    for (uint32_t block = TN__FIRST_OLD; block < g->block_end; block++)
        if (g->blocks[block] != TN__BLOCK_FREE && g->blocks[block] != TN__BLOCK_REST)
            tn__gen_each_start(g, (uint64_t)block << TN__BLOCK_SHIFT, TN__BLOCK, visit, context);
    for (size_t i = 0; i < g->span_count; i++)
        tn__each_between(g->spans[i].start, g->spans[i].end, visit, context);
}

bool tn__gen_is_object(const struct tn__generational *g, const void *address)
{
    uint64_t offset = (uintptr_t)address - g->base;
    if (!tn__is_in_space(g, address) || offset % 8 || !g->units[offset >> TN__UNIT_SHIFT])
        return false;
    if (tn__is_start(g, address))
        return true;
    uint32_t piece = (uint32_t)(offset / TN__PIECE);
    char *start = (char *)g->base + (uint64_t)piece * TN__PIECE;
    if (tn__has_young_address(g, address) && g->pieces[piece] == TN__PIECE_YOUNG)
        return tn__is_between(start, start + g->piece_used[piece], address);
    for (size_t i = 0; i < g->span_count; i++) /* of holes in old blocks, which do not overlap */
        if ((const char *)address >= g->spans[i].start && (const char *)address < g->spans[i].end)
            return tn__is_between(g->spans[i].start, g->spans[i].end, address);
    return false;
}
