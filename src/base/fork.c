/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "fork.h"

static const struct tn__fork_hooks *watched[TN__LEVELS];

/* A bit for each level whose `before` this thread has called. Threads may fork at the same time, and levels may be
 * added meanwhile. */
static __thread uint64_t held __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    held = 0;
    for (int level = 0; level < TN__LEVELS; level++) {
        const struct tn__fork_hooks *hooks = __atomic_load_n(&watched[level], __ATOMIC_ACQUIRE);
        if (!hooks)
            continue;
        held |= (uint64_t)1 << level;
        if (hooks->lock)
            tn__mutex_lock(hooks->lock);
        if (hooks->before)
            hooks->before();
    }
}

static uint64_t generation;

static void after_fork(bool in_child)
{
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
    for (int level = TN__LEVELS; level-- > 0;) {
        const struct tn__fork_hooks *hooks = held & (uint64_t)1 << level ? watched[level] : NULL;
        if (hooks && hooks->after)
            hooks->after(in_child);
        if (hooks && hooks->lock)
            tn__mutex_unlock(hooks->lock);
    }
    held = 0;
}

static void after_fork_in_parent(void)
{
    after_fork(false);
}

static void after_fork_in_child(void)
{
    after_fork(true);
}

static void start(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}

uint64_t tn__fork_generation(void)
{
    watch();
    return __atomic_load_n(&generation, __ATOMIC_RELAXED);
}

void tn__forks_watch(enum tn__level level, const struct tn__fork_hooks *hooks)
{
    if (__atomic_load_n(&watched[level], __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&watched[level], hooks, __ATOMIC_RELEASE);
    watch();
}
