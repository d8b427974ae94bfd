/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Arrays of structs that are found by their first member, an address: numbers of items in an open hash table, which
 * takes 4 bytes for each entry. Arrays in chunks. Numbers of objects, in tables by their addresses: there may be many
 * objects, and two of three look-ups are of those that were just looked at, or are near them. */

#include "base/os.h"
#include "image/save/save.h"

static const void *address_of(const struct tn__addresses *all, size_t size, size_t index)
{
    const void *address;
    memcpy(&address, (const char *)all->items + index * size, sizeof address);
    return address;
}

static size_t hash_of(const struct tn__addresses *all, const void *address)
{
    return ((uintptr_t)address >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20 & (all->slot_count - 1);
}

static uint32_t *slot_of(const struct tn__addresses *all, size_t size, const void *address)
{
    size_t at = hash_of(all, address);
    while (all->slots[at] && address_of(all, size, all->slots[at] - 1) != address)
        at = (at + 1) & (all->slot_count - 1);
    return &all->slots[at];
}

uint32_t tn__addresses_find(const struct tn__addresses *all, size_t size, const void *address)
{
    uint32_t number = all->slot_count ? *slot_of(all, size, address) : 0;
    return number ? number - 1 : TN__NOT_FOUND;
}

/* At most two thirds of the slots are used. */
static bool grow_slots(struct tn__addresses *all, size_t size)
{
    enum { FIRST = 64 };
    if (3 * (all->count + 1) <= 2 * all->slot_count)
        return true;
    size_t count = all->slot_count ? 2 * all->slot_count : FIRST;
    uint32_t *slots = tn__alloc_zeroed(NULL, count, sizeof *slots);
    if (!slots)
        return false;
    tn__free(NULL, all->slots);
    all->slots = slots;
    all->slot_count = count;
    for (size_t i = 0; i < all->count; i++)
        *slot_of(all, size, address_of(all, size, i)) = (uint32_t)i + 1;
    return true;
}

void *tn__addresses_add(struct tn__addresses *all, size_t size, const void *item)
{
    if (all->count >= TN__NOT_FOUND - 1 || !grow_slots(all, size) ||
        !tn__grow(NULL, &all->items, &all->capacity, all->count + 1, size))
        return NULL;
    const void *address;
    memcpy(&address, item, sizeof address);
    void *to = (char *)all->items + all->count * size;
    uint32_t *slot = slot_of(all, size, address);
    memcpy(to, item, size);
    *slot = (uint32_t)++all->count;
    return to;
}

void tn__addresses_free(struct tn__addresses *all)
{
    tn__free(NULL, all->items);
    tn__free(NULL, all->slots);
    *all = (struct tn__addresses){.items = NULL};
}

/* ---- arrays in chunks ---- */

static size_t chunk_bytes(size_t size)
{
    return (size_t)tn__align_up(TN__CHUNK_ITEMS * size, tn__os_page_size());
}

/* From the system, to which its memory returns at once: what is needed next is as large. */
static bool map_chunk(size_t size, char **chunk)
{
    uint64_t address;
    if (tn__os_reserve(0, chunk_bytes(size), false, &address))
        return false;
    if (tn__os_commit(address, chunk_bytes(size), TN__PROT_RW)) {
        tn__os_release(address, chunk_bytes(size));
        return false;
    }
    *chunk = (char *)(uintptr_t)address;
    return true;
}

static void release_chunk(struct tn__chunked *all, size_t size)
{
    tn__os_release((uintptr_t)all->chunks[--all->chunk_count], chunk_bytes(size));
}

void *tn__chunked_add(struct tn__chunked *all, size_t size)
{
    if (all->count >> TN__CHUNK_SHIFT == all->chunk_count) {
        if (!tn__grow(NULL, &all->chunks, &all->capacity, all->chunk_count + 1, sizeof *all->chunks))
            return NULL;
        if (!map_chunk(size, &all->chunks[all->chunk_count]))
            return NULL;
        all->chunk_count++;
    }
    return tn__chunked_at(all, size, all->count++);
}

/* One empty chunk is kept. */
void *tn__chunked_drop(struct tn__chunked *all, size_t size)
{
    size_t used = (all->count >> TN__CHUNK_SHIFT) + 1;
    if (all->chunk_count > used + 1)
        release_chunk(all, size);
    return tn__chunked_at(all, size, --all->count);
}

void tn__chunked_free(struct tn__chunked *all, size_t size)
{
    while (all->chunk_count)
        release_chunk(all, size);
    tn__free(NULL, all->chunks);
    *all = (struct tn__chunked){.chunks = NULL};
}

/* ---- numbers of objects ---- */

enum { SPAN_SHIFT = 20, GRANULE_SHIFT = 4, GRANULES = 1 << (SPAN_SHIFT - GRANULE_SHIFT) };

struct other {
    const void *object;
    uint32_t number;
};

bool tn__numbers_begin(struct tn__numbers *all, const struct tn_heap *heap)
{
    all->start = heap->start;
    all->size = heap->size;
    all->chunks = tn__alloc_zeroed(NULL, (heap->size >> SPAN_SHIFT) + 1, sizeof *all->chunks);
    return all->chunks;
}

uint32_t tn__numbers_find(const struct tn__numbers *all, const void *object)
{
    uint64_t offset = (uintptr_t)object - all->start;
    if (offset < all->size) {
        const uint32_t *chunk = all->chunks[offset >> SPAN_SHIFT];
        return chunk ? chunk[offset >> GRANULE_SHIFT & (GRANULES - 1)] - 1 : TN__NOT_FOUND;
    }
    uint32_t item = tn__addresses_find(&all->others, sizeof(struct other), object);
    return item == TN__NOT_FOUND ? item : ((const struct other *)all->others.items)[item].number;
}

bool tn__numbers_set(struct tn__numbers *all, const void *object, uint32_t number)
{
    uint64_t offset = (uintptr_t)object - all->start;
    if (offset >= all->size)
        return tn__addresses_add(&all->others, sizeof(struct other), &(struct other){object, number});
    uint32_t **chunk = &all->chunks[offset >> SPAN_SHIFT];
    if (!*chunk)
        *chunk = tn__alloc_zeroed(NULL, GRANULES, sizeof **chunk);
    if (*chunk)
        (*chunk)[offset >> GRANULE_SHIFT & (GRANULES - 1)] = number + 1;
    return *chunk;
}

void tn__numbers_free(struct tn__numbers *all)
{
    for (uint64_t i = 0; all->chunks && i <= all->size >> SPAN_SHIFT; i++)
        tn__free(NULL, all->chunks[i]);
    tn__free(NULL, all->chunks);
    tn__addresses_free(&all->others);
    *all = (struct tn__numbers){.chunks = NULL};
}
