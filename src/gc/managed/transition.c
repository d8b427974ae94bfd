/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What managed code calls when it leaves or comes back in a slow way (host_MACHINE.c has the fast ones): polls, returns
 * of native calls, transitions, throws, and calls whose function is looked up. */

#include "base/kept_errno.h"
#include "gc/managed/managed.h"

/* ---- stress ---- */

static void collect_in_stress(struct tn__mutator *mutator)
{
    if (!(mutator->heap->options.flags & TN_HEAP_STRESS))
        return;
    tn__heap_lock(mutator->heap);
    tn__collect_now(mutator->heap, TN__FULL);
    tn__heap_unlock(mutator->heap);
}

void tn__gc_poll(void)
{
    TN__KEEP_ERRNO;
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    tn__heap_lock(mutator->heap); /* waits while the world is stopped */
    tn__heap_unlock(mutator->heap);
    collect_in_stress(mutator);
}

/* The call may have returned the only reference to an object, in a register: such objects are pinned. */
void tn__gc_after_call(void *const results[TN__RESULTS])
{
    TN__KEEP_ERRNO;
    struct tn__mutator *mutator = tn__self();
    if (tn__gc_block.runtime[TN__COLLECTED])
        return;
    tn__set_top(mutator, tn__drop_levels(mutator->block->top, (uintptr_t)results));
    memcpy(mutator->results, results, sizeof mutator->results); /* others may collect before we do */
    collect_in_stress(mutator);
    memset(mutator->results, 0, sizeof mutator->results);
}

/* ---- transitions ---- */

/* In stress mode, references that the callee has got without telling are stale at once. */
void tn__gc_begin_transition(void)
{
    TN__KEEP_ERRNO;
    collect_in_stress(tn__self());
}

static void end_transition(struct tn__mutator *mutator, struct tn_gc_anchor *level)
{
    TN__KEEP_ERRNO;
    tn__come_back(mutator, level, level);
    collect_in_stress(mutator);
}

/* The caller is back at its level, so a collector may be waiting for this thread. Such calls return references to
 * pinned objects only. */
void tn__gc_end_transition(void)
{
    struct tn__mutator *mutator = tn__self();
    end_transition(mutator, mutator->block->top);
}

void tn__gc_after_jump(void)
{
    TN__KEEP_ERRNO;
    struct tn__mutator *mutator = tn__self();
    tn__come_back(mutator, mutator->block->top, mutator->block->top);
}

/* Finds the level with this stack pointer. An entry drops levels below the one that it is called from, so this level
 * may move then. */
static struct tn_gc_anchor *find_level(const struct tn__mutator *mutator, uintptr_t sp)
{
    struct tn_gc_anchor *level = mutator->block->top;
    while (level > tn__native_level(mutator) && tn__sp_of(level) != sp)
        level--;
    return level;
}

static struct tn_gc_anchor *come_to_level(const struct tn__mutator *mutator, uintptr_t sp)
{
    struct tn_gc_anchor *level = find_level(mutator, sp);
    if (level == tn__native_level(mutator))
        tn__lost_level(mutator, sp);
    return level;
}

/* The level of the transition that returns is gone: the thread has run managed code on another stack meanwhile. */
void tn__gc_lost_level(uintptr_t sp)
{
    if (tn__self())
        tn__lost_level(tn__self(), sp);
    __builtin_trap(); /* it was detached in the transition */
}

/* A transition for code that can only make ordinary calls. */
intptr_t tn_call_blocking(void *function, intptr_t a, intptr_t b, intptr_t c, intptr_t d)
{
    intptr_t (*call)(intptr_t, intptr_t, intptr_t, intptr_t);
    struct tn__mutator *mutator = tn__self();
    memcpy(&call, &function, sizeof call);
    struct tn_gc_anchor *level = mutator ? tn__leave(mutator, TN_GC_OUTSIDE) : NULL;
    uintptr_t sp = level ? tn__sp_of(level) : 0;
    intptr_t result = call(a, b, c, d);
    if (level)
        end_transition(mutator, sp ? come_to_level(mutator, sp) : level);
    return result;
}

/* ---- throws ---- */

/* Part of the Itanium C++ ABI, which every unwinder offers. A program without one throws nothing. */
struct _Unwind_Context;
uintptr_t _Unwind_GetGR(struct _Unwind_Context *context, int reg) __attribute__((weak, visibility("default")));
enum { URC_CONTINUE_UNWIND = 8, UA_CLEANUP_PHASE = 2 };

/* The level of the transition whose frame this is: its frame says where the stack was at the call. If the unwinder was
 * loaded later than this program, the innermost level of a transition. */
static struct tn_gc_anchor *level_of(const struct tn__mutator *mutator, struct _Unwind_Context *context)
{
    const struct tn__transition_frame *frame = &tn__transition_frame;
    if (_Unwind_GetGR)
        return find_level(mutator, _Unwind_GetGR(context, frame->unwind_register) + (uintptr_t)frame->to_sp);
    struct tn_gc_anchor *level = mutator->block->top;
    while (!tn__is_outside(level))
        level--;
    return level;
}

/* The personality of transitions: a thread whose frame is unwound comes back to managed code first. */
TN_HIDDEN int tn__gc_unwind(int version, int actions, uint64_t class, void *exception, struct _Unwind_Context *context);
int tn__gc_unwind(int version, int actions, uint64_t class, void *exception, struct _Unwind_Context *context)
{
    struct tn__mutator *mutator = tn__self();
    (void)version, (void)class, (void)exception;
    if (mutator && actions & UA_CLEANUP_PHASE) {
        struct tn_gc_anchor *level = level_of(mutator, context);
        if (level > tn__native_level(mutator))
            tn__come_back(mutator, level, level);
    }
    return URC_CONTINUE_UNWIND;
}

/* ---- calls whose function is looked up ---- */

/* False if no collection waits for the thread: then its arguments refer to pinned objects only. */
static bool begin_lazy(struct tn__lazy_frame *frame)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator || tn__is_outside(mutator->block->top))
        return false;
    frame->outer = mutator->calls;
    mutator->calls = frame;
    tn__leave(mutator, TN_GC_OUTSIDE);
    return true;
}

static void end_lazy(struct tn__lazy_frame *frame)
{
    struct tn__mutator *mutator = tn__self();
    end_transition(mutator, mutator->block->top);
    mutator->calls = frame->outer;
}

void tn__watch_lazy_calls(void)
{
    static const struct tn__lazy_watch watch = {begin_lazy, end_lazy};
    __atomic_store_n(&tn__lazy_watch, &watch, __ATOMIC_RELEASE);
}
