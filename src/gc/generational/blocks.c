/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Blocks of the old space, the holes in them, and the pieces of the nursery. */

#include "base/os.h"
#include "gc/generational/generational.h"

/* ---- blocks ---- */

/* Memory that objects are going to be allocated in. */
static bool has_no_objects(const struct tn__generational *g, const char *start, const char *end)
{
    uint8_t any = 0;
    for (; start < end; start += TN__LINE)
        any |= tn__bits(g, g->starts, start);
    return !any;
}

/* The first run of this many free blocks: memory that was used before comes first. 0: there is none. */
__attribute__((cold)) uint32_t tn__gen_take_blocks(struct tn__generational *g, uint32_t count,
                                                   enum tn__block_state state)
{
    uint32_t run = 0, at = g->first_free;
    bool all_used = true;
    for (; at < g->block_count && run < count; at++) {
        run = g->blocks[at] == TN__BLOCK_FREE ? run + 1 : 0;
        if (all_used && run == 1)
            g->first_free = at;
        all_used &= !run;
    }
    uint32_t first = at - run;
    if (run < count || !tn__gen_commit(g, (uint64_t)first << TN__BLOCK_SHIFT, (uint64_t)count << TN__BLOCK_SHIFT))
        return 0;
    TN__CHECK(has_no_objects(g, tn__block_address(g, first), tn__block_address(g, first + count)));
    memset(&g->blocks[first], TN__BLOCK_REST, count);
    g->blocks[first] = (uint8_t)state;
    g->block_end = first + count > g->block_end ? first + count : g->block_end;
    g->used += (uint64_t)count << TN__BLOCK_SHIFT;
    return first;
}

/* ---- holes ---- */

/* The next run of free lines in the block, from a line on; its length. */
static uint32_t find_hole(const uint8_t *lines, uint32_t *from)
{
    uint32_t at = *from, end;
    while (at < TN__LINES && lines[at])
        at++;
    for (end = at; end < TN__LINES && !lines[end];)
        end++;
    *from = at;
    return end - at;
}

/* All holes of a block are for the worker that takes it: the next full collection looks at the rest of it again. */
static uint32_t take_block_with_holes(struct tn__generational *g)
{
    while (g->next_hole < g->block_end && g->blocks[g->next_hole] != TN__BLOCK_HOLES)
        g->next_hole++;
    if (g->next_hole >= g->block_end)
        return 0;
    g->blocks[g->next_hole] = TN__BLOCK_FULL;
    return g->next_hole++;
}

/* The next one of a block. NULL: there are no more. */
static char *hole_in(struct tn__generational *g, struct tn__cursor *cursor, uint64_t size, char **end)
{
    const uint8_t *lines = g->lines + ((uint64_t)cursor->block << (TN__BLOCK_SHIFT - TN__LINE_SHIFT));
    for (uint32_t length; (length = find_hole(lines, &cursor->line)); cursor->line += length) {
        if (length * (uint64_t)TN__LINE < size)
            continue;
        char *hole = tn__block_address(g, cursor->block) + cursor->line * (uint64_t)TN__LINE;
        *end = hole + length * (uint64_t)TN__LINE;
        g->used += (uint64_t)(*end - hole);
        cursor->line += length;
        TN__CHECK(has_no_objects(g, hole, *end));
        return hole;
    }
    return NULL;
}

char *tn__gen_take_hole(struct tn__generational *g, struct tn__cursor *cursor, uint64_t size, char **end)
{
    char *hole = NULL;
    while (!hole && (cursor->block || (cursor->block = take_block_with_holes(g)))) {
        hole = hole_in(g, cursor, size, end);
        if (!hole)
            *cursor = (struct tn__cursor){0};
    }
    uint32_t block = hole ? 0 : tn__gen_take_blocks(g, 1, TN__BLOCK_FULL);
    if (!block)
        return hole;
    *end = tn__block_address(g, block) + TN__BLOCK;
    return tn__block_address(g, block);
}

/* ---- pieces ---- */

static char *piece_address(const struct tn__generational *g, uint32_t piece)
{
    return (char *)g->base + (uint64_t)piece * TN__PIECE;
}

/* Tables of young addresses are committed with the unit; a piece may be unmapped meanwhile. */
__attribute__((cold)) uint32_t tn__gen_take_piece(struct tn__generational *g, bool anew)
{
    uint32_t first = anew ? g->next_piece : 0;
    for (uint32_t i = 0; i < TN__PIECES; i++) {
        uint32_t piece = (first + i) % TN__PIECES;
        if (g->pieces[piece] != TN__PIECE_FREE)
            continue;
        bool known = g->units[(uint64_t)piece * TN__PIECE >> TN__UNIT_SHIFT];
        if (!tn__gen_commit(g, (uint64_t)piece * TN__PIECE, TN__PIECE))
            return TN__PIECES;
        if (anew && known && tn__os_commit((uintptr_t)piece_address(g, piece), TN__PIECE, TN__PROT_RW))
            return TN__PIECES;
        g->pieces[piece] = TN__PIECE_YOUNG;
        g->piece_used[piece] = 0;
        g->pieces_young++;
        g->next_piece = piece + 1;
        return piece;
    }
    return TN__PIECES;
}

__attribute__((cold)) void tn__gen_free_pieces(struct tn__generational *g, bool unmap)
{
    for (uint32_t i = 0; i < TN__PIECES; i++) {
        if (g->pieces[i] != TN__PIECE_YOUNG)
            continue;
        g->pieces[i] = TN__PIECE_FREE;
        if (unmap)
            tn__os_decommit((uintptr_t)piece_address(g, i), TN__PIECE);
    }
    g->pieces_young = 0;
}

static void settle(void *context, void *object)
{
    (void)context;
    tn__settle_header(object);
}

__attribute__((cold)) void tn__gen_settle_pieces(struct tn__generational *g)
{
    g->pieces_old = 0;
    for (uint32_t i = 0; i < TN__PIECES; i++)
        if (g->pieces[i] == TN__PIECE_OLD) {
            g->pieces_old++;
            tn__gen_each_start(g, (uint64_t)i * TN__PIECE, TN__PIECE, settle, NULL);
        }
}

/* ---- full collections ---- */

static void forget_holes(struct tn__generational *g)
{
    g->direct = (struct tn__cursor){0};
    for (uint32_t i = 0; i <= g->team.started; i++) {
        struct tn__worker *w = g->team.workers[i];
        w->holes = (struct tn__cursor){0};
        w->hole = w->hole_end = w->medium = w->medium_end = NULL;
    }
}

__attribute__((cold)) void tn__gen_clear(struct tn__generational *g)
{
    enum { BLOCKS_OF_UNIT = TN__UNIT / TN__BLOCK };
    uint64_t part = TN__UNIT >> TN__TABLE_SHIFT;
    for (uint32_t i = 0; i < TN__PIECES; i++)
        if (g->pieces[i] == TN__PIECE_OLD)
            memset(&g->starts[i * (uint64_t)TN__PIECE / 8 / 64], 0, TN__PIECE / 8 / 8);
    for (uint64_t unit = TN__YOUNG_SIZE >> TN__UNIT_SHIFT; unit * BLOCKS_OF_UNIT < g->block_end; unit++)
        if (g->units[unit]) {
            memset((char *)g->starts + unit * part, 0, part);
            memset(g->lines + unit * part, 0, part);
        }
    forget_holes(g);
    g->next_hole = UINT32_MAX;
    g->span_count = 0;
    g->retry = false;
}

uint32_t tn__gen_count_lines(const struct tn__generational *g, uint32_t block)
{
    const uint64_t *words = (const uint64_t *)(const void *)(g->lines + (uint64_t)block * TN__LINES);
    uint64_t count = 0;
    for (int i = 0; i < TN__LINES / 8; i++)
        count += words[i] * 0x0101010101010101u >> 56;
    return (uint32_t)count;
}

static void sweep_block(struct tn__generational *g, uint32_t block, uint32_t count, bool *is_live)
{
    if (g->blocks[block] != TN__BLOCK_REST)
        *is_live = count;
    if (!*is_live) {
        g->blocks[block] = TN__BLOCK_FREE;
    } else if (g->blocks[block] >= TN__BLOCK_LARGE) {
        g->large += TN__BLOCK;
        g->used += TN__BLOCK;
    } else {
        g->blocks[block] = count < TN__LINES ? TN__BLOCK_HOLES : TN__BLOCK_FULL;
        g->used += count * (uint64_t)TN__LINE;
        g->holes += (TN__LINES - count) * (uint64_t)TN__LINE;
    }
}

static void sweep_pieces(struct tn__generational *g)
{
    enum { WORDS = TN__PIECE / 8 / 64 };
    for (uint32_t i = 0; i < TN__PIECES; i++) {
        if (g->pieces[i] != TN__PIECE_OLD)
            continue;
        uint64_t any = 0;
        for (uint32_t word = 0; word < WORDS; word++)
            any |= g->starts[(uint64_t)i * WORDS + word];
        g->pieces[i] = any ? TN__PIECE_OLD : TN__PIECE_FREE;
        g->pieces_old -= !any;
        g->used += any ? TN__PIECE : 0;
    }
}

static uint32_t count_used(const struct tn__generational *g, uint32_t block, const uint16_t *counts)
{
    if (g->blocks[block] == TN__BLOCK_REST)
        return 0;
    return counts ? counts[block] : tn__gen_count_lines(g, block);
}

void tn__gen_sweep(struct tn__generational *g, const uint16_t *counts)
{
    bool is_live = false; /* the object that blocks in state REST belong to */
    g->used = g->large = g->holes = 0;
    sweep_pieces(g);
    for (uint32_t i = TN__FIRST_OLD; i < g->block_end; i++)
        if (g->blocks[i] != TN__BLOCK_FREE)
            sweep_block(g, i, count_used(g, i, counts), &is_live);
    memset(g->moving, 0, g->block_end);
    g->any_moving = g->retry = false;
    forget_holes(g);
    g->first_free = g->next_hole = TN__FIRST_OLD;
}
