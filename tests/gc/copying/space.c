/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The heap's address space: one reserved range, divided into chunks. Small objects follow each other in a chunk, after
 * its head. */

#include "base/os.h"
#include "space.h"

static uint64_t table_size(const struct tn__space *space)
{
    return tn__align_up(space->count * sizeof(struct tn__chunk), tn__os_page_size());
}

/* The table is reserved and committed like the heap itself, so its unused part costs nothing. */
bool tn__space_open(struct tn__space *space, uint64_t size)
{
    uint64_t table, slack = TN__CHUNK_SIZE;
    *space = (struct tn__space){.size = size, .count = (uint32_t)(size >> TN__CHUNK_SHIFT), .cursor = 1};
    uint64_t base;
    if (tn__os_reserve(0, size + slack, false, &base))
        return false;
    space->base = tn__align_up(base, TN__CHUNK_SIZE); /* the slack is never freed: it is only address space */
    if (space->base > base)
        tn__os_release(base, space->base - base);
    if (space->base + size < base + size + slack)
        tn__os_release(space->base + size, base + slack - space->base);
    if (!tn__os_reserve(0, table_size(space), false, &table)) {
        space->chunks = (struct tn__chunk *)(uintptr_t)table;
        if (!tn__os_commit(table, table_size(space), TN__PROT_RW))
            return true;
        tn__os_release(table, table_size(space));
    }
    tn__os_release(space->base, size);
    return false;
}

void tn__space_close(struct tn__space *space)
{
    tn__os_release((uintptr_t)space->chunks, table_size(space));
    tn__os_release(space->base, space->size);
}

/* ---- lists ---- */

void tn__chunks_append(struct tn__space *space, struct tn__chunks *list, uint32_t chunk)
{
    space->chunks[chunk].next = 0;
    if (list->last)
        space->chunks[list->last].next = chunk;
    else
        list->first = chunk;
    list->last = chunk;
}

/* ---- small objects ---- */

/* The next run of free chunks that were not committed, from where the last one was found: addresses come back late, so
 * that a stale pointer finds nothing there for long. 0: there is none. */
static uint32_t find_run(struct tn__space *space, uint32_t count)
{
    uint32_t run = 0, at = space->cursor;
    for (uint64_t looked = 0; looked < (uint64_t)space->count + count; looked++, at++) {
        if (at >= space->count) {
            at = 1;
            run = 0;
        }
        const struct tn__chunk *chunk = &space->chunks[at];
        run = chunk->state == TN__FREE && !chunk->committed ? run + 1 : 0;
        if (run == count) {
            space->cursor = at + 1;
            return at + 1 - count;
        }
    }
    return 0;
}

static uint32_t take_spare(struct tn__space *space)
{
    uint32_t chunk = space->spare.first;
    if (!chunk)
        return 0;
    space->spare.first = space->chunks[chunk].next;
    if (!space->spare.first)
        space->spare.last = 0;
    space->spare_count--;
    return chunk;
}

uint32_t tn__space_take(struct tn__space *space, struct tn__chunks *list, bool anew)
{
    uint32_t chunk = anew ? 0 : take_spare(space);
    if (!chunk) {
        chunk = find_run(space, 1);
        if (!chunk || tn__os_commit(tn__chunk_address(space, chunk), TN__CHUNK_SIZE, TN__PROT_RW))
            return 0;
    }
    space->chunks[chunk] = (struct tn__chunk){.state = TN__SMALL, .committed = true, .used = TN__CHUNK_HEAD};
    space->in_use += TN__CHUNK_SIZE;
    tn__chunks_append(space, list, chunk);
    return chunk;
}

static void decommit(struct tn__space *space, uint32_t chunk)
{
    /* If the system refuses, the chunk stays committed and becomes a spare one. */
    if (!tn__os_decommit(tn__chunk_address(space, chunk), TN__CHUNK_SIZE)) {
        space->chunks[chunk] = (struct tn__chunk){.state = TN__FREE};
        return;
    }
    tn__chunks_append(space, &space->spare, chunk);
    space->spare_count++;
}

void tn__space_give(struct tn__space *space, uint32_t chunk, bool unmap)
{
    space->chunks[chunk] = (struct tn__chunk){.state = TN__FREE, .committed = true};
    space->in_use -= TN__CHUNK_SIZE;
    if (unmap) {
        decommit(space, chunk);
        return;
    }
    space->chunks[chunk].next = space->spare.first; /* the most recently used is warm in the cache */
    space->spare.first = chunk;
    if (!space->spare.last)
        space->spare.last = chunk;
    space->spare_count++;
}

void tn__space_trim(struct tn__space *space, uint32_t most)
{
    for (uint32_t excess = space->spare_count > most ? space->spare_count - most : 0; excess; excess--)
        decommit(space, take_spare(space));
}

/* ---- large objects ---- */

uint32_t tn__space_take_big(struct tn__space *space, uint64_t bytes)
{
    bytes = tn__align_up(bytes, TN__BIG_UNIT);
    uint64_t count = (bytes + TN__CHUNK_SIZE - 1) >> TN__CHUNK_SHIFT;
    if (bytes > space->size || count >= space->count)
        return 0;
    uint32_t chunk = find_run(space, (uint32_t)count);
    if (!chunk || tn__os_commit(tn__chunk_address(space, chunk), bytes, TN__PROT_RW))
        return 0;
    for (uint32_t i = 1; i < count; i++)
        space->chunks[chunk + i].state = TN__BIG_REST;
    space->chunks[chunk] =
        (struct tn__chunk){.state = TN__BIG, .committed = true, .count = (uint32_t)count, .bytes = bytes};
    space->in_use += bytes;
    space->large += bytes;
    tn__chunks_append(space, &space->big, chunk);
    return chunk;
}

void tn__space_give_big(struct tn__space *space, uint32_t chunk)
{
    struct tn__chunk big = space->chunks[chunk];
    space->in_use -= big.bytes;
    space->large -= big.bytes;
    tn__os_decommit(tn__chunk_address(space, chunk), big.bytes); /* may fail: committing zeroes it anyway */
    for (uint32_t i = 0; i < big.count; i++)
        space->chunks[chunk + i] = (struct tn__chunk){.state = TN__FREE};
}

/* ---- all objects ---- */

static void each_in_set(uintptr_t start, void (*visit)(void *context, void *object), void *context)
{
    const uint64_t *set = (const uint64_t *)start + TN__MARKS;
    for (uint32_t i = 0; i < TN__SET_WORDS; i++)
        for (uint64_t rest = set[i]; rest; rest &= rest - 1)
            visit(context, (void *)(start + (i * 64ull + (unsigned)__builtin_ctzll(rest)) * 8));
}

void tn__each_object(const struct tn__space *space, void (*visit)(void *context, void *object), void *context)
{
    for (uint32_t i = space->small.first; i; i = space->chunks[i].next) {
        char *start = (char *)tn__chunk_address(space, i);
        if (space->chunks[i].kept)
            each_in_set((uintptr_t)start, visit, context);
        else
            tn__each_between(start + TN__CHUNK_HEAD, start + space->chunks[i].used, visit, context);
    }
    for (uint32_t i = space->big.first; i; i = space->chunks[i].next)
        visit(context, (char *)tn__chunk_address(space, i) + space->chunks[i].shift);
}

/* ---- one object ---- */

bool tn__is_object(const struct tn__space *space, const void *address)
{
    const struct tn__chunk *chunk = tn__chunk_of(space, address);
    uintptr_t start = (uintptr_t)address & -(uintptr_t)TN__CHUNK_SIZE;
    if (!chunk || (uintptr_t)address % 8)
        return false;
    if (chunk->state != TN__SMALL)
        return chunk->state == TN__BIG && (uintptr_t)address == start + chunk->shift;
    if (chunk->kept)
        return (uintptr_t)address >= start + TN__CHUNK_HEAD && tn__in_set(address, TN__MARKS);
    return tn__is_between((char *)start + TN__CHUNK_HEAD, (char *)start + chunk->used, address);
}
