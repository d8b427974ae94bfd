/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads of a heap: attaching, entering managed code, and stopping all of them.
 *
 * A collector need not wait for a thread whose top anchor is a barrier: the one that its array begins with (the thread is
 * outside of managed code), or one that was pushed for a call that may block. To come back, the thread first removes the
 * barrier, then checks for a stop request; the collector first requests the stop, then reads the top. Both use sequentially
 * consistent order, so at least one of them sees the other. */

#include "base/os.h"
#include "base/thread.h"
#include "gc.h"

/* The anchors of threads that are attached to no heap: both are alike, so entries take the slow path. */
static struct tn_gc_anchor unattached[3] = {{.sp = TN_GC_BARRIER}, {.sp = TN_GC_BARRIER}};

__thread struct tn_gc_block tn__gc_block
    __attribute__((tls_model("initial-exec"), aligned(64))) = {.top = unattached + 1};

/* ---- levels ---- */

static struct tn_gc_anchor *top_of(const struct tn__mutator *mutator)
{
    return __atomic_load_n(&mutator->block->top, __ATOMIC_SEQ_CST);
}

static void set_top(struct tn__mutator *mutator, struct tn_gc_anchor *anchor)
{
    __atomic_store_n(&mutator->block->top, anchor, __ATOMIC_SEQ_CST);
}

/* Atomic, because a collector may be reading an anchor that was the top one a moment ago. */
static void set_sp(struct tn_gc_anchor *anchor, uintptr_t sp)
{
    __atomic_store_n(&anchor->sp, sp, __ATOMIC_RELAXED);
}

/* Of an anchor without a call: the frame of its entry, or how deeply tn_managed_begin is nested. */
static void set_fp(struct tn_gc_anchor *anchor, uintptr_t fp)
{
    __atomic_store_n(&anchor->fp, fp, __ATOMIC_RELAXED);
}

static bool is_barrier(const struct tn_gc_anchor *anchor)
{
    return __atomic_load_n(&anchor->sp, __ATOMIC_RELAXED) == TN_GC_BARRIER;
}

/* After the top became a barrier in a place that is slow anyway; see await.c. */
static void wake_if_stopping(const struct tn__mutator *mutator)
{
    if (__atomic_load_n(&mutator->block->poll, __ATOMIC_SEQ_CST) & TN__STOP)
        tn__wake_collector(mutator->heap);
}

/* From now on no collection waits for the calling thread, until pass_barrier is called with the returned level. NULL: none
 * waited before either. */
static struct tn_gc_anchor *put_barrier(struct tn__mutator *mutator)
{
    struct tn_gc_anchor *level = mutator->block->top;
    if (is_barrier(level))
        return NULL;
    set_sp(level + 1, TN_GC_BARRIER);
    set_top(mutator, level + 1);
    wake_if_stopping(mutator);
    return level;
}

/* Goes from a barrier, the top anchor, to the adjacent level. Returns only while the world runs. */
static void pass_barrier(struct tn__mutator *mutator, struct tn_gc_anchor *barrier, struct tn_gc_anchor *level)
{
    for (;;) {
        set_top(mutator, level);
        if (!(__atomic_load_n(&mutator->block->poll, __ATOMIC_SEQ_CST) & TN__STOP))
            return;
        set_top(mutator, barrier);
        tn__wake_collector(mutator->heap);
        pthread_mutex_lock(&mutator->heap->lock);
        pthread_mutex_unlock(&mutator->heap->lock);
    }
}

/* Drops levels whose frames are gone: those below `fp`, and those that a callee left behind in the call of the level below. */
static struct tn_gc_anchor *drop_levels(struct tn_gc_anchor *p, uintptr_t fp)
{
    while (p->sp && p->sp <= fp)
        p--;
    for (; p->sp && !is_barrier(p) && p[-1].sp && p[-1].sp <= p->sp; p--)
        p[-1] = *p;
    return p;
}

/* ---- attaching ---- */

const struct tn__stack_watch *tn__stack_watch;

static struct tn_gc_anchor *outside(const struct tn__mutator *mutator)
{
    return mutator->anchors + 1;
}

/* A level takes an anchor in the array and, on the stack, the frames of an entry, its body and what that calls. */
static bool make_anchors(struct tn__mutator *mutator)
{
    enum { SMALLEST_LEVEL = 32 };
    uint64_t page = tn__os_page_size(), address;
    uint64_t size = tn__align_up(tn__os_stack_size() / SMALLEST_LEVEL * sizeof(struct tn_gc_anchor), page) + page;
    if (tn__os_reserve(0, size + page, false, &address)) /* the page behind it is a guard */
        return false;
    if (tn__os_commit(address, size, TN__PROT_RW)) {
        tn__os_release(address, size + page);
        return false;
    }
    mutator->anchors = (struct tn_gc_anchor *)(uintptr_t)address;
    mutator->anchors_size = size + page;
    mutator->anchors[0].sp = mutator->anchors[1].sp = TN_GC_BARRIER;
    return true;
}

/* At first, its frames are gone: no collection waits for a thread that ended within managed code. */
static void at_end(bool last)
{
    if (last)
        tn_heap_detach();
    else if (tn__self())
        set_top(tn__self(), outside(tn__self()));
}

static bool make_mutator(struct tn_heap *heap)
{
    struct tn__mutator *mutator = tn__alloc_zeroed(NULL, 1, sizeof *mutator);
    if (!mutator || !tn__thread_at_end(TN__END_HEAP, at_end) || !make_anchors(mutator)) {
        tn__free(NULL, mutator);
        return false;
    }
    mutator->heap = heap;
    mutator->block = &tn__gc_block;
    mutator->thread = tn__os_thread_id();
    tn__gc_block = (struct tn_gc_block){.top = outside(mutator), .runtime = {[TN__MUTATOR] = mutator}};
    if (heap->options.flags & TN_HEAP_STRESS)
        tn__gc_block.poll = TN__STRESS;
    tn__list_append(&heap->mutators, &mutator->all);
    const struct tn__stack_watch *watch = __atomic_load_n(&tn__stack_watch, __ATOMIC_ACQUIRE);
    if (watch)
        watch->attach(mutator);
    return true;
}

int tn_heap_attach(struct tn_heap *heap, struct tn_error *err)
{
    if (!heap)
        return tn__no_argument(err);
    struct tn__mutator *mutator = tn__self();
    if (tn__thread_has_ended())
        return tn__fail(err, TN_EINVAL, "the thread is ending: the last destructors of its data are running");
    if (mutator)
        return mutator->heap == heap ? TN_OK : tn__fail(err, TN_EINVAL, "the thread is attached to another heap");
    tn__heap_lock(heap); /* so that no fork comes in between */
    bool made = make_mutator(heap);
    tn__heap_unlock(heap);
    return made ? TN_OK : tn__fail(err, TN_ENOMEM, "no memory for a thread of a heap");
}

static void free_mutator(struct tn__mutator *mutator)
{
    tn__list_remove(&mutator->all);
    tn__os_release((uintptr_t)mutator->anchors, mutator->anchors_size);
    if (mutator->signal_stack)
        tn__os_release(mutator->signal_stack, mutator->signal_stack_size);
    tn__free(NULL, mutator);
}

void tn_heap_detach(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    while (mutator->scope_depth)
        tn_scope_end();
    struct tn_heap *heap = mutator->heap;
    tn__heap_lock(heap);
    tn__retire(mutator);
    tn__gc_block = (struct tn_gc_block){.top = unattached + 1};
    if (mutator->signal_stack)
        tn__stack_watch->detach(mutator);
    free_mutator(mutator);
    tn__heap_unlock(heap);
}

/* The thread's block may not exist any more; its chunk is retired, because the world is stopped. */
void tn__mutator_drop(struct tn__mutator *mutator)
{
    tn__scopes_end(mutator, 1);
    free_mutator(mutator);
}

struct tn_heap *tn_heap_current(void)
{
    return tn__self() ? tn__self()->heap : NULL;
}

/* ---- the lock ---- */

struct tn_gc_anchor *tn__outside_begin(void)
{
    return tn__self() ? put_barrier(tn__self()) : NULL;
}

void tn__outside_end(struct tn_gc_anchor *level)
{
    struct tn__mutator *self = tn__self();
    if (level && tn__heap_is_mine(self->heap)) /* a callback under the lock, perhaps while the world is stopped */
        set_top(self, level);
    else if (level)
        pass_barrier(self, level + 1, level);
}

bool tn__heap_is_mine(const struct tn_heap *heap)
{
    return __atomic_load_n(&heap->holder, __ATOMIC_RELAXED) == tn__this_thread();
}

static void lock_own(struct tn_heap *heap)
{
    if (pthread_mutex_trylock(&heap->lock) == 0)
        return;
    struct tn_gc_anchor *level = tn__outside_begin();
    pthread_mutex_lock(&heap->lock);
    if (level) /* the world cannot be stopped now: we hold the lock */
        set_top(tn__self(), level);
}

void tn__heap_lock(struct tn_heap *heap)
{
    struct tn__mutator *self = tn__self();
    if (self && self->heap == heap) {
        lock_own(heap);
    } else {
        struct tn_gc_anchor *level = tn__outside_begin();
        pthread_mutex_lock(&heap->lock);
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
    pthread_mutex_unlock(&heap->lock);
    if (level) {
        self->away = NULL;
        tn__outside_end(level);
    }
}

bool tn__objects_hold(struct tn_heap *heap)
{
    const struct tn__mutator *self = tn__self();
    if (self && self->heap == heap && !is_barrier(self->block->top))
        return false;
    tn__heap_lock(heap);
    return true;
}

void tn__objects_release(struct tn_heap *heap, bool locked)
{
    if (locked)
        tn__heap_unlock(heap);
}

/* ---- a thread's chunk ---- */

void tn__publish_limit(struct tn__mutator *mutator)
{
    /* Under the lock, so no stop request is lost. In stress mode every allocation takes the slow path. */
    bool stress = mutator->heap->options.flags & TN_HEAP_STRESS;
    __atomic_store_n(&mutator->block->limit, stress ? NULL : mutator->limit, __ATOMIC_RELAXED);
}

void tn__retire(struct tn__mutator *mutator)
{
    if (!mutator->chunk)
        return;
    struct tn__space *space = &mutator->heap->space;
    uintptr_t start = tn__chunk_address(space, mutator->chunk);
    space->chunks[mutator->chunk].used = (uint32_t)((uintptr_t)mutator->block->bump - start);
    mutator->chunk = 0;
    mutator->limit = mutator->block->bump = NULL;
    __atomic_store_n(&mutator->block->limit, NULL, __ATOMIC_RELAXED);
}

/* ---- the world ---- */

bool tn__is_stopped(const struct tn__mutator *mutator)
{
    return is_barrier(top_of(mutator));
}

void tn__world_stop(struct tn_heap *heap)
{
    heap->stops++;
    for (TN__EACH_MUTATOR(at, heap)) {
        struct tn_gc_block *block = tn__mutator_at(at)->block;
        __atomic_fetch_or(&block->poll, TN__STOP, __ATOMIC_SEQ_CST);
        __atomic_store_n(&block->limit, NULL, __ATOMIC_SEQ_CST);
    }
    tn__await_stopped(heap);
    for (TN__EACH_MUTATOR(at, heap))
        tn__retire(tn__mutator_at(at));
}

void tn__world_start(struct tn_heap *heap)
{
    if (--heap->stops)
        return;
    for (TN__EACH_MUTATOR(at, heap))
        __atomic_fetch_and(&tn__mutator_at(at)->block->poll, ~(uint32_t)TN__STOP, __ATOMIC_SEQ_CST);
}

/* ---- polls ---- */

static bool in_stress(const struct tn__mutator *mutator)
{
    return mutator->heap->options.flags & TN_HEAP_STRESS;
}

static void collect_in_stress(struct tn__mutator *mutator)
{
    if (!in_stress(mutator))
        return;
    tn__heap_lock(mutator->heap);
    tn__collect_now(mutator->heap);
    tn__heap_unlock(mutator->heap);
}

void tn__gc_poll(void)
{
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
    struct tn__mutator *mutator = tn__self();
    if (tn__gc_block.runtime[TN__COLLECTED])
        return;
    set_top(mutator, drop_levels(mutator->block->top, (uintptr_t)results));
    memcpy(mutator->results, results, sizeof mutator->results); /* others may collect before we do */
    collect_in_stress(mutator);
    memset(mutator->results, 0, sizeof mutator->results);
}

/* ---- calls that may block ---- */

static void end_blocking(struct tn__mutator *mutator, struct tn_gc_anchor *level)
{
    pass_barrier(mutator, level + 1, level);
    collect_in_stress(mutator);
}

/* The caller has removed the barrier: its level is the top one again, so a collector may be waiting for this thread. */
void tn__gc_after_blocking(void *const results[TN__RESULTS])
{
    struct tn__mutator *mutator = tn__self();
    (void)results; /* such calls return references to pinned objects only */
    end_blocking(mutator, mutator->block->top);
}

/* tn__gc_call_blocking for code that can only make ordinary calls. */
intptr_t tn_call_blocking(void *function, intptr_t a, intptr_t b, intptr_t c, intptr_t d)
{
    intptr_t (*call)(intptr_t, intptr_t, intptr_t, intptr_t);
    struct tn__mutator *mutator = tn__self();
    memcpy(&call, &function, sizeof call);
    struct tn_gc_anchor *level = mutator ? put_barrier(mutator) : NULL;
    intptr_t result = call(a, b, c, d);
    if (level)
        end_blocking(mutator, level);
    return result;
}

/* ---- calls whose function is looked up ---- */

/* False if no collection waits for the thread: then its arguments refer to pinned objects only. */
static bool begin_lazy(struct tn__lazy_frame *frame)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator || is_barrier(mutator->block->top))
        return false;
    frame->outer = mutator->calls;
    mutator->calls = frame;
    put_barrier(mutator);
    return true;
}

static void end_lazy(struct tn__lazy_frame *frame)
{
    struct tn__mutator *mutator = tn__self();
    end_blocking(mutator, mutator->block->top - 1);
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
    struct tn_gc_anchor *p = drop_levels(mutator->block->top, fp);
    if (is_barrier(p)) {
        set_sp(p + 1, 0);
        set_fp(p + 1, fp);
        pass_barrier(mutator, p, p + 1);
    }
    return p;
}

/* Until tn_managed_end the top level is one without calls to native code; its `fp` counts the nesting. */
void tn_managed_begin(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    struct tn_gc_anchor *p = drop_levels(mutator->block->top, (uintptr_t)__builtin_frame_address(0));
    set_top(mutator, p);
    if (!p->sp)
        set_fp(p, p->fp + 1);
    if (!is_barrier(p))
        return;
    set_fp(p + 1, 1);
    set_sp(p + 1, 0);
    pass_barrier(mutator, p, p + 1);
}

void tn_managed_end(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    struct tn_gc_anchor *p = drop_levels(mutator->block->top, (uintptr_t)__builtin_frame_address(0));
    if (!p->sp)
        set_fp(p, p->fp - 1);
    if (!p->sp && !p->fp)
        p--;
    set_top(mutator, p);
    wake_if_stopping(mutator);
}
