/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Entering managed code. A thread that is attached to no heap is attached to the default one then. */

#include "gc/threads/threads.h"

/* Of an anchor without a call: the frame of its entry, or how deeply tn_managed_begin is nested. */
static void set_fp(struct tn_gc_anchor *anchor, uintptr_t fp)
{
    __atomic_store_n(&anchor->fp, fp, __ATOMIC_RELAXED);
}

/* Traps if the thread cannot be attached: it could not run what it called. */
static void adopt(void)
{
    struct tn_heap *heap;
    struct tn_error err;
    if (tn_heap_default(&heap, &err) || tn_heap_attach(heap, &err))
        __builtin_trap();
}

/* Begins a level above p, the first one that is not abandoned. A thread outside managed code first comes back at the
 * level where collectors know it: until then one may be reading that, and the abandoned levels. */
static void push_level(struct tn__mutator *mutator, struct tn_gc_anchor *p, uintptr_t fp)
{
    struct tn_gc_anchor *top = mutator->block->top;
    bool is_back = p != top && tn__is_outside(top);
    if (is_back)
        tn__come_back(mutator, top, top);
    set_fp(p + 1, fp);
    tn__set_sp(p + 1, 0);
    if (!is_back && tn__is_outside(p))
        tn__come_back(mutator, p, p + 1);
    else
        tn__set_top(mutator, p + 1);
}

struct tn_gc_anchor *tn__gc_enter(uintptr_t fp)
{
    if (!tn__self())
        adopt();
    struct tn__mutator *mutator = tn__self();
    struct tn_gc_anchor *p = tn__drop_levels(mutator->block->top, fp);
    push_level(mutator, p, fp);
    return p;
}

/* Until tn_managed_end the top level is one without calls to native code; its `fp` counts the nesting. A callee that
 * was called from managed code without a transition needs no such level. */
void tn_managed_begin(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    struct tn_gc_anchor *p = tn__drop_levels(mutator->block->top, (uintptr_t)__builtin_frame_address(0));
    if (tn__is_outside(p)) {
        push_level(mutator, p, 1);
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
    tn__wake_if_stopping(mutator);
}
