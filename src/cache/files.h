/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files of a folder that are complete as soon as they have their names: each is written under another name, and then
 * renamed. Those that were not used for longest are removed first. Packs (folder.c) and images of packages
 * (src/image/package) are such files. */

#ifndef TENON_CACHE_FILES_H
#define TENON_CACHE_FILES_H

#include "base/base.h"
#include "base/os.h"

#pragma GCC visibility push(hidden)

/* Names of files that are being written begin with this; a file that has such a name and no writer is what a killed
 * writer has left. */
#define TN__FILES_NEW ".new"

/* Writes a file, in place of one of the same name. Meanwhile it is called `temporary` with a point and digits after it,
 * which keep writers apart. `stays`: it also survives a crash of the system. An errno value: nothing has changed. */
int tn__files_write(int folder, const char *temporary, const char *name, const void *bytes, size_t length, bool stays);

struct tn__file {
    struct tn__file *next;
    uint64_t size, used, inode; /* as in struct tn__os_entry */
    char name[];
};

/* Initially all zeros; everything is in the arena. */
struct tn__files {
    struct tn__arena arena;
    struct tn__file *first;
    size_t count;
    uint64_t bytes;
};

/* Adds a file, whose name begins with `path` then. False: out of memory. */
bool tn__files_add(struct tn__files *files, const char *path, const struct tn__os_entry *entry);
/* Oldest first. */
void tn__files_sort(struct tn__files *files);
/* Removes files, oldest first, until `most` bytes are left. Returns how many. */
uint64_t tn__files_shrink(struct tn__files *files, int folder, uint64_t most);

#pragma GCC visibility pop
#endif
