/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_resolve_table: a sorted table of the client's. */

#include "base/base.h"

void *tn_resolve_table(void *table, const char *name)
{
    const struct tn_symbol_table *symbols = table;
    size_t at = TN_BISECT(0, symbols->count, i, strcmp(symbols->entries[i].name, name) < 0);
    bool found = at < symbols->count && !strcmp(symbols->entries[at].name, name);
    return found ? (void *)(uintptr_t)symbols->entries[at].address : NULL;
}
