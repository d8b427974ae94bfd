/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Symbols that no code needs: each stands for a module, and its promise ends when the module's owner goes. */

#include <stdio.h>

#include "base/types.h"
#include "jit/jit.h"
#include "link/model/session.h"
#include "link/model/symtab.h"
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

static void leave_types(void *types)
{
    tn__code_types_leave(types);
}

int tn__jit_enter_types(struct tn_library *library, const struct tn__added_module *m, struct tn_tracker *owner,
                        struct tn_error *err)
{
    const struct tn__description *d = &m->description;
    char name[32];
    struct tn__code_types *types;
    if (!d->types_size || !tn__code_types_enter)
        return 0;
    int code = tn__code_types_enter(m->name, d->types, d->types_size, &types, err);
    if (code)
        return code;
    snprintf(name, sizeof name, "tn.types.%p", (void *)types);
    const struct tn__jit_marker marker = {.symbol = name, .module = m->name, .end = leave_types, .context = types};
    code = tn__jit_add_marker(library, &marker, owner, err);
    if (code)
        leave_types(types);
    return code;
}

/* Another one may have its name by now, but not its context as well. */
bool tn__jit_is_marked(struct tn_library *library, const char *symbol, const void *context)
{
    const struct tn__entry *entry = tn__symtab_find(&library->symtab, symbol);
    return entry && (entry->kind == TN__ENTRY_PROMISED || entry->kind == TN__ENTRY_FAILED) &&
           tn__container_of(entry->promise, struct tn_responsibility, seen)->client.context == context;
}
