/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Folders whose files are written under another name and then renamed, so that readers see all of a file or none. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

enum { HOUR = 3600 };

/* Whether what is written in the folder is this user's, or root's. */
static int check_folder(int fd, bool of_root)
{
    struct stat st;
    if (fstat(fd, &st))
        return errno;
    bool is_owned = st.st_uid == geteuid() || (of_root && st.st_uid == 0);
    return is_owned && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : EPERM;
}

int tn__os_open_folder(int in, const char *path, bool make, bool of_root, int *fd)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    if (make && mkdirat(in, path, 0700) && errno != EEXIST)
        return errno;
    *fd = openat(in, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOTDIR ? EPERM : errno; /* which is what a symbolic link is */
    int error = check_folder(*fd, of_root);
    if (!error)
        return tn__os_raise(fd);
    close(*fd);
    return error;
}

int tn__os_open_in(int folder, const char *name, int *fd)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    *fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return *fd < 0 ? errno : 0;
}

int tn__os_create_in(int folder, const char *name, int *fd)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    *fd = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *fd < 0 ? errno : 0;
}

int tn__os_rename_in(int folder, const char *from, const char *to)
{
    int fault = tn__os_fault(false, NULL);
    return fault ? fault : renameat(folder, from, folder, to) ? errno : 0;
}

int tn__os_remove_in(int folder, const char *name)
{
    return unlinkat(folder, name, 0) ? errno : 0;
}

bool tn__os_may_write_in(int folder)
{
    return !faccessat(folder, ".", W_OK | X_OK, AT_EACCESS);
}

int tn__os_sync(int fd)
{
    int fault = tn__os_fault(false, NULL);
    return fault ? fault : fsync(fd) ? errno : 0;
}

/* ---- locks: a byte of an empty file each (fcntl(2), "Open file description locks") ---- */

int tn__os_lock_in(int folder, uint64_t number, bool wait, int *fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)number, .l_len = 1};
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    *fd = openat(folder, ".lock", O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd < 0)
        return errno;
    do
        error = fcntl(*fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock) ? errno : 0;
    while (error == EINTR);
    if (error)
        close(*fd);
    return error == EACCES ? EWOULDBLOCK : error;
}

/* Closing it would leave the lock to a child that was forked meanwhile. */
void tn__os_unlock(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_OFD_SETLK, &lock);
    close(fd);
}

void tn__os_note_use(int fd)
{
    struct stat st;
    struct timespec now;
    if (fstat(fd, &st) || clock_gettime(CLOCK_REALTIME, &now))
        return;
    int64_t age = now.tv_sec - st.st_mtime;
    if (age > HOUR || age < -HOUR) /* the clock may have been set back */
        futimens(fd, NULL);
}

int tn__os_each_in(int folder, bool (*visit)(void *context, const struct tn__os_entry *entry), void *context)
{
    int fault = tn__os_fault(false, NULL);
    int fd = fault ? -1 : openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        int error = fault ? fault : errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    struct stat st;
    bool goes_on = true;
    for (struct dirent *found = readdir(list); found && goes_on; found = readdir(list)) {
        if (fstatat(folder, found->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !(S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && found->d_name[0] != '.')))
            continue;
        const struct tn__os_entry entry = {found->d_name, (uint64_t)st.st_size, (uint64_t)st.st_mtime, st.st_ino,
                                           S_ISDIR(st.st_mode)};
        goes_on = visit(context, &entry);
    }
    closedir(list);
    return 0;
}
