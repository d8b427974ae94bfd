/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers unwind tables with libgcc, before version 13 many of them in sets: see unwind_sets.c. */

#ifndef TENON_UNWIND_SETS_H
#define TENON_UNWIND_SETS_H

#include "link/unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* Makes room for `tables` more tables of `bytes` in all, so that adding them cannot fail. False if out of memory. */
bool tn__unwind_sets_prepare(struct tn__unwind *unwind, size_t tables, size_t bytes);
/* The table's functions may run only between these two calls. */
void tn__unwind_sets_add(struct tn__unwind *unwind, const struct tn__unwind_table *table);
void tn__unwind_sets_remove(struct tn__unwind *unwind, const struct tn__unwind_table *table);
void tn__unwind_sets_close(struct tn__unwind *unwind);

/* ---- libgcc's objects (unwind_objects.c) ---- */

/* Makes sure that so many can be registered, and two more that soon take the place of others. False if out of
 * memory. */
bool tn__unwind_objects_prepare(struct tn__unwind *unwind, size_t count);
/* One to be registered, at most as often as prepared. */
void *tn__unwind_object_take(struct tn__unwind *unwind);
/* Gives one back that is not registered any more. Its contents stay as they are until many more were given back. */
void tn__unwind_object_give(struct tn__unwind *unwind, void *object);

#pragma GCC visibility pop
#endif
