/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The dynamic linker's symbols, in programs that have one. The weak references pull nothing into a static program. */

#include <dlfcn.h>

#include "link/passes/link.h"

#pragma weak dlsym
#pragma weak dlopen
#pragma weak dlclose
#pragma weak dlerror

void *tn_resolve_dlsym(void *handle, const char *name)
{
    return dlsym ? dlsym(handle ? handle : RTLD_DEFAULT, name) : NULL;
}

static void close_handle(void *handle)
{
    dlclose(handle);
}

int tn_add_shared_library(struct tn_library *library, const char *path, struct tn_error *err)
{
    if (!library || !path)
        return tn__fail(err, TN_EINVAL, "no library or no path given");
    if (!dlopen || !dlsym || !dlclose || !dlerror)
        return tn__fail(err, TN_ENOTSUP, "%s: this program has no dynamic linker", path);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return tn__fail(err, TN_EIO, "%s", dlerror());
    int code = tn__library_add_supplier(
        library, &library->resolvers,
        (struct tn__supplier){.resolve = tn_resolve_dlsym, .context = handle, .close = close_handle}, err);
    if (code)
        dlclose(handle);
    return code;
}
