/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The memory of the generational collector: one reserved range, tables beside it, blocks, holes in them, pieces of the
 * nursery. Memory is committed in units, with their part of the tables. */

#include "base/os.h"
#include "gc/generational/generational.h"

enum { BLOCKS_OF_UNIT = TN__UNIT / TN__BLOCK, TABLE_SHIFT = 6 };
_Static_assert((int)TN__LINE_SHIFT == (int)TABLE_SHIFT, "both tables take a 64th of the memory that they describe");

/* ---- the range ---- */

struct tables {
    uint64_t starts, lines, blocks, moving, units, end; /* offsets */
};

static struct tables layout(const struct tn__generational *g)
{
    struct tables t = {.starts = 0, .lines = g->size >> TABLE_SHIFT, .blocks = 2 * (g->size >> TABLE_SHIFT)};
    uint64_t page = tn__os_page_size(), count = g->size >> TN__BLOCK_SHIFT;
    t.moving = t.blocks + tn__align_up(count, page);
    t.units = t.moving + tn__align_up(count, page);
    t.end = t.units + tn__align_up(g->size >> TN__UNIT_SHIFT, page);
    return t;
}

static bool commit_unit(struct tn__generational *g, uint64_t unit)
{
    uint64_t at = unit << TN__UNIT_SHIFT, part = TN__UNIT >> TABLE_SHIFT;
    if (g->units[unit])
        return true;
    if (tn__os_commit((uintptr_t)g->starts + (at >> TABLE_SHIFT), part, TN__PROT_RW) ||
        tn__os_commit((uintptr_t)g->lines + (at >> TABLE_SHIFT), part, TN__PROT_RW) ||
        tn__os_commit(g->base + at, TN__UNIT, TN__PROT_RW))
        return false;
    g->units[unit] = 1;
    g->committed += TN__UNIT;
    return true;
}

static bool open_tables(struct tn__generational *g)
{
    struct tables t = layout(g);
    uint64_t base;
    if (tn__os_reserve(0, t.end, false, &base))
        return false;
    g->starts = (uint64_t *)(uintptr_t)base;
    g->lines = (uint8_t *)(uintptr_t)(base + t.lines);
    g->blocks = (uint8_t *)(uintptr_t)(base + t.blocks);
    g->moving = (bool *)(uintptr_t)(base + t.moving);
    g->units = (uint8_t *)(uintptr_t)(base + t.units);
    if (tn__os_commit(base + t.blocks, t.end - t.blocks, TN__PROT_RW)) {
        tn__os_release(base, t.end);
        return false;
    }
    return true;
}

static bool reserve(struct tn__generational *g, uint64_t size)
{
    uint64_t base, slack = TN__YOUNG_SIZE;
    if (tn__os_reserve(0, size + slack, false, &base))
        return false;
    g->base = tn__align_up(base, slack); /* the rest of the slack is only address space */
    if (g->base > base)
        tn__os_release(base, g->base - base);
    if (g->base + size < base + size + slack)
        tn__os_release(g->base + size, base + slack - g->base);
    g->size = size;
    g->block_count = (uint32_t)(size >> TN__BLOCK_SHIFT);
    if (open_tables(g))
        return true;
    tn__os_release(g->base, size);
    return false;
}

/* The stack may become as large as the heap, if every word is a reference to another object. */
static bool reserve_stack(struct tn__generational *g)
{
    uint64_t base;
    for (g->stack_size = g->size; g->stack_size >= TN__UNIT; g->stack_size = g->stack_size / 2 & -(uint64_t)TN__UNIT)
        if (!tn__os_reserve(0, g->stack_size, false, &base)) {
            g->stack = (void **)(uintptr_t)base;
            return true;
        }
    return false;
}

bool tn__gen_open(struct tn__generational *g, uint64_t limit)
{
    uint64_t least = 2 * (uint64_t)TN__YOUNG_SIZE;
    uint64_t size = tn__align_up(tn__min64(limit, 1ull << 40) * 2 + least, TN__UNIT);
    bool reserved = false;
    for (; !reserved && size >= least; size = tn__align_up(size / 2, TN__UNIT))
        reserved = reserve(g, size);
    if (!reserved)
        return false;
    g->first_free = g->next_hole = g->block_end = TN__FIRST_OLD;
    memset(g->blocks, TN__BLOCK_FULL, TN__FIRST_OLD);
    if (reserve_stack(g) && tn__gen_grow_stack(g, TN__UNIT / sizeof *g->stack))
        return true;
    tn__gen_close(g);
    return false;
}

void tn__gen_close(struct tn__generational *g)
{
    struct tables t = layout(g);
    if (g->stack)
        tn__os_release((uintptr_t)g->stack, g->stack_size);
    tn__os_release((uintptr_t)g->starts, t.end);
    tn__os_release(g->base, g->size);
}

bool tn__gen_grow_stack(struct tn__generational *g, uint64_t entries)
{
    uint64_t wanted = tn__align_up(entries * sizeof *g->stack, TN__UNIT);
    if (wanted <= g->stack_committed)
        return true;
    if (wanted > g->stack_size ||
        tn__os_commit((uintptr_t)g->stack + g->stack_committed, wanted - g->stack_committed, TN__PROT_RW))
        return false;
    g->stack_committed = wanted;
    return true;
}

/* ---- blocks ---- */

static char *block_address(const struct tn__generational *g, uint32_t block)
{
    return (char *)(g->base + ((uint64_t)block << TN__BLOCK_SHIFT));
}

static bool commit_blocks(struct tn__generational *g, uint32_t first, uint32_t count)
{
    for (uint32_t unit = first / BLOCKS_OF_UNIT; unit <= (first + count - 1) / BLOCKS_OF_UNIT; unit++)
        if (!commit_unit(g, unit))
            return false;
    return true;
}

/* The first run of this many free blocks: memory that was used before comes first. 0: there is none. */
static uint32_t take_blocks(struct tn__generational *g, uint32_t count, enum tn__block_state state)
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
    if (run < count || !commit_blocks(g, first, count))
        return 0;
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

/* Holes of a block are given out in one go: the rest of it is looked at again by the next full collection only. */
static char *next_hole(struct tn__generational *g, uint64_t size, char **end)
{
    for (; g->next_hole < g->block_end; g->next_hole++) {
        if (g->blocks[g->next_hole] != TN__BLOCK_HOLES)
            continue;
        uint8_t *lines = g->lines + ((uint64_t)g->next_hole << (TN__BLOCK_SHIFT - TN__LINE_SHIFT));
        uint32_t from = 0;
        for (uint32_t length; (length = find_hole(lines, &from)); from += length) {
            memset(lines + from, 1, length);
            if (length * (uint64_t)TN__LINE < size)
                continue;
            char *hole = block_address(g, g->next_hole) + from * (uint64_t)TN__LINE;
            *end = hole + length * (uint64_t)TN__LINE;
            g->used += (uint64_t)(*end - hole);
            return hole;
        }
        g->blocks[g->next_hole] = TN__BLOCK_FULL;
    }
    return NULL;
}

static char *take_block(struct tn__generational *g, char **end)
{
    uint32_t block = take_blocks(g, 1, TN__BLOCK_FULL);
    if (!block)
        return NULL;
    *end = block_address(g, block) + TN__BLOCK;
    return block_address(g, block);
}

char *tn__gen_take_hole(struct tn__generational *g, uint64_t size, char **end)
{
    char *hole = next_hole(g, size, end);
    return hole ? hole : take_block(g, end);
}

/* ---- objects ---- */

static char *place(char *at, const struct tn_type *type)
{
    return type->alignment == 16 && ((uintptr_t)at + TN_GC_HEADER_SIZE) % 16 ? at + 8 : at;
}

static char *bump(char **at, const char *end, uint64_t size, const struct tn_type *type)
{
    char *header = place(*at, type);
    if (!*at || header > end || size > (uint64_t)(end - header))
        return NULL;
    *at = header + size;
    return header;
}

static char *room_small(struct tn__generational *g, uint64_t size, const struct tn_type *type)
{
    char *header = bump(&g->hole, g->hole_end, size, type);
    if (header)
        return header;
    if (size > TN__MEDIUM) { /* would waste the hole */
        header = bump(&g->medium, g->medium_end, size, type);
        if (header || !(g->medium = take_block(g, &g->medium_end)))
            return header;
        return bump(&g->medium, g->medium_end, size, type);
    }
    g->hole = tn__gen_take_hole(g, size + 8, &g->hole_end);
    return bump(&g->hole, g->hole_end, size, type);
}

static char *room_large(struct tn__generational *g, uint64_t size, const struct tn_type *type)
{
    uint64_t bytes = tn__align_up(size + 8, TN__BLOCK);
    if (bytes > g->size)
        return NULL;
    uint32_t first = take_blocks(g, (uint32_t)(bytes >> TN__BLOCK_SHIFT), TN__BLOCK_LARGE);
    if (!first)
        return NULL;
    g->large += bytes;
    return place(block_address(g, first), type);
}

void *tn__gen_room(struct tn__generational *g, uint64_t size, const struct tn_type *type)
{
    char *header = size > TN__BLOCK / 2 ? room_large(g, size, type) : room_small(g, size, type);
    if (!header)
        return NULL;
    void *object = header + TN_GC_HEADER_SIZE;
    *tn__start_word(g, object) |= tn__start_bit(object);
    return object;
}

void *tn__gen_copy(struct tn__generational *g, void *object)
{
    enum { HASH = 8 };
    const struct tn_type *type = tn__type_of(object);
    uint64_t size = tn__object_size(object), header = *tn__header(object);
    bool gets_hash = (header & (TN_GC_HASHED | TN_GC_HASH_STORED)) == TN_GC_HASHED;
    uint64_t *to = g->retry ? NULL : tn__gen_room(g, size + (gets_hash ? HASH : 0), type);
    if (!to) {
        g->retry = true;
        return NULL;
    }
    memcpy(to, object, size - TN_GC_HEADER_SIZE);
    if (gets_hash) { /* the address that the object had when it was first hashed */
        header |= TN_GC_HASH_STORED;
        tn__put64((char *)to + size - TN_GC_HEADER_SIZE, (uintptr_t)object);
    }
    *tn__header(to) = header | (type->kind == TN_KIND_LEAF ? 0 : TN_GC_UNLOGGED);
    *tn__header(object) = (uintptr_t)to | TN_GC_FORWARDED;
    g->promoted += size;
    return to;
}

/* ---- pieces ---- */

static char *piece_address(const struct tn__generational *g, uint32_t piece)
{
    return (char *)g->base + (uint64_t)piece * TN__PIECE;
}

/* Tables of young addresses are committed with the unit; a piece may be unmapped meanwhile. */
uint32_t tn__gen_take_piece(struct tn__generational *g, bool anew)
{
    uint32_t first = anew ? g->next_piece : 0;
    for (uint32_t i = 0; i < TN__PIECES; i++) {
        uint32_t piece = (first + i) % TN__PIECES;
        if (g->pieces[piece] != TN__PIECE_FREE)
            continue;
        uint64_t unit = (uint64_t)piece * TN__PIECE >> TN__UNIT_SHIFT;
        bool known = g->units[unit];
        if (!commit_unit(g, unit))
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

void tn__gen_free_pieces(struct tn__generational *g, bool unmap)
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

/* ---- full collections ---- */

void tn__gen_clear(struct tn__generational *g)
{
    uint64_t part = TN__UNIT >> TABLE_SHIFT;
    for (uint32_t i = 0; i < TN__PIECES; i++)
        if (g->pieces[i] == TN__PIECE_OLD)
            memset(&g->starts[i * (uint64_t)TN__PIECE / 8 / 64], 0, TN__PIECE / 8 / 8);
    for (uint64_t unit = TN__YOUNG_SIZE >> TN__UNIT_SHIFT; unit * BLOCKS_OF_UNIT < g->block_end; unit++)
        if (g->units[unit]) {
            memset((char *)g->starts + unit * part, 0, part);
            memset(g->lines + unit * part, 0, part);
        }
    g->hole = g->hole_end = g->medium = g->medium_end = NULL;
    g->next_hole = UINT32_MAX;
    g->span_count = 0;
    g->retry = false;
}

static uint32_t count_lines(const uint8_t *lines)
{
    const uint64_t *words = (const uint64_t *)(const void *)lines;
    uint64_t count = 0;
    for (int i = 0; i < TN__LINES / 8; i++)
        count += words[i] * 0x0101010101010101u >> 56;
    return (uint32_t)count;
}

static void sweep_block(struct tn__generational *g, uint32_t block, bool *is_live)
{
    const uint8_t *lines = g->lines + ((uint64_t)block << (TN__BLOCK_SHIFT - TN__LINE_SHIFT));
    uint32_t count = g->blocks[block] == TN__BLOCK_REST ? 0 : count_lines(lines);
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
        g->used += any ? TN__PIECE : 0;
    }
}

void tn__gen_sweep(struct tn__generational *g)
{
    bool is_live = false; /* the object that blocks in state REST belong to */
    g->used = g->large = g->holes = 0;
    sweep_pieces(g);
    for (uint32_t i = TN__FIRST_OLD; i < g->block_end; i++)
        if (g->blocks[i] != TN__BLOCK_FREE)
            sweep_block(g, i, &is_live);
    memset(g->moving, 0, g->block_end);
    g->hole = g->hole_end = g->medium = g->medium_end = NULL;
    g->first_free = g->next_hole = TN__FIRST_OLD;
}
