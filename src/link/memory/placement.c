/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tries addresses; the system says which of them are free. Asking it costs a microsecond a try, while reading the
 * memory map would need /proc. First come a few random places, then all at growing distance. What nearly always is in
 * the way is the heap of brk(2), which begins up to 1 GiB behind a static program, so that no window of 1 GiB fits
 * before or behind it: places that contain its end are not tried. */

#include <errno.h>

#include "link/memory/placement.h"

enum {
    STEP = 32 << 20,
    GRAIN = 64 << 10, /* of places at growing distance */
    PAGE = 4 << 10,   /* of random places */
    /* Kept free after a program for its brk heap, which begins up to 1 GiB away; a place before it is better. */
    GAP = 128 << 20,
    RANDOM_PLACES = 8, /* that the system is asked about, */
    RANDOM_DRAWS = 32, /* of so many */
};

static const uint64_t REACH = 1ULL << 31, LOWEST = 64 << 10, LOWEST_RANDOM = 16 << 20, HIGHEST = 1ULL << 47;

static uint64_t page_up(uint64_t address)
{
    return tn__align_up(address, GRAIN);
}

/* What a place is looked for, and the result. */
struct search {
    size_t size;
    uint64_t heap_end, bits, *address;
    int error;
};

/* The heap's last byte is taken. */
static bool is_known_taken(const struct search *s, uint64_t at)
{
    return s->heap_end - 1 - at < s->size;
}

static bool try(struct search *s, uint64_t at)
{
    s->error = is_known_taken(s, at) ? EEXIST : tn__os_reserve(at, s->size, true, s->address);
    return s->error != EEXIST; /* taken: it is a place, or a refusal that other places will meet as well */
}

/* Tries some of the places from `lowest` to `highest`. */
static bool try_random(struct search *s, uint64_t lowest, uint64_t highest)
{
    uint64_t page = tn__max64(PAGE, tn__os_page_size()), first = tn__align_up(lowest, page) / page, bits = s->bits;
    for (int drawn = 0, tried = 0; drawn < RANDOM_DRAWS && tried < RANDOM_PLACES && first < highest / page; drawn++) {
        uint64_t at = (first + bits % (highest / page - first)) * page;
        tried += !is_known_taken(s, at);
        if (try(s, at))
            return true;
        bits = bits * 6364136223846793005U + 1442695040888963407U; /* elsewhere, by the generator of Knuth's MMIX */
        bits ^= bits >> 32;
    }
    return false;
}

/* The places before and behind the program, from the lowest to the highest. */
struct side {
    uint64_t lowest, highest;
};

static struct side side_before(uint64_t start, size_t size, uint64_t slack)
{
    uint64_t highest = start > size + STEP ? start - size - STEP : 0, extent = slack - STEP;
    return (struct side){highest > LOWEST_RANDOM + extent ? highest - extent : LOWEST_RANDOM, highest};
}

static struct side side_behind(uint64_t end, size_t size, uint64_t slack)
{
    uint64_t highest = end < HIGHEST - size - slack ? end + slack : HIGHEST - size;
    return (struct side){end + (GAP < slack ? GAP : 0), highest};
}

int tn__place_near(uint64_t start, uint64_t end, uint64_t heap_end, size_t size, uint64_t bits, uint64_t *address)
{
    struct search s = {.size = size, .heap_end = heap_end, .bits = bits, .address = address};
    uint64_t span = end - start;
    if (size >= REACH || span >= REACH - size)
        return EEXIST;
    uint64_t slack = REACH - size - span;
    if (slack > 2 * STEP) {
        uint64_t distance = slack - GRAIN; /* not the very last page */
        struct side before = side_before(start, size, distance), behind = side_behind(end, size, distance);
        if (try_random(&s, before.lowest, before.highest) || try_random(&s, behind.lowest, behind.highest))
            return s.error;
    }
    for (uint64_t gap = STEP; gap < slack && start > LOWEST + size + gap; gap += STEP)
        if (try(&s, (start - gap - size) & -(uint64_t)GRAIN))
            return s.error;
    for (uint64_t gap = GAP < slack ? GAP : 0; gap < slack; gap += STEP)
        if (page_up(end + gap) + size < HIGHEST && try(&s, page_up(end + gap)))
            return s.error;
    return EEXIST;
}

int tn__place_low(uint64_t heap_end, size_t size, uint64_t bits, uint64_t *address)
{
    struct search s = {.size = size, .heap_end = heap_end, .bits = bits, .address = address};
    if (size < REACH - STEP && try_random(&s, STEP, REACH - size))
        return s.error;
    for (uint64_t at = STEP; size < REACH && at < REACH - size; at += STEP)
        if (try(&s, at))
            return s.error;
    return ENOMEM;
}
