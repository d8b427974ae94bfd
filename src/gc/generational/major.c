/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A full collection: marks the old space, and frees lines in which nothing was marked. Nothing is young. Objects are
 * found in the order of a stack, but an object and its bit are looked at only some steps after the processor was told
 * to fetch them. Objects in blocks that are emptied, and in pieces, are moved instead, unless they are pinned. */

#include "gc/generational/mark.h"

enum { MARKED = 1 }; /* MARKED: of an entry of the stack, its object is marked */

/* ---- reaching objects ---- */

/* A locked instruction for each object would take a third of the time. So each of two workers has a table, which the
 * other one only reads. Both may find an object at the same time, and look at its references then; but not if it is of
 * a kind that is linked into a list, or has a visitor: those are marked among the starts. A worker that is alone, and
 * more than two, have no other tables than the starts. */
static inline bool is_marked(const struct tn__view *v, const void *object)
{
    uint64_t own = __atomic_load_n(tn__mark_word(v->own, object), __ATOMIC_RELAXED),
             other = __atomic_load_n(tn__mark_word(v->other, object), __ATOMIC_RELAXED);
    return (own | other) & tn__start_bit(object);
}

/* Among the starts. False: another worker was faster. */
static bool mark_at_once(struct tn__worker *w, void *object)
{
    uint64_t bit = tn__start_bit(object);
    return !(__atomic_fetch_or(tn__start_word(w->g, object), bit, __ATOMIC_RELAXED) & bit);
}

static inline void mark_plainly(const struct tn__view *v, const void *object)
{
    uint64_t *word = tn__mark_word(v->own, object);
    __atomic_store_n(word, *word | tn__start_bit(object), __ATOMIC_RELAXED);
}

static bool mark(struct tn__worker *w, void *object, const struct tn_type *type)
{
    if (w->shares_marks || (type->kind >= TN_KIND_WEAK && !w->alone))
        return mark_at_once(w, object);
    mark_plainly(&w->view, object);
    return true;
}

/* False: it was marked by another worker. */
static bool mark_any(struct tn__worker *w, void *object, const struct tn_type *type)
{
    if (!mark(w, object, type))
        return false;
    tn__reached(&w->all, object);
    return true;
}

/* Both have marked all. */
static void gather_marks(struct tn__generational *g)
{
    enum { WORDS = TN__UNIT / 8 / 64 };
    uint64_t end = ((uint64_t)g->block_end << TN__BLOCK_SHIFT) + TN__UNIT - 1;
    for (uint64_t unit; (unit = __atomic_fetch_add(&g->next_unit, 1, __ATOMIC_RELAXED)) < end >> TN__UNIT_SHIFT;) {
        for (int i = 0; i < 2 && g->units[unit]; i++) {
            uint64_t *starts = g->starts + unit * WORDS, *own = g->pair[i] + unit * WORDS;
            for (int word = 0; word < WORDS; word++)
                starts[word] |= own[word];
            memset(own, 0, WORDS * sizeof *own);
        }
    }
}

/* Several workers may mark the same line. */
static inline void mark_lines(const struct tn__view *v, void *object, uint64_t size)
{
    uintptr_t header = (uintptr_t)object - TN_GC_HEADER_SIZE;
    uint8_t *line = tn__first_line(v, header), *last = tn__last_line(v, header, size);
    __atomic_store_n(last, 1, __ATOMIC_RELAXED); /* small objects are in one line or in two: no branch tells which */
    do
        __atomic_store_n(line, 1, __ATOMIC_RELAXED);
    while (++line < last);
}

/* Prepares a marked object with this header: one that was allocated in a hole becomes unlogged now. */
static inline void prepare_object(const struct tn__view *v, void *object, uint64_t header)
{
    if (!(header & TN_GC_UNLOGGED) && tn__type_in(header)->kind != TN_KIND_LEAF)
        __atomic_store_n(tn__header(object), header | TN_GC_UNLOGGED, __ATOMIC_RELAXED);
    mark_lines(v, object, tn__size_by(object, header));
}

/* Of an object that is not marked. False: it may refer to others. */
static bool mark_leaf(struct tn__worker *w, void *object)
{
    uint64_t header = tn__header_now(object);
    if (tn__type_in(header)->kind != TN_KIND_LEAF)
        return false;
    if (mark_any(w, object, tn__type_in(header)))
        prepare_object(&w->view, object, header);
    return true;
}

/* The stack is full: entries of its older half whose objects have been marked since are dropped, and those without
 * references are marked now. What is left goes to a packet, if it is much. */
static __attribute__((noinline)) void sift_stack(struct tn__worker *w)
{
    enum { HALF = TN__ENTRIES / 2 };
    uint32_t kept = 0;
    for (uint32_t i = 0; i < HALF; i++) {
        const void *next = w->entries[(i + TN__AHEAD) % HALF];
        void *entry = w->entries[i];
        __builtin_prefetch((const char *)next - TN_GC_HEADER_SIZE);
        __builtin_prefetch(tn__mark_word(w->view.own, next));
        if (!((uintptr_t)entry & MARKED) && (is_marked(&w->view, entry) || mark_leaf(w, entry)))
            continue;
        w->entries[kept++] = entry;
    }
    w->count -= HALF;
    memmove(w->entries + kept, w->entries + HALF, w->count * sizeof *w->entries);
    w->count += kept;
    if (kept > HALF / 2)
        tn__gen_share(w);
}

static inline void push(struct tn__worker *w, void *entry)
{
    if (w->count >= TN__ENTRIES)
        sift_stack(w);
    w->entries[w->count++] = entry;
}

/* Moves an object out of a block or piece that is to become empty. Another worker may have updated the slot meanwhile,
 * and look at the copy. */
static void move_object(struct tn__worker *w, void **slot, void *object)
{
    uint64_t header = __atomic_load_n(tn__header(object), __ATOMIC_ACQUIRE);
    if (header & TN_GC_FORWARDED) {
        if (!(header & TN_GC_UNLOGGED))
            __atomic_store_n(slot, (void *)(uintptr_t)(header & ~TN__FORWARD_BITS), __ATOMIC_RELEASE);
        return;
    }
    bool is_mine;
    void *moved = tn__gen_copy(w, object, header, &is_mine);
    if (!moved)
        moved = object;
    else
        __atomic_store_n(slot, moved, __ATOMIC_RELEASE);
    if (!is_mine)
        return;
    tn__reached(&w->all, object);
    mark(w, moved, tn__type_in(header));
    mark_lines(&w->view, moved, tn__size_by(moved, tn__header_now(moved)));
    push(w, (char *)moved + MARKED);
}

/* There is no branch for this: which references are null cannot be foreseen. */
static inline void **push_slot(struct tn__worker *w, const struct tn__view *v, void **top, void **slot)
{
    void *object = __atomic_load_n(slot, __ATOMIC_RELAXED);
    (void)w;
    *top = object;
    return top + ((uintptr_t)object - v->base < v->size);
}

static inline void reach(struct tn__worker *w, void **slot)
{
    void *object = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (!tn__is_in_space(w->g, object))
        return;
    if (w->g->any_moving && w->g->moving[tn__block_of(w->g, object)])
        move_object(w, slot, object);
    else
        push(w, object);
}

static void forward(void *worker, void **slot)
{
    reach(worker, slot);
}

static __attribute__((cold)) void keep(void *worker, void *object)
{
    struct tn__worker *w = worker;
    if (!tn__is_in_space(w->g, object) || is_marked(&w->view, object))
        return;
    mark(w, object, tn__type_of(object));
    prepare_object(&w->view, object, tn__header_now(object));
    w->all.pinned++;
    push(w, (char *)object + MARKED);
    if (w->g->moving[tn__block_of(w->g, object)])
        *tn__header(object) |= TN__STAYS;
}

static bool is_live(const struct tn__collecting *collection, const void *object)
{
    const struct tn__generational *g = ((const struct tn__worker *)collection)->g;
    return !tn__is_in_space(g, object) || tn__is_start(g, object) || (*tn__header(object) & TN_GC_FORWARDED);
}

/* ---- scanning them ---- */

static void scan_items(struct tn__worker *w, void **items, uint64_t count)
{
    if (!w->g->any_moving)
        tn__push_items(w, items, count, push_slot, sift_stack);
    else
        for (uint64_t i = 0; i < count; i++)
            reach(w, &items[i]);
}

static inline __attribute__((always_inline)) void **push_fixed(struct tn__worker *w, const struct tn__view *v,
                                                               void **top, void *object, const struct tn_type *type)
{
    return tn__push_fixed(w, v, top, object, type, push_slot, sift_stack);
}

/* Scans an object of any kind, also while some objects move. */
static __attribute__((noinline)) void scan(struct tn__worker *w, void *object, const struct tn_type *type)
{
    if (tn__is_fixed(type) && !w->g->any_moving) {
        tn__keep_top(w, push_fixed(w, &w->view, tn__top(w), object, type));
    } else if (type->kind == TN_KIND_REFERENCES) {
        uint64_t count = tn__get64((char *)object + type->length);
        void **items = (void **)(void *)((char *)object + type->size);
        if (count <= TN__PART_ITEMS || !tn__gen_share_part(w, items, count))
            scan_items(w, items, count);
    } else if (type->kind != TN_KIND_LEAF) {
        tn__gen_scan_any(w, object);
    }
}

/* What the loop does not do itself. */
static __attribute__((noinline)) void look_at_other(struct tn__worker *w, void *object, bool was_marked)
{
    uint64_t header = tn__header_now(object);
    const struct tn_type *type = tn__type_in(header);
    if (!was_marked) {
        if (!mark_any(w, object, type))
            return;
        prepare_object(&w->view, object, header);
    }
    scan(w, object, type);
}

static inline __attribute__((always_inline)) void **look_after(struct tn__worker *w, void **top, void *object,
                                                               bool was_marked)
{
    tn__keep_top(w, top);
    look_at_other(w, object, was_marked);
    return tn__top(w);
}

/* The header is read last: to wait for it would be in vain if the object was marked before. */
static inline __attribute__((always_inline)) void **look_at(struct tn__worker *w, const struct tn__view *v, void **top,
                                                            void *entry)
{
    if (__builtin_expect((uintptr_t)entry & MARKED, false))
        return look_after(w, top, (char *)entry - MARKED, true);
    if (is_marked(v, entry))
        return top;
    uint64_t header = tn__header_now(entry);
    const struct tn_type *type = tn__type_in(header);
    if (__builtin_expect(!v->is_plain || type->kind >= TN_KIND_WEAK, false))
        return look_after(w, top, entry, false);
    mark_plainly(v, entry);
    prepare_object(v, entry, header);
    if (tn__is_fixed(type))
        return push_fixed(w, v, top, entry, type);
    if (type->kind == TN_KIND_LEAF)
        return top;
    tn__keep_top(w, top);
    scan(w, entry, type);
    return tn__top(w);
}

static bool help(struct tn__worker *w)
{
    tn__gen_help(w);
    return false;
}

static void trace(struct tn__worker *w)
{
    struct tn__generational *g = w->g;
    bool is_pair = !w->alone && g->team.size == 2;
    tn__set_view(w, is_pair ? g->pair[w != &g->first] : g->starts, is_pair ? g->pair[w == &g->first] : g->starts,
                 g->lines);
    w->shares_marks = !w->alone && !is_pair;
    w->view.is_plain = !w->shares_marks && !g->any_moving && !w->all.keys;
    do {
        scan_items(w, w->part.items, w->part.count);
        w->part.count = 0;
        tn__empty_stack(w, look_at, help);
    } while (tn__gen_more(w));
    w->shares_marks = false;
    tn__set_view(w, g->starts, g->starts, g->lines);
    if (is_pair)
        gather_marks(g);
}

/* If there was no memory for a stack, objects that are marked may refer to some that are not. Weak ones are entered in
 * their list by their first scan only. */
static __attribute__((cold)) void scan_others_again(void *worker, void *object)
{
    uint32_t kind = tn__type_of(object)->kind;
    if (kind != TN_KIND_WEAK && kind != TN_KIND_EPHEMERON)
        scan(worker, object, tn__type_of(object));
    trace(worker);
}

static __attribute__((cold)) void finish_stack(struct tn__worker *w)
{
    struct tn__generational *g = w->g;
    trace(w);
    while (g->team.is_full) {
        g->team.is_full = false;
        tn__gen_each_old(g, scan_others_again, w);
    }
}

static void drain(struct tn__collecting *collection)
{
    finish_stack((struct tn__worker *)collection);
}

/* ---- all of it ---- */

static bool has_moving(const struct tn__generational *g)
{
    for (uint32_t block = 0; block < g->block_end; block++)
        if (g->moving[block])
            return true;
    return false;
}

static void settle_object(void *context, void *object)
{
    (void)context;
    tn__settle_header(object);
}

static __attribute__((cold)) void settle_headers(struct tn__generational *g)
{
    for (uint32_t block = 0; block < g->block_end; block++)
        if (g->moving[block])
            tn__gen_each_start(g, (uint64_t)block << TN__BLOCK_SHIFT, TN__BLOCK, settle_object, NULL);
}

__attribute__((cold)) void tn__gen_major(struct tn_heap *heap, uint32_t workers, struct tn_collection *done)
{
    static const struct tn__tracing tracing = {forward, keep, is_live, drain};
    struct tn__generational *g = tn__generational_of(heap);
    struct tn__worker *w = &g->first;
    uint64_t before = g->used;
    TN__CHECK(!g->pieces_young && !g->marks);
    w->all = (struct tn__collecting){.tracing = &tracing, .heap = heap};
    w->promoted = w->marked = 0;
    tn__set_view(w, g->starts, g->starts, g->lines);
    g->any_moving = has_moving(g);
    tn__gen_clear(g);
    tn__find_roots(&w->all);
    tn__phase_end(heap, TN_COLLECTION_ROOTS);
    g->next_unit = 0;
    tn__gen_run(g, workers, TN_COLLECTION_TRACE, trace, NULL);
    finish_stack(w);
    tn__phase_end(heap, TN_COLLECTION_TRACE);
    tn__settle_dead(&w->all);
    if (w->all.pinned)
        settle_headers(g);
    tn__phase_end(heap, TN_COLLECTION_WEAK);
    tn__gen_sweep(g, NULL);
    tn__phase_end(heap, TN_COLLECTION_SWEEP);
    done->marked = g->used;
    done->swept += before > g->used ? before - g->used : 0;
    done->holes = g->holes;
    done->moved += w->promoted;
    done->pinned = w->all.pinned;
}
