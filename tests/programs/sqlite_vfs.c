/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The system of an SQLite that has none (SQLITE_OS_OTHER): databases in memory alone. */

#include <string.h>

#include <sqlite3.h>

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs, (void)name, (void)flags, (void)out;
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

static int full_path(sqlite3_vfs *vfs, const char *name, int size, char *path)
{
    (void)vfs;
    if (strlen(name) >= (size_t)size)
        return SQLITE_CANTOPEN;
    strcpy(path, name);
    return SQLITE_OK;
}

static int fill(sqlite3_vfs *vfs, int size, char *bytes)
{
    (void)vfs;
    memset(bytes, 7, (size_t)size);
    return size;
}

static int get_time(sqlite3_vfs *vfs, double *now)
{
    (void)vfs;
    *now = 2460000.5;
    return SQLITE_OK;
}

int sqlite3_os_init(void)
{
    static sqlite3_vfs vfs = {.iVersion = 1,
                              .szOsFile = sizeof(sqlite3_file),
                              .mxPathname = 100,
                              .zName = "none",
                              .xOpen = open_file,
                              .xFullPathname = full_path,
                              .xRandomness = fill,
                              .xCurrentTime = get_time};
    return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void)
{
    return SQLITE_OK;
}
