/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where the calling thread's stack is. */

#include <pthread.h>
#include <sys/resource.h>

#include "os.h"

/* Unlimited stacks count as this large, far more than any thread but the first gets from the system. */
#define UNLIMITED (1ull << 32)

struct tn__os_stack tn__os_stack(void)
{
    struct rlimit limit;
    pthread_attr_t attributes;
    void *start;
    size_t size = 0;
    uint64_t end = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &start, &size) == 0)
            end = (uintptr_t)start + size;
        pthread_attr_destroy(&attributes);
    }
    /* The first thread's stack grows up to the limit. glibc reports the limit at the time of its query, musl what is
     * mapped so far. */
    if (getrlimit(RLIMIT_STACK, &limit) == 0)
        size = tn__max64(size, limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur);
    return (struct tn__os_stack){end, !size || size > UNLIMITED ? UNLIMITED : size};
}
