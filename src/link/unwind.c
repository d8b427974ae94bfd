/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Unwinders differ in what they can bear.
 *
 * libgcc before version 13 keeps registered tables in lists: each new one is sorted at the next throw by a walk over all,
 * which is quadratic (40,000 tables: 985 ms), and deregistering searches the list. But it takes a set of tables as one, so
 * tables are collected in sets of SET_SIZE. A set is changed by registering its new state before its old one is taken
 * back: a thread that throws meanwhile finds its function in either.
 *
 * libgcc from version 13 on keeps a search tree, for which single tables are right and overlapping sets wrong. LLVM's
 * libunwind takes single entries of a table. Which libgcc this is, is found out by trying it on an entry of our own. */

#include "unwind.h"

enum { SET_SIZE = 512, FEW_TABLES = 32 };

struct tn__unwind_set {
    struct tn__unwind_set *next, *next_open;
    uint32_t count, active;                    /* which of the two states is registered */
    uint64_t addresses[2][SET_SIZE + 1];       /* ends with 0 */
    struct tn__unwind_table *tables[SET_SIZE]; /* whose addresses these are */
};

struct tn__unwind_way {
    void (*add)(struct tn__unwind *unwind, struct tn__unwind_table *table);
    void (*remove)(struct tn__unwind *unwind, struct tn__unwind_table *table);
    bool in_sets;
};

/* libgcc's, some of them LLVM's too. */
extern void __register_frame(void *table) __attribute__((weak));
extern void __deregister_frame(void *table) __attribute__((weak));
extern void __register_frame_table(void *set) __attribute__((weak));
extern void *_Unwind_Find_FDE(void *pc, void *bases[3]) __attribute__((weak));
/* LLVM's only. */
extern void __unw_add_dynamic_fde(uintptr_t entry) __attribute__((weak));

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- sets ---- */

static void register_set(struct tn__unwind_set *set, uint32_t state)
{
    if (set->addresses[state][0])
        __register_frame_table(set->addresses[state]);
}

static void deregister_set(struct tn__unwind_set *set, uint32_t state)
{
    if (set->addresses[state][0])
        __deregister_frame(set->addresses[state]);
}

/* Makes the other state, which the caller has prepared, the registered one. */
static void switch_state(struct tn__unwind_set *set)
{
    uint32_t old = set->active;
    set->active = !old;
    register_set(set, set->active);
    deregister_set(set, old);
}

/* Copies the registered addresses to the other state and ends them after `count`. */
static uint64_t *other_state(struct tn__unwind_set *set, uint32_t count)
{
    uint64_t *other = set->addresses[!set->active];
    memcpy(other, set->addresses[set->active], sizeof *other * set->count);
    other[count] = 0;
    return other;
}

static void add_to_set(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    struct tn__unwind_set *set = unwind->open;
    other_state(set, set->count + 1)[set->count] = table->address;
    table->set = set;
    table->index = set->count;
    set->tables[set->count++] = table;
    switch_state(set);
    unwind->room--;
    if (set->count == SET_SIZE)
        unwind->open = set->next_open;
}

static void remove_from_set(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    struct tn__unwind_set *set = table->set;
    uint32_t last = set->count - 1;
    uint64_t *other = other_state(set, set->count);
    other[table->index] = other[last];
    other[last] = 0;
    set->tables[table->index] = set->tables[last];
    set->tables[table->index]->index = table->index;
    switch_state(set);
    set->count = last;
    unwind->room++;
    if (set->count == SET_SIZE - 1) {
        set->next_open = unwind->open;
        unwind->open = set;
    }
}

/* ---- single tables, single entries ---- */

static void add_table(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    (void)unwind;
    __register_frame(pointer(table->address));
}

static void remove_table(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    (void)unwind;
    __deregister_frame(pointer(table->address));
}

/* Calls `tell` for every function entry of a table (LSB Core, "The .eh_frame section"): those that do not describe the
 * common part have a nonzero word behind their length. */
static void for_each_entry(uint64_t address, void (*tell)(void *entry))
{
    for (const uint8_t *at = pointer(address); tn__get32(at);) {
        uint64_t length = tn__get32(at), header = 4;
        if (length == UINT32_MAX) {
            length = tn__get64(at + 4);
            header = 12;
        }
        if (tn__get32(at + header))
            tell((void *)(uintptr_t)at);
        at += header + length;
    }
}

static void add_entries(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    (void)unwind;
    for_each_entry(table->address, __register_frame);
}

static void remove_entries(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    (void)unwind;
    for_each_entry(table->address, __deregister_frame);
}

static void do_nothing(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    (void)unwind, (void)table;
}

static const struct tn__unwind_way no_unwinder = {do_nothing, do_nothing, false};
static const struct tn__unwind_way sets = {add_to_set, remove_from_set, true};
static const struct tn__unwind_way single_tables = {add_table, remove_table, false};
static const struct tn__unwind_way single_entries = {add_entries, remove_entries, false};

/* ---- which one ---- */

/* A common entry and one function of one byte, `probed`, with absolute addresses. */
static const uint8_t probed = 0;
static const struct __attribute__((packed, aligned(8))) {
    uint32_t common_length, common_id;
    uint8_t version, augmentation, code_align, data_align, return_register, padding[7];
    uint32_t length, distance;
    const uint8_t *start;
    uint64_t size;
    uint32_t end;
} probe_table = {
    .common_length = 16,
    .version = 1,
    .code_align = 1,
    .data_align = 0x78, /* -8 */
    .return_register = 16,
    .length = 20,
    .distance = 24, /* back to the common entry, from this field */
    .start = &probed,
    .size = 1,
};

/* True if a set may be registered while another one with the same functions is. */
static bool bears_overlap(void)
{
    static const void *first[] = {&probe_table, NULL}, *second[] = {&probe_table, NULL};
    void *bases[3];
    if (!__register_frame_table || !_Unwind_Find_FDE)
        return false;
    __register_frame_table(first);
    __register_frame_table(second);
    __deregister_frame(first);
    bool found = _Unwind_Find_FDE((void *)(uintptr_t)&probed, bases) != NULL;
    __deregister_frame(second);
    return found;
}

static const struct tn__unwind_way *first_way(void)
{
    if (!__register_frame || !__deregister_frame)
        return &no_unwinder;
    return __unw_add_dynamic_fde ? &single_entries : &single_tables;
}

/* Sets pay from some tables on; trying whether they may be used costs page faults that a small program can spare. */
static const struct tn__unwind_way *next_way(const struct tn__unwind *unwind)
{
    if (unwind->way != &single_tables || unwind->settled || unwind->count < FEW_TABLES)
        return unwind->way;
    return bears_overlap() ? &sets : &single_tables;
}

/* ---- what the linker calls ---- */

static bool add_sets(struct tn__unwind *unwind, size_t count)
{
    while (unwind->room < count) {
        struct tn__unwind_set *set = tn__arena_array(&unwind->arena, 1, sizeof *set);
        if (!set)
            return false;
        set->next = unwind->sets;
        set->next_open = unwind->open;
        unwind->sets = unwind->open = set;
        unwind->room += SET_SIZE;
    }
    return true;
}

bool tn__unwind_prepare(struct tn__unwind *unwind, size_t count, struct tn__unwind_table **tables)
{
    *tables = NULL;
    unwind->way = unwind->way ? next_way(unwind) : first_way();
    unwind->settled = unwind->count >= FEW_TABLES;
    unwind->count += count;
    if (unwind->way->in_sets && !add_sets(unwind, count))
        return false;
    for (; count; count--) {
        struct tn__unwind_table *table = unwind->free;
        if (table)
            unwind->free = table->next;
        else
            table = tn__arena_alloc(&unwind->arena, sizeof *table);
        if (!table) {
            tn__unwind_remove(unwind, *tables);
            *tables = NULL;
            return false;
        }
        *table = (struct tn__unwind_table){.next = *tables};
        *tables = table;
    }
    return true;
}

void tn__unwind_register(struct tn__unwind *unwind, struct tn__unwind_table *table, uint64_t address)
{
    if (!tn__get32(pointer(address)))
        return; /* an empty table */
    table->address = address;
    table->way = unwind->way;
    table->way->add(unwind, table);
}

void tn__unwind_remove(struct tn__unwind *unwind, struct tn__unwind_table *tables)
{
    for (struct tn__unwind_table *table = tables, *next; table; table = next) {
        next = table->next;
        if (table->address)
            table->way->remove(unwind, table);
        table->next = unwind->free;
        unwind->free = table;
    }
}

void tn__unwind_close(struct tn__unwind *unwind)
{
    for (struct tn__unwind_set *set = unwind->sets; set; set = set->next)
        deregister_set(set, set->active);
    tn__arena_free(&unwind->arena);
    *unwind = (struct tn__unwind){.arena.from = unwind->arena.from};
}
