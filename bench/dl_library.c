/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opens a library that is open, closes it again, and looks for one of its functions, as often as bench/dl.c wants. */

#include <dlfcn.h>

void open_and_close(const char *path, int count)
{
    void *first = dlopen(path, RTLD_NOW);
    for (int i = 0; i < count; i++)
        dlclose(dlopen(path, RTLD_NOW));
    dlclose(first);
}

void find(const char *path, const char *name, int count)
{
    void *volatile found;
    void *library = dlopen(path, RTLD_NOW);
    for (int i = 0; i < count; i++)
        found = dlsym(library, name);
    (void)found;
    dlclose(library);
}
