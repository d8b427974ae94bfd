/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Writes files for perf: the map, and jitdump with the mapping by which perf finds it. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

static int create(const char *path, int *fd)
{
    *fd = open(path, O_CREAT | O_EXCL | O_APPEND | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *fd < 0 ? errno : tn__os_raise(fd);
}

/* A process with the same number may have left a file. It is removed if it is this user's own; anything else at that
 * place, a link above all, may be a trap. */
int tn__os_create_log(const char *path, int *fd)
{
    struct stat st;
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    int error = create(path, fd);
    if (error != EEXIST || lstat(path, &st))
        return error;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) || st.st_nlink != 1)
        return EEXIST;
    return unlink(path) ? errno : create(path, fd);
}

int tn__os_own_folder(char *path, size_t size)
{
    struct stat st;
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    snprintf(path, size, "/tmp/tenon-%lu", (unsigned long)geteuid());
    if (mkdir(path, 0700) && errno != EEXIST)
        return errno;
    if (lstat(path, &st))
        return errno;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO)) ? 0 : EACCES;
}

int tn__os_append(int fd, const void *bytes, size_t size)
{
    bool half = false;
    int fault = tn__os_transfer_fault(false, NULL, &half);
    if (fault)
        return fault;
    off_t end = lseek(fd, 0, SEEK_END);
    if (end >= 0 && !tn__os_permits_file((uint64_t)end + size))
        return EFBIG;
    while (size) {
        ssize_t n = write(fd, bytes, half ? size - size / 2 : size);
        if (n < 0 && errno != EINTR)
            return errno;
        size_t done = n > 0 ? (size_t)n : 0;
        bytes = (const char *)bytes + done;
        size -= done;
    }
    return 0;
}

int tn__os_map_marker(int fd, uint64_t *address)
{
    int fault = tn__os_fault(true, NULL);
    if (fault)
        return fault;
    void *p = mmap(NULL, tn__os_page_size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    *address = (uintptr_t)p;
    return p == MAP_FAILED ? errno : 0;
}

uint32_t tn__os_process_id(void)
{
    return (uint32_t)getpid();
}

uint32_t tn__os_thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}
