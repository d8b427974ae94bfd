/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The zones of a window: chunks of memory, and the ranges that objects have in them.
 *
 * After a fork, parent and child must not write to the same memfd: both abandon the regions they share. What an
 * abandoned region does not use leaves it page by page, at once or when the objects that use it are removed, and is
 * free window again. */

#include <errno.h>
#include <string.h>

#include "base/fork.h"
#include "link/memory/codemem.h"

/* The first chunk of a zone has at most a 64th of the window, the largest an eighth. */
enum { FIRST_PART = 64, LARGEST_PART = 8, LARGEST_CHUNK = 64 << 20 };
/* So many bytes of pages are requested at once, the first time in a chunk and later. */
enum { FIRST_STEP = 16 << 10, TOUCH_STEP = 64 << 10 };

static const struct {
    const char *name;
    enum tn__prot prot;
} zone_kinds[TN_ZONES] = {
    [TN_ZONE_CODE] = {"code", TN__PROT_RX},
    [TN_ZONE_RODATA] = {"read-only data", TN__PROT_R},
    [TN_ZONE_DATA] = {"data", TN__PROT_RW},
};

static uint64_t page_up(uint64_t value)
{
    return tn__align_up(value, tn__os_page_size());
}

bool tn__is_refusal(int error)
{
    return error == EACCES || error == EPERM || error == EFBIG;
}

int tn__zone_fail(struct tn_error *err, int error, const struct tn__strategy_ops *strategy, enum tn_zone kind)
{
    const char *what = zone_kinds[kind].name;
    if (error < 0) /* already an error code, with its text */
        return error;
    if (tn__is_refusal(error))
        return tn__fail(err, TN_EPERM, "no memory for %s: %s (strategy %s); usually refused by %s", what,
                        strerror(error), strategy->name, strategy->policy);
    return tn__fail(err, TN_ENOMEM, "no memory for %s: %s (strategy %s)", what, strerror(error), strategy->name);
}

/* ---- regions ---- */

static const struct tn_allocator *allocator_of(const struct tn__code_zone *zone)
{
    return zone->pool.descriptors.from;
}

static uint64_t mappings_of(const struct tn__chunk *chunk)
{
    return 1 + (chunk->alias && chunk->alias != (uint8_t *)(uintptr_t)chunk->address);
}

static int map_region(struct tn__code_zone *zone, struct tn__region *region, struct tn_error *err)
{
    struct tn__chunk *chunk = &region->chunk;
    int error = zone->strategy->packs ? zone->strategy->map(chunk, zone->prot, err) : 0;
    if (error)
        return tn__zone_fail(err, error, zone->strategy, zone->kind);
    if (!tn__ranges_open(&region->ranges, &zone->pool, chunk->address, chunk->size, chunk->alias)) {
        if (zone->strategy->packs)
            zone->strategy->unmap(chunk, zone->prot);
        return tn__no_memory(err, NULL);
    }
    region->touched_end = chunk->address;
    zone->mappings += mappings_of(chunk);
    tn__list_append(zone->regions.next, &region->listed); /* as the first one */
    if (zone->chunk_size < zone->largest_chunk)
        zone->chunk_size *= 2;
    return 0;
}

static int no_space(const struct tn__window *window, const struct tn__code_zone *zone, size_t need,
                    struct tn_error *err)
{
    return tn__fail(err, TN_ENOMEM, "the window of %zu MiB has no room for %zu more bytes of %s; use a larger window",
                    (size_t)(window->end - window->start) >> 20, need, zone_kinds[zone->kind].name);
}

/* Adds a region of that size; *again if a smaller one may succeed. */
static int try_region(struct tn__window *window, struct tn__code_zone *zone, size_t size, size_t need, bool *again,
                      struct tn_error *err)
{
    const struct tn_allocator *from = allocator_of(zone);
    struct tn__region *region = tn__alloc_zeroed(from, 1, sizeof *region);
    if (!region)
        return tn__no_memory(err, NULL);
    bool no_memory;
    int code = 0;
    region->zone = zone;
    region->chunk = (struct tn__chunk){.size = size, .client = zone->client};
    bool has_space = tn__page_map_take(&window->map, from, size, zone->base, &region->chunk.address, &no_memory);
    if (has_space) {
        code = map_region(zone, region, err);
        if (code)
            tn__page_map_give(&window->map, region->chunk.address, size);
    } else {
        code = no_memory ? tn__no_memory(err, NULL) : no_space(window, zone, need, err);
    }
    *again = code && !no_memory && !(has_space && zone->client);
    if (code)
        tn__free(from, region);
    return code;
}

/* As large as planned or, if the window or a limit on files is too small for that, as large as needed. */
static int add_region(struct tn__window *window, struct tn__code_zone *zone, size_t need, struct tn_error *err)
{
    size_t least = tn__page_map_round(&window->map, need);
    size_t planned = tn__page_map_round(&window->map, tn__max64(need, zone->chunk_size));
    bool again;
    int code = try_region(window, zone, planned, need, &again, err);
    return code && again && least < planned ? try_region(window, zone, least, need, &again, err) : code;
}

/* Gives the regions of a zone that nothing uses back to the window. */
static bool release_empty(struct tn__window *window, struct tn__code_zone *zone)
{
    bool any = false;
    for (TN_EACH_TO_REMOVE(struct tn__region, region, &zone->regions, listed)) {
        struct tn__pages pages;
        if (region->ranges.used)
            continue;
        while (tn__ranges_abandon(&region->ranges, window->page_size, &pages))
            ;
        zone->mappings -= mappings_of(&region->chunk);
        if (zone->strategy->packs)
            zone->strategy->unmap(&region->chunk, zone->prot);
        tn__page_map_give(&window->map, region->chunk.address, region->chunk.size);
        tn__list_remove(&region->listed);
        tn__free(allocator_of(zone), region);
        any = true;
    }
    return any;
}

static bool release_all_empty(struct tn__window *window)
{
    bool any = false;
    for (int kind = 0; kind < TN_ZONES; kind++) {
        any |= release_empty(window, &window->zones[kind]);
        any |= release_empty(window, &window->own[kind]);
    }
    return any;
}

/* ---- aliases ---- */

/* An alias is accessible only while something may be written to its chunk: until the chunk is full, or a large link has
 * been written, or the client asks. Not after each small link, because changing the protection of a few pages takes
 * four times as long as linking a small object. */

static bool has_alias(const struct tn__region *region)
{
    return region->zone->strategy->protect && !region->abandoned;
}

static int set_sealed(struct tn__region *region, bool sealed, struct tn_error *err)
{
    const struct tn__strategy_ops *strategy = region->zone->strategy;
    if (region->sealed == sealed)
        return 0;
    int error = strategy->protect(&region->chunk, !sealed);
    if (error)
        return tn__zone_fail(err, error, strategy, region->zone->kind);
    region->sealed = sealed;
    return 0;
}

/* Seals the region if that is due. */
static int seal_if_due(struct tn__region *region, struct tn_error *err)
{
    if (region->writers || !(region->full || region->seal_wanted))
        return 0;
    int code = set_sealed(region, true, err);
    region->seal_wanted = code != 0;
    return code;
}

/* A quarter of the chunk is free again: enough for many small objects, so that opening the alias for them costs
 * little. */
static bool is_full(struct tn__region *region)
{
    if (region->full && (!region->ranges.used || region->used_then >= region->ranges.used + region->chunk.size / 4))
        region->full = false;
    return region->full;
}

/* The region had no space for `size` bytes. It is full unless that was much. */
static int note_misfit(struct tn__region *region, size_t size, struct tn_error *err)
{
    if (!has_alias(region) || region->full || size > region->chunk.size / 16)
        return 0;
    region->full = true;
    region->used_then = region->ranges.used;
    return seal_if_due(region, err);
}

static int seal_zone(struct tn__code_zone *zone, struct tn_error *err)
{
    int code = 0;
    for (struct tn__list *at = zone->regions.next; !code && at != &zone->regions; at = at->next) {
        struct tn__region *region = tn__container_of(at, struct tn__region, listed);
        region->seal_wanted = has_alias(region);
        code = region->seal_wanted ? seal_if_due(region, err) : 0;
    }
    return code;
}

/* ---- forks ---- */

static void give_pages(struct tn__window *window, struct tn__code_zone *zone, const struct tn__pages *pages)
{
    if (!pages->size)
        return;
    tn__os_decommit(pages->address, pages->size);
    tn__page_map_give(&window->map, pages->address, pages->size);
    zone->mappings += pages->sides;
    zone->mappings--;
}

/* The mappings of an abandoned region go with its last page. */
static void free_if_empty(struct tn__code_zone *zone, struct tn__region *region)
{
    if (region->ranges.used)
        return;
    tn__list_remove(&region->listed);
    tn__free(allocator_of(zone), region);
}

static void abandon(struct tn__window *window, struct tn__code_zone *zone, struct tn__region *region)
{
    struct tn__pages pages;
    zone->mappings -= mappings_of(&region->chunk) - 1;
    zone->strategy->leave(&region->chunk);
    region->abandoned = true;
    tn__list_remove(&region->listed);
    tn__list_append(&zone->abandoned, &region->listed);
    while (tn__ranges_abandon(&region->ranges, window->page_size, &pages))
        give_pages(window, zone, &pages);
    free_if_empty(zone, region);
}

/* After a fork, parent and child continue in regions of their own. */
static void leave_shared_regions(struct tn__window *window, struct tn__code_zone *zone)
{
    uint64_t generation = tn__fork_generation();
    if (!zone->strategy->shared || zone->generation == generation)
        return;
    zone->generation = generation;
    while (!tn__list_is_empty(&zone->regions))
        abandon(window, zone, tn__container_of(zone->regions.next, struct tn__region, listed));
    zone->chunk_size = zone->first_chunk;
}

static void give_abandoned(struct tn__window *window, struct tn__code_zone *zone, struct tn__mem_range *range)
{
    struct tn__region *region = range->home;
    struct tn__pages pages = tn__ranges_give_abandoned(&region->ranges, range, window->page_size);
    give_pages(window, zone, &pages);
    free_if_empty(zone, region);
}

/* ---- ranges ---- */

/* Getting several pages at once is cheaper than one fault for each, so the range that reaches untouched pages gets a
 * step of them, up to `limit`: as many as the chunk has touched already, so that a session for one small object does
 * not pay for more. */
static struct tn__backing claim(struct tn__region *region, const struct tn__mem_range *range, size_t touch,
                                uint64_t limit)
{
    uint64_t start = range->address, end = start + touch;
    if (!touch || !range->fresh || end <= region->touched_end)
        return (struct tn__backing){0};
    uint64_t from = tn__max64(region->touched_end, start & -(uint64_t)tn__os_page_size());
    uint64_t touched = from - region->chunk.address, step = tn__max64(tn__min64(touched, TOUCH_STEP), FIRST_STEP);
    region->touched_end = tn__min64(tn__max64(page_up(end), from + step), limit);
    return (struct tn__backing){from, region->touched_end};
}

static struct tn__backing backing_of(const struct tn__window *window, struct tn__region *region,
                                     const struct tn__mem_range *range, size_t touch)
{
    const struct tn__code_zone *zone = region->zone;
    if (zone->strategy == &tn__strategy_own) {
        const struct tn__run *run = window->runs[zone->kind];
        return claim(region, range, touch, run->address + run->size);
    }
    if (zone->strategy->packs)
        return claim(region, range, touch, region->chunk.address + region->chunk.size);
    if (zone->client || touch <= window->page_size)
        return (struct tn__backing){0};
    return (struct tn__backing){range->address, page_up(range->address + touch)};
}

/* How many of `size` bytes can be written at `address` without a fault. If these are the first of the backing, the next
 * step of its pages is requested: few enough to be in the cache still when they are filled. */
static size_t reach(struct tn__backing *backing, const uint8_t *write, uint64_t address, size_t size)
{
    if (backing->from >= backing->to || address + size <= backing->from)
        return size;
    if (address >= backing->from) {
        uint64_t to = tn__min64(tn__max64(page_up(address + 1), backing->from + TOUCH_STEP), backing->to);
        tn__os_prefault((uintptr_t)write - (address - backing->from), to - backing->from);
        backing->from = to;
    }
    return address < backing->from ? tn__min64(size, backing->from - address) : size;
}

void tn__codemem_fill(const struct tn__mem_range *range, struct tn__backing *backing, size_t offset,
                      const struct tn__piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; offset += pieces[i++].size)
        for (size_t at = 0, part; at < pieces[i].size; at += part) {
            uint8_t *write = range->write + offset + at;
            part = reach(backing, write, range->address + offset + at, pieces[i].size - at);
            memcpy(write, (const uint8_t *)pieces[i].bytes + at, part);
        }
}

/* *range is NULL if no region has space. */
static int take_from_regions(struct tn__code_zone *zone, size_t size, size_t alignment, bool full_ones,
                             struct tn__mem_range **range, struct tn_error *err)
{
    int code = 0;
    bool no_memory = false;
    *range = NULL;
    for (struct tn__list *at = zone->regions.next; !code && at != &zone->regions; at = at->next) {
        struct tn__region *region = tn__container_of(at, struct tn__region, listed);
        if (is_full(region) && !full_ones)
            continue;
        *range = tn__ranges_take(&region->ranges, size, alignment, &no_memory);
        if (*range) {
            (*range)->home = region;
            break;
        }
        code = no_memory ? tn__no_memory(err, NULL) : note_misfit(region, size, err);
    }
    return code;
}

int tn__zone_take(struct tn__window *window, struct tn__code_zone *zone, size_t size, size_t alignment,
                  struct tn__mem_range **range, struct tn_error *err)
{
    int code = take_from_regions(zone, size, alignment, false, range, err);
    if (code || *range)
        return code;
    /* Room for the alignment, and for the search, which rounds sizes up by as much as an eighth. */
    size_t need = size + alignment + (size + alignment) / 8 + 256;
    code = add_region(window, zone, need, err);
    if (code == TN_ENOMEM && release_all_empty(window))
        code = add_region(window, zone, need, err);
    if (!code)
        return take_from_regions(zone, size, alignment, false, range, err);
    struct tn_error unused;
    return !take_from_regions(zone, size, alignment, true, range, &unused) && *range ? 0 : code;
}

/* If ranges do not share pages, each one is a chunk. */
static struct tn__chunk chunk_of(const struct tn__code_zone *zone, const struct tn__mem_range *range)
{
    return (struct tn__chunk){
        .address = range->address, .size = range->size, .alias = range->write, .client = zone->client};
}

/* Makes the range writable. */
static int open_range(struct tn__code_zone *zone, struct tn__mem_range *range, struct tn_error *err)
{
    struct tn__region *region = range->home;
    range->fresh &= !zone->client; /* the client may return memory that is not zero */
    if (zone->strategy->packs) {
        int code = has_alias(region) ? set_sealed(region, false, err) : 0;
        range->writing = !code && has_alias(region);
        region->writers += range->writing;
        return code;
    }
    struct tn__chunk chunk = chunk_of(zone, range);
    int error = zone->strategy->map(&chunk, zone->prot, err);
    range->write = chunk.alias;
    range->fresh = !zone->client;
    return error ? tn__zone_fail(err, error, zone->strategy, zone->kind) : 0;
}

int tn__codemem_take(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment, size_t touch,
                     struct tn__mem_range **out, struct tn__backing *backing, struct tn_error *err)
{
    struct tn__code_zone *zone = &window->zones[kind];
    leave_shared_regions(window, zone);
    if (size > window->end - window->start || alignment > window->end - window->start)
        return tn__fail(err, TN_ENOMEM, "%zu bytes of %s aligned to %zu do not fit a window of %zu MiB", size,
                        zone_kinds[kind].name, alignment, (size_t)(window->end - window->start) >> 20);
    if (!zone->strategy->packs) {
        size = tn__align_up(size ? size : 1, window->page_size);
        alignment = alignment < window->page_size ? window->page_size : alignment;
    }
    struct tn__mem_range *range = tn__run_take(window, kind, size, alignment);
    int code = range ? 0 : tn__zone_take(window, zone, size, alignment, &range, err);
    if (code)
        return code;
    struct tn__region *region = range->home;
    code = open_range(region->zone, range, err);
    if (code) {
        tn__ranges_give(&region->ranges, range);
        return code;
    }
    *backing = backing_of(window, region, range, touch);
    region->zone->used += range->size;
    *out = range;
    return 0;
}

int tn__codemem_publish(const struct tn__window *window, struct tn__mem_range *range, struct tn_error *err)
{
    const struct tn__code_zone *zone = range->home->zone;
    struct tn__chunk chunk = chunk_of(zone, range);
    int error = zone->strategy->publish(&chunk, zone->prot, err);
    if (error)
        return tn__zone_fail(err, error, zone->strategy, zone->kind);
    if (zone->kind == TN_ZONE_CODE && !window->elsewhere)
        tn__os_flush_code(range->address, range->size);
    return 0;
}

int tn__codemem_settle(struct tn__mem_range *range, struct tn_error *err)
{
    if (!range || !range->writing)
        return 0;
    struct tn__region *region = range->home;
    range->writing = false;
    region->writers--;
    return seal_if_due(region, err);
}

void tn__codemem_give(struct tn__window *window, struct tn__mem_range *range)
{
    struct tn__region *region = range->home;
    struct tn__code_zone *zone = region->zone;
    if (range->writing)
        tn__codemem_settle(range, NULL); /* an alias that stays accessible is sealed after the next link */
    zone->used -= range->size;
    if (!zone->strategy->packs) {
        struct tn__chunk chunk = chunk_of(zone, range);
        zone->strategy->unmap(&chunk, zone->prot);
    }
    if (region->abandoned)
        give_abandoned(window, zone, range);
    else if (zone->strategy == &tn__strategy_own)
        tn__run_give(window, range);
    else
        tn__ranges_give(&region->ranges, range);
}

int tn__codemem_seal(struct tn__codemem *memory, struct tn_error *err)
{
    int code = 0;
    for (int i = 0; i < TN__WINDOWS; i++)
        for (int kind = 0; !code && memory->windows[i].end && kind < TN_ZONES; kind++) {
            struct tn__code_zone *zone = &memory->windows[i].zones[kind];
            leave_shared_regions(&memory->windows[i], zone);
            code = seal_zone(zone, err);
        }
    return code;
}

/* ---- zones ---- */

void tn__zone_open(struct tn__code_zone *zone, const struct tn__window *window, enum tn_zone kind, uint64_t base,
                   const struct tn__strategy_ops *strategy, const struct tn_memory *client,
                   const struct tn_allocator *from)
{
    uint64_t size = window->end - window->start;
    size_t first = tn__max64(tn__min64(size / FIRST_PART, TN__FIRST_CHUNK), window->page_size);
    *zone = (struct tn__code_zone){
        .kind = kind,
        .strategy = strategy,
        .client = client,
        .prot = zone_kinds[kind].prot,
        .base = base,
        .pool.descriptors.from = from,
        .chunk_size = first,
        .first_chunk = first,
        .largest_chunk = tn__min64(size / LARGEST_PART, LARGEST_CHUNK),
        .generation = tn__fork_generation(),
    };
    tn__list_init(&zone->regions);
    tn__list_init(&zone->abandoned);
}

static void free_regions(struct tn__code_zone *zone, struct tn__list *list)
{
    for (TN_EACH_TO_REMOVE(struct tn__region, region, list, listed)) {
        if (zone->strategy->packs && !region->abandoned) /* the window's end unmaps the others */
            zone->strategy->unmap(&region->chunk, zone->prot);
        tn__free(allocator_of(zone), region);
    }
}

void tn__zone_close(struct tn__code_zone *zone)
{
    free_regions(zone, &zone->regions);
    free_regions(zone, &zone->abandoned);
    tn__arena_free(&zone->pool.descriptors);
}
