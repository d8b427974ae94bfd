/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls dlopen and its relatives for tests/link/dl/open.c. What is volatile keeps a call from being the last one. */

#include <dlfcn.h>

__thread int per_thread = 7;

void *open_path(const char *path, int mode)
{
    void *volatile handle = dlopen(path, mode);
    return handle;
}

int close_handle(void *handle)
{
    volatile int status = dlclose(handle);
    return status;
}

void *find_symbol(void *handle, const char *name)
{
    void *volatile address = dlsym(handle, name);
    return address;
}

const char *last_error(void)
{
    const char *volatile text = dlerror();
    return text;
}
