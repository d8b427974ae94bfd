/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An archive of the runtime belongs to one C library, which its headers tell; a program may be run with a newer one
 * than it was linked with. */

#include <features.h>
#include <string.h>

#include "base/base.h"
#include "link/shared/libc.h"

#ifdef __GLIBC__

#include <gnu/libc-version.h>

const char *tn__libc_version(void)
{
    return gnu_get_libc_version();
}

#else

const char *tn__libc_version(void)
{
    return NULL;
}

#endif

static const char glibc[] = "glibc", musl[] = "musl";

const char *tn__libc_name(void)
{
    return tn__libc_version() ? glibc : musl;
}

const char *tn__libc_of(const char *soname)
{
    static const struct {
        const char *name, *of;
    } files[] = {
        {"libc.so.6", glibc},
        {"libm.so.6", glibc},
        {"libpthread.so.0", glibc},
        {"libdl.so.2", glibc},
        {"librt.so.1", glibc},
        {"libutil.so.1", glibc},
        {"ld-linux-x86-64.so.2", glibc},
        {"libc.so", musl},
        {"libc.musl-x86_64.so.1", musl},
        {"ld-musl-x86_64.so.1", musl},
    };
    for (size_t i = 0; i < TN_COUNT(files); i++)
        if (!strcmp(files[i].name, soname))
            return files[i].of;
    return NULL;
}
