/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <string.h>

#include "link/memory/codemem.h"
#include "link/memory/placement.h"

static const size_t DEFAULT_WINDOW = (size_t)1 << 30, SMALLEST_WINDOW = (size_t)16 << 20;

static const struct tn__strategy_ops *const strategies[] = {&tn__strategy_dual, &tn__strategy_sealed,
                                                            &tn__strategy_mprotect};

/* ---- windows ---- */

/* The chunks of each zone begin at a random page of an eighth of the window, this one. Half of the window stays in one
 * piece, for large objects. */
static const uint64_t eighths[TN_ZONES] = {[TN_ZONE_CODE] = 0, [TN_ZONE_DATA] = 5, [TN_ZONE_RODATA] = 6};

static uint64_t zone_base(const struct tn__codemem *memory, const struct tn__window *window, int kind)
{
    uint64_t eighth = (window->end - window->start) / 8, bits = memory->random >> (16 * kind + 16) & 0xffff;
    return window->start + eighths[kind] * eighth + bits * window->page_size % tn__max64(eighth, 1);
}

static void open_window(struct tn__codemem *memory, struct tn__window *window, uint64_t address, size_t size,
                        size_t page_size)
{
    const struct tn_memory *client = memory->client.size ? &memory->client : NULL;
    *window = (struct tn__window){
        .start = address,
        .end = address + size,
        .page_size = page_size,
        .elsewhere = memory->client.flags & TN_MEMORY_ELSEWHERE,
    };
    bool own = memory->strategy->shared;
    tn__page_map_open(&window->map, address, size, page_size);
    for (int kind = 0; kind < TN_ZONES; kind++) {
        uint64_t base = zone_base(memory, window, kind);
        bool data = kind == TN_ZONE_DATA;
        tn__zone_open(&window->zones[kind], window, kind, base, data && !client ? &tn__strategy_data : memory->strategy,
                      client, memory->from);
        tn__zone_open(&window->own[kind], window, kind, base, own && !data ? &tn__strategy_own : NULL, NULL,
                      memory->from);
    }
}

static void close_window(struct tn__window *window, const struct tn_allocator *from)
{
    if (!window->end)
        return;
    for (int kind = 0; kind < TN_ZONES; kind++) {
        tn__zone_close(&window->zones[kind]);
        tn__zone_close(&window->own[kind]);
    }
    tn__page_map_close(&window->map, from);
    if (!window->zones[TN_ZONE_CODE].client)
        tn__os_release(window->start, window->end - window->start);
    *window = (struct tn__window){0};
}

/* Of its zones. */
static uint64_t window_mappings(const struct tn__window *window)
{
    uint64_t count = 0;
    for (int kind = 0; kind < TN_ZONES; kind++)
        count += window->zones[kind].mappings + window->own[kind].mappings + 2 * window->own[kind].holes;
    return count;
}

uint64_t tn__window_used(const struct tn__window *window, enum tn_zone kind)
{
    return window->zones[kind].used + window->own[kind].used;
}

bool tn__window_reaches(const struct tn__window *window, uint64_t address, uint64_t limit)
{
    return address - window->start + limit <= 2 * limit && address - window->end + limit <= 2 * limit;
}

/* Takes memory through all steps of the strategy: only trying shows what the system's policies permit. */
static int try_strategy(const struct tn__strategy_ops *strategy, uint64_t address, size_t size)
{
    struct tn__chunk chunk = {.address = address, .size = strategy->packs ? size : tn__os_page_size()};
    if (strategy->files && !tn__os_permits_file(TN__FIRST_CHUNK))
        return EFBIG;
    int error = strategy->map(&chunk, TN__PROT_RX, NULL);
    if (error)
        return error;
    error = strategy->publish(&chunk, TN__PROT_RX, NULL);
    strategy->unmap(&chunk, TN__PROT_RX);
    return error;
}

static int pick_strategy(struct tn__codemem *memory, uint64_t probe, size_t size, enum tn_strategy wanted,
                         struct tn_error *err)
{
    struct tn_error refusals;
    int code = TN_ENOMEM;
    tn__fail(&refusals, code, "the system refuses executable memory:");
    for (size_t i = 0; i < TN_COUNT(strategies); i++) {
        if (wanted != TN_STRATEGY_AUTO && wanted != strategies[i]->id)
            continue;
        int error = try_strategy(strategies[i], probe, tn__min64(size, TN__FIRST_CHUNK));
        if (!error) {
            memory->strategy = strategies[i];
            return 0;
        }
        if (tn__is_refusal(error))
            code = TN_EPERM;
        tn__append(&refusals, "\n  %s: %s (usually %s)", strategies[i]->name, strerror(error), strategies[i]->policy);
    }
    tn__fail(err, code, "%s", "");
    tn__append_text(err, refusals.text);
    return code;
}

/* A smaller window in reach of the program beats a larger one out of reach, whose code could not refer to the program's
 * data by PC32. Between a static program and its brk heap, which starts at a random address, less than 1 GiB may be
 * free. */
static int reserve_near(size_t size, bool may_shrink, uint64_t near, struct tn__codemem *memory, uint64_t *address,
                        size_t *got, struct tn_error *err)
{
    size_t smallest = may_shrink ? SMALLEST_WINDOW : size;
    uint64_t start = near, end = near + 1, heap_end = tn__os_heap_end();
    if (!near)
        tn__os_program_range(&start, &end);
    int error;
    for (*got = size; (error = tn__place_near(start, end, heap_end, *got, memory->random, address)) && *got > smallest;)
        *got /= 2;
    if (error == EEXIST)
        for (*got = size; (error = tn__os_reserve(0, *got, false, address)) && *got > smallest;)
            *got /= 2;
    if (error)
        return tn__fail(err, TN_ENOMEM, "no address space for a window of %zu MiB: %s", *got >> 20, strerror(error));
    memory->low_size = *got;
    return 0;
}

/* Each window has random bits of its own. */
static int draw(struct tn__codemem *memory, struct tn_error *err)
{
    int error = tn__os_random(&memory->random);
    return error ? tn__fail(err, tn__is_refusal(error) ? TN_EPERM : TN_ENOMEM,
                            "the system gives no random numbers (getrandom): %s", strerror(error))
                 : 0;
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
    int code = draw(memory, err);
    if (!code)
        code = reserve_near(size ? tn__align_up(size, tn__os_page_size()) : DEFAULT_WINDOW, !size, near, memory,
                            &address, &got, err);
    if (code)
        return code;
    code = pick_strategy(memory, address, got, wanted, err);
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
    if (!page_size || page_size & (page_size - 1) || page_size > TN__FIRST_CHUNK)
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
    static const struct tn__strategy_ops *const choices[] = {&tn__strategy_mprotect, &tn__strategy_sealed};
    struct tn__window *window = &memory->windows[TN__WINDOW_NEAR];
    if (!memory->strategy->shared)
        return 0;
    if (window_mappings(window) > window->zones[TN_ZONE_DATA].mappings || memory->windows[TN__WINDOW_LOW].end)
        return tn__fail(err, TN_EINVAL, "debuggers and profilers have to come before anything is linked (strategy %s)",
                        memory->strategy->name);
    for (size_t i = 0; i < TN_COUNT(choices); i++)
        if (!try_strategy(choices[i], window->start, 0)) {
            memory->strategy = choices[i];
            window->zones[TN_ZONE_CODE].strategy = window->zones[TN_ZONE_RODATA].strategy = choices[i];
            window->own[TN_ZONE_CODE].strategy = window->own[TN_ZONE_RODATA].strategy = NULL;
            break;
        }
    return 0;
}

void tn__codemem_close(struct tn__codemem *memory)
{
    for (int i = 0; i < TN__WINDOWS; i++)
        close_window(&memory->windows[i], memory->from);
}

int tn__codemem_low_window(struct tn__codemem *memory, struct tn__window **window, struct tn_error *err)
{
    struct tn__window *near = &memory->windows[TN__WINDOW_NEAR], *low = &memory->windows[TN__WINDOW_LOW];
    *window = near->end <= 1ULL << 31 || memory->client.size ? near : low;
    if ((*window)->end)
        return 0;
    int code = draw(memory, err);
    if (code)
        return code;
    uint64_t address;
    size_t size = memory->low_size;
    int error = ENOMEM;
    for (; size && (error = tn__place_low(tn__os_heap_end(), size, memory->random, &address));
         size = size > SMALLEST_WINDOW ? size / 2 : 0)
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
        count += (window->end != 0) + window_mappings(window);
    }
    return count;
}
