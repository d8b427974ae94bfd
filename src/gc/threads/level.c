/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The block that each thread shares with managed code (tenon_gc.h), and the levels of managed code.
 *
 * A thread whose managed code has called native code, which has called managed code again, has two levels, and an
 * anchor for each, in an array. block->top points to that of the innermost level. Managed code that calls out stores
 * two values there: the stack pointer at the call (`sp`, a multiple of 8; the return address is at [sp]) and its frame
 * pointer (`fp`). On AArch64 and RISC-V, where a call leaves the return address in a register, `sp` is the stack
 * pointer itself, a multiple of 16, and the functions that call out store the return address in `ra`. While an anchor
 * is the top, the lowest bits of `sp` are the state of the thread:
 *
 *     0                        managed code runs, which has not called out yet
 *     even                     managed code runs, or native code that it called without a transition: collections wait
 *     odd (TN_GC_OUTSIDE)      the thread is outside managed code: no collection waits, and its frames are walked
 *     odd, with TN_GC_FENCED   the same, and the thread runs code of the runtime (world.c)
 *
 * The array begins with two odd anchors, whose `sp` is above all addresses. If the second one is the top, the thread
 * has no level of managed code. Threads that are not attached have an array of two equal anchors, and attach in their
 * first entry. The array has room for as many levels as the stack has for frames.
 *
 * Levels are abandoned when a longjmp or a throw leaves their frames. The next entry finds them (functions.c of the
 * code generator), and tn__gc_enter removes them: so entries need no landing pads. When it has removed some, it comes
 * back at the old top before it writes the new level over them, because a collector may be reading the anchors up to
 * the top until then. */

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
