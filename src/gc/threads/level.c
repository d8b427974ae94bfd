/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Levels of managed code: entering and leaving it, with the array of anchors that doc/GC.md describes ("Transitions"); thread.c says how
 * threads and the collector agree on who is outside. */

#include "gc/gc.h"

/* ---- levels ---- */

/* Of an anchor without a call: the frame of its entry, or how deeply tn_managed_begin is nested. */
static void set_fp(struct tn_gc_anchor *anchor, uintptr_t fp)
{
    __atomic_store_n(&anchor->fp, fp, __ATOMIC_RELAXED);
}

/* After the thread left managed code in a place that is slow anyway; see await.c. */
static void wake_if_stopping(const struct tn__mutator *mutator)
{
    if (__atomic_load_n(&mutator->block->poll, __ATOMIC_SEQ_CST) & TN__STOP)
        tn__wake_collector(mutator->heap);
}

struct tn_gc_anchor *tn__leave(struct tn__mutator *mutator, unsigned state)
{
    struct tn_gc_anchor *level = mutator->block->top;
    if (tn__is_outside(level))
        return NULL;
    __atomic_store_n(&level->sp, level->sp | state, __ATOMIC_SEQ_CST);
    wake_if_stopping(mutator);
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
        tn__wake_collector(mutator->heap);
        pthread_mutex_lock(&mutator->heap->lock);
        pthread_mutex_unlock(&mutator->heap->lock);
    }
}

struct tn_gc_anchor *tn__drop_levels(struct tn_gc_anchor *p, uintptr_t fp)
{
    while (tn__sp_of(p) && tn__sp_of(p) <= fp)
        p--;
    for (; tn__sp_of(p) && tn__sp_of(p - 1) && tn__sp_of(p - 1) <= tn__sp_of(p); p--)
        p[-1] = *p;
    return p;
}

/* ---- transitions ---- */

/* In stress mode references that the callee got without telling are stale at once. */
void tn__gc_begin_transition(void *const results[TN__RESULTS])
{
    (void)results;
    tn__collect_in_stress(tn__self());
}

static void end_transition(struct tn__mutator *mutator, struct tn_gc_anchor *level)
{
    tn__come_back(mutator, level, level);
    tn__collect_in_stress(mutator);
}

/* The caller is back at its level, so a collector may be waiting for this thread. */
void tn__gc_end_transition(void *const results[TN__RESULTS])
{
    struct tn__mutator *mutator = tn__self();
    (void)results; /* such calls return references to pinned objects only */
    end_transition(mutator, mutator->block->top);
}

void tn__gc_after_jump(void)
{
    struct tn__mutator *mutator = tn__self();
    tn__come_back(mutator, mutator->block->top, mutator->block->top);
}

/* The level with this stack pointer. Entries drop levels below the one that they are called from, so that moves then. */
static struct tn_gc_anchor *find_level(const struct tn__mutator *mutator, uintptr_t sp)
{
    struct tn_gc_anchor *level = mutator->block->top;
    while (level > tn__native_level(mutator) && tn__sp_of(level) != sp)
        level--;
    return level;
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
        end_transition(mutator, sp ? find_level(mutator, sp) : level);
    return result;
}

/* ---- throws ---- */

/* Part of the Itanium C++ ABI, which every unwinder offers. A program without one throws nothing. */
struct _Unwind_Context;
uintptr_t _Unwind_GetGR(struct _Unwind_Context *context, int reg) __attribute__((weak, visibility("default")));
enum { URC_CONTINUE_UNWIND = 8, UA_CLEANUP_PHASE = 2, FRAME_POINTER = 6 };

/* The level of the transition whose frame this is: its frame pointer is below the return address. If the unwinder was loaded
 * later than this program, the innermost level of a transition. */
static struct tn_gc_anchor *level_of(const struct tn__mutator *mutator, struct _Unwind_Context *context)
{
    if (_Unwind_GetGR)
        return find_level(mutator, _Unwind_GetGR(context, FRAME_POINTER) + sizeof(uintptr_t));
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

/* ---- entering ---- */

/* Traps if the thread cannot be attached: it could not run what it called. */
static void adopt(void)
{
    struct tn_heap *heap;
    struct tn_error err;
    if (tn_heap_default(&heap, &err) || tn_heap_attach(heap, &err))
        __builtin_trap();
}

struct tn_gc_anchor *tn__gc_enter(uintptr_t fp)
{
    if (!tn__self())
        adopt();
    struct tn__mutator *mutator = tn__self();
    struct tn_gc_anchor *p = tn__drop_levels(mutator->block->top, fp);
    set_fp(p + 1, fp);
    tn__set_sp(p + 1, 0);
    if (tn__is_outside(p))
        tn__come_back(mutator, p, p + 1);
    else
        tn__set_top(mutator, p + 1);
    return p;
}

/* Until tn_managed_end the top level is one without calls to native code; its `fp` counts the nesting. A callee that was called
 * from managed code without a transition needs no such level. */
void tn_managed_begin(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    struct tn_gc_anchor *p = tn__drop_levels(mutator->block->top, (uintptr_t)__builtin_frame_address(0));
    if (tn__is_outside(p)) {
        set_fp(p + 1, 1);
        tn__set_sp(p + 1, 0);
        tn__come_back(mutator, p, p + 1);
        return;
    }
    if (!p->sp)
        set_fp(p, p->fp + 1);
    tn__set_top(mutator, p);
}

void tn_managed_end(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    uintptr_t fp = (uintptr_t)__builtin_frame_address(0);
    bool was_outside = tn__is_outside(mutator->block->top);
    struct tn_gc_anchor *p = tn__drop_levels(mutator->block->top, fp);
    if (!p->sp)
        set_fp(p, p->fp - 1);
    if (!p->sp && !p->fp)
        p = tn__drop_levels(p - 1, fp);
    if (was_outside && !tn__is_outside(p))
        tn__come_back(mutator, p, p);
    else
        tn__set_top(mutator, p);
    wake_if_stopping(mutator);
}
