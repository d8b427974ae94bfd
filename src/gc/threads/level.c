/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The block that each thread shares with managed code (tenon_gc.h), and the levels of managed code: the array of
 * anchors that doc/GC.md describes ("Transitions"). world.c says how threads and the collector agree on who is
 * outside. */

#include <stdio.h>

#include "base/os.h"
#include "gc/threads/threads.h"

struct tn_gc_anchor tn__unattached[3] = {{.sp = (uintptr_t)TN__HIGHEST}, {.sp = (uintptr_t)TN__HIGHEST}};

__thread struct tn_gc_block tn__gc_block
    __attribute__((tls_model("initial-exec"), aligned(64))) = {.top = tn__unattached + 1};

struct tn_heap *tn_heap_current(void)
{
    return tn__self() ? tn__self()->heap : NULL;
}

/* The thread has just stopped: wakes the collector if that sleeps (await.c). */
static void wake_collector(struct tn_heap *heap)
{
    if (__atomic_exchange_n(&heap->asleep, 0, __ATOMIC_SEQ_CST))
        tn__os_wake(&heap->asleep);
}

void tn__wake_if_stopping(const struct tn__mutator *mutator)
{
    if (__atomic_load_n(&mutator->block->poll, __ATOMIC_SEQ_CST) & TN__STOP)
        wake_collector(mutator->heap);
}

struct tn_gc_anchor *tn__leave(struct tn__mutator *mutator, unsigned state)
{
    struct tn_gc_anchor *level = mutator->block->top;
    if (tn__is_outside(level))
        return NULL;
    __atomic_store_n(&level->sp, level->sp | state, __ATOMIC_SEQ_CST);
    tn__wake_if_stopping(mutator);
    return level;
}

void tn__come_back(struct tn__mutator *mutator, struct tn_gc_anchor *from, struct tn_gc_anchor *to)
{
    uintptr_t inside = to == from ? tn__sp_of(from) : from->sp;
    for (;;) {
        tn__set_sp(from, inside);
        tn__set_top(mutator, to);
        if (!(__atomic_load_n(&mutator->block->poll, __ATOMIC_SEQ_CST) & TN__STOP))
            return;
        tn__set_sp(from, tn__sp_of(from) | TN_GC_OUTSIDE | TN_GC_FENCED);
        tn__set_top(mutator, from);
        if (tn__heap_is_mine(mutator->heap))
            tn__refuse_callback(mutator->heap);
        wake_collector(mutator->heap);
        tn__mutex_lock(&mutator->heap->lock);
        tn__mutex_unlock(&mutator->heap->lock);
    }
}

/* ---- stacks ---- */

static bool is_on_stack(const struct tn__mutator *mutator, uintptr_t address)
{
    return mutator->stack_end - address <= mutator->stack_size; /* not if it is above the end */
}

static const char *say_stack(const struct tn__mutator *mutator, uintptr_t where)
{
    struct tn_heap *heap = mutator->heap;
    snprintf(
        heap->corruption, sizeof heap->corruption,
        "thread %u has managed code on a stack at %#llx besides another one: managed code of a thread must stay on "
        "the thread's own stack, not change to that of a coroutine",
        mutator->thread, (unsigned long long)where);
    return heap->corruption;
}

const char *tn__find_other_stack(const struct tn__mutator *mutator, uintptr_t a, uintptr_t b)
{
    bool is_own = is_on_stack(mutator, a);
    if (!mutator->stack_end || is_own == is_on_stack(mutator, b))
        return NULL;
    return say_stack(mutator, is_own ? b : a);
}

void tn__lost_level(const struct tn__mutator *mutator, uintptr_t sp)
{
    tn__corrupt(mutator->heap, say_stack(mutator, sp));
}

struct tn_gc_anchor *tn__drop_levels(struct tn_gc_anchor *p, uintptr_t fp)
{
    for (; tn__sp_of(p) && tn__sp_of(p) <= fp; p--) {
        const char *wrong = tn__find_other_stack(tn__self(), tn__sp_of(p), fp);
        if (wrong)
            tn__corrupt(tn__self()->heap, wrong);
    }
    for (; tn__sp_of(p) && tn__sp_of(p - 1) && tn__sp_of(p - 1) <= tn__sp_of(p); p--)
        p[-1] = *p;
    return p;
}
