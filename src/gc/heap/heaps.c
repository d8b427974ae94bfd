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
    pthread_mutex_t lock;   /* taken before those of heaps, outside of managed code */
    pthread_mutex_t ranges; /* the list changes under both; nothing is waited for under this one */
    struct tn__list heaps;
} all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, {&all.heaps, &all.heaps}};

static struct {
    pthread_mutex_t lock; /* a leaf: no thread waits for anything while it holds this lock */
    struct tn_heap *heap;
} chosen = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define EACH_HEAP(heap) TN_EACH(struct tn_heap, heap, &all.heaps, listed)

/* ---- before ---- */

/* The level that the forking thread left. Callbacks under the lock of a heap may fork: that heap is locked already. */
static __thread struct tn_gc_anchor *level __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    level = tn__outside_begin();
    pthread_mutex_lock(&all.lock);
    for (EACH_HEAP(heap)) {
        heap->locked_for_fork = !tn__heap_is_mine(heap);
        if (heap->locked_for_fork)
            tn__heap_lock(heap);
        tn__world_stop(heap);
    }
}

static void lock_handles(void)
{
    for (EACH_HEAP(heap))
        pthread_mutex_lock(&heap->roots_lock);
    pthread_mutex_lock(&chosen.lock);
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

static void unlock_handles(bool in_child)
{
    (void)in_child;
    pthread_mutex_unlock(&chosen.lock);
    for (EACH_HEAP(heap))
        pthread_mutex_unlock(&heap->roots_lock);
}

static void after_fork(bool in_child)
{
    for (EACH_HEAP(heap)) {
        if (in_child) {
            heap->forks++;
            drop_threads(heap);
            tn__finalizers_drop(heap);
        }
        tn__world_start(heap);
        if (heap->locked_for_fork)
            tn__heap_unlock(heap);
    }
    pthread_mutex_unlock(&all.lock);
    tn__outside_end(level);
}

/* ---- the list ---- */

void tn__heaps_add(struct tn_heap *heap)
{
    static const struct tn__fork_hooks hooks = {.before = before_fork, .after = after_fork};
    static const struct tn__fork_hooks handle_hooks = {
        .lock = &all.ranges, .before = lock_handles, .after = unlock_handles};
    tn__forks_watch(TN__FORK_HEAPS, &hooks);
    tn__forks_watch(TN__FORK_HANDLES, &handle_hooks);
    struct tn_gc_anchor *left = tn__outside_begin();
    pthread_mutex_lock(&all.lock);
    pthread_mutex_lock(&all.ranges);
    tn__list_append(&all.heaps, &heap->listed);
    pthread_mutex_unlock(&all.ranges);
    pthread_mutex_unlock(&all.lock);
    tn__outside_end(left);
}

void tn__heaps_remove(struct tn_heap *heap)
{
    pthread_mutex_lock(&chosen.lock);
    if (chosen.heap == heap)
        chosen.heap = NULL;
    pthread_mutex_unlock(&chosen.lock);
    struct tn_gc_anchor *left = tn__outside_begin();
    pthread_mutex_lock(&all.lock);
    pthread_mutex_lock(&all.ranges);
    tn__list_remove(&heap->listed);
    pthread_mutex_unlock(&all.ranges);
    pthread_mutex_unlock(&all.lock);
    tn__outside_end(left);
}

bool tn__is_of_another_heap(const struct tn_heap *own, const void *object)
{
    bool found = false;
    if (tn__is_in_heap(own, object))
        return false;
    pthread_mutex_lock(&all.ranges);
    for (EACH_HEAP(heap))
        found |= tn__is_in_heap(heap, object);
    pthread_mutex_unlock(&all.ranges);
    return found;
}

/* ---- the default heap ---- */

struct tn_heap *tn__default_heap(struct tn_heap *otherwise)
{
    pthread_mutex_lock(&chosen.lock);
    if (!chosen.heap)
        chosen.heap = otherwise;
    struct tn_heap *heap = chosen.heap;
    pthread_mutex_unlock(&chosen.lock);
    return heap;
}

void tn_heap_set_default(struct tn_heap *heap)
{
    pthread_mutex_lock(&chosen.lock);
    chosen.heap = heap;
    pthread_mutex_unlock(&chosen.lock);
}
