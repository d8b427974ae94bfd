/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tries addresses at growing distance; the system says which of them are free. Asking it costs a microsecond a try, while
 * reading the memory map would need /proc. */

#include <errno.h>

#include "placement.h"

enum {
    STEP = 32 << 20,
    GAP =
        128 << 20, /* kept free behind a program for its brk heap, which begins up to 1 GiB away: before it is better */
};

static const uint64_t REACH = 1ULL << 31, LOWEST = 64 << 10, HIGHEST = 1ULL << 47;

static uint64_t page_up(uint64_t address)
{
    return tn__align_up(address, 64 << 10);
}

static bool try(uint64_t at, size_t size, int *error, uint64_t *address)
{
    *error = tn__os_reserve(at, size, true, address);
    return *error != EEXIST; /* taken: it is a place, or a refusal that other places will meet as well */
}

int tn__place_near(uint64_t start, uint64_t end, size_t size, uint64_t *address)
{
    int error;
    uint64_t span = end - start;
    if (size < REACH && span < REACH - size) {
        uint64_t slack = REACH - size - span;
        for (uint64_t gap = STEP; gap < slack && start > LOWEST + size + gap; gap += STEP)
            if (try((start - gap - size) & -(uint64_t)(64 << 10), size, &error, address))
                return error;
        for (uint64_t gap = GAP < slack ? GAP : 0; gap < slack; gap += STEP)
            if (page_up(end + gap) + size < HIGHEST && try(page_up(end + gap), size, &error, address))
                return error;
    }
    return EEXIST;
}

int tn__place_low(size_t size, uint64_t *address)
{
    int error;
    for (uint64_t at = STEP; size < REACH && at < REACH - size; at += STEP)
        if (try(at, size, &error, address))
            return error;
    return ENOMEM;
}
