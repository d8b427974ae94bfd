/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Symbols that no code needs: each stands for a module, and its promise ends when the module's owner goes. */

#include "jit/jit.h"
#include "link/core/session.h"
#include "link/core/symtab.h"
#include "link/demand/promise.h"

static int make_nothing(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    (void)context, (void)responsibility;
    return tn__fail(err, TN_EUNDEF, "this symbol stands for a module, and is no definition");
}

int tn__jit_add_marker(struct tn_library *library, const struct tn__jit_marker *marker, struct tn_tracker *owner,
                       struct tn_error *err)
{
    const struct tn_promised symbol = {marker->symbol, TN_SYMBOL_HIDDEN};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = marker->module,
                                                 .context = marker->context,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make_nothing,
                                                 .destroy = marker->end,
                                                 .owner = owner};
    return tn_add_materializer(library, &materializer, err);
}

/* Another one may have its name by now, but not its context as well. */
bool tn__jit_is_marked(struct tn_library *library, const char *symbol, const void *context)
{
    const struct tn__entry *entry = tn__symtab_find(&library->symtab, symbol);
    return entry && (entry->kind == TN__ENTRY_PROMISED || entry->kind == TN__ENTRY_FAILED) &&
           tn__container_of(entry->promise, struct tn_responsibility, seen)->client.context == context;
}
