/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The memory of the generational collector: one reserved range, and tables beside it. It is committed in units, with
 * their part of the tables. */

#include "base/os.h"
#include "gc/generational/generational.h"

enum {
    TABLE_SHIFT = TN__TABLE_SHIFT,
    MOST_TABLES = 6,
    LEAST_TRIED = 32 << 20, /* bytes committed */
    SLOW_NS = 1000000,      /* for a large page. Where the system has the memory, clearing it takes 0.1 to 0.3 ms */
    UNTRIED = 15            /* units after a slow one */
};
_Static_assert((int)TN__LINE_SHIFT == (int)TABLE_SHIFT, "both tables take a 64th of the memory that they describe");

/* ---- the range ---- */

struct tables {
    uint64_t size, counts, blocks, moving, units, end; /* of one by address; offsets, after two, four or six of these */
};

static struct tables layout(const struct tn__generational *g, bool spares)
{
    struct tables t = {.size = g->size >> TABLE_SHIFT};
    t.counts = (2 + (spares ? 2 : 0) + (g->workers > 1 ? 2 : 0)) * t.size;
    uint64_t page = tn__os_page_size(), count = g->size >> TN__BLOCK_SHIFT;
    t.blocks = t.counts + (spares ? tn__align_up(count * sizeof *g->counts, page) : 0);
    t.moving = t.blocks + tn__align_up(count, page);
    t.units = t.moving + tn__align_up(count, page);
    t.end = t.units + tn__align_up(g->size >> TN__UNIT_SHIFT, page);
    return t;
}

/* The part of a unit in each table by address; how many there are. */
static unsigned parts_of(const struct tn__generational *g, uint64_t unit, uint64_t parts[MOST_TABLES])
{
    const void *const tables[MOST_TABLES] = {g->starts,      g->lines,   g->spare_starts,
                                             g->spare_lines, g->pair[0], g->pair[1]};
    unsigned count = 0;
    for (unsigned i = 0; i < MOST_TABLES; i++)
        if (tables[i])
            parts[count++] = (uintptr_t)tables[i] + ((unit << TN__UNIT_SHIFT) >> TABLE_SHIFT);
    return count;
}

static bool commit_unit(struct tn__generational *g, uint64_t unit)
{
    uint64_t at = unit << TN__UNIT_SHIFT, parts[MOST_TABLES];
    if (g->units[unit])
        return true;
    for (unsigned i = parts_of(g, unit, parts); i-- > 0;)
        if (tn__os_commit(parts[i], TN__UNIT >> TABLE_SHIFT, TN__PROT_RW))
            return false;
    if (tn__os_commit(g->base + at, TN__UNIT, TN__PROT_RW))
        return false;
    __atomic_store_n(&g->units[unit], 1, __ATOMIC_RELEASE);
    g->committed += TN__UNIT;
    if (g->is_huge)
        tn__os_prefer_huge(g->base + at, TN__UNIT);
    return true;
}

void tn__gen_give_unit(struct tn__generational *g, uint64_t unit)
{
    uint64_t parts[MOST_TABLES];
    if (tn__os_decommit(g->base + (unit << TN__UNIT_SHIFT), TN__UNIT))
        return;
    for (unsigned i = parts_of(g, unit, parts); i-- > 0;)
        tn__os_decommit(parts[i], TN__UNIT >> TABLE_SHIFT);
    g->units[unit] = 0;
    g->committed -= TN__UNIT;
}

void tn__gen_use_huge(struct tn__generational *g)
{
    uint64_t first = TN__YOUNG_SIZE >> TN__UNIT_SHIFT, parts[MOST_TABLES];
    if (g->is_huge)
        return;
    g->is_huge = true;
    g->next_huge = first;
    for (g->huge_end = g->size >> TN__UNIT_SHIFT; g->huge_end > first && !g->units[g->huge_end - 1];)
        g->huge_end--;
    for (unsigned i = parts_of(g, first, parts); i-- > 0;)
        tn__os_make_huge(parts[i], ((g->huge_end - first) << TN__UNIT_SHIFT) >> TABLE_SHIFT);
}

void tn__gen_make_huge(struct tn__generational *g, uint64_t bytes)
{
    g->new_bytes += bytes;
    if (g->next_huge == g->huge_end || g->new_bytes < TN__PIECE)
        return;
    g->new_bytes = 0;
    if (g->units[g->next_huge])
        tn__os_make_huge(g->base + (g->next_huge << TN__UNIT_SHIFT), TN__UNIT);
    g->next_huge++;
}

/* Tries a large page for a unit that is about to be filled. Large pages make objects faster to be found, and take less
 * time than as many small ones. But this is not so in a virtual machine whose host has taken back free memory, because
 * hosts take back large pages only. So the first access is timed. */
static void try_huge(struct tn__generational *g, uint64_t unit)
{
    uint64_t address = g->base + (unit << TN__UNIT_SHIFT), start = tn__os_thread_ns();
    tn__os_prefer_huge(address, TN__UNIT);
    *(volatile char *)(uintptr_t)address = 0;
    g->untried = tn__os_thread_ns() - start > SLOW_NS ? UNTRIED : 0;
}

bool tn__gen_commit(struct tn__generational *g, uint64_t offset, uint64_t size)
{
    uint64_t unit = offset >> TN__UNIT_SHIFT, last = (offset + size - 1) >> TN__UNIT_SHIFT;
    if (unit == last && !g->units[unit] && !g->is_huge && g->committed >= LEAST_TRIED) {
        if (!commit_unit(g, unit))
            return false;
        if (g->untried)
            g->untried--;
        else
            try_huge(g, unit);
    }
    for (; unit <= last; unit++)
        if (!commit_unit(g, unit))
            return false;
    return true;
}

static bool open_tables(struct tn__generational *g, bool spares)
{
    struct tables t = layout(g, spares);
    uint64_t base;
    if (tn__os_reserve(0, t.end, false, &base))
        return false;
    g->tables = base;
    g->starts = (uint64_t *)(uintptr_t)base;
    g->lines = (uint8_t *)(uintptr_t)(base + t.size);
    if (spares) {
        g->spare_starts = (uint64_t *)(uintptr_t)(base + 2 * t.size);
        g->spare_lines = (uint8_t *)(uintptr_t)(base + 3 * t.size);
        g->counts = (uint16_t *)(uintptr_t)(base + t.counts);
    }
    for (int i = 0; i < 2 && g->workers > 1; i++)
        g->pair[i] = (uint64_t *)(uintptr_t)(base + t.counts - (i + 1) * t.size);
    g->blocks = (uint8_t *)(uintptr_t)(base + t.blocks);
    g->moving = (uint8_t *)(uintptr_t)(base + t.moving);
    g->units = (uint8_t *)(uintptr_t)(base + t.units);
    if (tn__os_commit(base + t.counts, t.end - t.counts, TN__PROT_RW)) {
        tn__os_release(base, t.end);
        return false;
    }
    return true;
}

static bool reserve(struct tn__generational *g, uint64_t size, bool spares)
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
    if (open_tables(g, spares))
        return true;
    tn__os_release(g->base, size);
    return false;
}

/* Where address space is short, what is old gets less and less. */
bool tn__gen_open(struct tn__generational *g, uint64_t limit, bool spares)
{
    enum { LEAST = 16 << 20 };
    uint64_t old = tn__align_up(tn__min64(limit, 1ull << 40) * 2 + TN__YOUNG_SIZE, TN__UNIT);
    bool reserved = false;
    for (; !reserved && old >= LEAST; old = tn__align_up(old / 2, TN__UNIT))
        reserved = reserve(g, TN__YOUNG_SIZE + old, spares);
    if (!reserved)
        return false;
    g->first_free = g->next_hole = g->block_end = TN__FIRST_OLD;
    memset(g->blocks, TN__BLOCK_FULL, TN__FIRST_OLD);
    return true;
}

void tn__gen_close(struct tn__generational *g)
{
    struct tables t = layout(g, g->spare_starts);
    if (!g->size)
        return;
    tn__os_release(g->tables, t.end);
    tn__os_release(g->base, g->size);
}
