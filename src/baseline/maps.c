/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stack maps, in the format of tenon_gc.h: what the collector finds in the frame of a function at each safepoint. */

#include "baseline/code.h"
#include "tenon_gc.h"

/* ---- collecting ---- */

struct tn__code_safepoint *tn__code_add_safepoint(struct tn__code_map *map, bool is_entry)
{
    if (!tn__grow(NULL, &map->safepoints, &map->room, map->count + 1, sizeof *map->safepoints))
        return NULL;
    struct tn__code_safepoint *safepoint = &map->safepoints[map->count++];
    *safepoint = (struct tn__code_safepoint){.first = map->slot_count, .is_entry = is_entry};
    return safepoint;
}

bool tn__code_add_slot(struct tn__code_map *map, enum tn__code_root kind, int32_t slot, uint32_t base)
{
    if (!tn__grow(NULL, &map->slots, &map->slot_room, map->slot_count + 1, sizeof *map->slots))
        return false;
    map->slots[map->slot_count++] = (struct tn__code_slot){slot, base};
    map->safepoints[map->count - 1].counts[kind]++;
    return true;
}

/* ---- writing ---- */

struct writing {
    const struct tn__code_map *map;
    bool is_shared; /* the variables are the same at each safepoint, and listed once */
    bool is_wide;   /* numbers have twice as many bytes */
    uint8_t *at;
};

static const struct tn__code_slot *slots_of(const struct tn__code_map *map, const struct tn__code_safepoint *safepoint,
                                            enum tn__code_root kind)
{
    const struct tn__code_slot *slots = map->slots + safepoint->first;
    for (unsigned k = 0; k < kind; k++)
        slots += safepoint->counts[k];
    return slots;
}

static bool has_same_variables(const struct tn__code_map *map)
{
    const struct tn__code_safepoint *first = map->safepoints;
    uint32_t count = first->counts[TN__CODE_VARIABLE];
    const struct tn__code_slot *slots = slots_of(map, first, TN__CODE_VARIABLE);
    bool is_same = count <= TN_GC_MAP_MAX_ROOTS;
    for (size_t i = 1; is_same && i < map->count; i++) {
        const struct tn__code_slot *others = slots_of(map, &map->safepoints[i], TN__CODE_VARIABLE);
        is_same = map->safepoints[i].counts[TN__CODE_VARIABLE] == count;
        for (uint32_t k = 0; is_same && k < count; k++)
            is_same = slots[k].slot == others[k].slot;
    }
    return is_same;
}

static uint32_t references_of(const struct writing *w, const struct tn__code_safepoint *safepoint)
{
    return safepoint->counts[TN__CODE_REFERENCE] + (w->is_shared ? 0 : safepoint->counts[TN__CODE_VARIABLE]);
}

static bool needs_wide(const struct writing *w)
{
    for (size_t i = 0; i < w->map->slot_count; i++)
        if (w->map->slots[i].slot != (int16_t)w->map->slots[i].slot)
            return true;
    for (size_t i = 0; i < w->map->count; i++)
        if (references_of(w, &w->map->safepoints[i]) > UINT8_MAX ||
            w->map->safepoints[i].counts[TN__CODE_DERIVED] > UINT8_MAX)
            return true;
    return false;
}

static bool fits(const struct writing *w)
{
    for (size_t i = 0; i < w->map->count; i++)
        if (references_of(w, &w->map->safepoints[i]) > UINT16_MAX ||
            w->map->safepoints[i].counts[TN__CODE_DERIVED] > UINT16_MAX ||
            w->map->safepoints[i].counts[TN__CODE_PINNED] > UINT16_MAX)
            return false;
    return w->map->count <= TN_GC_MAP_MAX_SAFEPOINTS;
}

static void put(struct writing *w, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *w->at++ = (uint8_t)(value >> 8 * i);
}

static void put_slots(struct writing *w, const struct tn__code_safepoint *safepoint, enum tn__code_root kind)
{
    const struct tn__code_slot *slots = slots_of(w->map, safepoint, kind);
    for (uint32_t i = 0; i < safepoint->counts[kind]; i++) {
        put(w, (uint32_t)slots[i].slot, w->is_wide ? 4 : 2);
        if (kind == TN__CODE_DERIVED)
            put(w, slots[i].base, w->is_wide ? 4 : 2);
    }
}

static void put_safepoint(struct writing *w, const struct tn__code_safepoint *safepoint)
{
    uint32_t pinned = safepoint->counts[TN__CODE_PINNED];
    put(w, safepoint->place | (safepoint->is_entry ? TN_GC_MAP_ENTRY : 0) | (pinned ? TN_GC_MAP_PINNED : 0), 4);
    put(w, references_of(w, safepoint), w->is_wide ? 2 : 1);
    put(w, safepoint->counts[TN__CODE_DERIVED], w->is_wide ? 2 : 1);
    put_slots(w, safepoint, TN__CODE_REFERENCE);
    if (!w->is_shared)
        put_slots(w, safepoint, TN__CODE_VARIABLE);
    put_slots(w, safepoint, TN__CODE_DERIVED);
    if (!pinned)
        return;
    put(w, pinned, 2);
    put_slots(w, safepoint, TN__CODE_PINNED);
}

int tn__code_add_map(struct tn__code *code, const struct tn__code_map *map, struct tn_error *err)
{
    enum { HEAD = 8, LONGEST_SAFEPOINT = 10, LONGEST_SLOT = 8 };
    struct writing w = {.map = map, .is_shared = has_same_variables(map)};
    size_t room = code->maps_size + HEAD + LONGEST_SAFEPOINT * map->count + LONGEST_SLOT * map->slot_count;
    if (!fits(&w) || room > UINT32_MAX)
        return tn__fail(err, TN_ENOTSUP, "it has too many safepoints, or too many references at one");
    w.is_wide = needs_wide(&w);
    if (!tn__grow(NULL, &code->maps, &code->maps_room, room, 1))
        return tn__no_memory(err, NULL);
    w.at = code->maps + code->maps_size;
    uint32_t roots = w.is_shared ? map->safepoints->counts[TN__CODE_VARIABLE] : 0;
    put(&w, 0, 4);
    put(&w, (uint32_t)map->count | roots << 20 | (w.is_wide ? TN_GC_MAP_WIDE : 0), 4);
    if (w.is_shared)
        put_slots(&w, map->safepoints, TN__CODE_VARIABLE);
    for (size_t i = 0; i < map->count; i++)
        put_safepoint(&w, &map->safepoints[i]);
    code->maps_size = (size_t)(w.at - code->maps);
    return 0;
}
