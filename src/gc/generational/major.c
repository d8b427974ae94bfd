/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A full collection: marks the old space, and frees lines in which nothing was marked. Nothing is young. Objects are
 * found in the order of a stack, but an object and its bit are looked at only some steps after the processor was told
 * to fetch them. Objects in blocks that are emptied, and in pieces, are moved instead, unless they are pinned. */

#include "gc/generational/generational.h"

#define FORWARD_BITS 7ull

enum { AHEAD = 16, PART = 512, PARTS = 64, MARKED = 1 }; /* MARKED: of an entry of the stack, its object is marked */

/* The rest of an array of references: it is looked at in parts, or the stack would grow by its length. */
struct part {
    void **items;
    uint64_t count;
};

struct major {
    struct tn__collection all;
    struct tn__generational *g;
    void *ahead[AHEAD];
    uint32_t next_ahead;
    struct part parts[PARTS];
    uint32_t part_count;
};

/* ---- reaching objects ---- */

static void mark_lines(struct tn__generational *g, void *object)
{
    uint64_t at = (uintptr_t)object - TN_GC_HEADER_SIZE - g->base, last = at + tn__object_size(object) - 1;
    if (g->blocks[at >> TN__BLOCK_SHIFT] == TN__BLOCK_LARGE)
        last = at;
    for (uint64_t line = at >> TN__LINE_SHIFT; line <= last >> TN__LINE_SHIFT; line++)
        g->lines[line] = 1;
}

/* False: it was marked before. */
static bool mark(struct tn__generational *g, void *object)
{
    uint64_t *word = tn__start_word(g, object), bit = tn__start_bit(object);
    if (*word & bit)
        return false;
    *word |= bit;
    return true;
}

/* Objects that were allocated in holes become unlogged now. */
static void prepare_object(struct tn__generational *g, void *object)
{
    if (!(*tn__header(object) & TN_GC_UNLOGGED) && tn__type_of(object)->kind != TN_KIND_LEAF)
        *tn__header(object) |= TN_GC_UNLOGGED;
    mark_lines(g, object);
}

/* Of an object in a block or piece that is to become empty. */
static void move_object(struct major *c, void **slot)
{
    struct tn__generational *g = c->g;
    void *object = *slot;
    uint64_t header = *tn__header(object);
    if (tn__is_start(g, object))
        return;
    void *moved = (void *)(uintptr_t)(header & ~FORWARD_BITS);
    if (!(header & TN_GC_FORWARDED)) {
        moved = tn__gen_copy(g, object);
        if (!moved) {
            c->all.pinned++;
            moved = object;
            mark(g, object);
        }
        prepare_object(g, moved);
        tn__gen_push(g, (char *)moved + MARKED);
    }
    __atomic_store_n(slot, moved, __ATOMIC_RELAXED);
}

static inline void reach(struct major *c, void **slot)
{
    void *object = *slot;
    if (!tn__is_in_space(c->g, object))
        return;
    if (c->g->moving[tn__block_of(c->g, object)])
        move_object(c, slot);
    else
        tn__gen_push(c->g, object);
}

static void forward(void *collection, void **slot)
{
    reach(collection, slot);
}

static void keep(void *collection, void *object)
{
    struct major *c = collection;
    if (!tn__is_in_space(c->g, object) || !mark(c->g, object))
        return;
    prepare_object(c->g, object);
    c->all.pinned++;
    tn__gen_push(c->g, (char *)object + MARKED);
}

static bool is_live(const struct tn__collection *collection, const void *object)
{
    const struct major *c = (const struct major *)collection;
    return !tn__is_in_space(c->g, object) || tn__is_start(c->g, object) || (*tn__header(object) & TN_GC_FORWARDED);
}

/* ---- scanning them ---- */

static void scan_array(struct major *c, void **items, uint64_t count)
{
    if (count > PART && c->part_count < PARTS) {
        c->parts[c->part_count++] = (struct part){items, count};
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        reach(c, &items[i]);
}

static void scan_part(struct major *c)
{
    struct part *part = &c->parts[c->part_count - 1];
    void **items = part->items;
    uint64_t count = tn__min64(part->count, PART);
    part->items += count;
    part->count -= count;
    c->part_count -= !part->count;
    for (uint64_t i = 0; i < count; i++)
        reach(c, &items[i]);
}

static void scan(struct major *c, void *object)
{
    const struct tn_type *type = tn__type_of(object);
    void **words = object;
    if (type->kind == TN_KIND_FIXED && !type->offsets)
        for (uint64_t rest = type->references; rest; rest &= rest - 1)
            reach(c, &words[__builtin_ctzll(rest)]);
    else if (type->kind == TN_KIND_REFERENCES)
        scan_array(c, (void **)(void *)((char *)object + type->size), tn__get64((char *)object + type->length));
    else
        tn__scan(&c->all, object);
}

static void look_at(struct major *c, void *entry)
{
    bool is_marked = (uintptr_t)entry & MARKED;
    void *object = (char *)entry - is_marked;
    if (!is_marked) {
        if (!mark(c->g, object))
            return;
        prepare_object(c->g, object);
    }
    scan(c, object);
}

static void empty_stack(struct major *c)
{
    struct tn__generational *g = c->g;
    for (uint32_t idle = 0; idle < AHEAD;) {
        void *in = NULL, *out = c->ahead[c->next_ahead];
        if (g->stack_count) {
            in = g->stack[--g->stack_count];
            __builtin_prefetch((char *)in - TN_GC_HEADER_SIZE);
            __builtin_prefetch(tn__start_word(g, in));
        } else if (c->part_count) {
            scan_part(c);
            idle = 0;
            continue;
        }
        c->ahead[c->next_ahead] = in;
        c->next_ahead = (c->next_ahead + 1) % AHEAD;
        if (out)
            look_at(c, out);
        idle = in || out ? 0 : idle + 1;
    }
}

/* If there was no memory for the stack, objects that are marked may refer to some that are not. Weak ones are entered
 * in their list by their first scan only. */
static void scan_others_again(void *context, void *object)
{
    uint32_t kind = tn__type_of(object)->kind;
    if (kind != TN_KIND_WEAK && kind != TN_KIND_EPHEMERON)
        scan(context, object);
    empty_stack(context);
}

static void drain(struct tn__collection *collection)
{
    struct major *c = (struct major *)collection;
    empty_stack(c);
    while (c->g->stack_is_full) {
        c->g->stack_is_full = false;
        tn__gen_each_old(c->g, scan_others_again, c);
    }
}

/* ---- all of it ---- */

static void choose_moving(struct tn__generational *g, bool all)
{
    for (uint32_t block = 0; block < g->block_end; block++)
        if (block < TN__FIRST_OLD)
            g->moving[block] = g->pieces[((uint64_t)block << TN__BLOCK_SHIFT) / TN__PIECE] == TN__PIECE_OLD;
        else
            g->moving[block] = all && (g->blocks[block] == TN__BLOCK_FULL || g->blocks[block] == TN__BLOCK_HOLES);
}

void tn__gen_major(struct tn_heap *heap, bool all, struct tn_collection *done)
{
    static const struct tn__tracing tracing = {forward, keep, is_live, drain};
    struct tn__generational *g = tn__generational_of(heap);
    struct major c = {.all = {.tracing = &tracing, .heap = heap}, .g = g};
    uint64_t before = g->used;
    g->promoted = 0;
    choose_moving(g, all);
    tn__gen_clear(g);
    tn__find_roots(&c.all);
    tn__phase_end(heap, TN_COLLECTION_ROOTS);
    drain(&c.all);
    tn__phase_end(heap, TN_COLLECTION_TRACE);
    tn__settle_dead(&c.all);
    tn__phase_end(heap, TN_COLLECTION_WEAK);
    tn__gen_sweep(g);
    tn__phase_end(heap, TN_COLLECTION_SWEEP);
    done->marked = g->used;
    done->swept = before > g->used ? before - g->used : 0;
    done->holes = g->holes;
    done->moved += g->promoted;
    done->pinned = c.all.pinned;
}
