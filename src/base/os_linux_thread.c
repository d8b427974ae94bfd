/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Keys of thread-specific data (POSIX, pthread_key_create), by which the end of a thread is noticed. There are at most
 * PTHREAD_KEYS_MAX in a process, and programs use them too. */

#include <pthread.h>

#include "faults.h"
#include "os.h"

/* Threads that make the first one at the same time keep one of them. A lock would be held in the child of a fork. */
static int make(uint64_t *key, void (*function)(void *value))
{
    pthread_key_t fresh;
    uint64_t none = 0;
    int error = pthread_key_create(&fresh, function);
    if (!error &&
        !__atomic_compare_exchange_n(key, &none, (uint64_t)fresh + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        pthread_key_delete(fresh);
    return error;
}

int tn__os_at_thread_end(uint64_t *key, void (*function)(void *value), void *value)
{
    int error = tn__os_fault(false, NULL);
    if (!error && !__atomic_load_n(key, __ATOMIC_ACQUIRE))
        error = make(key, function);
    return error ? error : pthread_setspecific((pthread_key_t)(__atomic_load_n(key, __ATOMIC_ACQUIRE) - 1), value);
}
