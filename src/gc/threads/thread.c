/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads of a heap: how they are attached and detached. */

#include "base/os.h"
#include "base/thread.h"
#include "gc/threads/threads.h"

const struct tn__stack_watch *tn__stack_watch;

/* A level takes an anchor in the array and, on the stack, the frames of an entry, its body and what that calls. */
static bool make_anchors(struct tn__mutator *mutator)
{
    enum { SMALLEST_LEVEL = 32 };
    struct tn__os_stack stack = tn__os_stack();
    uint64_t page = tn__os_page_size(), address;
    uint64_t size = tn__align_up(stack.size / SMALLEST_LEVEL * sizeof(struct tn_gc_anchor), page) + page;
    if (tn__os_reserve(0, size + page, false, &address)) /* the page behind it is a guard */
        return false;
    if (tn__os_commit(address, size, TN__PROT_RW)) {
        tn__os_release(address, size + page);
        return false;
    }
    mutator->anchors = (struct tn_gc_anchor *)(uintptr_t)address;
    mutator->anchors_size = size + page;
    mutator->stack_end = stack.end;
    mutator->stack_size = stack.size;
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
    tn__gc_block = (struct tn_gc_block){.top = tn__native_level(mutator),
                                        .fences = heap->fences,
                                        .young = heap->young,
                                        .young_size = heap->young_size,
                                        .runtime = {[TN__MUTATOR] = mutator}};
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
    int code = tn__may_wait(err);
    if (code)
        return code;
    if (tn__thread_has_ended())
        return tn__fail(err, TN_EINVAL, "the thread is ending: the last destructors of its data are running");
    if (mutator)
        return mutator->heap == heap ? 0 : tn__fail(err, TN_EINVAL, "the thread is attached to another heap");
    tn__heap_lock(heap); /* so that no fork comes in between */
    bool made = make_mutator(heap);
    tn__heap_unlock(heap);
    return made ? 0 : tn__fail(err, TN_ENOMEM, "no memory for a thread of a heap");
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
    heap->collector->retire(mutator);
    tn__gc_block = (struct tn_gc_block){.top = tn__unattached + 1};
    if (mutator->signal_stack)
        tn__stack_watch->detach(mutator);
    free_mutator(mutator);
    tn__heap_unlock(heap);
}

/* The thread's block may not exist any more; it is retired, because the world is stopped. */
void tn__mutator_drop(struct tn__mutator *mutator)
{
    tn__scopes_end(mutator, 1);
    free_mutator(mutator);
}
