/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_resolve_allowed: a list of names in front of another resolver. */

#include <stdlib.h>

#include "base/base.h"

static int compare_name(const void *name, const void *element)
{
    return strcmp(name, *(const char *const *)element);
}

void *tn_resolve_allowed(void *context, const char *name)
{
    const struct tn_allowed *allowed = context;
    bool known = allowed->count && bsearch(name, allowed->names, allowed->count, sizeof *allowed->names, compare_name);
    return known ? allowed->resolver(allowed->context, name) : NULL;
}
