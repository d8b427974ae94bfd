/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "opener.h"

static void *check(void *result)
{
    if (!result) {
        printf("error: %s\n", dlerror());
        exit(1);
    }
    return result;
}

void *open_library(const char *path)
{
    return check(dlopen(path, RTLD_NOW | RTLD_LOCAL));
}

void *find_in(void *library, const char *name)
{
    return check(dlsym(library, name));
}

void close_library(void *library)
{
    dlclose(library);
}

int try_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    printf("%s\n", library ? "opened" : dlerror());
    if (library)
        dlclose(library);
    return library != NULL;
}
