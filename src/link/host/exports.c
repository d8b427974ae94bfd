/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the program marked with TN_EXPORT: the linker joins the entries into one array between two symbols it makes. */

#include "base/base.h"

extern const struct tn_export __start_tn_exports[] __attribute__((weak, visibility("hidden")));
extern const struct tn_export __stop_tn_exports[] __attribute__((weak, visibility("hidden")));

void *tn_resolve_exports(void *unused, const char *name)
{
    (void)unused;
    for (const struct tn_export *e = __start_tn_exports; e < __stop_tn_exports; e++)
        if (!strcmp(e->name, name))
            return (void *)(uintptr_t)e->address;
    return NULL;
}
