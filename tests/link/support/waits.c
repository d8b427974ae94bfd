/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "waits.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/os.h"
#include "base/thread.h"

static __thread sem_t *told;

void tell_when_waiting(sem_t *semaphore)
{
    told = semaphore;
}

static int (*next)(pthread_cond_t *condition, pthread_mutex_t *mutex);

__attribute__((constructor)) static void find_next(void)
{
    void *address = dlsym(RTLD_NEXT, "pthread_cond_wait");
    memcpy(&next, &address, sizeof next);
}

/* Comes before the C library's, also for the linker. */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    if (told)
        sem_post(told);
    told = NULL;
    return next(condition, mutex);
}

void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) && errno == EINTR)
        ;
}

void await_quiesce(void)
{
    for (bool marked = false; !marked; sched_yield()) {
        tn__threads_lock();
        for (const struct tn__thread *thread = tn__threads_first(); thread; thread = thread->next)
            marked |= thread->id == tn__os_thread_id() && __atomic_load_n(&thread->seen, __ATOMIC_RELAXED) & 1;
        tn__threads_unlock();
    }
}
