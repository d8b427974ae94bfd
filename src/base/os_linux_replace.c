/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files that replace others when they are complete: they have another name until then (rename(2)). */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

enum { SUFFIX = 32, ATTEMPTS = 1000 };

int tn__os_replace_begin(const char *path, struct tn__os_replacement *file)
{
    size_t length = strlen(path);
    int error = tn__os_fault(false, NULL);
    *file = (struct tn__os_replacement){.fd = -1};
    if (error)
        return error;
    file->temporary = tn__alloc(NULL, length + SUFFIX);
    if (!file->temporary)
        return ENOMEM;
    memcpy(file->temporary, path, length);
    error = EEXIST;
    for (int i = 0; i < ATTEMPTS && error == EEXIST; i++) {
        snprintf(file->temporary + length, SUFFIX, ".%d-%d", (int)getpid(), i);
        file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        error = file->fd < 0 ? errno : 0;
    }
    if (error)
        tn__free(NULL, file->temporary);
    return error;
}

int tn__os_replace_end(struct tn__os_replacement *file, const char *path)
{
    int error = tn__os_fault(false, NULL);
    if (!error && fsync(file->fd)) /* or a crash of the system could leave the new name with nothing in it */
        error = errno;
    if (!error && rename(file->temporary, path))
        error = errno;
    if (error)
        return error;
    close(file->fd);
    tn__free(NULL, file->temporary);
    return 0;
}

void tn__os_replace_drop(struct tn__os_replacement *file)
{
    int saved = errno;
    close(file->fd);
    unlink(file->temporary);
    tn__free(NULL, file->temporary);
    errno = saved;
}
