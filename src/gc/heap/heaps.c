/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* All heaps, the default one among them, and forks. A fork stops the threads of every heap as a collection does: the
 * system copies memory page by page while other threads run, so the child could see an object without its contents. In
 * the child, the other threads' anchors, scopes and running finalizers are dropped; the objects that only those
 * referred to die at the next collection. */

#include "base/fork.h"
#include "base/os.h"
#include "gc/collect/collect.h"
#include "gc/heap/heaps.h"

static struct {
    struct tn__mutex lock;   /* taken before those of heaps, outside of managed code */
    struct tn__mutex ranges; /* the list changes under both; nothing is waited for under this one */
    struct tn__list heaps;
} all = {TN__MUTEX(TN__LEVEL_HEAPS), TN__MUTEX(TN__LEVEL_RANGES), {&all.heaps, &all.heaps}};

static struct {
    struct tn__mutex lock; /* a leaf: no thread waits for anything while it holds this lock */
    struct tn_heap *heap;
} chosen = {.lock = TN__MUTEX(TN__LEVEL_DEFAULT)};

#define EACH_HEAP(heap) TN_EACH(struct tn_heap, heap, &all.heaps, listed)

/* ---- before ---- */

/* The level that the forking thread left. */
static __thread struct tn_gc_anchor *level __attribute__((tls_model("initial-exec")));

/* The heap under whose lock the calling thread runs a callback; NULL: none. */
static struct tn_heap *find_own(void)
{
    struct tn_heap *own = NULL;
    tn__mutex_lock(&all.ranges);
    for (EACH_HEAP(heap))
        if (tn__heap_is_mine(heap))
            own = heap;
    tn__mutex_unlock(&all.ranges);
    return own;
}

/* One whose world a thread has stopped, of which there is one. Its handles may be locked: they are visited so. */
static struct tn_heap *find_stopped(void)
{
    struct tn_heap *stopped = NULL;
    tn__mutex_lock(&all.ranges);
    for (EACH_HEAP(heap))
        if (!stopped || __atomic_load_n(&heap->holder, __ATOMIC_RELAXED))
            stopped = heap;
    tn__mutex_unlock(&all.ranges);
    return stopped;
}

/* Callbacks under the lock of a heap may fork. While such a thread waits here, another one that forks does without that
 * lock: its holder cannot go on before that fork is over. */
static void lock_list(void)
{
    struct tn_heap *own = find_own();
    if (!own) {
        tn__mutex_lock(&all.lock);
        return;
    }
    __atomic_store_n(&own->awaits_fork, true, __ATOMIC_SEQ_CST);
    tn__mutex_lock_unordered(&all.lock);
    __atomic_store_n(&own->awaits_fork, false, __ATOMIC_SEQ_CST);
}

/* False: its holder is this thread, or one that waits in lock_list. */
static bool lock_heap(struct tn_heap *heap)
{
    enum { SHORTEST_NS = 1000, LONGEST_NS = 50000 };
    uint32_t never = 0;
    for (uint64_t nap = SHORTEST_NS; !tn__mutex_try(&heap->lock); nap = tn__min64(2 * nap, LONGEST_NS)) {
        if (tn__heap_is_mine(heap) || __atomic_load_n(&heap->awaits_fork, __ATOMIC_SEQ_CST))
            return false;
        tn__os_wait(&never, 0, nap);
    }
    __atomic_store_n(&heap->holder, tn__this_thread(), __ATOMIC_RELAXED);
    return true;
}

static void before_fork(void)
{
    if (tn__callback == TN__IN_VISITOR) /* the thread that waits for this visitor would never let the world go on */
        tn__refuse_callback(find_stopped());
    level = tn__outside_begin();
    lock_list();
    for (EACH_HEAP(heap)) {
        heap->locked_for_fork = lock_heap(heap);
        tn__world_stop(heap);
    }
}

static void lock_handles(void)
{
    for (EACH_HEAP(heap))
        tn__mutex_lock(&heap->roots_lock);
    tn__mutex_lock(&chosen.lock);
}

/* ---- after ---- */

static void drop_threads(struct tn_heap *heap)
{
    struct tn__mutator *self = tn__self();
    if (self)
        self->thread = tn__os_thread_id();
    for (TN_EACH_TO_REMOVE(struct tn__mutator, mutator, &heap->mutators, all))
        if (mutator != self)
            tn__mutator_drop(mutator);
}

/* In the child: the heap of a thread that waited in lock_list, in a callback. Nothing can hold its new locks. */
static void take_over(struct tn_heap *heap)
{
    tn__mutex_init(&heap->lock, TN__LEVEL_HEAP);
    tn__mutex_lock_unordered(&heap->lock);
    __atomic_store_n(&heap->holder, tn__this_thread(), __ATOMIC_RELAXED);
    heap->locked_for_fork = true;
    heap->awaits_fork = false;
    heap->current = NULL;
    if (heap->beside_held != heap->stops) {
        tn__mutex_init(&heap->beside, TN__LEVEL_BESIDE);
        tn__mutex_lock_unordered(&heap->beside);
    }
    heap->stops = heap->beside_held = 1;
}

static void unlock_handles(bool in_child)
{
    (void)in_child;
    tn__mutex_unlock(&chosen.lock);
    for (EACH_HEAP(heap))
        tn__mutex_unlock(&heap->roots_lock);
}

static void unlock_heap(struct tn_heap *heap)
{
    __atomic_store_n(&heap->holder, NULL, __ATOMIC_RELAXED);
    tn__mutex_unlock(&heap->lock);
}

static void after_fork(bool in_child)
{
    for (EACH_HEAP(heap)) {
        if (in_child) {
            heap->forks++;
            if (!tn__heap_is_mine(heap))
                take_over(heap);
            drop_threads(heap);
            tn__finalizers_drop(heap);
        }
        tn__world_start(heap);
        if (heap->locked_for_fork)
            unlock_heap(heap);
    }
    tn__mutex_unlock(&all.lock);
    tn__outside_end(level);
}

/* ---- the list ---- */

static void watch_forks(void)
{
    static const struct tn__fork_hooks hooks = {.before = before_fork, .after = after_fork};
    static const struct tn__fork_hooks handle_hooks = {.before = lock_handles, .after = unlock_handles};
    static const struct tn__fork_hooks range_hooks = {.lock = &all.ranges};
    tn__forks_watch(TN__LEVEL_HEAPS, &hooks);
    tn__forks_watch(TN__LEVEL_HANDLES, &handle_hooks);
    tn__forks_watch(TN__LEVEL_RANGES, &range_hooks);
}

void tn__heaps_add(struct tn_heap *heap)
{
    watch_forks();
    struct tn_gc_anchor *left = tn__outside_begin();
    tn__mutex_lock(&all.lock);
    tn__mutex_lock(&all.ranges);
    tn__list_append(&all.heaps, &heap->listed);
    tn__mutex_unlock(&all.ranges);
    tn__mutex_unlock(&all.lock);
    tn__outside_end(left);
}

void tn__heaps_remove(struct tn_heap *heap)
{
    tn__mutex_lock(&chosen.lock);
    if (chosen.heap == heap)
        chosen.heap = NULL;
    tn__mutex_unlock(&chosen.lock);
    struct tn_gc_anchor *left = tn__outside_begin();
    tn__mutex_lock(&all.lock);
    tn__mutex_lock(&all.ranges);
    tn__list_remove(&heap->listed);
    tn__mutex_unlock(&all.ranges);
    tn__mutex_unlock(&all.lock);
    tn__outside_end(left);
}

bool tn__is_of_another_heap(const struct tn_heap *own, const void *object)
{
    bool found = false;
    if (tn__is_in_heap(own, object))
        return false;
    tn__mutex_lock(&all.ranges);
    for (EACH_HEAP(heap))
        found |= tn__is_in_heap(heap, object);
    tn__mutex_unlock(&all.ranges);
    return found;
}

/* ---- the default heap ---- */

struct tn_heap *tn__default_heap(struct tn_heap *otherwise)
{
    watch_forks();
    tn__mutex_lock(&chosen.lock);
    if (!chosen.heap)
        chosen.heap = otherwise;
    struct tn_heap *heap = chosen.heap;
    tn__mutex_unlock(&chosen.lock);
    return heap;
}

void tn_heap_set_default(struct tn_heap *heap)
{
    watch_forks();
    tn__mutex_lock(&chosen.lock);
    chosen.heap = heap;
    tn__mutex_unlock(&chosen.lock);
}
