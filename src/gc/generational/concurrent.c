/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The generational collector whose full collections mark beside threads. A cycle begins in a pause that empties the
 * nursery; what this finds at roots is marked first. Then a thread of the collector marks; if there is one core only,
 * each thread that needs new memory does so for a short time. Each pause until the end empties the nursery and adds
 * what it sees of old objects; the one after which next to nothing is left to be marked ends the cycle. Nothing
 * moves in the old space.
 *
 * A full collection that is asked for, and one for lack of memory, drop the cycle and mark while the world is stopped:
 * a cycle keeps what died since it began. */

#include "base/os.h"
#include "gc/generational/cycle.h"

/* ---- checks ---- */

/* What marking beside threads has to have reached when it ends, for heaps that are verified. */

struct check {
    struct tn__collecting all; /* first */
    const struct tn__generational *g;
    const char *wrong;
};

static void check_slot(void *context, void **slot)
{
    struct check *check = context;
    if (tn__is_in_space(check->g, *slot) && !tn__has_bit(check->g, check->g->marks, *slot))
        check->wrong = "a marked object or a root refers to an object that was not marked";
}

static void check_kept(void *context, void *object)
{
    check_slot(context, &object);
}

static void check_object(void *context, void *object)
{
    tn__visit_references(object, check_slot, context);
}

/* NULL, or what is wrong with the marks when all is marked. */
static __attribute__((cold)) const char *marker_check(struct tn__cycle *cycle)
{
    static const struct tn__tracing tracing = {.forward = check_slot, .keep = check_kept};
    struct tn__generational *g = cycle->marker.g;
    struct check check = {.all = {.tracing = &tracing, .heap = cycle->heap}, .g = g};
    for (uint64_t unit = 0; unit < g->size >> TN__UNIT_SHIFT; unit++)
        if (g->units[unit])
            tn__gen_each_in(g, g->marks, unit << TN__UNIT_SHIFT, TN__UNIT, check_object, &check);
    tn__find_roots(&check.all);
    return check.wrong;
}

/* ---- cycles ---- */

enum {
    LONG_NS = 500000, /* of a pause, for what is left to be marked, if the budget is exceeded */
    LEAST_SLICE_NS = 50000,
    MOST_SLICE_NS = 500000,
    SOON = 2 << 20, /* bytes allocated in the old space after which a pause looks whether the cycle can end, */
    SOON_IN_HOLES = 64 << 10, /* if pauses copy nothing, so that each finds less to be marked than the one before */
    UNITS_OF_SLICE = 4,       /* whose bits are cleared at once */
};

/* ---- clearing the second tables ---- */

static void clear_unit(struct tn__generational *g, uint64_t unit)
{
    uint64_t part = TN__UNIT >> TN__TABLE_SHIFT;
    if (!__atomic_load_n(&g->units[unit], __ATOMIC_ACQUIRE))
        return;
    memset((char *)g->spare_starts + unit * part, 0, part);
    memset(g->spare_lines + unit * part, 0, part);
}

/* Of some units; true: of all. */
static bool clear_some(struct tn__cycle *cycle, uint32_t most)
{
    struct tn__generational *g = cycle->marker.g;
    uint64_t units = ((uint64_t)cycle->dirty_end * TN__BLOCK + TN__UNIT - 1) >> TN__UNIT_SHIFT;
    for (; most && cycle->next_dirty < units; most--)
        clear_unit(g, cycle->next_dirty++);
    if (cycle->next_dirty < units)
        return false;
    memset(g->counts, 0, cycle->dirty_end * sizeof *g->counts);
    __atomic_store_n(&cycle->is_dirty, false, __ATOMIC_RELAXED);
    return true;
}

static void set_dirty(struct tn__cycle *cycle)
{
    cycle->next_dirty = 0;
    cycle->dirty_end = cycle->marker.g->block_end;
    __atomic_store_n(&cycle->is_dirty, true, __ATOMIC_RELAXED);
}

/* ---- marking beside threads ---- */

static void mark_until(struct tn__cycle *cycle, uint64_t deadline)
{
    struct tn_collection_work work = {
        .thread = tn__os_thread_id(), .is_own = !deadline, .phase = TN_COLLECTION_TRACE, .begin_ns = tn__os_now_ns()};
    uint64_t start = tn__os_thread_ns(), marked = cycle->marker.marked;
    cycle->deadline = deadline;
    bool is_dry = tn__mark_beside(cycle);
    __atomic_store_n(&cycle->is_dry, is_dry, __ATOMIC_RELAXED);
    cycle->marking_ns += tn__os_thread_ns() - start;
    work.end_ns = tn__os_now_ns();
    work.amount = cycle->marker.marked - marked;
    tn__note_work(cycle->heap, &work);
}

static bool has_work(const struct tn__cycle *cycle)
{
    return cycle->is_dirty || (cycle->marker.g->marks && !cycle->is_dry);
}

/* The holder of heap->beside: true if there is more. */
static bool work(struct tn__cycle *cycle)
{
    const struct tn_heap *heap = cycle->heap;
    while (cycle->is_dirty && !__atomic_load_n(&heap->beside_stops, __ATOMIC_RELAXED))
        clear_some(cycle, UNITS_OF_SLICE);
    if (!cycle->is_dirty && has_work(cycle))
        mark_until(cycle, 0);
    return has_work(cycle);
}

static void wait_for_world(struct tn_heap *heap)
{
    uint32_t seen;
    while ((seen = __atomic_load_n(&heap->beside_stops, __ATOMIC_SEQ_CST))) {
        if (seen == 1)
            __atomic_compare_exchange_n(&heap->beside_stops, &seen, 2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        else
            tn__os_wait(&heap->beside_stops, 2, UINT64_MAX);
    }
}

/* Most pauses are shorter than it takes to sleep and to be woken. */
static void look_at_world(const struct tn_heap *heap)
{
    enum { LOOKS = 2000 };
    for (int i = 0; i < LOOKS && __atomic_load_n(&heap->beside_stops, __ATOMIC_RELAXED); i++)
        tn__os_relax();
}

static void *run_marker(void *of)
{
    struct tn__cycle *cycle = of;
    struct tn_heap *heap = cycle->heap;
    for (;;) {
        uint32_t event = __atomic_load_n(&cycle->event, __ATOMIC_ACQUIRE);
        look_at_world(heap);
        wait_for_world(heap);
        tn__mutex_lock(&heap->beside);
        bool ends = cycle->ends, has_more = !ends && work(cycle);
        tn__mutex_unlock(&heap->beside);
        if (ends)
            return NULL;
        __atomic_store_n(&cycle->sleeps, !has_more, __ATOMIC_SEQ_CST);
        while (!has_more && __atomic_load_n(&cycle->event, __ATOMIC_SEQ_CST) == event)
            tn__os_wait(&cycle->event, event, UINT64_MAX);
        __atomic_store_n(&cycle->sleeps, false, __ATOMIC_RELAXED);
    }
}

static void wake_marker(struct tn__cycle *cycle)
{
    __atomic_fetch_add(&cycle->event, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&cycle->sleeps, __ATOMIC_SEQ_CST))
        tn__os_wake(&cycle->event);
}

/* The child of a vfork shares memory with its parent, whose threads are not its own. */
static bool is_own_thread(const struct tn__cycle *cycle)
{
    return cycle->has_thread && cycle->forks == cycle->heap->forks && cycle->process == tn__os_process_id();
}

/* The child of a fork starts one of its own. False: it cannot be started. */
static bool has_thread(struct tn__cycle *cycle)
{
    if (is_own_thread(cycle))
        return true;
    if (cycle->forks != cycle->heap->forks)
        cycle->process = tn__os_process_id();
    if (!cycle->wants_thread || cycle->process != tn__os_process_id())
        return false;
    cycle->has_thread = tn__os_start_thread(&cycle->thread, run_marker, cycle);
    cycle->forks = cycle->heap->forks;
    cycle->wants_thread = cycle->has_thread;
    return cycle->has_thread;
}

/* Where the next pause may copy objects to: the system takes longer to provide memory than copying takes. */
static void provide_memory(struct tn__generational *g)
{
    for (uint64_t unit = (uint64_t)g->block_end * TN__BLOCK >> TN__UNIT_SHIFT, last = unit + 1; unit <= last; unit++)
        if (unit < g->size >> TN__UNIT_SHIFT && !g->units[unit] && tn__gen_commit(g, unit << TN__UNIT_SHIFT, TN__UNIT))
            tn__os_prefault(g->base + (unit << TN__UNIT_SHIFT), TN__UNIT);
}

/* Bytes after which a thread helps again: a piece, or a part of it that is in holes. */
static uint64_t bytes_of_slice(const struct tn__generational *g)
{
    return g->is_direct ? TN__PIECE / 4 : TN__PIECE;
}

/* Threads allocate faster than the thread of the collector marks: they wait for a short time. */
static void let_mark(const struct tn__cycle *cycle)
{
    const struct tn__generational *g = cycle->marker.g;
    if (g->used > g->budget + g->budget / 4 && !__atomic_load_n(&cycle->is_dry, __ATOMIC_RELAXED))
        tn__os_wait(&cycle->event, __atomic_load_n(&cycle->event, __ATOMIC_RELAXED), TN__SHORT_NS);
}

static void help(struct tn_heap *heap, uint64_t bytes)
{
    struct tn__generational *g = tn__generational_of(heap);
    struct tn__cycle *cycle = g->cycle;
    cycle->new_bytes += bytes;
    if (cycle->new_bytes < bytes_of_slice(g))
        return;
    cycle->new_bytes = 0;
    provide_memory(g);
    if (!g->marks && !__atomic_load_n(&cycle->is_dirty, __ATOMIC_RELAXED))
        return;
    if (has_thread(cycle)) {
        let_mark(cycle);
        return;
    }
    uint64_t time = g->used > g->budget ? LONG_NS : cycle->slice_ns;
    tn__mutex_lock(&heap->beside);
    if (cycle->is_dirty)
        clear_some(cycle, UNITS_OF_SLICE);
    else if (has_work(cycle))
        mark_until(cycle, tn__os_now_ns() + time);
    tn__mutex_unlock(&heap->beside);
}

/* ---- when ---- */

/* How long marking will take, and by how much the old space grows meanwhile, from what was measured. */
static double expected_ns(const struct tn__generational *g)
{
    return g->mark_rate > 0 ? (double)g->live_before / g->mark_rate : 0;
}

/* When marking begins: in a pause, because threads that allocate do not compute with floating-point numbers. */
static void plan(struct tn__generational *g)
{
    const double MORE = 1.3; /* the marker does not always run */
    double growth = MORE * expected_ns(g) * g->growth_rate, space = (double)(g->budget - g->live_before);
    double most = g->workers > 1 ? space / 4 * 3 : space / 2; /* slices are as long as it takes */
    g->cycle->early = g->budget <= g->live_before ? 0 : (uint64_t)(growth < most ? growth : most);
}

/* Unless all of it is in use anyway. */
static bool exceeds_soft_limit(const struct tn_heap *heap, uint64_t used)
{
    return used > heap->options.soft_limit && tn__generational_of(heap)->budget <= heap->options.soft_limit;
}

static enum tn__extent due(const struct tn_heap *heap, uint64_t used)
{
    const struct tn__generational *g = tn__generational_of(heap);
    const struct tn__cycle *cycle = g->cycle;
    bool is_over = used > g->budget;
    if (g->is_direct && used > g->direct_end)
        return TN__PARTIAL;
    if (g->marks) {
        bool may_end = is_over || __atomic_load_n(&cycle->is_dry, __ATOMIC_RELAXED);
        uint64_t soon = g->is_direct ? SOON_IN_HOLES : SOON;
        bool is_soon = used > cycle->used_at_pause + soon || exceeds_soft_limit(heap, used);
        return may_end && is_soon ? TN__PARTIAL : TN__NOTHING;
    }
    bool is_ready = !__atomic_load_n(&cycle->is_dirty, __ATOMIC_RELAXED);
    return is_over || (is_ready && used > g->budget - cycle->early) ? TN__PARTIAL : TN__NOTHING;
}

/* A thread that marks for so long whenever it gets a piece has marked all before the budget is reached. */
static uint64_t choose_slice(const struct tn__generational *g)
{
    const double MORE = 2;
    uint64_t space = g->budget > g->used ? g->budget - g->used : 0;
    double slice = MORE * expected_ns(g) / (double)(space / bytes_of_slice(g) + 1);
    return slice < LEAST_SLICE_NS ? LEAST_SLICE_NS : slice > MOST_SLICE_NS ? MOST_SLICE_NS : (uint64_t)slice;
}

/* ---- in pauses ---- */

static void forget_found(struct tn__generational *g)
{
    for (uint32_t i = 0; i <= g->team.started; i++)
        memset(g->team.workers[i]->found, 0, sizeof g->first.found);
}

static void drop_cycle(struct tn__generational *g)
{
    if (!g->marks)
        return;
    forget_found(g);
    tn__marker_reset(g->cycle);
    g->marks = NULL;
    set_dirty(g->cycle);
}

static void begin(struct tn_heap *heap, enum tn__extent extent)
{
    struct tn__generational *g = tn__generational_of(heap);
    struct tn__cycle *cycle = g->cycle;
    bool is_due = heap->options.flags & TN_HEAP_VERIFY || due(heap, g->used);
    if (extent >= TN__FULL && g->marks) {
        drop_cycle(g);
        if (is_own_thread(cycle)) /* it clears the second tables */
            wake_marker(cycle);
    }
    cycle->used_at_pause = g->used;
    if (extent >= TN__FULL || g->marks || !is_due)
        return;
    if (cycle->is_dirty)
        clear_some(cycle, UINT32_MAX);
    tn__marker_reset(cycle);
    cycle->used_before = g->used;
    cycle->start = tn__os_now_ns();
    cycle->marking_ns = 0;
    cycle->begins = true;
    cycle->slice_ns = choose_slice(g);
    g->marks_are_lost = false;
    TN__CHECK(!g->marks && !cycle->is_dirty && !cycle->marker.count);
    g->marks = g->spare_starts;
}

/* Everything is marked: the second tables become the first ones. */
static void finish(struct tn_heap *heap, struct tn_collection *done)
{
    struct tn__generational *g = tn__generational_of(heap);
    struct tn__cycle *cycle = g->cycle;
    uint64_t before = g->used;
    uint8_t *lines = g->lines;
    TN__CHECK(!cycle->marker.count && !cycle->found[TN__GREY] && !cycle->found[TN__CUSTOM] && !cycle->rest_count &&
              !cycle->born_count && !cycle->fresh.count && !cycle->filled.count && !cycle->noted);
    g->spare_starts = g->starts;
    g->starts = g->marks;
    g->marks = NULL;
    g->lines = g->spare_lines;
    g->spare_lines = lines;
    tn__gen_sweep(g, g->counts);
    tn__marker_reset(cycle);
    set_dirty(cycle);
    const char *wrong = heap->options.flags & TN_HEAP_VERIFY ? tn__gen_check(g) : NULL;
    if (wrong)
        tn__corrupt(heap, wrong);
    tn__gen_set_budget(heap, cycle->used_before, cycle->start, cycle->marking_ns);
    done->marked = g->used;
    done->swept += before > g->used ? before - g->used : 0;
    done->holes = g->holes;
    done->cycle_ns = tn__os_now_ns() - cycle->start;
    tn__phase_end(heap, TN_COLLECTION_SWEEP);
}

static void verify_marks(struct tn__cycle *cycle)
{
    struct tn_heap *heap = cycle->heap;
    const char *wrong = heap->options.flags & TN_HEAP_VERIFY ? marker_check(cycle) : NULL;
    if (wrong)
        tn__corrupt(heap, wrong);
    tn__phase_end(heap, TN_COLLECTION_VERIFY);
}

/* The more if threads have allocated too much meanwhile. */
static uint64_t time_in_pause(const struct tn_heap *heap)
{
    const struct tn__generational *g = tn__generational_of(heap);
    if (exceeds_soft_limit(heap, g->used))
        return UINT64_MAX;
    const struct {
        uint64_t used, ns;
    } rows[] = {{g->budget + g->budget / 2, TN__SHORT_NS}, {2 * g->budget, LONG_NS}, {3 * g->budget, 4 * LONG_NS}};
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (g->used <= rows[i].used)
            return rows[i].ns;
    return UINT64_MAX;
}

/* Marks what the pause has found for a short time, if all else is marked; or for longer if threads have allocated too
 * much since the cycle began. True: nothing is left. */
static bool mark_rest(struct tn__cycle *cycle)
{
    uint64_t start = tn__os_thread_ns(), time = time_in_pause(cycle->heap);
    bool has_more = !cycle->is_dry && time == TN__SHORT_NS, is_all;
    cycle->deadline = time == UINT64_MAX ? time : tn__os_now_ns() + time;
    is_all = (has_more ? tn__visit_some(cycle) : tn__mark_in_pause(cycle)) && !has_more;
    cycle->marking_ns += tn__os_thread_ns() - start;
    tn__phase_end(cycle->heap, TN_COLLECTION_TRACE);
    return is_all;
}

static bool end(struct tn_heap *heap, struct tn_collection *done)
{
    struct tn__generational *g = tn__generational_of(heap);
    struct tn__cycle *cycle = g->cycle;
    forget_found(g);
    tn__mark_noted(cycle);
    tn__spans_hand_over(cycle);
    bool is_all = !cycle->begins && !g->marks_are_lost && mark_rest(cycle);
    cycle->begins = false;
    g->marks_are_lost |= g->team.is_full;
    if (is_all && !g->marks_are_lost) {
        verify_marks(cycle);
        tn__marker_settle(cycle);
        tn__phase_end(heap, TN_COLLECTION_WEAK);
        g->marks_are_lost |= g->team.is_full;
        if (!g->marks_are_lost)
            finish(heap, done);
    }
    if (g->marks_are_lost)
        drop_cycle(g);
    g->team.is_full = false;
    cycle->used_at_pause = g->used;
    cycle->is_dry = false;
    if (cycle->has_thread && has_work(cycle))
        wake_marker(cycle);
    return done->cycle_ns;
}

/* ---- a heap ---- */

static void close_concurrent(struct tn_heap *heap)
{
    struct tn__cycle *cycle = tn__generational_of(heap)->cycle;
    if (is_own_thread(cycle)) {
        tn__mutex_lock(&heap->beside);
        cycle->ends = true;
        tn__mutex_unlock(&heap->beside);
        wake_marker(cycle);
        pthread_join(cycle->thread, NULL);
    }
    tn__marker_forget(cycle);
    tn__gen_close_heap(heap);
    tn__free(NULL, cycle->rests);
    tn__free(NULL, cycle->born);
    tn__free(NULL, cycle->fresh.items);
    tn__free(NULL, cycle->filled.items);
    tn__free(NULL, cycle);
}

static int open_concurrent(struct tn_heap *heap, struct tn_error *err)
{
    static const struct tn__beside beside = {
        .due = due,
        .plan = plan,
        .help = help,
        .begin = begin,
        .end = end,
        .born = tn__mark_born,
        .reached = tn__mark_later,
        .sift = tn__sift_stores,
        .open = tn__span_open,
        .settle = tn__span_settle,
    };
    struct tn__cycle *cycle = tn__alloc_zeroed(NULL, 1, sizeof *cycle);
    int code = cycle ? tn__gen_create(heap, &beside, err) : tn__no_memory(err, NULL);
    if (code) {
        tn__free(NULL, cycle);
        return code;
    }
    struct tn__generational *g = tn__generational_of(heap);
    g->cycle = cycle;
    cycle->heap = heap;
    cycle->marker.g = g;
    cycle->wants_thread = g->workers > 1;
    cycle->process = tn__os_process_id();
    cycle->forks = heap->forks;
    tn__marker_reset(cycle);
    return 0;
}

const struct tn_collector tn_collector_concurrent = {
    .name = "concurrent",
    .last_resort = TN__COMPACT,
    .open = open_concurrent,
    .close = close_concurrent,
    .due = tn__gen_due,
    .take = tn__gen_take,
    .retire = tn__gen_retire,
    .log = tn__gen_log_store,
    .collect = tn__gen_collect,
    .each_object = tn__gen_each,
};
