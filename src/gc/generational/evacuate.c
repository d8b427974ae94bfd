/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which blocks a full collection empties, by moving their objects to free blocks while it marks (opportunistic
 * evacuation, S. Blackburn and K. McKinley, "Immix", PLDI 2008). Small objects do not need this, as they are allocated
 * in holes; larger ones do, and so does memory that is to go back to the system, and a heap that is full of lines with
 * one small object each.
 *
 * Blocks come in the order of what lives in them, and only as many as there is space for: an object for whose copy
 * there is no memory nevertheless stays where it is, as pinned ones do. */

#include "gc/generational/generational.h"

/* Blocks are told apart by how many sixteenths of them live. MOST: if more of a block lives, its objects stay. */
enum { PARTS = 16, PART = TN__BLOCK / PARTS, MOST_BY_LINES = PARTS / 2, MOST_BY_OBJECTS = PARTS * 3 / 4 };

static bool is_small(const struct tn__generational *g, uint32_t block)
{
    return g->blocks[block] == TN__BLOCK_FULL || g->blocks[block] == TN__BLOCK_HOLES;
}

/* ---- what lives in a block ---- */

/* The last full collection has counted its lines, and its holes have not been given out since. */
static uint64_t live_lines(const struct tn__generational *g, uint32_t block)
{
    return g->blocks[block] == TN__BLOCK_HOLES ? tn__gen_count_lines(g, block) * (uint64_t)TN__LINE : TN__BLOCK;
}

static void add_size(void *sum, void *object)
{
    *(uint64_t *)sum += tn__size_by(object, *tn__header(object));
}

/* Right after a full collection: what has a start lives. */
static uint64_t live_objects(const struct tn__generational *g, uint32_t block)
{
    uint64_t sum = 0;
    tn__gen_each_start(g, (uint64_t)block << TN__BLOCK_SHIFT, TN__BLOCK, add_size, &sum);
    return sum;
}

/* ---- the choice ---- */

/* Bytes of free blocks that are the heap's already. */
static uint64_t free_bytes(const struct tn__generational *g)
{
    uint64_t count = 0;
    for (uint32_t block = TN__FIRST_OLD; block < g->block_end; block++)
        count += g->blocks[block] == TN__BLOCK_FREE && g->units[(uint64_t)block * TN__BLOCK >> TN__UNIT_SHIFT];
    return count * TN__BLOCK;
}

/* Marks the sparsest blocks in `moving`, as long as there is space for what lives in them. False: all sparse blocks
 * together would not give `worth` bytes, or there is no space for any. */
static bool choose(struct tn__generational *g, uint64_t (*live)(const struct tn__generational *g, uint32_t block),
                   unsigned most, uint64_t space, uint64_t worth)
{
    uint64_t parts[PARTS] = {0}, gain = 0;
    unsigned first = 0; /* number of sixteenths for which there is not enough space in all blocks */
    bool any = false;
    for (uint32_t block = TN__FIRST_OLD; block < g->block_end; block++) {
        uint64_t part = is_small(g, block) ? live(g, block) / PART : PARTS;
        g->moving[block] = part < most ? (uint8_t)(part + 1) : 0;
        if (part < most) {
            parts[part] += (part + 1) * PART;
            gain += TN__BLOCK - (part + 1) * PART;
        }
    }
    for (; first < most && parts[first] <= space; first++)
        space -= parts[first];
    uint64_t bytes = (first + 1) * (uint64_t)PART;
    for (uint32_t block = TN__FIRST_OLD; block < g->block_end; block++) {
        bool is_last = g->moving[block] == first + 1 && bytes <= space;
        space -= is_last ? bytes : 0;
        g->moving[block] = gain >= worth && g->moving[block] && (g->moving[block] <= first || is_last);
        any |= g->moving[block];
    }
    return any;
}

/* Three of eight: tests of verified heaps have blocks whose objects move beside others then. Heaps of a few objects
 * have none, so that what tests count there is not disturbed. */
static void choose_some(struct tn__generational *g, uint64_t seed)
{
    enum { FIRST = 8 };
    uint32_t count = 0;
    for (uint32_t block = TN__FIRST_OLD; block < g->block_end; block++) {
        count += is_small(g, block);
        g->moving[block] = is_small(g, block) && count > FIRST && ((block + seed) * 0x9E3779B97F4A7C15u >> 61) < 3;
    }
}

static void choose_all(struct tn__generational *g)
{
    for (uint32_t block = TN__FIRST_OLD; block < g->block_end; block++)
        g->moving[block] = is_small(g, block);
}

/* Objects in pieces always move, if they can. */
static void choose_pieces(struct tn__generational *g)
{
    for (uint32_t block = 0; block < TN__FIRST_OLD; block++)
        g->moving[block] = g->pieces[(uint64_t)block * TN__BLOCK / TN__PIECE] == TN__PIECE_OLD;
}

void tn__gen_choose_moving(struct tn_heap *heap)
{
    enum { WORTH = 8, EXTRA = 16 }; /* parts of the heap */
    struct tn__generational *g = tn__generational_of(heap);
    if (heap->options.flags & TN_HEAP_STRESS)
        choose_all(g);
    else if (heap->options.flags & TN_HEAP_VERIFY)
        choose_some(g, heap->stats.collections);
    else
        choose(g, live_lines, MOST_BY_LINES, tn__max64(free_bytes(g), g->used / EXTRA), g->used / WORTH);
    choose_pieces(g);
}

bool tn__gen_choose_sparse(struct tn__generational *g)
{
    enum { WORTH = 32, EXTRA = 4 }; /* parts of the heap */
    uint64_t worth = tn__max64(g->used / WORTH, 2 * (uint64_t)TN__BLOCK);
    choose_pieces(g);
    return choose(g, live_objects, MOST_BY_OBJECTS, free_bytes(g) + g->used / EXTRA, worth);
}
