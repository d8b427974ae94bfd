/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The life of heaps, and what their owners ask of them. */

#include "base/os.h"
#include "gc/heap/heaps.h"
#include "gc/managed/managed.h"

/* A collection may need as much memory again for its copies, and heaps reserve several times their limit of addresses.
 * Where nothing can be read, nothing limits the heap but the system's refusal. */
static uint64_t default_limit(void)
{
    struct tn__os_memory memory;
    tn__os_memory(&memory);
    return tn__min64(memory.limit / 2, memory.address_space / 8);
}

static int start(struct tn_heap *heap, struct tn_error *err)
{
    int code = tn__maps_add_program(err);
    if (!code)
        code = tn__roots_add_program(err);
    return code ? code : heap->collector->open(heap, err);
}

int tn_heap_create(const struct tn_heap_options *given, struct tn_heap **out, struct tn_error *err)
{
    enum { KNOWN_FLAGS = TN_HEAP_STRESS | TN_HEAP_VERIFY, USUAL_EXTRA = 100 };
    struct tn_heap_options options;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_heap_options", err);
    if (!code)
        code = tn__may_wait(err);
    if (!code)
        code = tn__gc_look_at_machine(err);
    if (code)
        return code;
    if (!out || options.flags & ~(uint64_t)KNOWN_FLAGS)
        return tn__fail(err, TN_EINVAL, out ? "unknown flags for a heap" : "no place for the heap given");
    if (options.extra > TN__MOST_EXTRA)
        return tn__fail(err, TN_EINVAL,
                        "a heap may take 1 to %d percent of the usual memory beyond what lives, not %llu",
                        TN__MOST_EXTRA, (unsigned long long)options.extra);
    struct tn_heap *heap = tn__alloc_zeroed(NULL, 1, sizeof *heap);
    if (!heap)
        return tn__no_memory(err, NULL);
    heap->options = options;
    heap->collector = options.collector ? options.collector : tn_default_collector;
    if (!options.limit)
        heap->options.limit = default_limit();
    if (!options.minimum)
        heap->options.minimum = 32ull << 20;
    if (!options.extra)
        heap->options.extra = USUAL_EXTRA;
    if (!options.soft_limit || options.soft_limit > heap->options.limit)
        heap->options.soft_limit = heap->options.limit;
    tn__list_init(&heap->mutators);
    tn__list_init(&heap->handles);
    code = start(heap, err);
    if (code) {
        tn__free(NULL, heap);
        return code;
    }
    heap->waiting_end = &heap->waiting;
    tn__mutex_init(&heap->lock, TN__LEVEL_HEAP);
    tn__mutex_init(&heap->roots_lock, TN__LEVEL_HANDLES);
    tn__mutex_init(&heap->beside, TN__LEVEL_BESIDE);
    heap->fences = tn__os_fence_threads() != 0;
    tn__watch_lazy_calls();
    tn__heaps_add(heap);
    *out = heap;
    return 0;
}

static void free_finalizers(struct tn__finalizer *finalizer)
{
    while (finalizer) {
        struct tn__finalizer *next = finalizer->next;
        tn__free(NULL, finalizer);
        finalizer = next;
    }
}

static void free_pins(struct tn_heap *heap)
{
    for (size_t i = 0; i < heap->pin_capacity; i++)
        for (struct tn__pin *pin = heap->pins[i], *next; pin; pin = next) {
            next = pin->next;
            tn__free(NULL, pin);
        }
    tn__free(NULL, heap->pins);
}

void tn_heap_destroy(struct tn_heap *heap)
{
    if (!heap)
        return;
    if (tn__callback)
        tn__refuse_callback(heap);
    if (tn_heap_current() == heap)
        tn_heap_detach();
    tn__heaps_remove(heap);
    while (!tn__list_is_empty(&heap->handles))
        tn_handle_free(tn__container_of(heap->handles.next, struct tn_handle, all));
    free_finalizers(heap->finalizers);
    free_finalizers(heap->old_finalizers);
    free_finalizers(heap->waiting);
    free_finalizers(heap->running);
    free_pins(heap);
    tn__verify_end(heap);
    heap->collector->close(heap); /* its threads read types, which may be an image's */
    if (heap->permanent_work)
        heap->permanent_work->end(heap);
    tn__mutex_destroy(&heap->lock);
    tn__mutex_destroy(&heap->roots_lock);
    tn__mutex_destroy(&heap->beside);
    tn__free(NULL, heap);
}

/* ---- what their owners ask for ---- */

static void collect(struct tn_heap *heap, enum tn__extent extent)
{
    tn__heap_lock(heap);
    tn__collect_now(heap, extent);
    tn__heap_unlock(heap);
    tn__run_finalizers_here(heap);
}

void tn_heap_collect(struct tn_heap *heap, int extent)
{
    collect(heap, extent == TN_COLLECT_PARTIAL ? TN__PARTIAL : TN__FULL);
}

void tn_heap_trim(struct tn_heap *heap)
{
    collect(heap, TN__TRIM);
}

static uint64_t count_finalizers(const struct tn__finalizer *first)
{
    uint64_t count = 0;
    for (; first; first = first->next)
        count++;
    return count;
}

void tn_heap_stats(struct tn_heap *heap, struct tn_heap_stats *stats)
{
    bool is_locked = tn__callback == TN__UNDER_LOCK && tn__heap_is_mine(heap);
    if (!is_locked)
        tn__heap_lock(heap);
    struct tn_heap_stats known = heap->stats;
    known.in_use = heap->in_use;
    known.large = heap->large;
    known.committed = heap->committed;
    known.finalizers = count_finalizers(heap->finalizers) + count_finalizers(heap->old_finalizers);
    known.finalizers_waiting = heap->waiting_count;
    if (heap->permanent_work)
        heap->permanent_work->count(heap, &known);
    for (TN__EACH_MUTATOR(mutator, heap))
        known.threads++;
    if (!is_locked)
        tn__heap_unlock(heap);
    tn__give_stats(stats, sizeof known, &known);
}

struct walk {
    void (*visit)(void *context, void *object, const struct tn_type *type, size_t payload);
    void *context;
};

static void walk_one(void *context, void *object)
{
    const struct walk *walk = context;
    enum tn__callback outer = tn__callback_begin(TN__UNDER_LOCK);
    walk->visit(walk->context, object, tn__type_of(object), tn__payload(object));
    tn__callback_end(outer);
}

void tn_heap_walk(struct tn_heap *heap,
                  void (*visit)(void *context, void *object, const struct tn_type *type, size_t payload), void *context)
{
    struct walk walk = {visit, context};
    tn__heap_lock(heap);
    tn__world_stop(heap);
    heap->collector->each_object(heap, walk_one, &walk);
    if (heap->permanent_work)
        heap->permanent_work->each_object(heap, walk_one, &walk);
    tn__world_start(heap);
    tn__heap_unlock(heap);
}
