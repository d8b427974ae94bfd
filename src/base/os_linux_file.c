/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reading files. What was checked must not change afterwards, and a mapped file that is truncated makes the process
 * fault. So a file is mapped only if it is large and only root and this user can write it. Any other is copied. Copying
 * costs more (1 MB 0.37 ms instead of 0.03, 16 KB 14 us instead of 8), but compilers truncate and rewrite the user's
 * own objects, which are small. Shared libraries, whose segments stay mapped as long as they are open, are mapped
 * whatever their size: programs that install them replace the file, because every dynamic linker maps them. */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

/* Up to this size a file is copied in any case. */
enum { READ_MOST = 1 << 20 };

struct tn__os_identity tn__os_identify(int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return (struct tn__os_identity){0};
    return (struct tn__os_identity){st.st_dev, st.st_ino};
}

bool tn__os_is(int fd, struct tn__os_identity identity)
{
    struct tn__os_identity found = tn__os_identify(fd);
    return found.inode == identity.inode && found.device == identity.device;
}

int tn__os_file_status(int fd, uint64_t *size, bool *is_ours)
{
    struct stat st;
    if (fstat(fd, &st))
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (!S_ISREG(st.st_mode))
        return ENODEV;
    *size = (uint64_t)st.st_size;
    /* Access control lists show in the bits of the group. */
    *is_ours = (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
    return 0;
}

enum { FIRST_PROGRAMS_OWN = 3, FIRST_RAISED = 512 };

int tn__os_raise(int *fd)
{
    int raised = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_RAISED);
    if (raised < 0 && *fd >= FIRST_PROGRAMS_OWN)
        return 0;
    if (raised < 0)
        raised = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_PROGRAMS_OWN);
    int error = raised < 0 ? errno : 0;
    close(*fd);
    *fd = raised;
    return error;
}

int tn__os_open(const char *path, int *fd)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe without a writer would block */
    return *fd < 0 ? errno : 0;
}

int tn__os_open_again(int fd, int *again)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    *again = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_RAISED);
    if (*again < 0)
        *again = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_PROGRAMS_OWN);
    return *again < 0 ? errno : 0;
}

int tn__os_read_open(int fd, uint64_t offset, void *bytes, size_t size, size_t *got)
{
    int fault = tn__os_fault(false, NULL);
    *got = 0;
    while (!fault && *got < size) {
        ssize_t n = pread(fd, (char *)bytes + *got, size - *got, (off_t)(offset + *got));
        if (n == 0)
            break;
        if (n > 0)
            *got += (size_t)n;
        else if (errno != EINTR)
            return errno;
    }
    return fault;
}

static size_t pages_of(size_t size)
{
    return (size_t)tn__align_up(size, tn__os_page_size());
}

/* Copies a file into memory. If the file becomes shorter meanwhile, what is left of it is copied. */
static int copy_file(int fd, size_t size, struct tn__os_file *file)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (size <= READ_MOST ? MAP_POPULATE : 0);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    size_t got;
    if (p == MAP_FAILED)
        return errno;
    int error = tn__os_read_open(fd, 0, p, size, &got);
    size_t kept = error ? 0 : pages_of(got);
    if (kept < pages_of(size))
        munmap((char *)p + kept, pages_of(size) - kept);
    if (kept)
        *file = (struct tn__os_file){p, got, false};
    return error;
}

int tn__os_copy_open_file(int fd, struct tn__os_file *file)
{
    uint64_t size = 0;
    bool is_ours;
    int error = tn__os_file_status(fd, &size, &is_ours);
    *file = (struct tn__os_file){0};
    return error || !size ? error : copy_file(fd, (size_t)size, file);
}

/* Files of more than `most` bytes are mapped, if they are ours. */
static int map_or_copy(int fd, uint64_t most, struct tn__os_file *file)
{
    uint64_t size;
    bool is_ours;
    int error = tn__os_file_status(fd, &size, &is_ours);
    *file = (struct tn__os_file){0};
    if (error || !size)
        return error;
    if (size <= most || !is_ours)
        return copy_file(fd, (size_t)size, file);
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return errno;
    *file = (struct tn__os_file){p, (size_t)size, true};
    return 0;
}

int tn__os_map_open_file(int fd, struct tn__os_file *file)
{
    return map_or_copy(fd, READ_MOST, file);
}

int tn__os_map_any_open_file(int fd, struct tn__os_file *file)
{
    return map_or_copy(fd, 0, file);
}

int tn__os_map_file(const char *path, struct tn__os_file *file)
{
    int fd, error = tn__os_open(path, &fd);
    *file = (struct tn__os_file){0};
    if (error)
        return error;
    error = tn__os_map_open_file(fd, file);
    close(fd);
    return error;
}

void tn__os_unmap_file(struct tn__os_file *file)
{
    if (file->size)
        munmap((void *)file->bytes, file->size);
    *file = (struct tn__os_file){0};
}
