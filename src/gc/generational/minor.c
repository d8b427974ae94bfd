/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Emptying the nursery: what is reachable from roots and from what barriers remembered is copied to the old space,
 * depth first, by the words that refer to it; objects without references follow their parents at once. Objects that are
 * pinned, or that there is no memory for, stay where they are and are old from then on; their piece is not used again
 * before a full collection finds no object in it. */

#include "gc/generational/copies.h"

/* ---- objects ---- */

/* The object stays where it is. */
static __attribute__((cold)) void make_old(struct tn__worker *w, void *object)
{
    struct tn__generational *g = w->g;
    __atomic_fetch_or(tn__start_word(g, object), tn__start_bit(object), __ATOMIC_RELAXED);
    if (g->marks)
        g->beside->born(w, object, tn__type_of(object), tn__size_by(object, *tn__header(object)));
    __atomic_store_n(&g->pieces[((uintptr_t)object - g->base) / TN__PIECE], TN__PIECE_OLD, __ATOMIC_RELAXED);
}

static inline void *where(void *object, uint64_t header)
{
    return header & TN_GC_UNLOGGED ? object : (void *)(uintptr_t)(header & ~TN__FORWARD_BITS);
}

static inline void update(void **slot, void *object)
{
    __atomic_store_n(slot, object, __ATOMIC_RELAXED); /* any thread may check whether its handle is null */
}

static inline uint64_t header_of(const void *object)
{
    return __atomic_load_n(tn__header(object), __ATOMIC_ACQUIRE);
}

/* Where the object goes. `is_mine`: no other worker has seen to it. */
static __attribute__((noinline)) void *take_away(struct tn__worker *w, void *object, uint64_t header, bool *is_mine)
{
    void *moved = w->view.is_plain ? tn__gen_copy_small(w, &w->view, object, header) : NULL;
    *is_mine = true;
    if (!moved)
        moved = tn__gen_copy(w, object, header, is_mine);
    if (!moved)
        make_old(w, object);
    tn__reached(&w->all, object);
    return moved ? moved : object;
}

/* ---- references ---- */

static void set_view(struct tn__worker *w)
{
    const struct tn__generational *g = w->g;
    tn__set_view(w, g->starts, g->starts, g->lines);
    w->view.is_plain = w->alone && !g->marks && !g->pieces_old && !w->all.keys;
}

/* If objects are being marked beside threads, the old ones that are seen here are among those to be marked. */
static __attribute__((noinline, cold)) void mark_old(struct tn__worker *w, void *object)
{
    if (tn__is_in_space(w->g, object) && !tn__has_bit(w->g, w->g->marks, object))
        w->g->beside->reached(w, object);
}

static inline void see_old(struct tn__worker *w, void *object)
{
    if (__builtin_expect(w->g->marks != NULL, false))
        mark_old(w, object);
}

static inline bool is_young(const struct tn__worker *w, const struct tn__view *v, const void *object)
{
    return (uintptr_t)object - v->base < TN__YOUNG_SIZE && (v->is_plain || tn__is_young(w->g, object));
}

/* Pushes the word if its object is to be copied later. */
static inline __attribute__((always_inline)) void **look_at(struct tn__worker *w, const struct tn__view *v, void **top,
                                                            void **slot)
{
    void *object = *slot;
    if (!is_young(w, v, object)) {
        if (!v->is_plain)
            see_old(w, object);
        return top;
    }
    uint64_t header = header_of(object);
    bool is_mine;
    *top = slot;
    if (header & TN_GC_FORWARDED)
        update(slot, where(object, header));
    else if (tn__type_in(header)->kind == TN_KIND_LEAF)
        update(slot, take_away(w, object, header, &is_mine));
    else
        top++;
    return top;
}

static void look_at_any(void *worker, void **slot)
{
    struct tn__worker *w = worker;
    if (w->count >= TN__ENTRIES)
        tn__gen_share(w);
    tn__keep_top(w, look_at(w, &w->view, tn__top(w), slot));
}

static inline __attribute__((always_inline)) void **push_fixed(struct tn__worker *w, const struct tn__view *v,
                                                               void **top, void *object, const struct tn_type *type)
{
    return tn__push_fixed(w, v, top, object, type, look_at, tn__gen_share);
}

static void scan_by(struct tn__worker *w, void *object, const struct tn__tracing *tracing)
{
    const struct tn__tracing *usual = w->all.tracing;
    w->all.tracing = tracing;
    tn__gen_scan_any(w, object);
    w->all.tracing = usual;
}

static __attribute__((noinline)) void scan_new(struct tn__worker *w, void *object, const struct tn_type *type)
{
    static const struct tn__tracing by_stack = {.forward = look_at_any};
    if (tn__is_fixed(type))
        tn__keep_top(w, push_fixed(w, &w->view, tn__top(w), object, type));
    else
        scan_by(w, object, &by_stack);
}

/* Several workers may have the same word of an old object. */
static void forward(void *worker, void **slot)
{
    struct tn__worker *w = worker;
    void *object = __atomic_load_n(slot, __ATOMIC_RELAXED);
    bool is_mine = false;
    if (!tn__is_young(w->g, object)) {
        see_old(w, object);
        return;
    }
    uint64_t header = header_of(object);
    void *moved = header & TN_GC_FORWARDED ? where(object, header) : take_away(w, object, header, &is_mine);
    update(slot, moved);
    if (is_mine && tn__type_in(header)->kind != TN_KIND_LEAF)
        scan_new(w, moved, tn__type_in(header));
}

static void push_young(void *worker, void **slot)
{
    struct tn__worker *w = worker;
    if (tn__is_young(w->g, *slot))
        tn__gen_push(w, slot);
    else
        see_old(w, *slot);
}

/* Before anything has moved: what the object refers to may be pinned as well. */
static __attribute__((cold)) void keep(void *worker, void *object)
{
    static const struct tn__tracing later = {.forward = push_young};
    struct tn__worker *w = worker;
    if (!tn__has_young_address(w->g, object) || tn__is_start(w->g, object)) {
        see_old(w, object);
        return;
    }
    make_old(w, object);
    *tn__header(object) |= TN__STAYS;
    w->all.pinned++;
    if (tn__type_in(*tn__header(object))->kind != TN_KIND_LEAF)
        scan_by(w, object, &later);
}

static bool is_live(const struct tn__collecting *collection, const void *object)
{
    const struct tn__worker *w = (const struct tn__worker *)collection;
    return !tn__has_young_address(w->g, object) || tn__is_start(w->g, object) ||
           (*tn__header(object) & TN_GC_FORWARDED);
}

/* `forward` for most entries of the stack; the top afterwards. NULL: `forward` has to be called. */
static inline __attribute__((always_inline)) void **forward_plainly(struct tn__worker *w, const struct tn__view *v,
                                                                    void **top, void **slot)
{
    void *object = *slot;
    if (!v->is_plain || !is_young(w, v, object))
        return NULL;
    uint64_t header = header_of(object);
    const struct tn_type *type = tn__type_in(header);
    if (header & TN_GC_FORWARDED || !tn__is_fixed(type))
        return NULL;
    void *moved = tn__gen_copy_small(w, v, object, header);
    if (!moved)
        return NULL;
    update(slot, moved);
    return push_fixed(w, v, top, moved, type);
}

static void drain(struct tn__worker *w)
{
    const struct tn__view v = w->view;
    void **top = tn__top(w);
    while (top > w->entries) {
        void **slot = *--top, **next = forward_plainly(w, &v, top, slot);
        if (!next) {
            tn__keep_top(w, top);
            forward(w, slot);
            tn__gen_help(w);
            next = tn__top(w);
        }
        top = next;
    }
    tn__keep_top(w, top);
}

/* ---- what was remembered ---- */

static void visit_old(void *worker, void **slot)
{
    forward(worker, slot);
    drain(worker);
}

static void scan_old(struct tn__worker *w, void *object)
{
    static const struct tn__tracing at_once = {.forward = visit_old};
    const struct tn_type *type = tn__type_of(object);
    if (type->kind == TN_KIND_CUSTOM) /* its function is not called while it runs */
        scan_new(w, object, type);
    else
        scan_by(w, object, &at_once);
}

static void visit_entry(struct tn__worker *w, uintptr_t entry)
{
    void *object = (void *)(entry & ~(uintptr_t)1);
    if (!(entry & 1)) {
        visit_old(w, object);
        return;
    }
    __atomic_fetch_or(tn__header(object), TN_GC_UNLOGGED, __ATOMIC_RELAXED);
    scan_old(w, object);
}

static void visit_log(struct tn__worker *w)
{
    enum { AHEAD = 12 };
    struct tn__log *log = w->log;
    w->log = NULL;
    for (uint32_t i = 0; i < log->count; i++) {
        if (i + AHEAD < log->count)
            __builtin_prefetch((void *)(log->entries[i + AHEAD] & ~(uintptr_t)1));
        visit_entry(w, log->entries[i]);
    }
    tn__free(NULL, log);
}

static bool take_log(struct tn__worker *w)
{
    return (w->log = tn__gen_take_log(w->g));
}

static void trace(struct tn__worker *w)
{
    set_view(w);
    do {
        if (w->log)
            visit_log(w);
        drain(w);
    } while (tn__gen_more(w));
}

/* Weak ones are in lists already if they were copied; those that were not are old, and refer to old objects unless they
 * are in a log. */
static __attribute__((cold)) void scan_any_old(void *worker, void *object)
{
    struct tn__worker *w = worker;
    uint32_t kind = tn__type_of(object)->kind;
    if (kind == TN_KIND_WEAK || kind == TN_KIND_EPHEMERON)
        visit_old(w, object);
    if (kind == TN_KIND_EPHEMERON)
        visit_old(w, (void **)object + 1);
    else if (kind != TN_KIND_WEAK)
        scan_old(w, object);
}

/* An entry of a stack that was dropped is a reference of an old object. */
static __attribute__((cold)) void finish_stack(struct tn__worker *w)
{
    struct tn__generational *g = w->g;
    trace(w);
    while (g->log_is_lost || g->team.is_full) {
        g->log_is_lost = g->team.is_full = false;
        g->marks_are_lost = true;
        tn__gen_each_old(g, scan_any_old, w);
        trace(w);
    }
}

static void finish_drain(struct tn__collecting *collection)
{
    finish_stack((struct tn__worker *)collection);
}

/* ---- all of it ---- */

__attribute__((cold)) void tn__gen_minor(struct tn_heap *heap, uint32_t workers, struct tn_collection *done)
{
    static const struct tn__tracing tracing = {forward, keep, is_live, finish_drain};
    struct tn__generational *g = tn__generational_of(heap);
    struct tn__worker *w = &g->first;
    w->all = (struct tn__collecting){.tracing = &tracing, .heap = heap, .is_partial = true};
    w->promoted = 0;
    set_view(w);
    g->team.take = take_log;
    for (uint32_t i = 0; i < TN__PIECES; i++)
        done->young += g->pieces[i] == TN__PIECE_YOUNG ? g->piece_used[i] : 0;
    tn__find_roots(&w->all);
    tn__phase_end(heap, TN_COLLECTION_YOUNG_ROOTS);
    if (workers == 1)
        drain(w);
    tn__phase_end(heap, TN_COLLECTION_YOUNG);
    tn__gen_run(g, workers, TN_COLLECTION_REMEMBERED, trace, take_log);
    finish_stack(w);
    tn__phase_end(heap, TN_COLLECTION_REMEMBERED);
    tn__settle_dead(&w->all);
    if (w->all.pinned)
        tn__gen_settle_pieces(g);
    tn__gen_free_pieces(g, heap->options.flags & TN_HEAP_STRESS);
    tn__phase_end(heap, TN_COLLECTION_YOUNG_WEAK);
    done->survived = w->promoted;
    done->moved += w->promoted;
    done->pinned += w->all.pinned;
}
