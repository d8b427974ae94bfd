/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An upper bound on the stack size of the calling thread. */

#include <pthread.h>
#include <sys/resource.h>

#include "os.h"

/* Unlimited stacks count as this large, far more than any thread but the first gets from the system. */
#define UNLIMITED (1ull << 32)

uint64_t tn__os_stack_size(void)
{
    struct rlimit limit;
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &size);
        pthread_attr_destroy(&attributes);
    }
    /* The first thread's stack grows up to the limit. glibc reports the limit at the time of its query, musl what is
     * mapped so far. */
    if (getrlimit(RLIMIT_STACK, &limit) == 0)
        size = tn__max64(size, limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur);
    return !size || size > UNLIMITED ? UNLIMITED : size;
}
