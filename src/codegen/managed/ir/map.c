/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Hash maps from values and blocks to numbers, since LLVM's C API gives them none. Linear probing; nothing is
 * removed. */

#include "codegen/managed/ir/gc.h"

static size_t slot_of(const struct tn__map *map, const void *key)
{
    size_t at = (size_t)((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u;
    for (at ^= at >> 32;; at++) {
        at &= map->capacity - 1;
        if (map->keys[at] == key || !map->keys[at])
            return at;
    }
}

uint32_t *tn__map_find(const struct tn__map *map, const void *key)
{
    if (!map->capacity)
        return NULL;
    size_t at = slot_of(map, key);
    return map->keys[at] ? &map->values[at] : NULL;
}

static void enlarge(struct tn__gc *gc, struct tn__map *map)
{
    struct tn__map old = *map;
    map->capacity = old.capacity ? 4 * old.capacity : 16;
    map->keys = tn__gc_array(gc, map->capacity, sizeof *map->keys);
    map->values = tn__gc_array(gc, map->capacity, sizeof *map->values);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.keys[i]) {
            size_t at = slot_of(map, old.keys[i]);
            map->keys[at] = old.keys[i];
            map->values[at] = old.values[i];
        }
}

uint32_t *tn__map_add(struct tn__gc *gc, struct tn__map *map, const void *key)
{
    if (2 * (map->count + 1) > map->capacity)
        enlarge(gc, map);
    size_t at = slot_of(map, key);
    if (!map->keys[at]) {
        map->keys[at] = key;
        map->count++;
    }
    return &map->values[at];
}

void tn__values_add(struct tn__gc *gc, struct tn__values *values, LLVMValueRef value)
{
    uint32_t *seen = tn__map_add(gc, &values->known, value);
    if (*seen)
        return;
    *seen = 1;
    TN__APPEND(gc, values->list, values->count, value);
}
