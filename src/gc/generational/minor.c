/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Emptying the nursery: what is reachable from roots and from what barriers remembered is copied to the old space.
 * Objects that are pinned, or that there is no memory for, stay where they are and are old from then on; their piece is
 * not used again before a full collection finds no object in it. */

#include "gc/generational/generational.h"

/* The low bits of a forwarding header; the rest is the object's new address, a multiple of 8. */
#define FORWARD_BITS 7ull

struct minor {
    struct tn__collection all;
    struct tn__generational *g;
};

/* The object stays where it is. */
static void make_old(struct minor *c, void *object)
{
    struct tn__generational *g = c->g;
    *tn__start_word(g, object) |= tn__start_bit(object);
    g->pieces[((uintptr_t)object - g->base) / TN__PIECE] = TN__PIECE_OLD;
    if (tn__type_of(object)->kind != TN_KIND_LEAF)
        *tn__header(object) |= TN_GC_UNLOGGED;
    c->all.pinned++;
    tn__gen_push(g, object);
}

static inline void forward_young(struct minor *c, void **slot)
{
    void *object = *slot;
    if (!tn__has_young_address(c->g, object) || tn__is_start(c->g, object))
        return;
    uint64_t header = *tn__header(object);
    void *moved = (void *)(uintptr_t)(header & ~FORWARD_BITS);
    if (!(header & TN_GC_FORWARDED)) {
        moved = tn__gen_copy(c->g, object);
        if (!moved) {
            make_old(c, object);
            return;
        }
        if ((header & TN_GC_TYPE_MASK) && ((const struct tn_type *)(header & TN_GC_TYPE_MASK))->kind != TN_KIND_LEAF)
            tn__gen_push(c->g, moved);
    }
    __atomic_store_n(slot, moved, __ATOMIC_RELAXED); /* any thread may check whether its handle is null */
}

static void forward(void *collection, void **slot)
{
    forward_young(collection, slot);
}

static void keep(void *collection, void *object)
{
    struct minor *c = collection;
    if (tn__has_young_address(c->g, object) && !tn__is_start(c->g, object))
        make_old(c, object);
}

static bool is_live(const struct tn__collection *collection, const void *object)
{
    const struct minor *c = (const struct minor *)collection;
    return !tn__has_young_address(c->g, object) || tn__is_start(c->g, object) ||
           (*tn__header(object) & TN_GC_FORWARDED);
}

static void scan(struct minor *c, void *object)
{
    const struct tn_type *type = tn__type_of(object);
    void **words = object;
    if (type->kind == TN_KIND_FIXED && !type->offsets)
        for (uint64_t rest = type->references; rest; rest &= rest - 1)
            forward_young(c, &words[__builtin_ctzll(rest)]);
    else
        tn__scan(&c->all, object);
}

static void drain(struct tn__collection *collection)
{
    struct minor *c = (struct minor *)collection;
    while (c->g->stack_count)
        scan(c, c->g->stack[--c->g->stack_count]);
}

static void visit_entry(void *context, uintptr_t entry)
{
    struct minor *c = context;
    void *object = (void *)(entry & ~(uintptr_t)1);
    if (entry & 1) {
        *tn__header(object) |= TN_GC_UNLOGGED;
        scan(c, object);
    } else {
        forward_young(c, object);
    }
    drain(&c->all);
}

/* Weak ones are in lists already if they were copied; those that were not are old, and refer to old objects unless they
 * are in a log. */
static void scan_old(void *context, void *object)
{
    struct minor *c = context;
    uint32_t kind = tn__type_of(object)->kind;
    if (kind == TN_KIND_WEAK || kind == TN_KIND_EPHEMERON)
        forward_young(c, object);
    if (kind == TN_KIND_EPHEMERON)
        forward_young(c, (void **)object + 1);
    else if (kind != TN_KIND_WEAK)
        scan(c, object);
    drain(&c->all);
}

void tn__gen_minor(struct tn_heap *heap, struct tn_collection *done)
{
    static const struct tn__tracing tracing = {forward, keep, is_live, drain};
    struct tn__generational *g = tn__generational_of(heap);
    struct minor c = {.all = {.tracing = &tracing, .heap = heap}, .g = g};
    g->promoted = 0;
    for (uint32_t i = 0; i < TN__PIECES; i++)
        done->young += g->pieces[i] == TN__PIECE_YOUNG ? g->piece_used[i] : 0;
    tn__find_roots(&c.all);
    tn__phase_end(heap, TN_COLLECTION_YOUNG_ROOTS);
    drain(&c.all);
    tn__phase_end(heap, TN_COLLECTION_YOUNG);
    if (g->log_is_lost)
        tn__gen_each_old(g, scan_old, &c);
    g->log_is_lost = false;
    tn__gen_take_logs(g, visit_entry, &c);
    drain(&c.all);
    tn__phase_end(heap, TN_COLLECTION_REMEMBERED);
    tn__settle_dead(&c.all);
    tn__gen_free_pieces(g, heap->options.flags & TN_HEAP_STRESS);
    tn__phase_end(heap, TN_COLLECTION_YOUNG_WEAK);
    done->survived = g->promoted;
    done->moved += g->promoted;
    done->pinned += c.all.pinned;
}
