/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Definitions that get an entry in their library's table when their names are looked up there, and not when their
 * object is added: those of objects that have a table of their own to find names by. A table has one such object at
 * most. Where all entries of a table are visited, tn__symtab_enter_late comes first; everything else asks for entries
 * by name, so it sees no difference. References of the object itself lead to its own definitions without entries,
 * because none is stronger unless it was entered before the link. */

#ifndef TENON_LATE_H
#define TENON_LATE_H

#include "link/model/symtab.h"

#pragma GCC visibility push(hidden)

struct tn__object;

/* All functions are called under the lock. */
struct tn__late {
    struct tn__object *object;
    struct tn__symtab *table;
    /* The number of the object's late definition of this name; 0: there is none. */
    uint32_t (*find)(const struct tn__late *late, const char *name);
    /* Makes a new entry that definition. */
    void (*define)(struct tn__late *late, uint32_t number, struct tn__entry *entry);
    /* Enters all that are left. False when memory is out, or they are longer than their table can account for. */
    bool (*enter_all)(struct tn__late *late);
};

/* Afterwards no definition of the table is late. False as enter_all. */
static inline bool tn__symtab_enter_late(const struct tn__symtab *table) TN__LOCKED
{
    struct tn__late *late = table->late;
    if (late && !late->enter_all(late))
        return false;
    if (late)
        late->table->late = NULL;
    return true;
}

/* True for a name without an entry that has a late definition: tn__symtab_find found no memory for its entry. */
static inline bool tn__symtab_is_late(const struct tn__symtab *table, const char *name) TN__LOCKED
{
    return table->late && table->late->find(table->late, name);
}

#pragma GCC visibility pop
#endif
