/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls dlopen; what is volatile keeps the call from being the last one. */

#include <dlfcn.h>

void *opens(const char *path)
{
    void *volatile handle = dlopen(path, RTLD_NOW);
    return handle;
}
