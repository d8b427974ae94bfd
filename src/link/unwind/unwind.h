/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers the unwind tables (.eh_frame) of loaded objects with the program's unwinder, if it has one: weak references
 * add none to a program that does not unwind. Under the session's lock; throwing threads need no lock of ours. */

#ifndef TENON_UNWIND_H
#define TENON_UNWIND_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { TN__UNWIND_FEW = 32 };

/* One table. Allocated by tn__unwind_prepare, so that registering cannot fail. */
struct tn__unwind_table {
    struct tn__unwind_table *next; /* of the same object */
    uint64_t address;              /* of the first entry; a zero length ends the table. 0: not registered yet */
    uint64_t code;                 /* where the functions of the object begin */
    uint32_t size;                 /* in bytes, or UINT32_MAX if it has more */
    uint32_t window;               /* in which the code lies */
};

/* What libgcc keeps of a table or set that is registered (unwind_objects.c). */
struct tn__unwind_object;

/* Those that are not registered, the one given back last at the end. */
struct tn__unwind_objects {
    struct tn__unwind_object *first, *last;
    size_t count;
};

/* Sets of tables in the order of their code (unwind_sets.c). */
struct tn__unwind_sets {
    struct tn__unwind_set **items;
    size_t count, capacity;
    size_t recent; /* the set changed last, which is often changed next */
    struct tn__unwind_set *spare;
    size_t spare_count;
};

struct tn__unwind {
    const struct tn__unwind_way *way;             /* how tables are registered; NULL: not determined yet */
    size_t prepared;                              /* tables so far */
    struct tn__unwind_table *few[TN__UNWIND_FEW]; /* the tables, while there are only few */
    size_t few_count;
    struct tn__unwind_table *free;
    struct tn__unwind_sets sets;
    struct tn__unwind_objects objects;
    struct tn__arena arena; /* holds tables, sets and objects */
};

/* True if unwinders can read the table without leaving its `size` bytes (eh_frame.c). */
bool tn__unwind_data_is_sound(const uint8_t *table, uint64_t size);
/* The encoding (DW_EH_PE_...) of addresses in entries that refer to the common entry at `common`; negative if
 * malformed. */
enum { TN__UNWIND_UNSOUND = -1 };
int tn__unwind_encoding(const uint8_t *common, const uint8_t *end);

/* Prepares a list of `count` tables, with `bytes` in all, at *tables; false when memory is out. */
bool tn__unwind_prepare(struct tn__unwind *unwind, size_t count, size_t bytes, struct tn__unwind_table **tables);
/* Registers a prepared table with the values of `as`, except for its place in the list. */
void tn__unwind_register(struct tn__unwind *unwind, struct tn__unwind_table *table, struct tn__unwind_table as);
/* Deregisters and frees a list of tables, registered or not. */
void tn__unwind_remove(struct tn__unwind *unwind, struct tn__unwind_table *tables);
/* Frees everything; all tables are deregistered. */
void tn__unwind_close(struct tn__unwind *unwind);

#pragma GCC visibility pop
#endif
