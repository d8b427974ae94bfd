/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Statistics of heaps and of their collections, and collections as text. */

#include "support.h"

#include <stdio.h>
#include <unistd.h>

/* ---- what a heap counts ---- */

static struct tn_collection last, sum;
static uint64_t cycles;

static void note(void *context, const struct tn_collection *collection)
{
    (void)context;
    last = *collection;
    sum.full += last.full;
    sum.young += last.young;
    sum.survived += last.survived;
    sum.marked += last.marked;
    sum.swept += last.swept;
    sum.cycle_ns += last.cycle_ns;
    sum.pause_ns += last.pause_ns;
    cycles += last.cycle_ns > 0;
    for (int i = 0; i < TN_COLLECTION_COUNT; i++)
        sum.phase_ns[i] += last.phase_ns[i];
}

static struct tn_heap *make_noted(void **state)
{
    struct tn_heap *heap;
    struct tn_heap_options options = {.size = sizeof options,
                                      .flags = *(uint64_t *)*state,
                                      .minimum = 4 << 20,
                                      .collector = chosen_collector(),
                                      .on_collection = note};
    sum = (struct tn_collection){0};
    cycles = 0;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return heap;
}

static struct tn_heap_stats stats_of(struct tn_heap *heap)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_stats(heap, &stats);
    return stats;
}

static uint64_t count_of(const struct tn_times *times)
{
    uint64_t count = 0;
    for (size_t i = 0; i < TN_COUNT(times->counts); i++)
        count += times->counts[i];
    return count;
}

/* Garbage of a few MB beside a list that lives; less where each collection takes long. */
static void work(struct tn_heap *heap, void **state)
{
    enum { NODES = 2000, GARBAGE = 4000, BYTES = 1000 };
    const int scale = HAS_TSAN || *(uint64_t *)*state & TN_HEAP_STRESS ? 8 : 1;
    struct tn_handle *list = NULL;
    for (int i = 0; i < NODES / scale; i++) {
        struct tn_handle *node = make_node(heap, &node_type, (uint64_t)i, list);
        tn_handle_free(list);
        list = node;
    }
    for (int i = 0; i < GARBAGE / scale; i++)
        tn_handle_free(make(heap, &bytes_type, BYTES));
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_handle_free(list);
}

static void sums_are_those_of_collections(void **state)
{
    struct tn_heap *heap = make_noted(state);
    work(heap, state);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    struct tn_heap_stats stats = stats_of(heap);
    assert_true(stats.full >= 2 && stats.full <= stats.collections);
    assert_int_equal(stats.full, sum.full);
    assert_int_equal(stats.young, sum.young);
    assert_int_equal(stats.survived, sum.survived);
    assert_int_equal(stats.marked, sum.marked);
    assert_int_equal(stats.swept, sum.swept);
    assert_int_equal(stats.cycles, cycles);
    assert_int_equal(stats.cycle_ns, sum.cycle_ns);
    assert_memory_equal(stats.phase_ns, sum.phase_ns, sizeof sum.phase_ns);
    assert_int_equal(count_of(&stats.pauses), stats.collections);
    assert_int_equal(count_of(&stats.stops), stats.collections);
    assert_in_range(tn_times_quantile(&stats.pauses, 1), stats.longest_pause_ns, stats.longest_pause_ns * 9 / 8 + 1152);
    assert_in_range(tn_times_quantile(&stats.stops, 1), stats.longest_stop_ns, stats.longest_stop_ns * 9 / 8 + 1152);
    assert_true(stats.committed >= stats.in_use);
    tn_heap_destroy(heap);
}

static uint64_t phases_of(const struct tn_collection *collection)
{
    uint64_t ns = 0;
    for (int i = 0; i < TN_COLLECTION_COUNT; i++)
        ns += collection->phase_ns[i];
    return ns;
}

static void phases_add_up_to_the_pause(void **state)
{
    struct tn_heap *heap = make_noted(state);
    work(heap, state);
    assert_int_equal(sum.pause_ns, phases_of(&sum));
    assert_true(last.begin_ns && last.phase_ns[TN_COLLECTION_RESUME] > 0);
    assert_true(last.phase_ns[TN_COLLECTION_TRACE] > 0 && last.phase_ns[TN_COLLECTION_VERIFY] > 0);
    assert_int_equal(last.phase_ns[TN_COLLECTION_STOP], last.stop_ns);
    assert_int_equal(last.phase_ns[TN_COLLECTION_TRIM], 0);
    tn_heap_trim(heap);
    assert_true(last.phase_ns[TN_COLLECTION_TRIM] > 0);
    assert_int_equal(last.pause_ns, phases_of(&last));
    tn_heap_destroy(heap);
}

/* 100 KB of 1 MB lives. */
static void what_lives_and_what_dies(void **state)
{
    enum { OBJECTS = 1000, BYTES = 1000, KEPT = 100 };
    struct tn_handle *kept[KEPT];
    struct tn_heap *heap = make_noted(state);
    for (int i = 0; i < OBJECTS; i++) {
        struct tn_handle *object = make(heap, &bytes_type, BYTES);
        if (i % (OBJECTS / KEPT) == 0)
            kept[i / (OBJECTS / KEPT)] = object;
        else
            tn_handle_free(object);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(last.full, 1);
    assert_true(last.survived <= last.young);
    assert_true(last.before >= last.after && last.after >= (uint64_t)KEPT * BYTES);
    if (last.number == 1 && last.young && !(*(uint64_t *)*state & TN_HEAP_STRESS)) {
        assert_in_range(last.young, OBJECTS * BYTES, OBJECTS * (BYTES + 32));
        assert_in_range(last.survived, KEPT * BYTES, KEPT * (BYTES + 32));
        assert_in_range(last.marked, KEPT * BYTES, KEPT * (BYTES + 256));
    }
    for (int i = 0; i < KEPT; i += 2)
        tn_handle_free(kept[i]);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    if (last.marked && !(*(uint64_t *)*state & TN_HEAP_STRESS)) { /* what died left holes beside what lives */
        assert_in_range(last.swept, KEPT / 2 * BYTES / 2, KEPT / 2 * (BYTES + 256));
        assert_true(last.holes >= last.swept);
    }
    tn_heap_destroy(heap);
}

/* ---- what threads did ---- */

static struct {
    uint64_t rows, own, most_workers, last_begin;
    pid_t self;
} seen;

static void note_work(void *context, const struct tn_collection *collection)
{
    uint64_t now = collection->begin_ns + collection->pause_ns;
    (void)context;
    for (size_t i = 0; i < collection->work_count; i++) {
        const struct tn_collection_work *work = &collection->work[i];
        assert_true(work->phase == TN_COLLECTION_REMEMBERED || work->phase == TN_COLLECTION_TRACE);
        assert_true(work->begin_ns <= work->end_ns && work->end_ns <= now);
        assert_true(work->begin_ns >= collection->begin_ns || work->begin_ns >= seen.last_begin);
        assert_true(work->waited_ns <= work->end_ns - work->begin_ns);
        assert_true(work->is_own == (work->thread != (uint64_t)seen.self));
        seen.own += work->is_own;
    }
    seen.rows += collection->work_count;
    seen.most_workers = collection->workers > seen.most_workers ? collection->workers : seen.most_workers;
    seen.last_begin = collection->begin_ns;
}

/* Under stress several workers run now and then; a verified heap that marks beside threads does so after each pause. */
static void what_workers_did(void **state)
{
    enum { MOST = 100 };
    struct tn_heap *heap;
    struct tn_heap_options options = {.size = sizeof options,
                                      .flags = *(uint64_t *)*state,
                                      .workers = 2,
                                      .collector = chosen_collector(),
                                      .on_collection = note_work};
    bool is_parallel = options.collector != &tn_collector_copying, is_stressed = options.flags & TN_HEAP_STRESS;
    memset(&seen, 0, sizeof seen);
    seen.self = gettid();
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    work(heap, state);
    for (int i = 0; i < MOST && options.collector == &tn_collector_concurrent && !seen.own; i++)
        work(heap, state); /* pauses mark all of so small a heap where the collector's thread comes too late */
    tn_heap_destroy(heap);
    assert_int_equal(seen.most_workers, is_parallel && is_stressed ? 2 : 1);
    if (is_parallel && is_stressed)
        assert_true(seen.own > 0 && seen.rows > seen.own);
    else if (options.collector == &tn_collector_concurrent)
        assert_true(seen.own > 0);
    else
        assert_int_equal(seen.rows, 0);
}

/* ---- quantiles ---- */

static void quantiles(void **state)
{
    static const struct {
        size_t bucket;
        uint64_t bound;
    } rows[] = {{0, 1152}, {1, 1280}, {7, 2048}, {8, 2304}, {79, 1 << 20}, {80, (1 << 20) * 9 / 8}, {191, 1ull << 34}};
    struct tn_times times = {{0}};
    (void)state;
    assert_int_equal(tn_times_quantile(&times, .5), 0);
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_times one = {{0}};
        one.counts[rows[i].bucket] = 1;
        assert_int_equal(tn_times_quantile(&one, 0), rows[i].bound);
        assert_int_equal(tn_times_quantile(&one, 1), rows[i].bound);
    }
    times.counts[8] = 990;
    times.counts[80] = 9;
    times.counts[191] = 1;
    assert_int_equal(tn_times_quantile(&times, .5), 2304);
    assert_int_equal(tn_times_quantile(&times, .99), 2304);
    assert_int_equal(tn_times_quantile(&times, .991), (1 << 20) * 9 / 8);
    assert_int_equal(tn_times_quantile(&times, .999), (1 << 20) * 9 / 8);
    assert_int_equal(tn_times_quantile(&times, 1), 1ull << 34);
}

/* ---- text ---- */

static void lines_can_be_read_again(void **state)
{
    char text[TN_COLLECTION_TEXT], line[TN_COLLECTION_TEXT + 64];
    struct tn_collection all, got;
    memset(&all, 0xff, sizeof all);
    all.size = sizeof all;
    all.work = NULL;
    all.work_count = 0;
    memset(&all.phase_ns[TN_COLLECTION_COUNT], 0, sizeof all.phase_ns - TN_COLLECTION_COUNT * sizeof *all.phase_ns);
    size_t length = tn_collection_write(&all, text, sizeof text);
    (void)state;
    assert_in_range(length, 1, sizeof text - 1);
    assert_int_equal(strlen(text), length);
    snprintf(line, sizeof line, "some program: %s new=1\n", text);
    assert_int_equal(tn_collection_read(line, &got, &err), 0);
    assert_memory_equal(&all, &got, sizeof all);
    for (size_t size = 0; size < length; size += 7) { /* nothing is written beyond */
        memset(line, 'x', sizeof line);
        assert_int_equal(tn_collection_write(&all, line, size), length);
        assert_true(line[size] == 'x' && (!size || strlen(line) == size - 1));
    }
}

static void other_lines_are_errors(void **state)
{
    static const char *const lines[] = {"",
                                        "gc",
                                        "gc number=",
                                        "gc number=0",
                                        "gc number=x",
                                        "gc number=1 full",
                                        "gc number=1 full=",
                                        "gc number=1 full=-1",
                                        "gc number=1full=1",
                                        "gc full=1"};
    struct tn_collection got;
    (void)state;
    for (size_t i = 0; i < TN_COUNT(lines); i++)
        assert_int_equal(tn_collection_read(lines[i], &got, &err), TN_EFORMAT);
    assert_int_equal(tn_collection_read(NULL, &got, &err), TN_EINVAL);
    assert_int_equal(tn_collection_read("gc number=1 full=1\r\n", &got, &err), 0);
    assert_string_equal(tn_collection_phase_name(TN_COLLECTION_SWEEP), "sweep");
    assert_null(tn_collection_phase_name(TN_COLLECTION_COUNT));
    for (unsigned i = 0; i < TN_COLLECTION_COUNT; i++)
        assert_non_null(tn_collection_phase_name(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(sums_are_those_of_collections),
        BOTH(phases_add_up_to_the_pause),
        BOTH(what_lives_and_what_dies),
        BOTH(what_workers_did),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(lines_can_be_read_again),
        cmocka_unit_test(other_lines_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
