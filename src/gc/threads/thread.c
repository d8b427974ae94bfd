/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads of a heap: attaching, the heap's lock, and stopping all of them; level.c: entering and leaving managed code.
 *
 * A collector need not wait for a thread whose top anchor says that it is outside managed code: the one that its array begins
 * with, or one of a transition. To come back, the thread first changes that and then checks for a stop request; the collector
 * first requests the stop and then reads the top. So that at least one of them sees the other, there is a full fence between
 * the two steps. That is expensive where managed code calls often: so compiled code has none, and the collector executes it for
 * all threads (tn__os_fence_threads). Where the system refuses that, each thread executes its own; and so do threads that wait in
 * the runtime, which spares the collector the request (TN_GC_FENCED). */

#include "base/os.h"
#include "base/thread.h"
#include "gc/gc.h"

/* The anchors of threads that are attached to no heap: both are alike, so entries take the slow path. */
static struct tn_gc_anchor unattached[3] = {{.sp = (uintptr_t)TN__HIGHEST}, {.sp = (uintptr_t)TN__HIGHEST}};

__thread struct tn_gc_block tn__gc_block
    __attribute__((tls_model("initial-exec"), aligned(64))) = {.top = unattached + 1};

/* ---- attaching ---- */

const struct tn__stack_watch *tn__stack_watch;

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
    mutator->anchors[0].sp = (uintptr_t)TN__HIGHEST;
    mutator->anchors[1].sp = (uintptr_t)TN__NATIVE;
    return true;
}

/* At first, its frames are gone: no collection waits for a thread that ended within managed code. */
static void at_end(bool last)
{
    if (last)
        tn_heap_detach();
    else if (tn__self())
        tn__set_top(tn__self(), tn__native_level(tn__self()));
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
    tn__gc_block = (struct tn_gc_block){
        .top = tn__native_level(mutator), .fences = heap->fences, .runtime = {[TN__MUTATOR] = mutator}};
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
    if (pthread_mutex_trylock(&heap->lock) == 0)
        return;
    struct tn_gc_anchor *level = tn__outside_begin();
    pthread_mutex_lock(&heap->lock);
    if (level) /* the world cannot be stopped now: we hold the lock */
        tn__set_sp(level, tn__sp_of(level));
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
    if (self && self->heap == heap && !tn__is_outside(self->block->top))
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
    return tn__is_outside(tn__top_of(mutator));
}

static void do_nothing(void *unused)
{
    (void)unused;
}

/* From now on, every thread that comes back to managed code sees the stop request. If the system begins to refuse the fence
 * (a sandbox was entered), threads that do not know yet are made to execute one by taking their cores away, once. */
static void fence_threads(struct tn_heap *heap)
{
    if (!tn__os_fence_threads())
        return;
    heap->fences = true;
    for (TN__EACH_MUTATOR(at, heap))
        __atomic_store_n(&tn__mutator_at(at)->block->fences, 1, __ATOMIC_SEQ_CST);
    tn__os_visit_cores(do_nothing, NULL);
}

/* True if a thread is outside managed code that might come back without having seen the stop request. */
static bool needs_fence(struct tn_heap *heap)
{
    for (TN__EACH_MUTATOR(at, heap))
        if (tn__mutator_at(at) != tn__self() &&
            !(__atomic_load_n(&tn__top_of(tn__mutator_at(at))->sp, __ATOMIC_SEQ_CST) & TN_GC_FENCED))
            return !heap->fences;
    return false;
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
    if (needs_fence(heap)) {
        fence_threads(heap);
        tn__await_stopped(heap);
    }
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

void tn__collect_in_stress(struct tn__mutator *mutator)
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
    tn__collect_in_stress(mutator);
}

/* The call may have returned the only reference to an object, in a register: such objects are pinned. */
void tn__gc_after_call(void *const results[TN__RESULTS])
{
    struct tn__mutator *mutator = tn__self();
    if (tn__gc_block.runtime[TN__COLLECTED])
        return;
    tn__set_top(mutator, tn__drop_levels(mutator->block->top, (uintptr_t)results));
    memcpy(mutator->results, results, sizeof mutator->results); /* others may collect before we do */
    tn__collect_in_stress(mutator);
    memset(mutator->results, 0, sizeof mutator->results);
}
