/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Dead objects: their weak references and ephemerons are cleared, their finalizers queued. Weak references to an object
 * are null before its finalizer runs; ephemerons with it as key stay until the finalizer can no longer reach it
 * (ephemerons.c). */

#include "gc/collect/collect.h"

/* ---- weak references ---- */

static void clear_weak(struct tn__collecting *c)
{
    for (void **at = c->weak, **next; at; at = next) {
        next = at[1];
        at[1] = NULL;
        if (c->tracing->is_live(c, at[0]))
            c->tracing->forward(c, &at[0]);
        else
            at[0] = NULL;
    }
    c->weak = NULL;
}

/* ---- finalizers ---- */

static void count_waiting(struct tn_heap *heap, uint64_t change)
{
    __atomic_store_n(&heap->waiting_count, heap->waiting_count + change, __ATOMIC_RELAXED);
}

/* Live objects' slots are only updated; those of dead ones are appended to `waiting`. The end of the list. */
static struct tn__finalizer **take_dead(struct tn__collecting *c, struct tn__finalizer **list)
{
    struct tn_heap *heap = c->heap;
    while (*list) {
        struct tn__finalizer *finalizer = *list;
        if (c->tracing->is_live(c, finalizer->object)) {
            c->tracing->forward(c, &finalizer->object);
            list = &finalizer->next;
            continue;
        }
        *list = finalizer->next;
        finalizer->next = NULL;
        *heap->waiting_end = finalizer;
        heap->waiting_end = &finalizer->next;
        count_waiting(heap, 1);
    }
    return list;
}

/* An object with a finalizer that is otherwise dead stays alive until it has run. */
static void queue_finalizers(struct tn__collecting *c)
{
    struct tn_heap *heap = c->heap;
    struct tn__finalizer **dead = heap->waiting_end;
    if (!c->is_partial)
        take_dead(c, &heap->old_finalizers);
    *take_dead(c, &heap->finalizers) = heap->old_finalizers;
    heap->old_finalizers = heap->finalizers;
    heap->finalizers = NULL;
    for (struct tn__finalizer *finalizer = *dead; finalizer; finalizer = finalizer->next) {
        c->tracing->forward(c, &finalizer->object);
        finalizer->handle->object = finalizer->object; /* a root from now on */
    }
}

void tn__settle_dead(struct tn__collecting *c)
{
    if (c->heap->permanent_work)
        c->heap->permanent_work->link(c);
    tn__settle_ephemerons(c);
    clear_weak(c);
    queue_finalizers(c);
    c->tracing->drain(c);
    tn__settle_ephemerons(c);
    tn__clear_ephemerons(c);
    clear_weak(c); /* references to objects that only finalizers reach */
    TN__CHECK(!c->weak && !c->ephemerons);
}

int tn_handle_finalize(struct tn_handle *handle, void (*function)(void *context, struct tn_handle *object),
                       void *context, struct tn_error *err)
{
    if (tn_handle_is_null(handle) || !function)
        return tn__fail(err, TN_EINVAL, "no object or no function given");
    int code = tn__may_wait(err);
    if (code)
        return code;
    struct tn_heap *heap = handle->heap;
    struct tn__finalizer *finalizer = tn__alloc(NULL, sizeof *finalizer);
    tn__heap_lock(heap);
    struct tn_handle *later = finalizer ? tn__handle_make(heap, NULL) : NULL;
    if (later) {
        *finalizer = (struct tn__finalizer){.next = heap->finalizers,
                                            .object = handle->object,
                                            .function = function,
                                            .context = context,
                                            .handle = later};
        heap->finalizers = finalizer;
    }
    tn__heap_unlock(heap);
    if (later)
        return 0;
    tn__free(NULL, finalizer);
    return tn__no_memory(err, NULL);
}

/* ---- running them ---- */

/* `frame`: that of the caller, which runs it. */
static struct tn__finalizer *take_waiting(struct tn_heap *heap, uintptr_t frame)
{
    tn__heap_lock(heap);
    struct tn__finalizer *finalizer = heap->waiting;
    if (finalizer) {
        heap->waiting = finalizer->next;
        count_waiting(heap, UINT64_MAX);
        if (!heap->waiting)
            heap->waiting_end = &heap->waiting;
        finalizer->runner = tn__this_thread();
        finalizer->frame = frame;
        finalizer->next = heap->running;
        heap->running = finalizer;
    }
    tn__heap_unlock(heap);
    return finalizer;
}

static void end_running(struct tn_heap *heap, struct tn__finalizer *finalizer)
{
    struct tn__finalizer **at = &heap->running;
    tn__heap_lock(heap);
    while (*at != finalizer)
        at = &(*at)->next;
    *at = finalizer->next;
    tn__heap_unlock(heap);
    tn_handle_free(finalizer->handle);
    tn__free(NULL, finalizer);
}

static bool is_of_other_thread(const struct tn__finalizer *finalizer, uintptr_t unused)
{
    (void)unused;
    return finalizer->runner != tn__this_thread();
}

/* True if a longjmp or a throw has left it: its frame would be below the one that the thread is in now. */
static bool was_left(const struct tn__finalizer *finalizer, uintptr_t frame)
{
    return finalizer->runner == tn__this_thread() && finalizer->frame <= frame;
}

/* Takes those that are over from the list `running`, and puts them into the list that is returned. */
static struct tn__finalizer *take_ended(struct tn_heap *heap, bool (*is_over)(const struct tn__finalizer *, uintptr_t),
                                        uintptr_t frame)
{
    struct tn__finalizer *over = NULL;
    for (struct tn__finalizer **at = &heap->running, *finalizer; (finalizer = *at);) {
        if (!is_over(finalizer, frame)) {
            at = &finalizer->next;
            continue;
        }
        *at = finalizer->next;
        finalizer->next = over;
        over = finalizer;
    }
    return over;
}

static void free_list(struct tn__finalizer *finalizer, void (*free_handle)(struct tn_handle *handle))
{
    while (finalizer) {
        struct tn__finalizer *next = finalizer->next;
        free_handle(finalizer->handle);
        tn__free(NULL, finalizer);
        finalizer = next;
    }
}

void tn__finalizers_drop(struct tn_heap *heap)
{
    free_list(take_ended(heap, is_of_other_thread, 0), tn__handle_drop);
}

/* Ends those that the thread has left, and returns whether it is in another one. */
static bool end_left(struct tn_heap *heap, uintptr_t frame)
{
    bool is_within = false;
    tn__heap_lock(heap);
    struct tn__finalizer *left = take_ended(heap, was_left, frame);
    for (const struct tn__finalizer *finalizer = heap->running; finalizer && !is_within; finalizer = finalizer->next)
        is_within = finalizer->runner == tn__this_thread();
    tn__heap_unlock(heap);
    free_list(left, tn_handle_free);
    return is_within;
}

static size_t run_pending(struct tn_heap *heap, uintptr_t frame)
{
    size_t count = 0;
    for (struct tn__finalizer *finalizer; (finalizer = take_waiting(heap, frame)); count++) {
        finalizer->function(finalizer->context, finalizer->handle);
        end_running(heap, finalizer);
    }
    return count;
}

size_t tn_run_pending_finalizers(struct tn_heap *heap)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    end_left(heap, frame);
    return run_pending(heap, frame);
}

void tn__run_finalizers_here(struct tn_heap *heap)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (__atomic_load_n(&heap->waiting_count, __ATOMIC_RELAXED) && !end_left(heap, frame))
        run_pending(heap, frame);
}
