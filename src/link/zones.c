/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The zones of a window: chunks of memory, and the ranges that objects have in them.
 *
 * After a fork, parent and child must not write to the same memfd: both abandon the regions they share. What an abandoned
 * region does not use leaves it page by page, at once or when the objects that use it are removed, and is free window again. */

#include <errno.h>
#include <string.h>

#include "codemem.h"

enum { LARGEST_CHUNK = 64 << 20, TOUCH_STEP = 64 << 10, LARGE = 32 << 10 };

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

static uint64_t page_down(uint64_t value)
{
    return value & -(uint64_t)tn__os_page_size();
}

bool tn__is_refusal(int error)
{
    return error == EACCES || error == EPERM;
}

static int fail_with(struct tn_error *err, int error, const struct tn__strategy *strategy, const char *what)
{
    if (error < 0) /* already an error code, with its text */
        return error;
    if (tn__is_refusal(error))
        return tn__fail(err, TN_EPERM, "no memory for %s: %s (strategy %s); usually refused by %s", what,
                        strerror(error), strategy->name, strategy->policy);
    return tn__fail(err, TN_ENOMEM, "no memory for %s: %s (strategy %s)", what, strerror(error), strategy->name);
}

/* ---- regions ---- */

static const struct tn_allocator *allocator_of(const struct tn__zone *zone)
{
    return zone->pool.descriptors.from;
}

static uint64_t mappings_of(const struct tn__chunk *chunk)
{
    return 1 + (chunk->alias && chunk->alias != (uint8_t *)(uintptr_t)chunk->address);
}

static int map_region(struct tn__zone *zone, struct tn__region *region, struct tn_error *err, const char *what)
{
    struct tn__chunk *chunk = &region->chunk;
    int error = zone->strategy->packs ? zone->strategy->map(chunk, zone->prot, err) : 0;
    if (error)
        return fail_with(err, error, zone->strategy, what);
    if (!tn__ranges_open(&region->ranges, &zone->pool, chunk->address, chunk->size, chunk->alias)) {
        if (zone->strategy->packs)
            zone->strategy->unmap(chunk, zone->prot);
        return tn__fail(err, TN_ENOMEM, "out of memory");
    }
    region->touched_end = chunk->address;
    zone->mappings += mappings_of(chunk);
    tn__list_append(zone->regions.next, &region->listed); /* as the first one */
    if (zone->chunk_size < LARGEST_CHUNK)
        zone->chunk_size *= 2;
    return 0;
}

/* Takes address space for the next chunk: as much as planned or, if there is no such piece, `least`. */
static int take_space(struct tn__window *window, const struct tn__zone *zone, size_t least, struct tn__chunk *chunk,
                      struct tn_error *err, const char *what)
{
    const struct tn_allocator *from = allocator_of(zone);
    const size_t sizes[] = {tn__page_map_round(&window->map, tn__max64(least, zone->chunk_size)),
                            tn__page_map_round(&window->map, least)};
    bool no_memory = false;
    for (size_t i = 0; !no_memory && i < TN_COUNT(sizes); i++) {
        chunk->size = sizes[i];
        if (tn__page_map_take(&window->map, from, sizes[i], zone->base, &chunk->address, &no_memory))
            return 0;
    }
    if (no_memory)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    return tn__fail(err, TN_ENOMEM, "the window of %zu MiB has no room for %zu more bytes of %s; use a larger window",
                    (size_t)(window->end - window->start) >> 20, least, what);
}

static int add_region(struct tn__window *window, enum tn_zone kind, size_t need, struct tn_error *err)
{
    struct tn__zone *zone = &window->zones[kind];
    struct tn__region *region = tn__alloc_zeroed(allocator_of(zone), 1, sizeof *region);
    if (!region)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    region->chunk.client = zone->client;
    int code = take_space(window, zone, need, &region->chunk, err, zone_kinds[kind].name);
    if (!code) {
        code = map_region(zone, region, err, zone_kinds[kind].name);
        if (code)
            tn__page_map_give(&window->map, region->chunk.address, region->chunk.size);
    }
    if (code)
        tn__free(allocator_of(zone), region);
    return code;
}

/* ---- forks ---- */

static void give_pages(struct tn__window *window, struct tn__zone *zone, const struct tn__pages *pages)
{
    if (!pages->size)
        return;
    tn__os_decommit(pages->address, pages->size);
    tn__page_map_give(&window->map, pages->address, pages->size);
    zone->mappings += pages->sides;
    zone->mappings--;
}

/* The mappings of an abandoned region go with its last page. */
static void free_if_empty(struct tn__zone *zone, struct tn__region *region)
{
    if (region->ranges.used)
        return;
    tn__list_remove(&region->listed);
    tn__free(allocator_of(zone), region);
}

static void abandon(struct tn__window *window, struct tn__zone *zone, struct tn__region *region)
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
static void leave_shared_regions(struct tn__window *window, struct tn__zone *zone)
{
    uint64_t generation = tn__os_fork_generation();
    if (!zone->strategy->shared || zone->generation == generation)
        return;
    zone->generation = generation;
    while (!tn__list_is_empty(&zone->regions))
        abandon(window, zone, tn__container_of(zone->regions.next, struct tn__region, listed));
    zone->chunk_size = TN__FIRST_CHUNK;
}

static void give_abandoned(struct tn__window *window, struct tn__zone *zone, struct tn__range *range)
{
    struct tn__region *region = range->home;
    struct tn__pages pages = tn__ranges_give_abandoned(&region->ranges, range, window->page_size);
    give_pages(window, zone, &pages);
    free_if_empty(zone, region);
}

/* ---- ranges ---- */

/* Getting several pages at once is cheaper than one fault for each, so the range that reaches untouched pages gets a
 * step of them. */
static struct tn__backing claim(struct tn__region *region, const struct tn__range *range, size_t touch)
{
    const struct tn__chunk *chunk = &region->chunk;
    uint64_t start = range->address, end = start + touch;
    if (!touch || !range->fresh || end <= region->touched_end)
        return (struct tn__backing){0};
    struct tn__backing backing = {.from = tn__max64(region->touched_end, page_down(start)),
                                  .file_start = chunk->address,
                                  .fd = chunk->fd,
                                  .file = chunk->file,
                                  .has_file = chunk->has_file};
    backing.to = tn__min64(tn__max64(page_up(end), backing.from + TOUCH_STEP), chunk->address + chunk->size);
    region->touched_end = backing.to;
    return backing;
}

/* Writing to the chunk's file creates its pages without zeroing or faulting them, at half the cost (measured: 1 MB in
 * 0.29 ms, and 0.1 ms to map it, instead of 0.6 ms). */
static int write_large(const struct tn__range *range, struct tn__backing *backing, size_t offset,
                       const struct tn__piece *pieces, size_t count, size_t size)
{
    uint64_t start = range->address + offset, from = page_down(start), to = page_up(start + size);
    int error = tn__os_write(backing->fd, start - backing->file_start, pieces, count);
    if (error)
        return error;
    tn__os_prefault_shared((uintptr_t)range->write + offset - (start - from), to - from);
    backing->from = tn__min64(tn__max64(backing->from, to), backing->to);
    return 0;
}

int tn__codemem_fill(const struct tn__window *window, enum tn_zone kind, const struct tn__range *range,
                     struct tn__backing *backing, size_t offset, const struct tn__piece *pieces, size_t count,
                     struct tn_error *err)
{
    uint8_t *write = range->write + offset;
    uint64_t start = range->address + offset;
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].size;
    bool untouched = backing->from < backing->to && start + size > backing->from;
    if (untouched && size >= LARGE && backing->has_file && tn__os_is(backing->fd, backing->file)) {
        int error = write_large(range, backing, offset, pieces, count, size);
        return error ? fail_with(err, error, window->zones[kind].strategy, zone_kinds[kind].name) : 0;
    }
    if (untouched) {
        uint64_t to = tn__min64(tn__max64(page_up(start + size), backing->from + TOUCH_STEP), backing->to);
        tn__os_prefault((uintptr_t)write - (start - backing->from), to - backing->from);
        backing->from = to;
    }
    for (size_t i = 0; i < count; write += pieces[i++].size)
        memcpy(write, pieces[i].bytes, pieces[i].size);
    return 0;
}

static struct tn__range *take_from_regions(struct tn__zone *zone, size_t size, size_t alignment, bool *no_memory)
{
    struct tn__range *range = NULL;
    *no_memory = false;
    for (struct tn__list *at = zone->regions.next; !range && !*no_memory && at != &zone->regions; at = at->next) {
        struct tn__region *region = tn__container_of(at, struct tn__region, listed);
        range = tn__ranges_take(&region->ranges, size, alignment, no_memory);
        if (range)
            range->home = region;
    }
    return range;
}

static int take_range(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment,
                      struct tn__range **range, struct tn_error *err)
{
    struct tn__zone *zone = &window->zones[kind];
    bool no_memory;
    *range = take_from_regions(zone, size, alignment, &no_memory);
    if (!*range && !no_memory) {
        /* Room for the alignment, and for the search, which rounds sizes up by as much as an eighth. */
        int code = add_region(window, kind, size + alignment + (size + alignment) / 8 + 256, err);
        if (code)
            return code;
        *range = take_from_regions(zone, size, alignment, &no_memory);
    }
    return *range ? 0 : tn__fail(err, TN_ENOMEM, "out of memory");
}

/* If ranges do not share pages, each one is a chunk. */
static struct tn__chunk chunk_of(const struct tn__zone *zone, const struct tn__range *range)
{
    return (struct tn__chunk){
        .address = range->address, .size = range->size, .alias = range->write, .client = zone->client};
}

int tn__codemem_take(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment, size_t touch,
                     struct tn__range **out, struct tn__backing *backing, struct tn_error *err)
{
    struct tn__zone *zone = &window->zones[kind];
    leave_shared_regions(window, zone);
    if (size > window->end - window->start || alignment > window->end - window->start)
        return tn__fail(err, TN_ENOMEM, "%zu bytes of %s aligned to %zu do not fit a window of %zu MiB", size,
                        zone_kinds[kind].name, alignment, (size_t)(window->end - window->start) >> 20);
    if (!zone->strategy->packs) {
        size = tn__align_up(size ? size : 1, window->page_size);
        alignment = alignment < window->page_size ? window->page_size : alignment;
    }
    struct tn__range *range;
    int code = take_range(window, kind, size, alignment, &range, err);
    if (code)
        return code;
    if (!zone->strategy->packs) {
        struct tn__chunk chunk = chunk_of(zone, range);
        int error = zone->strategy->map(&chunk, zone->prot, err);
        if (error) {
            tn__ranges_give(&range->home->ranges, range);
            return fail_with(err, error, zone->strategy, zone_kinds[kind].name);
        }
        range->write = chunk.alias;
        range->fresh = !zone->client;
        *backing = (struct tn__backing){0};
    } else {
        range->fresh &= !zone->client; /* the client may return memory that is not zero */
        *backing = claim(range->home, range, touch);
    }
    zone->used += range->size;
    *out = range;
    return 0;
}

int tn__codemem_publish(const struct tn__window *window, enum tn_zone kind, struct tn__range *range,
                        struct tn_error *err)
{
    const struct tn__zone *zone = &window->zones[kind];
    struct tn__chunk chunk = chunk_of(zone, range);
    int error = zone->strategy->publish(&chunk, zone->prot, err);
    if (error)
        return fail_with(err, error, zone->strategy, zone_kinds[kind].name);
    if (kind == TN_ZONE_CODE && !window->elsewhere)
        tn__os_flush_code(range->address, range->size);
    return 0;
}

void tn__codemem_give(struct tn__window *window, enum tn_zone kind, struct tn__range *range)
{
    struct tn__zone *zone = &window->zones[kind];
    zone->used -= range->size;
    if (!zone->strategy->packs) {
        struct tn__chunk chunk = chunk_of(zone, range);
        zone->strategy->unmap(&chunk, zone->prot);
    }
    if (range->home->abandoned)
        give_abandoned(window, zone, range);
    else
        tn__ranges_give(&range->home->ranges, range);
}

/* ---- zones ---- */

void tn__zone_open(struct tn__zone *zone, enum tn_zone kind, uint64_t base, const struct tn__strategy *strategy,
                   const struct tn_memory *client, const struct tn_allocator *from)
{
    *zone = (struct tn__zone){
        .strategy = strategy,
        .client = client,
        .prot = zone_kinds[kind].prot,
        .base = base,
        .pool.descriptors.from = from,
        .chunk_size = TN__FIRST_CHUNK,
        .generation = tn__os_fork_generation(),
    };
    tn__list_init(&zone->regions);
    tn__list_init(&zone->abandoned);
}

static void free_regions(struct tn__zone *zone, struct tn__list *list)
{
    for (struct tn__list *at = list->next, *next; at != list; at = next) {
        struct tn__region *region = tn__container_of(at, struct tn__region, listed);
        next = at->next;
        if (zone->strategy->packs && !region->abandoned) /* the window's end unmaps the others */
            zone->strategy->unmap(&region->chunk, zone->prot);
        tn__free(allocator_of(zone), region);
    }
}

void tn__zone_close(struct tn__zone *zone)
{
    free_regions(zone, &zone->regions);
    free_regions(zone, &zone->abandoned);
    tn__arena_free(&zone->pool.descriptors);
}
