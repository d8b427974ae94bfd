/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The generational collector as heaps and threads know it: where threads allocate, and when what is collected. */

#include "base/os.h"
#include "gc/generational/generational.h"

/* ---- memory back to the system ---- */

/* Free memory goes back to the system: that of units without objects, with their part of the tables, and that of free
 * blocks and pieces in others. What the system does not take stays, and is used again like what it took. */

enum { BLOCKS_OF_UNIT = TN__UNIT / TN__BLOCK, BLOCKS_OF_PIECE = TN__PIECE / TN__BLOCK };

/* Of a young or an old address. */
static bool is_free(const struct tn__generational *g, uint64_t block)
{
    return block < TN__FIRST_OLD ? g->pieces[block / BLOCKS_OF_PIECE] == TN__PIECE_FREE
                                 : g->blocks[block] == TN__BLOCK_FREE;
}

/* The number of free blocks from here to the end of the unit. */
static uint64_t count_free(const struct tn__generational *g, uint64_t block)
{
    uint64_t end = (block / BLOCKS_OF_UNIT + 1) * BLOCKS_OF_UNIT, at = block;
    while (at < end && is_free(g, at))
        at++;
    return at - block;
}

static void give_blocks(struct tn__generational *g, uint64_t unit)
{
    uint64_t block = unit * BLOCKS_OF_UNIT, end = block + BLOCKS_OF_UNIT;
    for (uint64_t count; block < end; block += count ? count : 1) {
        count = count_free(g, block);
        if (count)
            tn__os_zero_private(g->base + (block << TN__BLOCK_SHIFT), count << TN__BLOCK_SHIFT);
    }
}

/* Gives free blocks and pieces back to the system, and units of them with their tables; after a full collection
 * (collector.c). */
static void gen_trim(struct tn__generational *g)
{
    for (uint64_t unit = 0; unit < g->size >> TN__UNIT_SHIFT; unit++)
        if (g->units[unit] && count_free(g, unit * BLOCKS_OF_UNIT) == BLOCKS_OF_UNIT)
            tn__gen_give_unit(g, unit);
        else if (g->units[unit])
            give_blocks(g, unit);
    while (g->block_end > TN__FIRST_OLD && g->blocks[g->block_end - 1] == TN__BLOCK_FREE)
        g->block_end--;
}

/* ---- the collector ---- */

enum {
    NURSERY = 2 << 20,
    LONG_SPAN = 1 << 10,
    MOST_COPIED = 128 << 10,  /* bytes in a pause, if pauses have to be short and this can be foreseen */
    LEAST_COPIED = 256 << 10, /* bytes for each worker */
    LEAST_MARKED = 4 << 20,   /* likewise */
    USUAL_WORKERS = 4,
    MANY_SURVIVE = 2,        /* nurseries in a row of which most survived */
    DIRECT_BYTES = 16 << 20, /* allocated in holes until another nursery is used, if marking goes on beside threads */
    STRESSED = 16,           /* collections */
    LEAST_HUGE = 64 << 20,   /* bytes of a heap that large pages are worth it for */
    LEAST_TIMED = 1 << 20,   /* entries of a marking whose time tells something */
    SLOW_NS = 50             /* for each of these on any machine */
};

#define IN_HOLE UINT32_MAX /* a thread's chunk, which is the number of its piece + 1 otherwise */

/* ---- a heap ---- */

static void count_use(struct tn_heap *heap)
{
    const struct tn__generational *g = tn__generational_of(heap);
    heap->in_use = g->used + (uint64_t)g->pieces_young * TN__PIECE;
    heap->large = g->large;
    heap->committed = g->committed;
}

/* What counts as young. Every value does if the heap is verified, or if objects are marked beside threads. The world
 * is stopped, or has no threads. */
static __attribute__((cold)) void set_young(struct tn_heap *heap)
{
    const struct tn__generational *g = tn__generational_of(heap);
    bool all = g->marks || heap->options.flags & TN_HEAP_VERIFY;
    heap->young = all ? 0 : g->base;
    heap->young_size = all ? UINT64_MAX : g->is_direct ? 0 : TN__YOUNG_SIZE;
    for (TN__EACH_MUTATOR(mutator, heap)) {
        mutator->block->young = heap->young;
        mutator->block->young_size = heap->young_size;
    }
}

__attribute__((cold)) int tn__gen_create(struct tn_heap *heap, const struct tn__beside *beside, struct tn_error *err)
{
    struct tn__generational *g = tn__alloc_zeroed(NULL, 1, sizeof *g);
    if (!g)
        return tn__no_memory(err, NULL);
    g->workers = (uint32_t)tn__min64(heap->options.workers ? heap->options.workers
                                                           : tn__min64(tn__os_usable_cores(), USUAL_WORKERS),
                                     TN__MOST_WORKERS);
    if (!tn__gen_open(g, heap->options.limit, beside) || !tn__gen_open_team(g)) {
        tn__gen_close(g);
        tn__free(NULL, g);
        return tn__fail(err, TN_ENOMEM, "no address space for a heap");
    }
    tn__mutex_init(&g->log_lock, TN__LEVEL_LOG);
    heap->options.limit = tn__min64(heap->options.limit, g->size); /* no size within the limit overflows then */
    g->budget = tn__within_soft_limit(heap, 0, tn__min64(heap->options.minimum, heap->options.limit));
    g->last_full = tn__os_now_ns();
    g->beside = beside;
    g->nursery = TN__PIECE;
    heap->own = g;
    heap->start = g->base;
    heap->size = g->size;
    set_young(heap);
    return 0;
}

static int open_generational(struct tn_heap *heap, struct tn_error *err)
{
    return tn__gen_create(heap, NULL, err);
}

__attribute__((cold)) void tn__gen_close_heap(struct tn_heap *heap)
{
    struct tn__generational *g = tn__generational_of(heap);
    tn__gen_close_team(g, heap);
    tn__gen_free_logs(g);
    tn__mutex_destroy(&g->log_lock);
    tn__free(NULL, g->spans);
    tn__gen_close(g);
    tn__free(NULL, g);
}

/* ---- small objects ---- */

static void *bump(struct tn__mutator *mutator, uint64_t size, const struct tn_type *type)
{
    struct tn_gc_block *block = mutator->block;
    uint64_t most = size + (type->alignment == 16 ? 8 : 0);
    if (!mutator->limit || most > (uint64_t)(mutator->limit - block->bump))
        return NULL;
    if (type->alignment == 16 && ((uintptr_t)block->bump + TN_GC_HEADER_SIZE) % 16) {
        *(uint64_t *)(void *)block->bump = 0;
        block->bump += 8;
    }
    void *object = block->bump + TN_GC_HEADER_SIZE;
    block->bump += size;
    return object;
}

static void note_start(void *of, void *object)
{
    const struct tn__generational *g = of;
    tn__set_bits(g, g->starts, object, tn__bits(g, g->starts, object) | (uint8_t)(1 << (uintptr_t)object / 8 % 8));
}

/* A long row of objects is faster found by its ends; of short rows there may be millions. False: no memory. */
static bool note_span(struct tn__generational *g, char *start, char *end)
{
    if (!tn__grow(NULL, &g->spans, &g->span_capacity, g->span_count + 1, sizeof *g->spans))
        return false;
    g->spans[g->span_count++] = (struct tn__span){start, end};
    return true;
}

/* The thread has allocated from the start of the hole to `end`. */
static void leave_hole(struct tn__generational *g, char *start, char *end, char *hole_end)
{
    if (g->beside || end - start < LONG_SPAN || !note_span(g, start, end))
        tn__each_between(start, end, note_start, g);
    if (g->beside)
        g->beside->settle(g, start, end, hole_end);
}

/* The thread goes on elsewhere. */
static void leave_chunk(struct tn__generational *g, struct tn__mutator *mutator)
{
    if (!mutator->chunk)
        return;
    if (mutator->chunk == IN_HOLE)
        leave_hole(g, mutator->chunk_start, mutator->block->bump, mutator->limit);
    else
        g->piece_used[mutator->chunk - 1] =
            (uint32_t)((uintptr_t)mutator->block->bump - g->base - (mutator->chunk - 1) * (uint64_t)TN__PIECE);
    mutator->chunk = 0;
    mutator->limit = mutator->block->bump = NULL;
    __atomic_store_n(&mutator->block->limit, NULL, __ATOMIC_RELAXED);
}

void tn__gen_retire(struct tn__mutator *mutator)
{
    struct tn__generational *g = tn__generational_of(mutator->heap);
    tn__gen_hand_over(g, mutator);
    leave_chunk(g, mutator);
}

/* If marking beside threads is verified, there are many pauses in small heaps, in each of which it is verified. */
static uint64_t usable(const struct tn_heap *heap)
{
    const struct tn__generational *g = tn__generational_of(heap);
    bool many = g->beside && heap->options.flags & TN_HEAP_VERIFY;
    return many ? tn__min64(tn__max64(g->used / 8, 2 * TN_GC_LARGEST_INLINE) & -(uint64_t)TN__MEDIUM, TN__PIECE)
                : TN__PIECE;
}

static bool give_piece(struct tn_heap *heap, struct tn__mutator *mutator)
{
    struct tn__generational *g = tn__generational_of(heap);
    uint32_t piece = tn__gen_take_piece(g, heap->options.flags & TN_HEAP_STRESS);
    if (piece == TN__PIECES)
        return false;
    mutator->chunk = piece + 1;
    mutator->block->bump = (char *)g->base + piece * (uint64_t)TN__PIECE;
    mutator->limit = mutator->block->bump + usable(heap);
    return true;
}

static bool give_hole(struct tn__generational *g, struct tn__mutator *mutator, uint64_t size)
{
    char *end, *start;
    start = tn__gen_take_hole(g, &g->direct, size, &end);
    if (!start)
        return false;
    if (g->marks)
        g->beside->open(g, start, end);
    mutator->chunk = IN_HOLE;
    mutator->chunk_start = mutator->block->bump = start;
    mutator->limit = end;
    return true;
}

static bool refill(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t size)
{
    struct tn__generational *g = tn__generational_of(heap);
    leave_chunk(g, mutator);
    if (!(g->is_direct ? give_hole(g, mutator, size + 8) : give_piece(heap, mutator)))
        return false;
    /* Under the lock, so no stop request is lost. In stress mode every allocation takes the slow path. */
    bool stress = heap->options.flags & TN_HEAP_STRESS;
    __atomic_store_n(&mutator->block->limit, stress ? NULL : mutator->limit, __ATOMIC_RELAXED);
    uint64_t bytes = (uint64_t)(mutator->limit - mutator->block->bump);
    tn__gen_make_huge(g, bytes);
    if (g->beside)
        g->beside->help(heap, bytes);
    return true;
}

/* ---- objects that are old at once ---- */

/* They are looked at by the next collection, as what is stored into them first has no barrier. */
static void *take_old(struct tn_heap *heap, uint64_t size, const struct tn_type *type)
{
    struct tn__generational *g = tn__generational_of(heap);
    void *object = tn__gen_space(g, size, type);
    if (object && type->kind != TN_KIND_LEAF)
        tn__gen_log(g, NULL, (uintptr_t)object | 1);
    if (object && g->beside)
        g->beside->help(heap, size);
    return object;
}

/* A thread that is not attached to this heap has no piece in it. */
static bool is_young_size(const struct tn__mutator *mutator, uint64_t size)
{
    return mutator && size <= TN_GC_LARGEST_INLINE + TN_GC_HEADER_SIZE;
}

void *tn__gen_take(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t size, const struct tn_type *type)
{
    void *object = NULL;
    if (!is_young_size(mutator, size)) {
        if (tn__is_within_limit(heap, size, TN__BLOCK))
            object = take_old(heap, size, type);
    } else {
        object = bump(mutator, size, type);
        uint64_t unit = tn__generational_of(heap)->is_direct ? TN__BLOCK : TN__PIECE;
        if (!object && tn__is_within_limit(heap, size, unit) && refill(heap, mutator, size))
            object = bump(mutator, size, type);
    }
    count_use(heap);
    return object;
}

/* ---- when ---- */

/* Pieces after which the nursery is emptied: small heaps have a small one, and so have those with short pauses. */
static uint64_t most_pieces(const struct tn_heap *heap)
{
    const struct tn__generational *g = tn__generational_of(heap);
    uint64_t most = g->beside ? g->nursery : NURSERY;
    if (g->beside && heap->options.flags & TN_HEAP_VERIFY)
        most = TN__PIECE; /* give_piece */
    return tn__max64(tn__min64(most, heap->options.limit / 8) / TN__PIECE, 1);
}

enum tn__extent tn__gen_due(const struct tn_heap *heap, const struct tn__mutator *mutator, uint64_t size)
{
    const struct tn__generational *g = tn__generational_of(heap);
    if (heap->options.flags & TN_HEAP_STRESS)
        return TN__FULL;
    bool is_old = !is_young_size(mutator, size);
    if (!is_old && mutator->limit && size + 8 <= (uint64_t)(mutator->limit - mutator->block->bump))
        return TN__NOTHING;
    bool is_full = !is_old && !g->is_direct && g->pieces_young >= most_pieces(heap);
    if (!is_old && !g->is_direct && !is_full)
        return TN__NOTHING;
    uint64_t used = g->used + (is_old ? size : 0);
    enum tn__extent extent = g->beside ? g->beside->due(heap, used) : used > g->budget ? TN__FULL : TN__NOTHING;
    return is_full && !extent ? TN__PARTIAL : extent;
}

static double square_root(double x)
{
    double root = x > 1 ? x : 1;
    for (int i = 0; i < 64; i++)
        root = (root + x / root) / 2;
    return root;
}

/* M. Kirisame et al., "Optimal heap limits for reducing browser memory use", OOPSLA 2022: beyond what is live, a heap
 * takes the root of live bytes times the rate at which they grow, divided by the rate at which they are marked. Of
 * programs that do little but allocate, this takes too much: MOST_RATIO. Of those whose heaps grow slowly, it takes so
 * little that they would be marked often for no gain: LEAST_EIGHTHS. */
__attribute__((cold)) void tn__gen_set_budget(struct tn_heap *heap, uint64_t before, uint64_t start, uint64_t time)
{
    struct tn__generational *g = tn__generational_of(heap);
    const double UNIT = 140e6; /* bytes: trades time for memory */
    const double MOST_RATIO = 2.8;
    enum { LEAST_EIGHTHS = 3 }; /* of what is live */
    uint64_t now = tn__os_now_ns(), live = g->used;
    double growth =
        (double)(before > g->live_before ? before - g->live_before : 1) / (double)(start - g->last_full + 1);
    double marking = (double)(live + 1) / (double)(time + 1);
    g->growth_rate = g->growth_rate > 0 ? (g->growth_rate + growth) / 2 : growth;
    g->mark_rate = g->mark_rate > 0 ? (g->mark_rate + marking) / 2 : marking;
    double ratio = g->growth_rate / g->mark_rate;
    double extra = square_root((double)live * UNIT * (ratio < MOST_RATIO ? ratio : MOST_RATIO));
    uint64_t most = tn__max64(3 * live, heap->options.minimum);
    uint64_t wanted = tn__max64(extra < (double)most ? (uint64_t)extra : most, live / 8 * LEAST_EIGHTHS);
    uint64_t bytes = wanted / 100 * heap->options.extra;
    g->budget = live + tn__max64(bytes, heap->options.minimum / 2);
    g->budget = tn__max64(tn__min64(g->budget, heap->options.limit), live + live / 8);
    g->budget = tn__within_soft_limit(heap, live, g->budget);
    g->live_before = live;
    g->last_full = now;
}

/* ---- collections ---- */

/* Pauses take as long as what survives takes to be copied. */
static uint64_t choose_nursery(uint64_t nursery, uint64_t survived)
{
    uint64_t most = tn__min64(2 * nursery, NURSERY / 2);
    return survived <= MOST_COPIED ? most : tn__max64(tn__min64(most, nursery * MOST_COPIED / survived), TN__PIECE);
}

/* If nearly everything survives, it is better allocated where it stays, until a full collection has found out what has
 * become of it; or, if marking goes on beside threads, until one nursery has shown whether it is still so. */
static void choose_mode(struct tn_heap *heap, uint64_t nursery, uint64_t survived, bool is_full)
{
    struct tn__generational *g = tn__generational_of(heap);
    bool was_direct = g->is_direct, goes_on = was_direct && !(g->beside && g->used > g->direct_end);
    g->full_nurseries = nursery && survived > nursery / 100 * 60 ? g->full_nurseries + 1 : 0;
    if (was_direct && !goes_on)
        g->full_nurseries = MANY_SURVIVE - 1;
    g->is_direct =
        !is_full && (goes_on || g->full_nurseries >= MANY_SURVIVE) && !(heap->options.flags & TN_HEAP_STRESS);
    if (g->is_direct && !was_direct)
        g->direct_end = g->used + DIRECT_BYTES;
    if (is_full)
        g->full_nurseries = 0;
    if (nursery)
        g->nursery = choose_nursery(nursery, survived);
    set_young(heap);
}

static bool is_object(const struct tn_heap *heap, const void *address)
{
    return tn__gen_is_object(tn__generational_of(heap), address);
}

/* Waking another thread is worth it if each has this many bytes to see to. Under stress it is done now and then. */
static uint32_t workers_for(const struct tn_heap *heap, uint64_t bytes, uint64_t least)
{
    const struct tn__generational *g = tn__generational_of(heap);
    if (heap->options.flags & TN_HEAP_STRESS)
        return heap->stats.collections % STRESSED ? 1 : g->workers;
    return (uint32_t)tn__min64(g->workers, 1 + bytes / least);
}

/* Marking takes more than twice as long for each entry as it did once: its objects have come to lie far from each
 * other, so that the processor looks up many pages. */
static bool is_out_of_order(struct tn__generational *g, uint64_t ns)
{
    double time = (double)ns / (double)(g->first.marked + 1);
    if (g->first.marked < LEAST_TIMED)
        return false;
    if (g->fastest == 0 || time < g->fastest)
        g->fastest = time;
    return time > SLOW_NS || time > 2 * g->fastest;
}

static __attribute__((cold)) void mark_all(struct tn_heap *heap, struct tn_collection *done)
{
    struct tn__generational *g = tn__generational_of(heap);
    uint64_t began = tn__os_thread_ns();
    uint32_t workers = workers_for(heap, g->used, LEAST_MARKED);
    tn__gen_major(heap, workers, done);
    const char *wrong = heap->options.flags & TN_HEAP_VERIFY ? tn__gen_check(g) : NULL;
    if (wrong)
        tn__corrupt(heap, wrong);
    if (is_out_of_order(g, (tn__os_thread_ns() - began) * workers) && g->used > LEAST_HUGE)
        tn__gen_use_huge(g);
    done->full = 1;
    done->cycle_ns = 0;
}

static void collect_all(struct tn_heap *heap, struct tn_collection *done)
{
    struct tn__generational *g = tn__generational_of(heap);
    uint64_t start = tn__os_now_ns(), before = g->used;
    tn__verify_heap(heap); /* the remembered words were complete */
    tn__gen_choose_moving(heap);
    mark_all(heap, done);
    tn__gen_set_budget(heap, before, start, tn__os_now_ns() - start);
}

/* After a full collection that did not make enough space: what one of these frees is space for the copies of the next.
 * */
static void compact(struct tn_heap *heap, struct tn_collection *done)
{
    enum { MOST = 4 };
    struct tn__generational *g = tn__generational_of(heap);
    for (int i = 0; i < MOST && tn__gen_choose_sparse(g); i++)
        mark_all(heap, done);
    g->live_before = g->used;
}

__attribute__((cold)) void tn__gen_collect(struct tn_heap *heap, enum tn__extent extent, struct tn_collection *done)
{
    struct tn__generational *g = tn__generational_of(heap);
    uint64_t nursery = (uint64_t)g->pieces_young * TN__PIECE;
    TN__CHECK(heap->stops && heap->current);
    tn__verify_barriers(heap);
    tn__sift_results(heap, is_object);
    if (g->beside)
        g->beside->begin(heap, extent);
    tn__gen_minor(heap, workers_for(heap, g->promoted, LEAST_COPIED), done);
    g->promoted = done->survived;
    if (g->marks)
        done->full = g->beside->end(heap, done);
    if (extent == TN__FULL || extent == TN__TRIM || (g->beside && g->used > heap->options.limit)) {
        if (g->beside)
            g->beside->begin(heap, TN__FULL);
        collect_all(heap, done);
    }
    if (extent > TN__FULL)
        compact(heap, done);
    if (extent == TN__TRIM) {
        gen_trim(g);
        tn__phase_end(heap, TN_COLLECTION_TRIM);
    }
    choose_mode(heap, nursery, done->survived, done->full);
    if (g->beside)
        g->beside->plan(g);
    count_use(heap);
    tn__verify_heap(heap);
}

void tn__gen_each(const struct tn_heap *heap, void (*visit)(void *context, void *object), void *context)
{
    tn__gen_each_object(tn__generational_of(heap), visit, context);
}

/* Also of stores that are verified only. */
void tn__gen_log_store(struct tn_heap *heap, void *object, void *slot, void *value)
{
    struct tn__generational *g = tn__generational_of(heap);
    struct tn__mutator *self = tn__self() && tn__self()->heap == heap ? tn__self() : NULL;
    bool verify = heap->options.flags & TN_HEAP_VERIFY;
    if (verify)
        tn__verify_log(heap, object, slot, value);
    if (!slot) {
        __atomic_fetch_and(tn__header(object), ~(uint64_t)TN_GC_UNLOGGED, __ATOMIC_SEQ_CST);
        tn__gen_log(g, self, (uintptr_t)object | 1);
    } else if (g->marks || tn__has_young_address(g, value)) {
        tn__gen_log(g, self, (uintptr_t)slot);
    }
}

const struct tn_collector tn_collector_generational = {
    .name = "generational",
    .last_resort = TN__COMPACT,
    .open = open_generational,
    .close = tn__gen_close_heap,
    .due = tn__gen_due,
    .take = tn__gen_take,
    .retire = tn__gen_retire,
    .log = tn__gen_log_store,
    .collect = tn__gen_collect,
    .each_object = tn__gen_each,
};
