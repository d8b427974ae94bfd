/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The dynamic linker's symbols, in programs that have one. The weak reference pulls nothing into a static program. */

#include <dlfcn.h>

#include "base/base.h"

#pragma weak dlsym

void *tn_resolve_dlsym(void *unused, const char *name)
{
    (void)unused;
    return dlsym ? dlsym(RTLD_DEFAULT, name) : NULL;
}
