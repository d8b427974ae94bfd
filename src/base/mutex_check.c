/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The order of locks, checked whenever one is taken. Only in checking builds. */

#include <stddef.h>
#include <stdint.h>

#include "base/mutex.h"

void (*tn__on_disorder)(enum tn__level wanted, enum tn__level held);

/* How many locks of each level the thread holds, and the set of the levels of these. */
static __thread uint32_t counts[TN__LEVELS] __attribute__((tls_model("initial-exec")));
static __thread uint64_t levels __attribute__((tls_model("initial-exec")));

_Static_assert(TN__LEVELS <= 64, "a bit for each level");

static void report(enum tn__level wanted, enum tn__level held)
{
    if (!tn__on_disorder)
        __builtin_trap();
    tn__on_disorder(wanted, held);
}

static bool is_mine(const struct tn__mutex *mutex)
{
    return __atomic_load_n(&mutex->holder, __ATOMIC_RELAXED) == &levels;
}

static void check(const struct tn__mutex *mutex, bool again)
{
    uint64_t own = (uint64_t)1 << mutex->level;
    uint64_t allowed = own - 1, lists = own >> 1;
    if (mutex->level == TN__LEVEL_BESIDE) /* a fork does not have the lock of a heap whose callback waits for it */
        lists |= (uint64_t)1 << TN__LEVEL_HEAPS;
    if (again || levels & lists)
        allowed |= own;
    if (levels & ~allowed)
        report(mutex->level, (enum tn__level)(63 - __builtin_clzll(levels)));
}

void tn__mutex_check(const struct tn__mutex *mutex)
{
    if (!is_mine(mutex))
        check(mutex, false);
    else if (!mutex->is_recursive)
        report(mutex->level, mutex->level);
}

void tn__mutex_check_wait(const struct tn__mutex *mutex)
{
    check(mutex, true);
}

void tn__mutex_note_made(struct tn__mutex *mutex, enum tn__level level, bool is_recursive)
{
    mutex->level = level;
    mutex->is_recursive = is_recursive;
    mutex->depth = 0;
    __atomic_store_n(&mutex->holder, NULL, __ATOMIC_RELAXED);
}

void tn__mutex_note_taken(struct tn__mutex *mutex)
{
    __atomic_store_n(&mutex->holder, &levels, __ATOMIC_RELAXED);
    if (mutex->depth++)
        return;
    counts[mutex->level]++;
    levels |= (uint64_t)1 << mutex->level;
}

void tn__mutex_note_given(struct tn__mutex *mutex)
{
    if (!is_mine(mutex)) {
        report(mutex->level, mutex->level);
        return;
    }
    if (--mutex->depth)
        return;
    __atomic_store_n(&mutex->holder, NULL, __ATOMIC_RELAXED);
    if (!--counts[mutex->level])
        levels &= ~((uint64_t)1 << mutex->level);
}

void tn__mutex_forget(struct tn__mutex *mutex)
{
    if (is_mine(mutex)) {
        mutex->depth = 1;
        tn__mutex_note_given(mutex);
    }
}
