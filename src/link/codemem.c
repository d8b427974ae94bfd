/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <string.h>

#include "codemem.h"
#include "placement.h"

enum { FIRST_CHUNK = 4 << 20, LARGEST_CHUNK = 64 << 20, TOUCH_STEP = 64 << 10, LARGE = 32 << 10 };

static const size_t DEFAULT_WINDOW = (size_t)1 << 30, SMALLEST_WINDOW = (size_t)16 << 20;

static const struct {
    const char *name;
    enum tn__prot prot;
} zone_kinds[TN_ZONES] = {
    [TN_ZONE_CODE] = {"code", TN__PROT_RX},
    [TN_ZONE_RODATA] = {"read-only data", TN__PROT_R},
    [TN_ZONE_DATA] = {"data", TN__PROT_RW},
};

static const struct tn__strategy *const strategies[] = {&tn__strategy_dual, &tn__strategy_sealed,
                                                        &tn__strategy_mprotect};

static uint64_t page_up(uint64_t value)
{
    return tn__align_up(value, tn__os_page_size());
}

static uint64_t page_down(uint64_t value)
{
    return value & -(uint64_t)tn__os_page_size();
}

/* Refusals by policy and lack of memory call for different errors. */
static bool is_refusal(int error)
{
    return error == EACCES || error == EPERM;
}

static int fail_with(struct tn_error *err, int error, const struct tn__strategy *strategy, const char *what)
{
    if (error < 0) /* already an error code, with its text */
        return error;
    if (is_refusal(error))
        return tn__fail(err, TN_EPERM, "no memory for %s: %s (strategy %s); usually refused by %s", what,
                        strerror(error), strategy->name, strategy->policy);
    return tn__fail(err, TN_ENOMEM, "no memory for %s: %s (strategy %s)", what, strerror(error), strategy->name);
}

/* ---- zones ---- */

/* Takes the next chunk from the free middle of the window; false if that is used up. */
static bool cut_chunk(struct tn__window *window, enum tn_zone kind, size_t size, uint64_t *address)
{
    if (size > window->high - window->low)
        return false;
    if (kind == TN_ZONE_CODE) {
        *address = window->low;
        window->low += size;
    } else {
        window->high -= size;
        *address = window->high;
    }
    return true;
}

/* Undoes the last cut_chunk. */
static void uncut_chunk(struct tn__window *window, enum tn_zone kind, size_t size)
{
    if (kind == TN_ZONE_CODE)
        window->low -= size;
    else
        window->high += size;
}

static int map_chunk(struct tn__zone *zone, struct tn__chunk *chunk, struct tn_error *err, const char *what)
{
    int error = zone->strategy->packs ? zone->strategy->map(chunk, zone->prot, err) : 0;
    if (error)
        return fail_with(err, error, zone->strategy, what);
    if (!tn__ranges_add(&zone->ranges, chunk->address, chunk->size, chunk->alias)) {
        if (zone->strategy->packs)
            zone->strategy->unmap(chunk, zone->prot);
        return tn__fail(err, TN_ENOMEM, "out of memory");
    }
    chunk->next = zone->chunks;
    zone->chunks = chunk;
    zone->touched_end = chunk->address;
    if (zone->chunk_size < LARGEST_CHUNK)
        zone->chunk_size *= 2;
    return 0;
}

static int grow_zone(struct tn__window *window, enum tn_zone kind, size_t need, struct tn_error *err)
{
    struct tn__zone *zone = &window->zones[kind];
    size_t least = tn__align_up(need, window->page_size), size = least < zone->chunk_size ? zone->chunk_size : least;
    struct tn__chunk *chunk = tn__alloc_zeroed(zone->ranges.descriptors.from, 1, sizeof *chunk);
    if (!chunk)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    if (!cut_chunk(window, kind, size, &chunk->address) && !cut_chunk(window, kind, size = least, &chunk->address)) {
        tn__free(zone->ranges.descriptors.from, chunk);
        return tn__fail(err, TN_ENOMEM,
                        "the window of %zu MiB has no room for %zu more bytes of %s; use a larger window",
                        (size_t)(window->end - window->start) >> 20, need, zone_kinds[kind].name);
    }
    chunk->size = size;
    chunk->client = zone->client;
    int code = map_chunk(zone, chunk, err, zone_kinds[kind].name);
    if (code) {
        uncut_chunk(window, kind, size);
        tn__free(zone->ranges.descriptors.from, chunk);
    }
    return code;
}

/* After a fork, parent and child continue in chunks of their own. */
static void leave_shared_chunks(struct tn__zone *zone)
{
    uint64_t generation = tn__os_fork_generation();
    if (!zone->strategy->shared || zone->generation == generation)
        return;
    zone->generation = generation;
    tn__ranges_new_era(&zone->ranges);
    for (struct tn__chunk *chunk = zone->chunks; chunk; chunk = chunk->next)
        zone->strategy->leave(chunk);
    zone->chunk_size = FIRST_CHUNK;
}

/* Getting several pages at once is cheaper than one fault for each, so the range that reaches untouched pages gets a
 * step of them. */
static struct tn__backing claim(struct tn__zone *zone, const struct tn__range *range, size_t touch)
{
    const struct tn__chunk *chunk = zone->chunks;
    uint64_t start = range->address, end = start + touch;
    bool newest = chunk && start >= chunk->address && start < chunk->address + chunk->size;
    if (!touch || !range->fresh || !newest || end <= zone->touched_end)
        return (struct tn__backing){0};
    struct tn__backing backing = {.from = tn__max64(zone->touched_end, page_down(start)),
                                  .file_start = chunk->address,
                                  .fd = chunk->fd,
                                  .file = chunk->file,
                                  .has_file = chunk->has_file};
    backing.to = tn__min64(tn__max64(page_up(end), backing.from + TOUCH_STEP), chunk->address + chunk->size);
    zone->touched_end = backing.to;
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
    bool no_memory;
    leave_shared_chunks(zone);
    if (size > window->end - window->start || alignment > window->end - window->start)
        return tn__fail(err, TN_ENOMEM, "%zu bytes of %s aligned to %zu do not fit a window of %zu MiB", size,
                        zone_kinds[kind].name, alignment, (size_t)(window->end - window->start) >> 20);
    if (!zone->strategy->packs) {
        size = tn__align_up(size ? size : 1, window->page_size);
        alignment = alignment < window->page_size ? window->page_size : alignment;
    }
    struct tn__range *range = tn__ranges_take(&zone->ranges, size, alignment, &no_memory);
    if (!range && !no_memory) {
        /* Room for the alignment, and for the search, which rounds sizes up by as much as an eighth. */
        int code = grow_zone(window, kind, size + alignment + (size + alignment) / 8 + 256, err);
        if (code)
            return code;
        range = tn__ranges_take(&zone->ranges, size, alignment, &no_memory);
    }
    if (!range)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    if (!zone->strategy->packs) {
        struct tn__chunk chunk = chunk_of(zone, range);
        int error = zone->strategy->map(&chunk, zone->prot, err);
        if (error) {
            tn__ranges_give(&zone->ranges, range);
            return fail_with(err, error, zone->strategy, zone_kinds[kind].name);
        }
        range->write = chunk.alias;
        range->fresh = !zone->client;
        *backing = (struct tn__backing){0};
    } else {
        range->fresh &= !zone->client; /* the client may return memory that is not zero */
        *backing = claim(zone, range, touch);
    }
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
    if (!zone->strategy->packs) {
        struct tn__chunk chunk = chunk_of(zone, range);
        zone->strategy->unmap(&chunk, zone->prot);
    }
    tn__ranges_give(&zone->ranges, range);
}

/* ---- windows ---- */

static void open_window(struct tn__codemem *memory, struct tn__window *window, uint64_t address, size_t size,
                        size_t page_size)
{
    const struct tn_memory *client = memory->client.size ? &memory->client : NULL;
    *window = (struct tn__window){
        .start = address,
        .end = address + size,
        .low = address,
        .high = address + size,
        .page_size = page_size,
        .elsewhere = memory->client.flags & TN_MEMORY_ELSEWHERE,
    };
    for (int kind = 0; kind < TN_ZONES; kind++)
        window->zones[kind] = (struct tn__zone){
            .strategy = kind == TN_ZONE_DATA && !client ? &tn__strategy_data : memory->strategy,
            .client = client,
            .ranges.descriptors.from = memory->from,
            .prot = zone_kinds[kind].prot,
            .chunk_size = FIRST_CHUNK,
            .generation = tn__os_fork_generation(),
        };
}

static void close_zone(struct tn__zone *zone)
{
    for (struct tn__chunk *chunk = zone->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        if (zone->strategy->packs)
            zone->strategy->unmap(chunk, zone->prot);
        tn__free(zone->ranges.descriptors.from, chunk);
    }
    tn__ranges_close(&zone->ranges);
}

static void close_window(struct tn__window *window)
{
    if (!window->end)
        return;
    for (int kind = 0; kind < TN_ZONES; kind++)
        close_zone(&window->zones[kind]);
    if (!window->zones[TN_ZONE_CODE].client)
        tn__os_release(window->start, window->end - window->start);
    *window = (struct tn__window){0};
}

bool tn__window_reaches(const struct tn__window *window, uint64_t address)
{
    int64_t limit = INT32_MAX - 64, from_start = (int64_t)(address - window->start),
            from_end = (int64_t)(address - window->end);
    return from_start <= limit && from_start >= -limit && from_end <= limit && from_end >= -limit;
}

/* Takes one page through all steps of the strategy: only trying shows what the system's policies permit. */
static int try_strategy(const struct tn__strategy *strategy, uint64_t address)
{
    struct tn__chunk chunk = {.address = address, .size = tn__os_page_size()};
    int error = strategy->map(&chunk, TN__PROT_RX, NULL);
    if (error)
        return error;
    error = strategy->publish(&chunk, TN__PROT_RX, NULL);
    strategy->unmap(&chunk, TN__PROT_RX);
    return error;
}

static int pick_strategy(struct tn__codemem *memory, uint64_t probe, enum tn_strategy wanted, struct tn_error *err)
{
    struct tn_error refusals;
    int code = TN_ENOMEM;
    tn__fail(&refusals, code, "the system refuses executable memory:");
    for (size_t i = 0; i < TN_COUNT(strategies); i++) {
        if (wanted != TN_STRATEGY_AUTO && wanted != strategies[i]->id)
            continue;
        int error = try_strategy(strategies[i], probe);
        if (!error) {
            memory->strategy = strategies[i];
            return 0;
        }
        if (is_refusal(error))
            code = TN_EPERM;
        tn__append(&refusals, "\n  %s: %s (usually %s)", strategies[i]->name, strerror(error), strategies[i]->policy);
    }
    return tn__fail(err, code, "%s", refusals.text);
}

/* A smaller window in reach of the program beats a larger one out of reach, whose code could not refer to the program's
 * data by PC32. Between a static program and its brk heap, which starts at a random address, less than 1 GiB may be
 * free. */
static int reserve_near(size_t size, bool may_shrink, uint64_t near, struct tn__codemem *memory, uint64_t *address,
                        size_t *got, struct tn_error *err)
{
    size_t smallest = may_shrink ? SMALLEST_WINDOW : size;
    uint64_t start = near, end = near + 1;
    if (!near)
        tn__os_program_range(&start, &end);
    int error;
    for (*got = size; (error = tn__place_near(start, end, *got, address)) && *got > smallest;)
        *got /= 2;
    if (error == EEXIST)
        for (*got = size; (error = tn__os_reserve(0, *got, false, address)) && *got > smallest;)
            *got /= 2;
    if (error)
        return tn__fail(err, TN_ENOMEM, "no address space for a window of %zu MiB: %s", *got >> 20, strerror(error));
    memory->low_size = *got;
    return 0;
}

int tn__codemem_open(struct tn__codemem *memory, const struct tn_allocator *from, size_t size, uint64_t near,
                     enum tn_strategy wanted, struct tn_error *err)
{
    *memory = (struct tn__codemem){.from = from};
    if ((unsigned)wanted > TN_STRATEGY_MPROTECT)
        return tn__fail(err, TN_EINVAL, "unknown strategy %d", (int)wanted);
    if (size > DEFAULT_WINDOW || (size && size < 4 * tn__os_page_size()))
        return tn__fail(err, TN_EINVAL, "a window of %zu bytes: it must have 4 pages to 1 GiB", size);
    uint64_t address;
    size_t got;
    int code = reserve_near(size ? page_up(size) : DEFAULT_WINDOW, !size, near, memory, &address, &got, err);
    if (code)
        return code;
    code = pick_strategy(memory, address, wanted, err);
    if (code)
        tn__os_release(address, got);
    else
        open_window(memory, &memory->windows[TN__WINDOW_NEAR], address, got, tn__os_page_size());
    return code;
}

static int check_client(const struct tn_memory *client, struct tn_error *err)
{
    size_t page_size = client->page_size;
    if (!client->map || !client->publish || !client->unmap)
        return tn__fail(err, TN_EINVAL, "memory of the client's needs all three functions");
    if (client->flags & ~(uint64_t)(TN_MEMORY_ELSEWHERE | TN_MEMORY_PACKED))
        return tn__fail(err, TN_EINVAL, "unknown memory flags %#llx", (unsigned long long)client->flags);
    if (!page_size || page_size & (page_size - 1) || page_size > FIRST_CHUNK)
        return tn__fail(err, TN_EINVAL, "pages of %zu bytes: a power of two up to 4 MiB is meant", page_size);
    if (!client->window_size || client->window_size > DEFAULT_WINDOW)
        return tn__fail(err, TN_EINVAL, "a window of %zu bytes: it must have 1 byte to 1 GiB", client->window_size);
    return 0;
}

int tn__codemem_open_client(struct tn__codemem *memory, const struct tn_allocator *from, const struct tn_memory *given,
                            struct tn_error *err)
{
    *memory = (struct tn__codemem){.from = from};
    struct tn_memory *client = &memory->client;
    int code = tn__take_options(client, sizeof *client, given, "struct tn_memory", err);
    if (!code)
        code = check_client(client, err);
    if (code)
        return code;
    uint64_t page_size = client->page_size, start = tn__align_up(client->window_address, page_size),
             end = tn__align_up(start + client->window_size, page_size);
    if (start < client->window_address || end < start)
        return tn__fail(err, TN_EINVAL, "a window of %zu bytes at 0x%llx ends beyond the address space",
                        client->window_size, (unsigned long long)client->window_address);
    memory->strategy = client->flags & TN_MEMORY_PACKED ? &tn__strategy_client_packed : &tn__strategy_client;
    open_window(memory, &memory->windows[TN__WINDOW_NEAR], start, end - start, page_size);
    return 0;
}

int tn__codemem_make_private(struct tn__codemem *memory, struct tn_error *err)
{
    /* Mappings of the first one merge with their neighbours. */
    static const struct tn__strategy *const choices[] = {&tn__strategy_mprotect, &tn__strategy_sealed};
    struct tn__window *window = &memory->windows[TN__WINDOW_NEAR];
    if (!memory->strategy->shared)
        return 0;
    if (window->zones[TN_ZONE_CODE].chunks || window->zones[TN_ZONE_RODATA].chunks ||
        memory->windows[TN__WINDOW_LOW].end)
        return tn__fail(err, TN_EINVAL, "debuggers and profilers have to come before anything is linked (strategy %s)",
                        memory->strategy->name);
    for (size_t i = 0; i < TN_COUNT(choices); i++)
        if (!try_strategy(choices[i], window->start)) {
            memory->strategy = choices[i];
            window->zones[TN_ZONE_CODE].strategy = window->zones[TN_ZONE_RODATA].strategy = choices[i];
            break;
        }
    return 0;
}

void tn__codemem_close(struct tn__codemem *memory)
{
    for (int i = 0; i < TN__WINDOWS; i++)
        close_window(&memory->windows[i]);
}

int tn__codemem_low_window(struct tn__codemem *memory, struct tn__window **window, struct tn_error *err)
{
    struct tn__window *near = &memory->windows[TN__WINDOW_NEAR], *low = &memory->windows[TN__WINDOW_LOW];
    *window = near->end <= 1ULL << 31 || memory->client.size ? near : low;
    if ((*window)->end)
        return 0;
    uint64_t address;
    size_t size = memory->low_size;
    int error = ENOMEM;
    for (; size && (error = tn__place_low(size, &address)); size = size > SMALLEST_WINDOW ? size / 2 : 0)
        ;
    if (error)
        return tn__fail(err, TN_ENOMEM,
                        "no address space below 2 GiB for objects with 32-bit absolute addresses: %s; "
                        "compile them with -fPIC",
                        strerror(error));
    open_window(memory, low, address, size, tn__os_page_size());
    return 0;
}

uint64_t tn__codemem_mappings(const struct tn__codemem *memory)
{
    uint64_t count = 0;
    for (int i = 0; i < TN__WINDOWS; i++) {
        const struct tn__window *window = &memory->windows[i];
        if (window->zones[TN_ZONE_CODE].client)
            continue;
        count += window->end != 0;
        for (int kind = 0; kind < TN_ZONES; kind++)
            for (const struct tn__chunk *chunk = window->zones[kind].chunks; chunk; chunk = chunk->next)
                count += 1 + (chunk->alias && chunk->alias != (uint8_t *)(uintptr_t)chunk->address);
    }
    return count;
}
