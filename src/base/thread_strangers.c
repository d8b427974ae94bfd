/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which threads of the process the library does not know. */

#include "os.h"
#include "thread.h"

static bool is_attached(uint32_t id)
{
    bool found = false;
    tn__threads_lock();
    for (const struct tn__thread *thread = tn__threads_first(); thread && !found; thread = thread->next)
        found = thread->id == id;
    tn__threads_unlock();
    return found;
}

static bool visit(void *context, uint32_t id)
{
    uint32_t *stranger = context;
    *stranger = id == tn__os_thread_id() || is_attached(id) || tn__os_is_own_thread(id) ? 0 : id;
    return !*stranger;
}

/* A thread of the library has its name once it has begun. */
int tn__threads_find_stranger(uint32_t *stranger)
{
    uint64_t announced;
    int error = 0;
    do {
        announced = tn__own_threads_await();
        *stranger = 0;
        error = tn__os_each_thread(visit, stranger);
    } while (!error && *stranger && announced != tn__own_threads_await());
    return error;
}
