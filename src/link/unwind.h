/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tells the program's unwinder about the unwind tables (.eh_frame) of loaded objects, if it has an unwinder: weak references
 * pull none into a program that does not unwind. Under the session's lock; throwing threads need no lock of ours. */

#ifndef TENON_UNWIND_H
#define TENON_UNWIND_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { TN__UNWIND_FEW = 32 };

/* One table. Made by tn__unwind_prepare, so that registering cannot fail. */
struct tn__unwind_table {
    struct tn__unwind_table *next; /* of the same object */
    uint64_t address;              /* of the first entry; a zero length ends the table. 0: not registered yet */
    uint64_t code;                 /* where the functions of the object begin */
    uint32_t size;                 /* in bytes, or UINT32_MAX if it has more */
    uint32_t window;               /* in which the code lies */
};

/* Sets of tables in the order of their code (unwind_sets.c). */
struct tn__unwind_sets {
    struct tn__unwind_set **items;
    size_t count, capacity;
    size_t recent; /* what was changed last is often changed next */
    struct tn__unwind_set *spare;
    size_t spare_count;
};

struct tn__unwind {
    const struct tn__unwind_way *way;             /* how this program's unwinder is told; NULL: not asked yet */
    size_t prepared;                              /* tables so far */
    struct tn__unwind_table *few[TN__UNWIND_FEW]; /* those registered while there were not more */
    size_t few_count;
    struct tn__unwind_table *free;
    struct tn__unwind_sets sets;
    struct tn__arena arena; /* holds tables and sets */
};

/* True if unwinders can read the table without leaving its `size` bytes (eh_frame.c). */
bool tn__unwind_data_is_sound(const uint8_t *table, uint64_t size);
/* How entries that refer to the common entry at `common` encode addresses (DW_EH_PE_...); negative if it is malformed. */
enum { TN__UNWIND_UNSOUND = -1 };
int tn__unwind_encoding(const uint8_t *common, const uint8_t *end);

/* `count` tables in a list at *tables, which will have `bytes` in all; or false when memory is out. */
bool tn__unwind_prepare(struct tn__unwind *unwind, size_t count, size_t bytes, struct tn__unwind_table **tables);
/* Registers a prepared table, which gets the values of `as` but for its place in a list. */
void tn__unwind_register(struct tn__unwind *unwind, struct tn__unwind_table *table, struct tn__unwind_table as);
/* Takes back a list of tables, registered or not. */
void tn__unwind_remove(struct tn__unwind *unwind, struct tn__unwind_table *tables);
/* Forgets all tables; they are deregistered. */
void tn__unwind_close(struct tn__unwind *unwind);

#pragma GCC visibility pop
#endif
