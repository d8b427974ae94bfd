/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tells the program's unwinder about the unwind tables (.eh_frame) of loaded objects, if it has an unwinder: weak references
 * pull none into a program that does not unwind. Under the session's lock; throwing threads need no lock of ours. */

#ifndef TENON_UNWIND_H
#define TENON_UNWIND_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct tn__unwind_set;

/* One registered table. Made by tn__unwind_prepare, so that registering cannot fail. */
struct tn__unwind_table {
    struct tn__unwind_table *next;    /* of the same object */
    uint64_t address;                 /* 0: not registered yet */
    const struct tn__unwind_way *way; /* in which it was registered */
    struct tn__unwind_set *set;       /* NULL if it is in none */
    uint32_t index;                   /* in the set */
};

struct tn__unwind {
    const struct tn__unwind_way *way; /* how this program's unwinder is told; NULL: not asked yet */
    size_t count;                     /* tables prepared so far */
    bool settled;                     /* the way is final */
    struct tn__unwind_table *free;
    struct tn__unwind_set *sets, *open; /* all of them; those with room */
    size_t room;                        /* in the open ones */
    struct tn__arena arena;             /* holds tables and sets */
};

/* True if unwinders can read the table without leaving its `size` bytes (eh_frame.c). */
bool tn__unwind_data_is_sound(const uint8_t *table, uint64_t size);

/* `count` tables in a list at *tables, or false when memory is out. */
bool tn__unwind_prepare(struct tn__unwind *unwind, size_t count, struct tn__unwind_table **tables);
/* Registers the unwind data at `address`, which ends with a zero length. */
void tn__unwind_register(struct tn__unwind *unwind, struct tn__unwind_table *table, uint64_t address);
/* Takes back a list of tables, registered or not. */
void tn__unwind_remove(struct tn__unwind *unwind, struct tn__unwind_table *tables);
/* Forgets all tables; they are deregistered. */
void tn__unwind_close(struct tn__unwind *unwind);

#pragma GCC visibility pop
#endif
