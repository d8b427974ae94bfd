/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Marking, as full collections do it while the world is stopped (major.c) and beside threads (marker.c): the order in
 * which objects are looked at. Both give it their functions as constants, so that the compiler inlines them. */

#ifndef TENON_GC_MARK_H
#define TENON_GC_MARK_H

#include "gc/generational/generational.h"

enum { TN__PART_ITEMS = 512 };

static inline const struct tn_type *tn__type_in(uint64_t header)
{
    return (const struct tn_type *)(uintptr_t)(header & TN_GC_TYPE_MASK);
}

/* Lines after the first one that objects of this size at this offset from the base are in. */
static inline uint64_t tn__more_lines(uint64_t at, uint64_t size)
{
    return size > TN__BLOCK / 2 ? 0 : (at % TN__LINE + size - 1) >> TN__LINE_SHIFT;
}

/* ---- references ---- */

typedef bool tn__follows(const struct tn__generational *g, const void *object);

/* The loops below keep the top of the stack in a register; the worker has it while other functions push. (In memory,
 * each store of a line's byte might have changed it, as far as the compiler knows.) */
static inline void **tn__top(struct tn__worker *w)
{
    return w->entries + w->count;
}

static inline void tn__keep_top(struct tn__worker *w, void *const *top)
{
    w->count = (uint32_t)(top - w->entries);
}

/* Between two functions that push. */
static inline void **tn__after(struct tn__worker *w, void *const *top, void (*function)(struct tn__worker *w))
{
    tn__keep_top(w, top);
    function(w);
    return tn__top(w);
}

/* Pushes the reference if it is one that marking `follows`. There is no branch for this: which references are null
 * cannot be foreseen. */
static inline __attribute__((always_inline)) void **tn__push_slot(const struct tn__generational *g, void **top,
                                                                  void *const *slot, tn__follows *follows)
{
    void *object = __atomic_load_n(slot, __ATOMIC_RELAXED);
    *top = object;
    return top + follows(g, object);
}

/* The first one is at the top of the stack afterwards. Mostly, references follow each other in an object; and some
 * processors are slow to find the highest bit. */
static inline __attribute__((always_inline)) void **tn__push_fixed(const struct tn__generational *g, void **top,
                                                                   void *const *words, uint64_t references,
                                                                   tn__follows *follows)
{
    uint64_t first = references & -references, after = references + first;
    if (__builtin_expect(after && !(references & after), true)) {
        void *const *start = words + tn__lowest_bit(first), *const *slot = words + tn__lowest_bit(after);
        do
            top = tn__push_slot(g, top, --slot, follows);
        while (slot > start);
        return top;
    }
    while (references) {
        unsigned last = tn__highest_bit(references);
        references ^= 1ull << last;
        top = tn__push_slot(g, top, &words[last], follows);
    }
    return top;
}

static inline __attribute__((always_inline)) void **tn__push_items(struct tn__worker *w, void **top, void *const *items,
                                                                   uint64_t count, tn__follows *follows,
                                                                   void (*make_room)(struct tn__worker *w))
{
    for (const void *const *end = (const void *const *)items + count; items < (void *const *)end;) {
        if (top >= w->entries + TN__ENTRIES)
            top = tn__after(w, top, make_room);
        for (uint64_t part = tn__min64(TN__MORE_ENTRIES, (uint64_t)((void *const *)end - items)); part--; items++)
            top = tn__push_slot(w->g, top, items, follows);
    }
    return top;
}

/* `share` may take a long array, to be looked at in parts; `others` has objects of other kinds. */
static inline __attribute__((always_inline)) void **
tn__scan_by(struct tn__worker *w, void **top, void *object, const struct tn_type *type, tn__follows *follows,
            void (*make_room)(struct tn__worker *w), bool (*share)(struct tn__worker *w, void **items, uint64_t count),
            void (*others)(struct tn__worker *w, void *object))
{
    if (type->kind == TN_KIND_FIXED && !type->offsets) {
        if (top >= w->entries + TN__ENTRIES)
            top = tn__after(w, top, make_room);
        return tn__push_fixed(w->g, top, object, type->references, follows);
    }
    if (type->kind == TN_KIND_REFERENCES) {
        uint64_t count = tn__get64((char *)object + type->length);
        void **items = (void **)(void *)((char *)object + type->size);
        if (count <= TN__PART_ITEMS || !share(w, items, count))
            top = tn__push_items(w, top, items, count, follows, make_room);
    } else if (type->kind != TN_KIND_LEAF) {
        tn__keep_top(w, top);
        others(w, object);
        top = tn__top(w);
    }
    return top;
}

/* ---- objects ---- */

/* An entry waits in a ring while the processor fetches its object's header and its mark in this table. `stops` is asked
 * now and then; true: this ends with entries left. */
static inline __attribute__((always_inline)) bool
tn__empty_stack(struct tn__worker *w, const uint64_t *marks,
                void **(*look_at)(struct tn__worker *w, void **top, void *entry), bool (*stops)(struct tn__worker *w))
{
    enum { NEAR = 32 };
    uint32_t at = w->next_ahead, left = TN__AHEAD; /* steps until the ring is empty too */
    void **top = tn__top(w);
    bool stopped = false;
    while (!stopped) {
        void *in = NULL, *out = w->ahead[at];
        if (top > w->entries) {
            in = *--top;
            __builtin_prefetch((char *)in - TN_GC_HEADER_SIZE);
            __builtin_prefetch((char *)in + NEAR); /* the object may begin at the end of a line */
            __builtin_prefetch(&marks[((uintptr_t)in - w->g->base) / 8 / 64]);
            left = TN__AHEAD;
        } else if (!left--) {
            break;
        }
        w->ahead[at] = in;
        at = (at + 1) % TN__AHEAD;
        if (out)
            top = look_at(w, top, out);
        if (!at) {
            w->marked += TN__AHEAD;
            tn__keep_top(w, top);
            stopped = stops(w);
            top = tn__top(w);
        }
    }
    tn__keep_top(w, top);
    w->next_ahead = at;
    return !stopped;
}

#endif
