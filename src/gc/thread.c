/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads of a heap: attaching, entering managed code, and stopping all of them.
 *
 * A collector need not wait for a thread whose state is TN_GC_BLOCKING, nor for one that is outside of managed code: whose
 * `top` is the anchor that the array begins with. To come back from either, a thread says that it is back first and looks
 * whether a stop is requested then, while the collector requests first and looks then; both in sequentially consistent
 * order, so one of them sees the other. */

#include <sched.h>

#include "base/os.h"
#include "gc.h"

enum { STOP = 1, STRESS = 2 }; /* bits of `poll` */

/* What threads that are attached to no heap have: both anchors are alike, so entries take the slow side. */
static struct tn_gc_anchor unattached[3] = {{.sp = UINTPTR_MAX}, {.sp = UINTPTR_MAX}};

__thread struct tn_gc_block tn__gc_block
    __attribute__((tls_model("initial-exec"), aligned(64))) = {.top = unattached + 1};

/* ---- attaching ---- */

/* Threads end without saying so. */
static pthread_key_t at_end;
static bool has_key;

static void detach_at_end(void *unused)
{
    (void)unused;
    tn_heap_detach();
}

static void make_key(void)
{
    has_key = pthread_key_create(&at_end, detach_at_end) == 0;
}

static bool watch_end(struct tn__mutator *mutator)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    return has_key && pthread_setspecific(at_end, mutator) == 0;
}

static struct tn_gc_anchor *outside(const struct tn__mutator *mutator)
{
    return mutator->anchors + 1;
}

/* A level takes an anchor of the array and, on the stack, the frames of an entry, of its body, and of what that calls. */
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
    mutator->anchors[0].sp = mutator->anchors[1].sp = UINTPTR_MAX;
    return true;
}

int tn_heap_attach(struct tn_heap *heap, struct tn_error *err)
{
    struct tn__mutator *mutator = tn__self();
    if (mutator)
        return mutator->heap == heap ? TN_OK : tn__fail(err, TN_EINVAL, "the thread is attached to another heap");
    mutator = tn__alloc_zeroed(NULL, 1, sizeof *mutator);
    if (!mutator || !watch_end(mutator) || !make_anchors(mutator)) {
        tn__free(NULL, mutator);
        return tn__fail(err, TN_ENOMEM, "no memory for a thread of a heap");
    }
    mutator->heap = heap;
    mutator->block = &tn__gc_block;
    tn__gc_block = (struct tn_gc_block){.top = outside(mutator), .runtime = {mutator}};
    tn__heap_lock(heap);
    tn__list_append(&heap->mutators, &mutator->all);
    if (heap->options.flags & TN_HEAP_STRESS)
        tn__gc_block.poll = STRESS;
    tn__heap_unlock(heap);
    return TN_OK;
}

void tn_heap_detach(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    while (mutator->scope)
        tn_scope_end();
    pthread_setspecific(at_end, NULL);
    tn__heap_lock(mutator->heap);
    tn__retire(mutator);
    tn__list_remove(&mutator->all);
    struct tn_heap *heap = mutator->heap;
    tn__gc_block = (struct tn_gc_block){.top = unattached + 1};
    tn__heap_unlock(heap);
    tn__os_release((uintptr_t)mutator->anchors, mutator->anchors_size);
    tn__free(NULL, mutator);
}

struct tn_heap *tn_heap_current(void)
{
    return tn__self() ? tn__self()->heap : NULL;
}

/* ---- the lock ---- */

void tn__heap_lock(struct tn_heap *heap)
{
    struct tn_gc_block *block = tn__self() && tn__self()->heap == heap ? &tn__gc_block : NULL;
    if (pthread_mutex_trylock(&heap->lock) == 0)
        return;
    uint32_t state = block ? block->state : 0;
    if (block)
        __atomic_store_n(&block->state, TN_GC_BLOCKING, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&heap->lock);
    if (block) /* nobody stops the world now, for we hold the lock */
        __atomic_store_n(&block->state, state, __ATOMIC_SEQ_CST);
}

void tn__heap_unlock(struct tn_heap *heap)
{
    pthread_mutex_unlock(&heap->lock);
}

/* ---- a thread's chunk ---- */

void tn__publish_limit(struct tn__mutator *mutator)
{
    /* Under the lock, so no request is lost; in stress each allocation comes to the slow side. */
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

#define EACH_MUTATOR(m, heap)                                                                                          \
    struct tn__list *m##_node = (heap)->mutators.next;                                                                 \
    m##_node != &(heap)->mutators;                                                                                     \
    m##_node = m##_node->next

static bool is_stopped(const struct tn__mutator *mutator)
{
    return __atomic_load_n(&mutator->block->state, __ATOMIC_SEQ_CST) == TN_GC_BLOCKING ||
           __atomic_load_n(&mutator->block->top, __ATOMIC_SEQ_CST) == outside(mutator);
}

/* Threads come to a safepoint within microseconds, or not before the system runs them. */
static void wait_for(const struct tn__mutator *mutator)
{
    enum { SPINS = 2000 };
    for (int i = 0; !is_stopped(mutator); i++)
        if (i >= SPINS)
            sched_yield();
}

void tn__world_stop(struct tn_heap *heap)
{
    struct tn__mutator *self = tn__self();
    for (EACH_MUTATOR(at, heap)) {
        struct tn__mutator *mutator = tn__container_of(at_node, struct tn__mutator, all);
        __atomic_fetch_or(&mutator->block->poll, STOP, __ATOMIC_SEQ_CST);
        __atomic_store_n(&mutator->block->limit, NULL, __ATOMIC_SEQ_CST);
    }
    for (EACH_MUTATOR(at, heap)) {
        struct tn__mutator *mutator = tn__container_of(at_node, struct tn__mutator, all);
        if (mutator != self)
            wait_for(mutator);
    }
    for (EACH_MUTATOR(at, heap))
        tn__retire(tn__container_of(at_node, struct tn__mutator, all));
}

void tn__world_start(struct tn_heap *heap)
{
    for (EACH_MUTATOR(at, heap)) {
        struct tn__mutator *mutator = tn__container_of(at_node, struct tn__mutator, all);
        __atomic_fetch_and(&mutator->block->poll, ~(uint32_t)STOP, __ATOMIC_SEQ_CST);
    }
}

/* ---- polls ---- */

void tn__gc_poll(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator)
        return;
    tn__heap_lock(mutator->heap);
    if (mutator->heap->options.flags & TN_HEAP_STRESS)
        tn__collect_now(mutator->heap);
    tn__heap_unlock(mutator->heap);
}

void tn__gc_leave_blocking(void)
{
    struct tn__mutator *mutator = tn__self();
    tn__gc_block.state = TN_GC_BLOCKING;
    pthread_mutex_lock(&mutator->heap->lock);
    __atomic_store_n(&tn__gc_block.state, TN_GC_MANAGED, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&mutator->heap->lock);
}

/* ---- entering ---- */

/* A thread that cannot be attached cannot run what it called either. */
static void adopt(void)
{
    struct tn_heap *heap;
    struct tn_error err;
    if (tn_heap_default(&heap, &err) || tn_heap_attach(heap, &err))
        __builtin_trap();
}

/* The outermost level: the collector takes the thread as outside until `top` says otherwise. */
static void come_in(struct tn__mutator *mutator, struct tn_gc_anchor *level)
{
    struct tn_gc_block *block = mutator->block;
    level[1] = (struct tn_gc_anchor){0};
    for (;;) {
        __atomic_store_n(&block->top, level + 1, __ATOMIC_SEQ_CST);
        if (!(__atomic_load_n(&block->poll, __ATOMIC_SEQ_CST) & STOP))
            return;
        __atomic_store_n(&block->top, level, __ATOMIC_SEQ_CST);
        pthread_mutex_lock(&mutator->heap->lock);
        pthread_mutex_unlock(&mutator->heap->lock);
    }
}

/* A blocking call's callee comes to use references: from now on it is waited for. */
static void end_blocking(struct tn__mutator *mutator)
{
    struct tn_gc_block *block = mutator->block;
    while (block->state == TN_GC_BLOCKING) {
        __atomic_store_n(&block->state, TN_GC_MANAGED, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&block->poll, __ATOMIC_SEQ_CST) & STOP)
            tn__gc_leave_blocking();
    }
}

struct tn_gc_anchor *tn__gc_enter(uintptr_t fp)
{
    if (!tn__self())
        adopt();
    struct tn__mutator *mutator = tn__self();
    struct tn_gc_anchor *first = outside(mutator), *p = mutator->block->top;
    while (p > first && p->sp && p->sp <= fp)
        p--;
    while (p > first && p->sp && p[-1].sp <= p->sp) {
        p[-1] = *p;
        p--;
    }
    if (p == first)
        come_in(mutator, p);
    else
        end_blocking(mutator);
    return p;
}

/* As tn__gc_call_blocking, for callers that have an ordinary call only: the level above makes entries take the slow side. */
intptr_t tn_call_blocking(void *function, intptr_t a, intptr_t b, intptr_t c, intptr_t d)
{
    intptr_t (*call)(intptr_t, intptr_t, intptr_t, intptr_t);
    struct tn__mutator *mutator = tn__self();
    memcpy(&call, &function, sizeof call);
    if (!mutator || mutator->block->top == outside(mutator))
        return call(a, b, c, d);
    struct tn_gc_block *block = mutator->block;
    struct tn_gc_anchor *level = block->top;
    level[1] = *level;
    __atomic_store_n(&block->top, level + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&block->state, TN_GC_BLOCKING, __ATOMIC_SEQ_CST);
    intptr_t result = call(a, b, c, d);
    end_blocking(mutator);
    __atomic_store_n(&block->top, level, __ATOMIC_RELEASE);
    return result;
}

void tn_managed_begin(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator || mutator->managed_depth++)
        return;
    if (mutator->block->top != outside(mutator)) {
        end_blocking(mutator);
        return;
    }
    come_in(mutator, outside(mutator));
    mutator->came_in = true;
}

void tn_managed_end(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator || !mutator->managed_depth || --mutator->managed_depth || !mutator->came_in)
        return;
    mutator->came_in = false;
    __atomic_store_n(&mutator->block->top, outside(mutator), __ATOMIC_RELEASE);
}
