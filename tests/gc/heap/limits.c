/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Small heaps, memory that runs out, collections on demand, and memory that goes back to the system. */

#include "support.h"

#include <stdio.h>
#include <unistd.h>

#include "base/os.h"
#include "gc/generational/generational.h"

enum { MB = 1 << 20 };

static struct tn_heap *make_limited(void **state, uint64_t limit, uint64_t soft_limit)
{
    struct tn_heap *heap;
    struct tn_heap_options options = {.size = sizeof options,
                                      .limit = limit,
                                      .soft_limit = soft_limit,
                                      .flags = *(uint64_t *)*state & ~(uint64_t)TN_HEAP_VERIFY,
                                      .collector = chosen_collector()};
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

/* ---- memory that runs out ---- */

/* Arrays of bytes in a chain of tables, until there is no memory: the number of arrays. */
static uint64_t fill(struct tn_heap *heap, uint64_t bytes)
{
    enum { ROOM = 64 };
    struct tn_handle *table = make(heap, &table_type, ROOM), *next, *object;
    uint64_t count = 0;
    int code = 0;
    while (!code) {
        code = tn_handle_new(heap, &bytes_type, bytes, &object, &err);
        if (code)
            break;
        assert_int_equal(tn_handle_store(table, 8 + 8 * (1 + count % (ROOM - 1)), object, &err), 0);
        tn_handle_free(object);
        count++;
        if (count % (ROOM - 1))
            continue;
        code = tn_handle_new(heap, &table_type, ROOM, &next, &err);
        if (code)
            break;
        assert_int_equal(tn_handle_store(next, 8, table, &err), 0);
        tn_handle_free(table);
        table = next;
    }
    assert_int_equal(code, TN_ENOMEM);
    assert_non_null(strstr(err.text, "no memory for an object of "));
    tn_handle_free(table);
    return count;
}

/* Of each class of sizes a collector has, which may waste half of the memory: as much as fits is found twice, and the
 * heap can be used afterwards. */
static void each_size_runs_out(void **state)
{
    static const uint64_t limits[] = {4 * MB, 32 * MB};
    static const uint64_t sizes[] = {8,     40,    232,   240,   1000,  4000,   8168,   8176,   8192,
                                     16000, 16384, 32700, 65500, 65536, 100000, 262100, 262144, 1000000};
    for (size_t l = 0; l < TN_COUNT(limits); l++)
        for (size_t i = 0; i < TN_COUNT(sizes); i++) {
            if (*(uint64_t *)*state & TN_HEAP_STRESS && limits[l] / sizes[i] > 150) /* a collection for each object */
                continue;
            struct tn_heap *heap = make_limited(state, limits[l], 0);
            uint64_t first = fill(heap, sizes[i]);
            uint64_t again = fill(heap, sizes[i]);
            if (first * (sizes[i] + 16) < limits[l] * 2 / 5 || first * sizes[i] > limits[l])
                fail_msg("limit %llu, size %llu: %llu objects", (unsigned long long)limits[l],
                         (unsigned long long)sizes[i], (unsigned long long)first);
            if (again < first - first / 8 || again > first + first / 8)
                fail_msg("limit %llu, size %llu: %llu objects, then %llu", (unsigned long long)limits[l],
                         (unsigned long long)sizes[i], (unsigned long long)first, (unsigned long long)again);
            tn_heap_collect(heap, TN_COLLECT_FULL);
            assert_true(stats_of(heap).in_use <= 1 * MB);
            tn_heap_destroy(heap);
        }
}

/* Objects of all sizes, of which some die, leave other gaps in each collection; what lives stays within the limit. The
 * copying collector may leave a quarter of each chunk empty. */
static void no_size_exceeds_the_limit(void **state)
{
    enum { SLOTS = 4000, STEPS = 20000, LIMIT = 4 * MB };
    static const uint64_t largest[] = {200, 8000, 66000, 300000};
    uint64_t most = chosen_collector() == &tn_collector_copying ? LIMIT + LIMIT / 3 : LIMIT;
    bool is_stressed = *(uint64_t *)*state & TN_HEAP_STRESS;
    for (size_t i = 0; i < TN_COUNT(largest); i++) {
        struct tn_heap *heap = make_limited(state, LIMIT, 0);
        struct tn_handle *table = make(heap, &table_type, SLOTS), *object;
        uint64_t random = 1, refused = 0;
        for (uint64_t step = 0; step < (is_stressed ? STEPS / 100 : STEPS); step++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            if (tn_handle_new(heap, &bytes_type, (random >> 33) % largest[i], &object, &err))
                refused++;
            else
                assert_int_equal(tn_handle_store(table, 8 + 8 * ((random >> 20) % SLOTS), object, &err), 0);
            tn_handle_free(object);
            if (step % 100 == 0 || refused)
                tn_heap_collect(heap, TN_COLLECT_FULL);
            if (stats_of(heap).in_use > most)
                fail_msg("%llu bytes are in use, objects up to %llu", (unsigned long long)stats_of(heap).in_use,
                         (unsigned long long)largest[i]);
            for (; refused; refused--) /* some die */
                for (uint64_t slot = 0; slot < SLOTS / 8; slot++)
                    tn_handle_store(table, 8 + 8 * ((random + slot * 8) % SLOTS), NULL, &err);
        }
        tn_heap_destroy(heap);
    }
}

/* A thread that is not attached gets as much of a heap as one that is, whatever the size of its objects. */
static void without_attaching(void **state)
{
    static const uint64_t sizes[] = {8, 240, 4000, 16384, 65536};
    bool is_stressed = *(uint64_t *)*state & TN_HEAP_STRESS;
    for (size_t i = is_stressed ? TN_COUNT(sizes) - 2 : 0; i < TN_COUNT(sizes); i++) {
        struct tn_heap *heap = make_limited(state, is_stressed ? MB : 4 * MB, 0);
        uint64_t attached = fill(heap, sizes[i]);
        tn_heap_detach();
        uint64_t first = fill(heap, sizes[i]), again = fill(heap, sizes[i]);
        if (first < attached / 2 || again < first - first / 8 || again > first + first / 8)
            fail_msg("size %llu: %llu objects of an attached thread, then %llu and %llu", (unsigned long long)sizes[i],
                     (unsigned long long)attached, (unsigned long long)first, (unsigned long long)again);
        tn_heap_destroy(heap);
    }
}

static void too_large_ones_are_errors(void **state)
{
    static const uint64_t sizes[] = {4 * MB,         5 * MB,         1ull << 32, 1ull << 47,
                                     UINT64_MAX / 2, UINT64_MAX - 8, UINT64_MAX};
    struct tn_heap *heap = make_limited(state, 4 * MB, 0);
    struct tn_handle *object;
    for (size_t i = 0; i < TN_COUNT(sizes); i++)
        assert_int_equal(tn_handle_new(heap, &bytes_type, sizes[i], &object, &err), TN_ENOMEM);
    make_node(heap, &node_type, 1, NULL);
    tn_heap_destroy(heap);
}

/* The system refuses ever more reservations: heaps get smaller, and work, until there is none. */
static void little_address_space(void **state)
{
    uint64_t smallest = UINT64_MAX;
    char plan[64] = "";
    for (bool made = true; made; strcat(plan, "F ")) {
        struct tn_heap *heap;
        struct tn_heap_options options = {.size = sizeof options,
                                          .limit = 4096ull * MB,
                                          .flags = *(uint64_t *)*state,
                                          .collector = chosen_collector()};
        assert_true(strlen(plan) + sizeof "F " <= sizeof plan);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_heap_create(&options, &heap, &err);
        assert_int_equal(tn__os_set_faults(NULL), 0);
        made = code != TN_ENOMEM;
        if (!made)
            break;
        assert_int_equal(code, 0);
        assert_int_equal(tn_heap_attach(heap, &err), 0);
        assert_true(heap->size < smallest);
        smallest = heap->size;
        for (int i = 0; i < 100; i++)
            tn_handle_free(make(heap, &bytes_type, 50000));
        tn_heap_collect(heap, TN_COLLECT_FULL);
        tn_heap_destroy(heap);
    }
    assert_true(smallest <= 100 * MB);
}

/* A heap with a limit of 4 MB runs for long with 2 MB of live objects among garbage. */
static void small_heaps_last(void **state)
{
    enum { SLOTS = 400, BYTES = 5000, STEPS = 40000 };
    struct tn_heap *heap = make_limited(state, 4 * MB, 0);
    struct tn_handle *table = make(heap, &table_type, SLOTS);
    bool is_stressed = *(uint64_t *)*state & TN_HEAP_STRESS;
    for (uint64_t i = 0; i < (is_stressed ? STEPS / 40 : STEPS); i++) {
        struct tn_handle *object = make(heap, &bytes_type, i % 7 ? BYTES : BYTES * 2);
        if (i % 3 == 0)
            assert_int_equal(tn_handle_store(table, 8 + 8 * (i * 31 % SLOTS), object, &err), 0);
        tn_handle_free(object);
    }
    struct tn_heap_stats stats = stats_of(heap);
    assert_true(stats.in_use <= 4 * MB);
    if (stats.young && !is_stressed) /* the nursery is small enough to be collected alone */
        assert_true(stats.collections > 4 * stats.full);
    tn_heap_destroy(heap);
}

/* ---- the soft limit ---- */

struct most {
    uint64_t bytes;
};

static void note_most(void *context, const struct tn_collection *collection)
{
    struct most *most = context;
    most->bytes = collection->before > most->bytes ? collection->before : most->bytes;
}

static uint64_t most_in_use(uint64_t minimum, uint64_t soft_limit, uint64_t extra, uint64_t live)
{
    enum { BYTES = 1 << 16, STEPS = 4000 };
    struct most most = {0};
    struct tn_heap *heap;
    struct tn_heap_options options = {.size = sizeof options,
                                      .minimum = minimum,
                                      .soft_limit = soft_limit,
                                      .extra = extra,
                                      .workers = 1, /* a marker of its own might wait for a core */
                                      .collector = chosen_collector(),
                                      .on_collection = note_most,
                                      .context = &most};
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    make(heap, &bytes_type, live);
    for (int i = 0; i < STEPS; i++)
        tn_handle_free(make(heap, &bytes_type, BYTES));
    tn_heap_destroy(heap);
    return most.bytes;
}

static void soft_limits(void **state)
{
    (void)state;
    assert_true(most_in_use(0, 0, 0, 4 * MB) > 24 * MB);
    assert_in_range(most_in_use(0, 12 * MB, 0, 4 * MB), 8 * MB, 15 * MB); /* and a nursery */
    assert_true(most_in_use(0, 12 * MB, 0, 20 * MB) > 20 * MB);           /* it does not end the program */
}

/* More or less memory beyond what lives. */
static void extra_memory(void **state)
{
    const struct tn_heap_options too_much = {.size = sizeof too_much, .extra = 10001};
    struct tn_heap *heap;
    (void)state;
    uint64_t little = most_in_use(1 * MB, 0, 25, 8 * MB), usual = most_in_use(1 * MB, 0, 100, 8 * MB);
    uint64_t much = most_in_use(1 * MB, 0, 400, 8 * MB);
    assert_true(little >= 8 * MB && much > little + 8 * MB);
    if (chosen_collector() != &tn_collector_concurrent) /* which keeps what dies while it marks */
        assert_true(little < 16 * MB && usual > little + 4 * MB && much > usual + 16 * MB);
    assert_int_equal(tn_heap_create(&too_much, &heap, &err), TN_EINVAL);
}

/* However slowly a heap grows, and however fast it is marked: not before three eighths of what lives are allocated. */
static void the_least_budget(void **state)
{
    enum { LIVE = 64 << 20 };
    static const uint64_t extras[] = {50, 100, 400};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(extras); i++) {
        struct tn_heap *heap;
        const struct tn_heap_options options = {
            .size = sizeof options, .minimum = 1 * MB, .extra = extras[i], .collector = &tn_collector_generational};
        assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
        assert_int_equal(tn_heap_attach(heap, &err), 0);
        make(heap, &bytes_type, LIVE);
        struct tn__generational *g = tn__generational_of(heap);
        for (int round = 0; round < 64; round++) { /* the rates of the past count for half each time */
            g->last_full = 0;
            tn__gen_set_budget(heap, g->live_before, UINT32_MAX, 1);
        }
        assert_in_range(g->budget - g->used, g->used / 8 * 3 / 100 * extras[i] - MB,
                        g->used / 8 * 3 / 100 * extras[i] + MB);
        tn_heap_destroy(heap);
    }
}

/* ---- on demand ---- */

static void partial_and_full(void **state)
{
    struct tn_heap *heap = make_limited(state, 0, 0);
    struct tn_handle *old = make_node(heap, &node_type, 1, NULL), *young;
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(stats_of(heap).full, stats_of(heap).collections);
    struct tn_heap_stats before = stats_of(heap);
    young = make_node(heap, &node_type, 2, old);
    tn_handle_free(make_node(heap, &node_type, 3, NULL));
    tn_handle_free(old);
    tn_heap_collect(heap, TN_COLLECT_PARTIAL);
    struct tn_heap_stats after = stats_of(heap);
    assert_true(after.collections > before.collections);
    if (after.young) /* a collector with a nursery */
        assert_true(after.collections - before.collections > after.full - before.full);
    assert_int_equal(take_census(heap).count, 2);
    assert_int_equal(value_of(young), 2);
    assert_true(step(young) && value_of(young) == 1);
    tn_handle_free(young);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 0);
    tn_heap_destroy(heap);
}

/* ---- back to the system ---- */

static uint64_t resident(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %llu", &pages), 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Most of what a heap had goes back, whether objects were small or large; what lives stays as it is, and the heap grows
 * again. */
static void idle_heaps_shrink(void **state)
{
    enum { NODES = 64 * MB / 24, LARGE = 8 * MB };
    struct tn_heap *heap = make_limited(state, 256 * MB, 0);
    struct tn_handle *kept = make_node(heap, &node_type, 7, NULL);
    for (int round = 0; round < 3; round++) {
        struct tn_handle *table = make(heap, &table_type, NODES / 8 / MB + 4096);
        for (uint64_t i = 0; i < 4096; i++) {
            struct tn_handle *block = make(heap, &bytes_type, 16000);
            assert_int_equal(tn_handle_store(table, 8 + 8 * i, block, &err), 0);
            tn_handle_free(block);
        }
        struct tn_handle *large = make(heap, &bytes_type, LARGE), *last = make_node(heap, &node_type, 8, kept);
        uint64_t resident_before = resident(), committed_before = stats_of(heap).committed;
        assert_true(committed_before >= 64 * MB);
        tn_handle_free(table);
        tn_handle_free(large);
        tn_heap_trim(heap);
        assert_true(stats_of(heap).committed <= 4 * MB);
        assert_true(resident() + 56 * MB <= resident_before);
        assert_int_equal(value_of(last), 8);
        assert_true(step(last) && value_of(last) == 7);
        tn_handle_free(last);
        tn_heap_trim(heap);
    }
    assert_int_equal(take_census(heap).count, 1);
    tn_heap_destroy(heap);
}

/* Blocks of one object each, of which every other one dies. */
static void partly_used_memory_shrinks(void **state)
{
    enum { BLOCKS = 2000, BYTES = 32000 };
    struct tn_heap *heap = make_limited(state, 0, 0);
    struct tn_handle *table = make(heap, &table_type, BLOCKS);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        struct tn_handle *block = make(heap, &bytes_type, BYTES);
        for (uint64_t at = 8; at < BYTES; at += 4096)
            assert_int_equal(tn_handle_write(block, at, &i, sizeof i, &err), 0);
        assert_int_equal(tn_handle_store(table, 8 + 8 * i, block, &err), 0);
        tn_handle_free(block);
    }
    uint64_t before = resident();
    for (uint64_t i = 0; i < BLOCKS; i += 2)
        assert_int_equal(tn_handle_store(table, 8 + 8 * i, NULL, &err), 0);
    tn_heap_trim(heap);
    assert_true(resident() + BLOCKS / 2 * BYTES * 3 / 4 <= before);
    struct tn_handle *block = make_node(heap, &node_type, 0, NULL);
    for (uint64_t i = 1; i < BLOCKS; i += 2) {
        uint64_t value = 0;
        assert_int_equal(tn_handle_load(table, 8 + 8 * i, block, &err), 0);
        assert_int_equal(tn_handle_read(block, 8 + 4096 * 6, &value, sizeof value, &err), 0);
        assert_int_equal(value, i);
    }
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(each_size_runs_out),
        BOTH(no_size_exceeds_the_limit),
        BOTH(without_attaching),
        BOTH(too_large_ones_are_errors),
        BOTH(little_address_space),
        BOTH(small_heaps_last),
        BOTH(partial_and_full),
        {"soft_limits", soft_limits, NULL, NULL, &plain},
        {"extra_memory", extra_memory, NULL, NULL, &plain},
        {"the_least_budget", the_least_budget, NULL, NULL, &plain},
        {"idle_heaps_shrink", idle_heaps_shrink, NULL, NULL, &plain},
        {"partly_used_memory_shrinks", partly_used_memory_shrinks, NULL, NULL, &plain},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
