/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sleeping until another thread has changed a word, and what the system says about threads. */

#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "os.h"

/* As in linux/futex.h, which musl's compiler does not find. */
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

void tn__os_wait(const uint32_t *word, uint32_t value, uint64_t ns)
{
    enum { SECOND = 1000000000 };
    const struct timespec limit = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns == UINT64_MAX ? NULL : &limit, NULL, 0);
}

void tn__os_wake(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Not by sscanf, which is larger than all of this file's callers in a small program. */
int tn__os_system_call(uint32_t thread)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/syscall", thread);
    if (tn__os_read_text(path, text, sizeof text) || *text < '0' || *text > '9')
        return -1;
    int number = 0;
    for (const char *digit = text; *digit >= '0' && *digit <= '9'; digit++)
        number = number * 10 + (*digit - '0');
    return number;
}

bool tn__os_peek(uint64_t address, uint64_t *word)
{
    const struct iovec here = {word, sizeof *word}, there = {(void *)(uintptr_t)address, sizeof *word};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof *word;
}
