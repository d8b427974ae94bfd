/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Free memory goes back to the system: that of units without objects, with their part of the tables, and that of free
 * blocks and pieces in others. What the system does not take stays, and is used again like what it took. */

#include "base/os.h"
#include "gc/generational/generational.h"

enum { BLOCKS_OF_UNIT = TN__UNIT / TN__BLOCK, BLOCKS_OF_PIECE = TN__PIECE / TN__BLOCK };

/* Of a young or an old address. */
static bool is_free(const struct tn__generational *g, uint64_t block)
{
    return block < TN__FIRST_OLD ? g->pieces[block / BLOCKS_OF_PIECE] == TN__PIECE_FREE
                                 : g->blocks[block] == TN__BLOCK_FREE;
}

/* The number of free blocks from here to the end of the unit. */
static uint64_t count_free(const struct tn__generational *g, uint64_t block)
{
    uint64_t end = (block / BLOCKS_OF_UNIT + 1) * BLOCKS_OF_UNIT, at = block;
    while (at < end && is_free(g, at))
        at++;
    return at - block;
}

static void give_blocks(struct tn__generational *g, uint64_t unit)
{
    uint64_t block = unit * BLOCKS_OF_UNIT, end = block + BLOCKS_OF_UNIT;
    for (uint64_t count; block < end; block += count ? count : 1) {
        count = count_free(g, block);
        if (count)
            tn__os_zero_private(g->base + (block << TN__BLOCK_SHIFT), count << TN__BLOCK_SHIFT);
    }
}

void tn__gen_trim(struct tn__generational *g)
{
    for (uint64_t unit = 0; unit < g->size >> TN__UNIT_SHIFT; unit++)
        if (g->units[unit] && count_free(g, unit * BLOCKS_OF_UNIT) == BLOCKS_OF_UNIT)
            tn__gen_give_unit(g, unit);
        else if (g->units[unit])
            give_blocks(g, unit);
    while (g->block_end > TN__FIRST_OLD && g->blocks[g->block_end - 1] == TN__BLOCK_FREE)
        g->block_end--;
}
