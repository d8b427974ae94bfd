/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_resolve_table: a sorted table of the client's. */

#include "base/base.h"

void *tn_resolve_table(void *table, const char *name)
{
    const struct tn_symbol_table *symbols = table;
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, symbols->entries[middle].name);
        if (order == 0)
            return (void *)(uintptr_t)symbols->entries[middle].address;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
