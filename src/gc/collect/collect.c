/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A collection from the stop request until the world runs again, and the roots that it begins with. */

#include "base/float_env.h"
#include "base/os.h"
#include "gc/collect/collect.h"

/* ---- barriers ---- */

void tn__log_store(struct tn_heap *heap, void *object, void *slot, void *value)
{
    const struct tn__permanent_work *permanent = __atomic_load_n(&heap->permanent_work, __ATOMIC_ACQUIRE);
    if (permanent && (tn__header_now(object) & TN_GC_PERMANENT))
        permanent->log(heap, object, slot, value);
    else
        heap->collector->log(heap, object, slot, value);
}

/* ---- roots ---- */

static void walk_stacks(struct tn__collecting *c, tn_visit_slot *slot, void (*pin)(void *context, void *object))
{
    struct tn_heap *heap = c->heap;
    for (TN__EACH_MUTATOR(mutator, heap)) {
        const char *wrong = tn__walk_stack(mutator, slot, pin, c);
        if (wrong)
            tn__corrupt(heap, wrong);
    }
}

/* Whatever is pinned must be known before anything moves. */
void tn__find_roots(struct tn__collecting *c)
{
    const struct tn__tracing *tracing = c->tracing;
    for (TN__EACH_MUTATOR(mutator, c->heap))
        for (int i = 0; i < TN__RESULTS; i++)
            tracing->keep(c, mutator->results[i]);
    tn__each_pin(c->heap, tracing->keep, c);
    tn__maps_lock();
    if (tn__maps_have_pins())
        walk_stacks(c, NULL, tracing->keep);
    if (c->heap->permanent_work)
        c->heap->permanent_work->scan(c);
    tn__visit_handles(c->heap, tracing->forward, c);
    tn__visit_roots(tracing->forward, c);
    walk_stacks(c, tracing->forward, NULL);
    tn__maps_unlock();
}

void tn__sift_results(struct tn_heap *heap, bool (*is_object)(const struct tn_heap *heap, const void *address))
{
    for (TN__EACH_MUTATOR(mutator, heap))
        for (int i = 0; i < TN__RESULTS; i++)
            if (!is_object(heap, mutator->results[i]))
                mutator->results[i] = NULL;
}

void tn__scan(struct tn__collecting *c, void *object)
{
    void **words = object;
    switch (tn__type_of(object)->kind) {
    case TN_KIND_WEAK:
        words[1] = c->weak;
        c->weak = object;
        break;
    case TN_KIND_EPHEMERON:
        words[2] = c->ephemerons;
        c->ephemerons = object;
        break;
    default:
        tn__visit_references(object, c->tracing->forward, c);
    }
}

/* ---- all of it ---- */

void tn__phase_end(struct tn_heap *heap, enum tn_collection_phase phase)
{
    uint64_t now = tn__os_now_ns();
    heap->current->phase_ns[phase] += now - heap->phase_start;
    heap->phase_start = now;
}

void tn__note_work(struct tn_heap *heap, const struct tn_collection_work *work)
{
    struct tn__work_log *log = &heap->work;
    if (log->count < TN_COUNT(log->rows))
        log->rows[log->count++] = *work;
}

/* The buckets of struct tn_times: eight between 2^n ns and 2^(n + 1), by the three bits after the first. */
static void count_time(struct tn_times *times, uint64_t ns)
{
    enum { FIRST = 10, COUNT = TN_COUNT(times->counts) }; /* 1,024 ns */
    unsigned log = 63 - (unsigned)__builtin_clzll(ns | 1);
    unsigned at = log < FIRST ? 0 : (log - FIRST) * 8 + (ns >> (log - 3) & 7);
    times->counts[at < COUNT ? at : COUNT - 1]++;
}

static void add_up(struct tn_heap *heap, const struct tn_collection *done)
{
    struct tn_heap_stats *stats = &heap->stats;
    stats->collections++;
    stats->full += done->full;
    stats->young += done->young;
    stats->survived += done->survived;
    stats->marked += done->marked;
    stats->swept += done->swept;
    stats->cycles += done->cycle_ns > 0;
    stats->cycle_ns += done->cycle_ns;
    if (done->full)
        stats->holes = done->holes;
    for (int i = 0; i < TN_COLLECTION_COUNT; i++)
        stats->phase_ns[i] += done->phase_ns[i];
    count_time(&stats->pauses, done->pause_ns);
    count_time(&stats->stops, done->stop_ns);
    stats->moved += done->moved;
    stats->pinned += done->pinned;
    stats->pause_ns += done->pause_ns;
    stats->longest_pause_ns = tn__max64(stats->longest_pause_ns, done->pause_ns);
    stats->longest_stop_ns = tn__max64(stats->longest_stop_ns, done->stop_ns);
}

static void report(const struct tn_heap *heap, const struct tn_collection *done)
{
    enum tn__callback outer = tn__callback_begin(TN__UNDER_LOCK);
    if (heap->options.on_collection)
        heap->options.on_collection(heap->options.context, done);
    tn__callback_end(outer);
}

void tn__collect_now(struct tn_heap *heap, enum tn__extent extent)
{
    TN__KEEP_FLOAT_ENV;
    struct tn__work_log work;
    struct tn_collection done = {
        .size = sizeof done, .before = heap->in_use, .begin_ns = tn__os_now_ns(), .workers = 1, .work = work.rows};
    heap->current = &done;
    heap->phase_start = done.begin_ns;
    tn__world_stop(heap);
    tn__phase_end(heap, TN_COLLECTION_STOP);
    done.stop_ns = done.phase_ns[TN_COLLECTION_STOP];
    heap->collector->collect(heap, extent, &done);
    if (heap->permanent_work)
        heap->permanent_work->arm(heap);
    done.work_count = work.count = heap->work.count;
    memcpy(work.rows, heap->work.rows, work.count * sizeof *work.rows);
    heap->work.count = 0;
    tn__world_start(heap);
    tn__phase_end(heap, TN_COLLECTION_RESUME);
    done.pause_ns = heap->phase_start - done.begin_ns;
    heap->current = NULL;
    done.after = heap->in_use;
    done.committed = heap->committed;
    done.number = heap->stats.collections + 1;
    add_up(heap, &done);
    report(heap, &done);
    tn__gc_block.runtime[TN__COLLECTED] = heap;
}
