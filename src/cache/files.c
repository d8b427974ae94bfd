/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See files.h. */

#include <errno.h>
#include <stdio.h>

#include "cache/files.h"

int tn__files_write(int folder, const char *temporary, const char *name, const void *bytes, size_t length, bool stays)
{
    char path[128];
    uint64_t random;
    int fd, error = tn__os_random(&random);
    if (error)
        return error;
    snprintf(path, sizeof path, "%s.%016llx", temporary, (unsigned long long)random);
    error = tn__os_create_in(folder, path, &fd);
    if (error)
        return error;
    error = tn__os_append(fd, bytes, length);
    if (!error && stays)
        error = tn__os_sync(fd);
    tn__os_close(fd);
    if (!error)
        error = tn__os_rename_in(folder, path, name);
    if (error)
        tn__os_remove_in(folder, path);
    else if (stays)
        tn__os_sync(folder); /* or else the file may be missing after a crash, which is a miss */
    return error;
}

bool tn__files_add(struct tn__files *files, const char *path, const struct tn__os_entry *entry)
{
    size_t before = strlen(path), size = strlen(entry->name) + 1;
    struct tn__file *file = tn__arena_alloc(&files->arena, sizeof *file + before + size);
    if (!file)
        return false;
    *file = (struct tn__file){files->first, entry->size, entry->used, entry->inode};
    memcpy(file->name, path, before);
    memcpy(file->name + before, entry->name, size);
    files->first = file;
    files->count++;
    files->bytes += file->size;
    return true;
}

static struct tn__file *merge(struct tn__file *a, struct tn__file *b)
{
    struct tn__file *first = NULL, **end = &first;
    for (; a && b; end = &(*end)->next) {
        struct tn__file **from = a->used <= b->used ? &a : &b;
        *end = *from;
        *from = (*from)->next;
    }
    *end = a ? a : b;
    return first;
}

static struct tn__file *sort(struct tn__file *files, size_t count)
{
    if (count < 2)
        return files;
    struct tn__file *middle = files;
    for (size_t i = 1; i < count / 2; i++)
        middle = middle->next;
    struct tn__file *second = middle->next;
    middle->next = NULL;
    return merge(sort(files, count / 2), sort(second, count - count / 2));
}

void tn__files_sort(struct tn__files *files)
{
    files->first = sort(files->first, files->count);
}

uint64_t tn__files_shrink(struct tn__files *files, int folder, uint64_t most)
{
    uint64_t removed = 0;
    if (files->bytes > most)
        tn__files_sort(files);
    for (struct tn__file *file = files->first; file && files->bytes > most; file = file->next) {
        int error = tn__os_remove_in(folder, file->name);
        if (error && error != ENOENT)
            continue;
        files->bytes -= file->size;
        removed += !error;
    }
    return removed;
}
