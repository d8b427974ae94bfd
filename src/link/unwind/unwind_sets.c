/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* libgcc before version 13 keeps registered tables in lists: at the next throw, each new table is inserted by a walk
 * over all (quadratic; 40,000 tables: 985 ms), and deregistering searches the lists. But it accepts a set of tables as
 * one object and sorts its entries, in linear time if they are in order. So tables are registered in sets.
 *
 *  - Sets hold tables in the order of their code and do not overlap: libgcc looks into only one of the sets that begin
 *    below an address. For the same reason a set stays within a window: between two windows may lie tables registered
 *    by others.
 *  - A set is changed by registering its new state before deregistering the old one, so that a thread that throws
 *    meanwhile finds its function in one of them; the old state's object may have to stay (unwind_objects.c).
 *  - A set that gets full is searched at once, which sorts it, so that the first throw of a program with many objects
 *    need not. A throw only has to sort the sets that changed since the last one. A set is not searched again before it
 *    was half empty: an object that was searched is not used again.
 *
 * An object may have several tables (compilers emit one) whose functions alternate. These must not be in different
 * sets, so a set is never split between tables of equal code. */

#include "link/unwind/unwind_sets.h"

enum {
    SET_SIZE = 512,
    SET_BYTES = 64 << 10, /* of tables, from which on a set takes no more if that can be helped */
    SET_SMALL = SET_SIZE / 4,
};

struct tn__unwind_set {
    struct tn__unwind_set *next; /* spare */
    uint32_t count, window;
    uint32_t active;                  /* which of the two states is registered */
    uint32_t same;                    /* so many tables at the beginning are equal in both states */
    bool was_full;                    /* since it was half empty */
    uint64_t bytes;                   /* sum of sizes */
    uint64_t codes[SET_SIZE];         /* ascending */
    uint32_t sizes[SET_SIZE];         /* of tables */
    uint64_t tables[2][SET_SIZE + 1]; /* addresses, the last one followed by 0 */
};

extern void __register_frame_info_table(void *set, void *object) __attribute__((weak));
extern void *__deregister_frame_info(const void *set) __attribute__((weak));
extern void *_Unwind_Find_FDE(void *pc, void *bases[3]) __attribute__((weak));

/* ---- one set ---- */

static void deregister_state(struct tn__unwind *unwind, struct tn__unwind_set *set, uint32_t state)
{
    if (set->tables[state][0])
        tn__unwind_give_object(unwind, __deregister_frame_info(set->tables[state]));
}

/* Copies the first `count` tables of the registered state to the other one, and returns that. */
static uint64_t *other_state(struct tn__unwind_set *set, uint32_t count)
{
    uint64_t *other = set->tables[!set->active];
    if (set->same < count)
        memcpy(other + set->same, set->tables[set->active] + set->same, sizeof *other * (count - set->same));
    set->same = count;
    return other;
}

/* Makes the other state, which now has `count` tables, the registered one. */
static void switch_state(struct tn__unwind *unwind, struct tn__unwind_set *set, uint32_t count)
{
    uint32_t old = set->active;
    set->active = !old;
    set->count = count;
    set->tables[set->active][count] = 0;
    set->was_full &= count > SET_SIZE / 2;
    if (set->tables[set->active][0])
        __register_frame_info_table(set->tables[set->active], tn__unwind_take(unwind));
    deregister_state(unwind, set, old);
}

static void move_places(struct tn__unwind_set *to, uint32_t at, const struct tn__unwind_set *from, uint32_t first,
                        uint32_t count)
{
    memmove(to->codes + at, from->codes + first, sizeof *to->codes * count);
    memmove(to->sizes + at, from->sizes + first, sizeof *to->sizes * count);
}

static void sum_bytes(struct tn__unwind_set *set)
{
    set->bytes = 0;
    for (uint32_t i = 0; i < set->count; i++)
        set->bytes += set->sizes[i];
}

/* How many tables of the set have code at or below this address. */
static uint32_t count_up_to(const struct tn__unwind_set *set, uint64_t code)
{
    uint32_t count = set->count;
    if (count && set->codes[count - 1] <= code) /* nearly always */
        return count;
    return (uint32_t)TN_BISECT(0, count, i, set->codes[i] <= code);
}

static void insert(struct tn__unwind *unwind, struct tn__unwind_set *set, const struct tn__unwind_table *table)
{
    uint32_t at = count_up_to(set, table->code), behind = set->count - at;
    uint64_t *other = other_state(set, at);
    other[at] = table->address;
    memcpy(other + at + 1, set->tables[set->active] + at, sizeof *other * behind);
    move_places(set, at + 1, set, at, behind);
    set->codes[at] = table->code;
    set->sizes[at] = table->size;
    set->bytes += table->size;
    switch_state(unwind, set, set->count + 1);
    if (set->count == SET_SIZE && !set->was_full) { /* has libgcc sort the set */
        void *bases[3];
        set->was_full = true;
        _Unwind_Find_FDE((void *)(uintptr_t)set->codes[0], bases);
    }
}

static void take_out(struct tn__unwind *unwind, struct tn__unwind_set *set, uint32_t at)
{
    uint32_t behind = set->count - at - 1;
    uint64_t *other = other_state(set, at);
    memcpy(other + at, set->tables[set->active] + at + 1, sizeof *other * behind);
    set->bytes -= set->sizes[at];
    move_places(set, at, set, at + 1, behind);
    switch_state(unwind, set, set->count - 1);
}

/* ---- all sets ---- */

/* The number of sets that begin at or below this code. */
static size_t sets_up_to(struct tn__unwind_sets *sets, uint64_t code)
{
    size_t low = 0, high = sets->count, recent = sets->recent;
    if (recent < high && sets->items[recent]->codes[0] <= code) {
        low = recent + 1;
        if (low == high || code < sets->items[low]->codes[0])
            return low;
    }
    return TN_BISECT(low, high, i, sets->items[i]->codes[0] <= code);
}

/* Puts a spare set at this place. */
static struct tn__unwind_set *open_set(struct tn__unwind_sets *sets, size_t at, uint32_t window)
{
    struct tn__unwind_set *set = sets->spare;
    sets->spare = set->next;
    sets->spare_count--;
    set->count = set->active = set->same = 0;
    set->bytes = 0;
    set->was_full = false;
    set->window = window;
    set->tables[0][0] = set->tables[1][0] = 0;
    memmove(sets->items + at + 1, sets->items + at, sizeof *sets->items * (sets->count - at));
    sets->items[at] = set;
    sets->count++;
    return set;
}

/* Removes the set at this place, which is no longer registered. */
static void drop_set(struct tn__unwind_sets *sets, size_t at)
{
    struct tn__unwind_set *set = sets->items[at];
    sets->count--;
    memmove(sets->items + at, sets->items + at + 1, sizeof *sets->items * (sets->count - at));
    set->next = sets->spare;
    sets->spare = set;
    sets->spare_count++;
}

/* Moves the upper half of a set with more than one table to a set of its own, which is registered first: an address in
 * it is found there, one below it in the old state or the new one of the lower half. */
static void split(struct tn__unwind *unwind, size_t place)
{
    struct tn__unwind_sets *sets = &unwind->sets;
    struct tn__unwind_set *low = sets->items[place], *high = open_set(sets, place + 1, low->window);
    uint32_t at = low->count / 2;
    while (at > 1 && low->codes[at - 1] == low->codes[at])
        at--;
    uint32_t moved = low->count - at;
    memcpy(high->tables[1], low->tables[low->active] + at, sizeof *high->tables[1] * moved);
    move_places(high, 0, low, at, moved);
    switch_state(unwind, high, moved);
    other_state(low, at);
    switch_state(unwind, low, at);
    sum_bytes(low);
    sum_bytes(high);
}

/* Moves all of the next set into this one. The union is registered first and the lower set taken back first: libgcc
 * would look into that one, of two that begin alike, and not find what lies in the upper. */
static void join(struct tn__unwind *unwind, size_t place)
{
    struct tn__unwind_sets *sets = &unwind->sets;
    struct tn__unwind_set *low = sets->items[place], *high = sets->items[place + 1];
    memcpy(other_state(low, low->count) + low->count, high->tables[high->active], sizeof *low->tables[0] * high->count);
    move_places(low, low->count, high, 0, high->count);
    low->bytes += high->bytes;
    switch_state(unwind, low, low->count + high->count);
    deregister_state(unwind, high, high->active);
    drop_set(sets, place + 1);
}

static bool is_full(const struct tn__unwind_set *set)
{
    return set->count == SET_SIZE || set->bytes >= SET_BYTES;
}

static bool may_join(const struct tn__unwind_sets *sets, size_t place)
{
    if (place + 1 >= sets->count)
        return false;
    const struct tn__unwind_set *low = sets->items[place], *high = sets->items[place + 1];
    return low->window == high->window && low->count + high->count <= SET_SMALL &&
           low->bytes + high->bytes <= SET_BYTES / 4;
}

/* The set that takes this table without overlapping a neighbour: the one below it, or the one above it, or a new
 * one. */
static size_t place_for(struct tn__unwind *unwind, const struct tn__unwind_table *table)
{
    struct tn__unwind_sets *sets = &unwind->sets;
    size_t above = sets_up_to(sets, table->code);
    struct tn__unwind_set *low = above ? sets->items[above - 1] : NULL;
    if (low && low->window == table->window) {
        bool inside = table->code <= low->codes[low->count - 1];
        if (!is_full(low) || (inside && low->count < SET_SIZE))
            return above - 1;
        if (inside) {
            split(unwind, above - 1);
            return sets_up_to(sets, table->code) - 1;
        }
    }
    struct tn__unwind_set *high = above < sets->count ? sets->items[above] : NULL;
    if (!high || high->window != table->window || is_full(high))
        open_set(sets, above, table->window);
    return above;
}

/* ---- what unwind.c calls ---- */

/* Each table opens one set at most. Several open one only where they meet a full set, in it or on either side of it;
 * and a set is full with half of SET_SIZE more tables, or SET_BYTES more, at the earliest. */
static size_t most_opened(const struct tn__unwind_sets *sets, size_t tables, size_t bytes)
{
    size_t most = 4 + 3 * sets->count + tables / (SET_SIZE / 4) + bytes / (SET_BYTES / 2);
    return most < tables ? most : tables;
}

/* Objects that are taken until more tables are added: one for each new table and two for each split; then one for each
 * union of two sets, and one for the first table that is removed. Every table that is removed leaves its block to the
 * next one. */
static bool reserve_blocks(struct tn__unwind *unwind, size_t tables, size_t opened)
{
    size_t objects = tables + 2 * opened + (unwind->sets.count + opened) + 1;
    return tn__unwind_reserve(unwind, tables + objects);
}

bool tn__unwind_sets_prepare(struct tn__unwind *unwind, size_t tables, size_t bytes)
{
    struct tn__unwind_sets *sets = &unwind->sets;
    size_t need = most_opened(sets, tables, bytes);
    if (!tn__grow(unwind->arena.from, &sets->items, &sets->capacity, sets->count + need, sizeof(void *)))
        return false;
    for (; sets->spare_count < need; sets->spare_count++) {
        struct tn__unwind_set *set = tn__arena_alloc(&unwind->arena, sizeof *set);
        if (!set)
            return false;
        set->next = sets->spare;
        sets->spare = set;
    }
    return reserve_blocks(unwind, tables, need);
}

void tn__unwind_sets_add(struct tn__unwind *unwind, const struct tn__unwind_table *table)
{
    struct tn__unwind_sets *sets = &unwind->sets;
    sets->recent = place_for(unwind, table);
    insert(unwind, sets->items[sets->recent], table);
}

/* Tables of one object have equal code, and may be in several sets. */
static uint32_t find_table(struct tn__unwind_sets *sets, const struct tn__unwind_table *table, size_t *place)
{
    *place = sets_up_to(sets, table->code) - 1;
    uint32_t at = count_up_to(sets->items[*place], table->code) - 1;
    for (;; at--) {
        const struct tn__unwind_set *set = sets->items[*place];
        if (set->tables[set->active][at] == table->address)
            return at;
        if (!at)
            at = sets->items[--*place]->count;
    }
}

void tn__unwind_sets_remove(struct tn__unwind *unwind, const struct tn__unwind_table *table)
{
    struct tn__unwind_sets *sets = &unwind->sets;
    size_t place;
    uint32_t at = find_table(sets, table, &place);
    take_out(unwind, sets->items[place], at);
    if (!sets->items[place]->count)
        drop_set(sets, place);
    else if (may_join(sets, place))
        join(unwind, place);
    else if (place && may_join(sets, place - 1))
        join(unwind, --place);
    sets->recent = place;
}

void tn__unwind_sets_close(struct tn__unwind *unwind)
{
    struct tn__unwind_sets *sets = &unwind->sets;
    for (size_t i = 0; i < sets->count; i++)
        deregister_state(unwind, sets->items[i], sets->items[i]->active);
    tn__free(unwind->arena.from, sets->items);
}
