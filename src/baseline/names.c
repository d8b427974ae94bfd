/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "baseline/names.h"
#include "base/os.h"

size_t tn__names_room(size_t names)
{
    size_t room = 16;
    while (room < 2 * names)
        room *= 2;
    return room;
}

void tn__names_begin(struct tn__names *names, uint32_t *places, size_t room)
{
    tn__os_seed(names->seed);
    names->places = places;
    names->mask = (uint32_t)room - 1;
}

/* Each byte is multiplied by a secret odd number; the upper half has the best bits. */
static uint32_t hash_of(const struct tn__names *names, const char *name)
{
    uint64_t hash = names->seed[0];
    for (; *name; name++) {
        hash = (hash ^ (uint8_t)*name) * (names->seed[1] | 1);
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

uint32_t *tn__names_find(const struct tn__names *names, const char *name, tn__name_of *name_of, const void *context)
{
    for (uint32_t i = hash_of(names, name) & names->mask;; i = (i + 1) & names->mask)
        if (!names->places[i] || strcmp(name_of(context, names->places[i]), name) == 0)
            return &names->places[i];
}
