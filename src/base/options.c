/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Structs that begin with their size, passed by callers compiled with an older or newer header. */

#include "base.h"

/* Larger than any struct of ours; limits how much is read if `size` was never set. */
enum { LARGEST = 4096 };

static size_t size_of(const void *structure)
{
    size_t size;
    memcpy(&size, structure, sizeof size);
    return size;
}

bool tn__size_is_possible(size_t size)
{
    return size >= sizeof(size_t) && size % sizeof(size_t) == 0 && size <= LARGEST;
}

int tn__take_options(void *to, size_t known, const void *from, const char *name, struct tn_error *err)
{
    size_t given = from ? size_of(from) : known;
    memset(to, 0, known);
    if (!tn__size_is_possible(given))
        return tn__fail(err, TN_EINVAL, "%s has size %zu; it has to be sizeof(%s), here %zu", name, given, name, known);
    for (size_t at = known; at < given; at++)
        if (((const char *)from)[at])
            return tn__fail(err, TN_EINVAL, "%s has size %zu and byte %zu of it is not zero; this library knows %zu",
                            name, given, at, known);
    if (from)
        memcpy(to, from, given < known ? given : known);
    memcpy(to, &known, sizeof known);
    return 0;
}

void tn__give_stats(void *to, size_t known, const void *from)
{
    size_t given = size_of(to), filled = given < known ? given : known;
    if (!tn__size_is_possible(given))
        return;
    memcpy(to, from, filled);
    memset((char *)to + filled, 0, given - filled);
    memcpy(to, &filled, sizeof filled);
}

void tn__give_counters(void *to, size_t known, const void *counters)
{
    uint64_t now[LARGEST / sizeof(uint64_t)];
    for (size_t i = 0; i < known / sizeof *now; i++)
        now[i] = __atomic_load_n((const uint64_t *)counters + i, __ATOMIC_RELAXED);
    tn__give_stats(to, known, now);
}
