/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers many unwind tables with libgcc before version 13, in sets: see unwind_sets.c. */

#ifndef TENON_UNWIND_SETS_H
#define TENON_UNWIND_SETS_H

#include "link/unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* Makes room for `tables` more tables of `bytes` in all, so that adding them cannot fail. False if out of memory. */
bool tn__unwind_sets_prepare(struct tn__unwind *unwind, size_t tables, size_t bytes);
/* The table's functions may run only between these two calls. */
void tn__unwind_sets_add(struct tn__unwind_sets *sets, const struct tn__unwind_table *table);
void tn__unwind_sets_remove(struct tn__unwind_sets *sets, const struct tn__unwind_table *table);
void tn__unwind_sets_close(struct tn__unwind *unwind);

#pragma GCC visibility pop
#endif
