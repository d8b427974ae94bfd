/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Writes files for perf: the map, and jitdump with the mapping by which perf finds it. */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

int tn__os_create_log(const char *path, int *fd)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    *fd = open(path, O_CREAT | O_TRUNC | O_APPEND | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0644);
    return *fd < 0 ? errno : 0;
}

int tn__os_append(int fd, const void *bytes, size_t size)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    while (size) {
        ssize_t n = write(fd, bytes, size);
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
