/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A window has at most 262,144 units, so that a search reads at most 32 KiB, in about a microsecond. A zone uses one or
 * two of the 16 parts, so that a session touches few pages for its map. */

#include "link/memory/page_map.h"

enum { MOST_UNITS = 1 << 18, BITS = 64, PART_UNITS = MOST_UNITS / TN__PAGE_MAP_PARTS };

void tn__page_map_open(struct tn__page_map *map, uint64_t start, size_t size, size_t page_size)
{
    size_t unit = page_size;
    while (size / unit > MOST_UNITS)
        unit *= 2;
    *map = (struct tn__page_map){.start = start, .unit = unit, .units = size / unit};
}

void tn__page_map_close(struct tn__page_map *map, const struct tn_allocator *from)
{
    for (size_t i = 0; i < TN__PAGE_MAP_PARTS; i++)
        tn__free(from, map->used[i]);
    *map = (struct tn__page_map){0};
}

size_t tn__page_map_round(const struct tn__page_map *map, size_t size)
{
    return (size_t)tn__align_up(size, map->unit);
}

/* The first unit from `at` on that is in use or, with `flip` all ones, free; at least `limit` if there is none
 * before. */
static size_t next_unit(const struct tn__page_map *map, size_t at, size_t limit, uint64_t flip)
{
    while (at < limit) {
        const uint64_t *part = map->used[at / PART_UNITS];
        uint64_t word = ((part ? part[at % PART_UNITS / BITS] : 0) ^ flip) >> (at % BITS);
        if (word)
            return at + (size_t)__builtin_ctzll(word);
        at += part ? BITS - at % BITS : PART_UNITS - at % PART_UNITS;
    }
    return limit;
}

/* The beginning of `count` free units in [at, end), or `end`. */
static size_t find_run(const struct tn__page_map *map, size_t at, size_t end, size_t count)
{
    while (count <= end && at <= end - count) {
        size_t obstacle = next_unit(map, at, at + count, 0);
        if (obstacle >= at + count)
            return at;
        at = next_unit(map, obstacle, end, ~0ULL);
    }
    return end;
}

static void mark_pages(struct tn__page_map *map, size_t at, size_t count, bool used)
{
    for (size_t part; count; at += part, count -= part) {
        size_t bit = at % BITS;
        part = (size_t)tn__min64(BITS - bit, count);
        uint64_t mask = (~0ULL >> (BITS - part)) << bit, *word = &map->used[at / PART_UNITS][at % PART_UNITS / BITS];
        *word = used ? *word | mask : *word & ~mask;
    }
}

/* False when memory is out. */
static bool make_parts(struct tn__page_map *map, const struct tn_allocator *from, size_t at, size_t count)
{
    for (size_t i = at / PART_UNITS; i <= (at + count - 1) / PART_UNITS; i++)
        if (!map->used[i] && !(map->used[i] = tn__alloc_zeroed(from, PART_UNITS / BITS, sizeof **map->used)))
            return false;
    return true;
}

bool tn__page_map_take(struct tn__page_map *map, const struct tn_allocator *from, size_t size, uint64_t near,
                       uint64_t *address, bool *no_memory)
{
    size_t count = size / map->unit, at = find_run(map, (near - map->start) / map->unit, map->units, count);
    if (at == map->units)
        at = find_run(map, 0, map->units, count);
    *no_memory = at < map->units && !make_parts(map, from, at, count);
    if (at == map->units || *no_memory)
        return false;
    mark_pages(map, at, count, true);
    *address = map->start + at * map->unit;
    return true;
}

void tn__page_map_give(struct tn__page_map *map, uint64_t address, size_t size)
{
    mark_pages(map, (size_t)(address - map->start) / map->unit, size / map->unit, false);
}
