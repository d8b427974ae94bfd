/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Arrays of structs that are found by their first member, an address: numbers of items in an open hash table, which
 * takes 4 bytes for each entry. Arrays in chunks. Numbers of objects: there may be many objects, and references lead
 * anywhere, so what is looked up for each of them is small enough for a processor's caches. */

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

/* ---- places of objects ---- */

/* What is known of 512 bytes of the heap: which of their granules are the start of an object that was entered, and how
 * many of these objects come before, by address. */
struct granules {
    uint32_t starts, before;
};

enum { SPAN_SHIFT = 20, GRANULE_SHIFT = 4, GROUP_SHIFT = GRANULE_SHIFT + 5, GROUPS = 1 << (SPAN_SHIFT - GROUP_SHIFT) };

struct other {
    const void *object;
    uint64_t place;
};

bool tn__places_begin(struct tn__places *all, const struct tn_heap *heap)
{
    all->start = heap->start;
    all->size = heap->size;
    all->spans = tn__alloc_zeroed(NULL, (heap->size >> SPAN_SHIFT) + 1, sizeof *all->spans);
    return all->spans;
}

static struct granules *granules_at(const struct tn__places *all, uint64_t offset)
{
    struct granules *span = all->spans[offset >> SPAN_SHIFT];
    return span ? &span[offset >> GROUP_SHIFT & (GROUPS - 1)] : NULL;
}

static uint32_t bit_of(uint64_t offset)
{
    return UINT32_C(1) << (offset >> GRANULE_SHIFT & 31);
}

static struct other *other_of(const struct tn__places *all, const void *object)
{
    uint32_t item = tn__addresses_find(&all->others, sizeof(struct other), object);
    return item == TN__NOT_FOUND ? NULL : (struct other *)all->others.items + item;
}

bool tn__places_have(const struct tn__places *all, const void *object)
{
    uint64_t offset = (uintptr_t)object - all->start;
    if (offset >= all->size)
        return other_of(all, object);
    const struct granules *granules = granules_at(all, offset);
    return granules && granules->starts & bit_of(offset);
}

bool tn__places_add(struct tn__places *all, const void *object)
{
    uint64_t offset = (uintptr_t)object - all->start;
    if (offset >= all->size)
        return tn__addresses_add(&all->others, sizeof(struct other), &(struct other){object, 0});
    struct granules **span = &all->spans[offset >> SPAN_SHIFT];
    if (!*span)
        *span = tn__alloc_zeroed(NULL, GROUPS, sizeof **span);
    if (*span)
        granules_at(all, offset)->starts |= bit_of(offset);
    return *span;
}

/* The bits that are set. Compilers call a function for it where not every processor has an instruction. */
static uint32_t count_bits(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* Where the place of an object of the heap is; NULL: it was not entered. */
static uint64_t *place_of(const struct tn__places *all, uint64_t offset)
{
    const struct granules *granules = granules_at(all, offset);
    uint32_t bit = bit_of(offset);
    bool was_entered = granules && granules->starts & bit;
    return was_entered ? &all->places[granules->before + count_bits(granules->starts & (bit - 1))] : NULL;
}

bool tn__places_end(struct tn__places *all, const struct tn__chunked *items)
{
    uint32_t before = 0;
    for (uint64_t i = 0; i <= all->size >> SPAN_SHIFT; i++)
        for (size_t group = 0; all->spans[i] && group < GROUPS; group++) {
            all->spans[i][group].before = before;
            before += count_bits(all->spans[i][group].starts);
        }
    all->places = tn__alloc(NULL, ((size_t)before + 1) * sizeof *all->places);
    for (size_t i = 0; all->places && i < items->count; i++) {
        const struct tn__save_item *item = tn__chunked_at(items, sizeof *item, i);
        uint64_t offset = (uintptr_t)item->object - all->start;
        *(offset < all->size ? place_of(all, offset) : &other_of(all, item->object)->place) = item->place;
    }
    return all->places;
}

uint64_t tn__places_find(const struct tn__places *all, const void *object)
{
    uint64_t offset = (uintptr_t)object - all->start;
    const struct other *other = offset < all->size ? NULL : other_of(all, object);
    const uint64_t *place = offset < all->size ? place_of(all, offset) : other ? &other->place : NULL;
    return place ? *place : TN__NO_PLACE;
}

void tn__places_free(struct tn__places *all)
{
    for (uint64_t i = 0; all->spans && i <= all->size >> SPAN_SHIFT; i++)
        tn__free(NULL, all->spans[i]);
    tn__free(NULL, all->spans);
    tn__free(NULL, all->places);
    tn__addresses_free(&all->others);
    *all = (struct tn__places){.spans = NULL};
}
