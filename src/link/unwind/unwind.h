/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers the unwind tables (.eh_frame) of loaded objects with the program's unwinder, if it has one: weak references
 * add none to a program that does not unwind. Under the session's lock; throwing threads need no lock of ours. */

#ifndef TENON_UNWIND_H
#define TENON_UNWIND_H

#include "base/base.h"
#include "base/locked.h"

#pragma GCC visibility push(hidden)

enum { TN__UNWIND_FEW = 32 };

/* One table. Allocated by tn__unwind_prepare, so that registering cannot fail. */
struct tn__unwind_table {
    struct tn__unwind_table *next; /* of the same object */
    uint64_t address;              /* of the first entry; a zero length ends the table. 0: not registered yet */
    uint64_t code;                 /* where the functions of the object begin */
    uint32_t size;                 /* in bytes, or UINT32_MAX if it has more */
    uint32_t window;               /* in which the code lies */
    void *object;                  /* libgcc's, if the table is registered alone */
};

/* Memory of a table, or of what libgcc keeps of a table or set that is registered (unwind_objects.c). */
union tn__unwind_block {
    union tn__unwind_block *next; /* free */
    struct tn__unwind_table table;
    void *words[8]; /* libgcc's struct object has 6 or 7 */
};

struct tn__unwind_blocks {
    union tn__unwind_block *first; /* free */
    size_t count;                  /* of free ones */
    size_t kept;                   /* those that are not used again, because threads may still read them */
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
    struct tn__unwind_sets sets;
    struct tn__unwind_blocks blocks;
    struct tn__arena arena; /* holds sets and blocks */
};

/* True if unwinders can read the table without leaving its `size` bytes (eh_frame.c). */
bool tn__unwind_data_is_sound(const uint8_t *table, uint64_t size);
/* The encoding (DW_EH_PE_...) of addresses in entries that refer to the common entry at `common`; negative if
 * malformed. */
enum { TN__UNWIND_UNSOUND = -1 };
int tn__unwind_encoding(const uint8_t *common, const uint8_t *end);

/* Prepares a list of `count` tables, with `bytes` in all, at *tables; false when memory is out. They are registered, or
 * removed, before others are prepared. */
bool tn__unwind_prepare(struct tn__unwind *unwind, size_t count, size_t bytes,
                        struct tn__unwind_table **tables) TN__LOCKED;
/* Registers a prepared table with the values of `as`, except for its place in the list. */
void tn__unwind_register(struct tn__unwind *unwind, struct tn__unwind_table *table,
                         struct tn__unwind_table as) TN__LOCKED;
/* Deregisters and frees a list of tables, registered or not. No thread runs their functions or unwinds through them. */
void tn__unwind_remove(struct tn__unwind *unwind, struct tn__unwind_table *tables) TN__LOCKED;
/* Adds a free block: one that no thread reads any more, or memory of the caller's, which is not freed. */
void tn__unwind_give(struct tn__unwind *unwind, void *block);
/* Frees everything; all tables are deregistered. */
void tn__unwind_close(struct tn__unwind *unwind);

#pragma GCC visibility pop
#endif
