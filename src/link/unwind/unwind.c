/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Unwinders differ in what can be registered with them, and a program cannot be asked which one it has.
 *
 *  - libgcc before version 13 wants sets of tables that do not overlap (unwind_sets.c).
 *  - libgcc from version 13 on keeps a search tree: single tables are right for it, overlapping sets are not. Which
 *    libgcc this is, is tested with an entry of our own, as soon as there are enough tables for it to matter.
 *  - LLVM's libunwind searches one list of entries. It gets whole tables, so that removing one walks the list once and
 *    not once for each function; versions before 12 accept single entries only. */

#include "link/unwind/unwind_sets.h"

struct tn__unwind_way {
    void (*add)(struct tn__unwind *unwind, struct tn__unwind_table *table);
    void (*remove)(struct tn__unwind *unwind, struct tn__unwind_table *table);
};

/* From libgcc; libunwind has some of them too. */
extern void __register_frame(void *table) __attribute__((weak));
extern void __deregister_frame(void *table) __attribute__((weak));
extern void __register_frame_info(const void *table, void *object) __attribute__((weak));
extern void *__deregister_frame_info(const void *table) __attribute__((weak));
extern void __register_frame_table(void *set) __attribute__((weak));
extern void *_Unwind_Find_FDE(void *pc, void *bases[3]) __attribute__((weak));
/* From LLVM's libunwind only. */
extern void __unw_add_dynamic_fde(uintptr_t entry) __attribute__((weak));
extern void __unw_add_dynamic_eh_frame_section(uintptr_t table) __attribute__((weak));
extern void __unw_remove_dynamic_eh_frame_section(uintptr_t table) __attribute__((weak));

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- sets ---- */

static void add_to_sets(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    tn__unwind_sets_add(unwind, table);
}

static void remove_from_sets(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    tn__unwind_sets_remove(unwind, table);
}

/* ---- single tables, at first with an account of them ---- */

static void add_table(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    table->object = tn__unwind_take(unwind);
    __register_frame_info(pointer(table->address), table->object);
}

/* The object goes with its code. It is not always the result of __deregister_frame_info, which is NULL for a table
 * without functions, and while the program ends (libgcc from version 13 on). */
static void remove_table(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    __deregister_frame_info(pointer(table->address));
    tn__unwind_give(unwind, table->object);
}

/* Sorted by the address of their code. */
static void add_to_few(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    size_t at = unwind->few_count++;
    for (; at && unwind->few[at - 1]->code > table->code; at--)
        unwind->few[at] = unwind->few[at - 1];
    unwind->few[at] = table;
    add_table(unwind, table);
}

static void remove_from_few(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    size_t at = 0;
    while (unwind->few[at] != table)
        at++;
    unwind->few_count--;
    memmove(unwind->few + at, unwind->few + at + 1, sizeof *unwind->few * (unwind->few_count - at));
    remove_table(unwind, table);
}

/* ---- LLVM's ---- */

static void add_section(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    (void)unwind;
    __unw_add_dynamic_eh_frame_section(table->address);
}

static void remove_section(struct tn__unwind *unwind, struct tn__unwind_table *table)
{
    (void)unwind;
    __unw_remove_dynamic_eh_frame_section(table->address);
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

static const struct tn__unwind_way no_unwinder = {do_nothing, do_nothing};
static const struct tn__unwind_way few_tables = {add_to_few, remove_from_few};
static const struct tn__unwind_way single_tables = {add_table, remove_table};
static const struct tn__unwind_way sets = {add_to_sets, remove_from_sets};
static const struct tn__unwind_way sections = {add_section, remove_section};
static const struct tn__unwind_way single_entries = {add_entries, remove_entries};

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
    .data_align = 0x78,    /* -8 */
    .return_register = 16, /* of x86-64; no frame of this function is ever unwound */
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
    if (__unw_add_dynamic_eh_frame_section && __unw_remove_dynamic_eh_frame_section)
        return &sections;
    bool is_libgcc = !__unw_add_dynamic_fde && __register_frame_info && __deregister_frame_info;
    return is_libgcc ? &few_tables : &single_entries;
}

/* Registers the few tables in sets as well, and then deregisters them as single tables, from the lowest code upwards.
 * Of all that begins below an address, libgcc looks only into the nearest; that must not be a single table with lower
 * code than the table in question. */
static bool go_over_to_sets(struct tn__unwind *unwind)
{
    if (!tn__unwind_sets_prepare(unwind, unwind->few_count, 0))
        return false;
    for (size_t i = 0; i < unwind->few_count; i++)
        add_to_sets(unwind, unwind->few[i]);
    for (size_t i = 0; i < unwind->few_count; i++) {
        __deregister_frame_info(pointer(unwind->few[i]->address));
        tn__unwind_give_object(unwind, unwind->few[i]->object);
    }
    return true;
}

/* Sets pay from some tables on; trying whether they may be used costs page faults that a small program can spare. */
static bool settle_way(struct tn__unwind *unwind, size_t count)
{
    if (!unwind->way)
        unwind->way = first_way();
    if (unwind->way != &few_tables || count <= TN__UNWIND_FEW - unwind->prepared)
        return true;
    bool in_sets = bears_overlap();
    if (in_sets && !go_over_to_sets(unwind))
        return false;
    unwind->way = in_sets ? &sets : &single_tables;
    return true;
}

/* What registering the tables takes, and the tables themselves. */
static bool reserve(struct tn__unwind *unwind, size_t count, size_t bytes)
{
    if (unwind->way == &sets)
        return tn__unwind_sets_prepare(unwind, count, bytes);
    bool has_objects = unwind->way == &few_tables || unwind->way == &single_tables;
    return tn__unwind_reserve(unwind, has_objects ? 2 * count : count);
}

/* ---- what the linker calls ---- */

bool tn__unwind_prepare(struct tn__unwind *unwind, size_t count, size_t bytes, struct tn__unwind_table **tables)
{
    *tables = NULL;
    if (!settle_way(unwind, count) || !reserve(unwind, count, bytes))
        return false;
    unwind->prepared += count;
    for (; count; count--) {
        struct tn__unwind_table *table = tn__unwind_take(unwind);
        *table = (struct tn__unwind_table){.next = *tables};
        *tables = table;
    }
    return true;
}

void tn__unwind_register(struct tn__unwind *unwind, struct tn__unwind_table *table, struct tn__unwind_table as)
{
    if (!tn__get32(pointer(as.address)))
        return; /* an empty table */
    as.next = table->next;
    *table = as;
    unwind->way->add(unwind, table);
}

void tn__unwind_remove(struct tn__unwind *unwind, struct tn__unwind_table *tables)
{
    for (struct tn__unwind_table *table = tables, *next; table; table = next) {
        next = table->next;
        if (table->address)
            unwind->way->remove(unwind, table);
        tn__unwind_give(unwind, table);
    }
}

void tn__unwind_close(struct tn__unwind *unwind)
{
    tn__unwind_sets_close(unwind);
    tn__arena_free(&unwind->arena);
    *unwind = (struct tn__unwind){.arena.from = unwind->arena.from};
}
