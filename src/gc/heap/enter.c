/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Entering managed code. A thread that is attached to no heap is attached to the default one then. */

#include <stdio.h>

#include "base/kept_errno.h"
#include "gc/heap/heaps.h"

/* Of an anchor without a call: the frame of its entry, or how deeply tn_managed_begin is nested. */
static void set_fp(struct tn_gc_anchor *anchor, uintptr_t fp)
{
    __atomic_store_n(&anchor->fp, fp, __ATOMIC_RELAXED);
}

/* A thread that cannot be attached could not run what it called. Without a heap there is no callback to tell why. */
static void adopt(void)
{
    struct tn_heap *heap;
    struct tn_error err;
    if (tn_heap_default(&heap, &err))
        __builtin_trap();
    if (!tn_heap_attach(heap, &err))
        return;
    snprintf(heap->corruption, sizeof heap->corruption, "managed code is called by a thread that cannot run it: %.120s",
             err.text);
    tn__corrupt(heap, heap->corruption);
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

static bool has_abandoned(const struct tn_gc_anchor *top, uintptr_t fp)
{
    uintptr_t sp = tn__sp_of(top), outer = sp ? tn__sp_of(top - 1) : 0;
    return sp && (sp <= fp || (outer && outer <= sp));
}

/* tn__drop_levels writes over abandoned levels, so a thread outside managed code comes back first. */
static struct tn_gc_anchor *drop_levels(struct tn__mutator *mutator, uintptr_t fp)
{
    struct tn_gc_anchor *top = mutator->block->top;
    if (tn__is_outside(top) && has_abandoned(top, fp))
        tn__come_back(mutator, top, top);
    return tn__drop_levels(top, fp);
}

struct tn_gc_anchor *tn__gc_enter(uintptr_t fp)
{
    TN__KEEP_ERRNO;
    if (!tn__self())
        adopt();
    struct tn__mutator *mutator = tn__self();
    struct tn_gc_anchor *p = drop_levels(mutator, fp);
    push_level(mutator, p, fp);
    return p;
}

/* Until tn_managed_end the top level is one without calls to native code; its `fp` counts the nesting. A callee that
 * was called from managed code without a transition needs no such level. */
void tn__managed_begin(uintptr_t fp)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    struct tn_gc_anchor *p = tn__drop_levels(mutator->block->top, fp);
    if (tn__is_outside(p)) {
        push_level(mutator, p, 1);
        return;
    }
    if (!p->sp)
        set_fp(p, p->fp + 1);
    tn__set_top(mutator, p);
}

void tn__managed_end(uintptr_t fp)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
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
