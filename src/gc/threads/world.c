/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The lock of a heap, and stopping all of its threads.
 *
 * A collector need not wait for a thread whose top anchor says that it is outside managed code: the one that its array
 * begins with, or one of a transition. To come back, the thread first changes that and then checks for a stop request;
 * the collector first requests the stop and then reads the top. So that at least one of them sees the other, there is a
 * full fence between the two steps. That is expensive where managed code calls often: so compiled code has none, and
 * the collector executes it for all threads (tn__os_fence_threads). Where the system refuses that, each thread executes
 * its own; and so do threads that wait in the runtime, which spares the collector the request (TN_GC_FENCED). */

#include "base/os.h"
#include "gc/threads/threads.h"

void tn__corrupt(struct tn_heap *heap, const char *what)
{
    __atomic_store_n(&heap->is_corrupt, true, __ATOMIC_RELAXED);
    if (heap->options.on_corruption)
        heap->options.on_corruption(heap->options.context, what);
    __builtin_trap();
}

/* ---- the lock ---- */

struct tn_gc_anchor *tn__outside_begin(void)
{
    return tn__self() ? tn__leave(tn__self(), TN_GC_OUTSIDE | TN_GC_FENCED) : NULL;
}

void tn__outside_end(struct tn_gc_anchor *level)
{
    struct tn__mutator *self = tn__self();
    if (level && tn__heap_is_mine(self->heap)) /* a callback under the lock, perhaps while the world is stopped */
        tn__set_sp(level, tn__sp_of(level));
    else if (level)
        tn__come_back(self, level, level);
}

bool tn__heap_is_mine(const struct tn_heap *heap)
{
    return __atomic_load_n(&heap->holder, __ATOMIC_RELAXED) == tn__this_thread();
}

static void lock_own(struct tn_heap *heap)
{
    if (tn__mutex_lock_at_once(&heap->lock))
        return;
    struct tn_gc_anchor *level = tn__outside_begin();
    tn__mutex_lock(&heap->lock);
    if (level) /* the world cannot be stopped now: we hold the lock */
        tn__set_sp(level, tn__sp_of(level));
}

int tn__may_wait(struct tn_error *err)
{
    return tn__refuse_in(TN__UNDER_LOCK, err);
}

int tn__may_use(const struct tn_heap *heap, struct tn_error *err)
{
    return tn__refuse_in(tn__heap_is_mine(heap) ? TN__IN_VISITOR : TN__UNDER_LOCK, err);
}

void tn__refuse_callback(struct tn_heap *heap)
{
    if (__atomic_load_n(&heap->is_corrupt, __ATOMIC_RELAXED)) /* it may be on_corruption that would wait */
        __builtin_trap();
    tn__corrupt(heap, "a callback calls a function of a heap, or managed code, that it must not call");
}

void tn__heap_lock(struct tn_heap *heap)
{
    struct tn__mutator *self = tn__self();
    if (tn__callback || tn__heap_is_mine(heap))
        tn__refuse_callback(heap);
    if (self && self->heap == heap) {
        lock_own(heap);
    } else {
        struct tn_gc_anchor *level = tn__outside_begin();
        tn__mutex_lock(&heap->lock);
        if (level)
            self->away = level;
    }
    __atomic_store_n(&heap->holder, tn__this_thread(), __ATOMIC_RELAXED);
}

void tn__heap_unlock(struct tn_heap *heap)
{
    struct tn__mutator *self = tn__self();
    struct tn_gc_anchor *level = self && self->heap != heap ? self->away : NULL;
    __atomic_store_n(&heap->holder, NULL, __ATOMIC_RELAXED);
    tn__mutex_unlock(&heap->lock);
    if (level) {
        self->away = NULL;
        tn__outside_end(level);
    }
}

bool tn__objects_hold(struct tn_heap *heap)
{
    const struct tn__mutator *self = tn__self();
    if (tn__may_use(heap, NULL))
        tn__refuse_callback(heap);
    if (tn__heap_is_mine(heap) || (self && self->heap == heap && !tn__is_outside(self->block->top)))
        return false;
    tn__heap_lock(heap);
    return true;
}

void tn__objects_release(struct tn_heap *heap, bool locked)
{
    if (locked)
        tn__heap_unlock(heap);
}

/* ---- the world ---- */

static void do_nothing(void *unused)
{
    (void)unused;
}

/* From now on, every thread that comes back to managed code sees the stop request. If the system begins to refuse the
 * fence (a sandbox was entered), threads that do not know yet are made to execute one by taking their cores away,
 * once. */
static void fence_threads(struct tn_heap *heap)
{
    if (!tn__os_fence_threads())
        return;
    heap->fences = true;
    for (TN__EACH_MUTATOR(mutator, heap))
        __atomic_store_n(&mutator->block->fences, 1, __ATOMIC_SEQ_CST);
    tn__os_visit_cores(do_nothing, NULL);
}

/* True if a thread is outside managed code that might come back without having seen the stop request. */
static bool needs_fence(struct tn_heap *heap)
{
    for (TN__EACH_MUTATOR(mutator, heap))
        if (mutator != tn__self() && !(__atomic_load_n(&tn__top_of(mutator)->sp, __ATOMIC_SEQ_CST) & TN_GC_FENCED))
            return !heap->fences;
    return false;
}

/* Its holder gives it back soon. */
static void stop_beside(struct tn_heap *heap)
{
    enum { LOOKS = 1000 };
    for (int i = 0; i < LOOKS; i++) {
        if (tn__mutex_lock_at_once(&heap->beside))
            return;
        tn__os_relax();
    }
    tn__mutex_lock(&heap->beside);
}

static void start_beside(struct tn_heap *heap)
{
    if (__atomic_exchange_n(&heap->beside_stops, 0, __ATOMIC_SEQ_CST) == 2)
        tn__os_wake(&heap->beside_stops);
}

void tn__world_stop(struct tn_heap *heap)
{
    bool is_first = !heap->stops++;
    if (is_first)
        __atomic_store_n(&heap->beside_stops, 1, __ATOMIC_SEQ_CST);
    for (TN__EACH_MUTATOR(mutator, heap)) {
        struct tn_gc_block *block = mutator->block;
        __atomic_fetch_or(&block->poll, TN__STOP, __ATOMIC_SEQ_CST);
        __atomic_store_n(&block->limit, NULL, __ATOMIC_SEQ_CST);
    }
    tn__await_stopped(heap);
    if (needs_fence(heap)) {
        fence_threads(heap);
        tn__await_stopped(heap);
    }
    if (!heap->beside_held) {
        stop_beside(heap);
        heap->beside_held = heap->stops;
    }
    for (TN__EACH_MUTATOR(mutator, heap))
        heap->collector->retire(mutator);
}

void tn__world_start(struct tn_heap *heap)
{
    if (heap->beside_held == heap->stops) {
        heap->beside_held = 0;
        tn__mutex_unlock(&heap->beside);
    }
    if (--heap->stops)
        return;
    start_beside(heap);
    for (TN__EACH_MUTATOR(mutator, heap))
        __atomic_fetch_and(&mutator->block->poll, ~(uint32_t)TN__STOP, __ATOMIC_SEQ_CST);
}
