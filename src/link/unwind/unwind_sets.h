/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers unwind tables with libgcc, before version 13 many of them in sets: see unwind_sets.c. */

#ifndef TENON_UNWIND_SETS_H
#define TENON_UNWIND_SETS_H

#include "link/unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* Makes space for `tables` more tables of `bytes` in all, their own blocks included, so that neither adding them nor
 * removing any can fail. False if out of memory. */
bool tn__unwind_sets_prepare(struct tn__unwind *unwind, size_t tables, size_t bytes);
/* The table's functions may run only between these two calls. */
void tn__unwind_sets_add(struct tn__unwind *unwind, const struct tn__unwind_table *table);
void tn__unwind_sets_remove(struct tn__unwind *unwind, const struct tn__unwind_table *table);
void tn__unwind_sets_close(struct tn__unwind *unwind);

/* ---- blocks (unwind_objects.c) ---- */

/* Makes sure that at least so many blocks are free. False if out of memory. */
bool tn__unwind_reserve(struct tn__unwind *unwind, size_t count);
/* A free block; there is one by tn__unwind_reserve. */
void *tn__unwind_take(struct tn__unwind *unwind);
/* Frees libgcc's object of what was deregistered. If threads that run its functions may still read the object, it is
 * kept. */
void tn__unwind_give_object(struct tn__unwind *unwind, void *object);

#pragma GCC visibility pop
#endif
