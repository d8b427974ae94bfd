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

/* `share` may take a long array, to be looked at in parts; `others` has objects of other kinds. */
static inline __attribute__((always_inline)) void
tn__scan_by(struct tn__worker *w, void *object, const struct tn_type *type,
            void (*reach)(struct tn__worker *w, void **slot),
            bool (*share)(struct tn__worker *w, void **items, uint64_t count),
            void (*others)(struct tn__worker *w, void *object))
{
    void **words = object;
    if (type->kind == TN_KIND_FIXED && !type->offsets) {
        for (uint64_t rest = type->references; rest;) { /* the first one is at the top of the stack afterwards */
            unsigned last = tn__highest_bit(rest);
            rest ^= 1ull << last;
            reach(w, &words[last]);
        }
    } else if (type->kind == TN_KIND_REFERENCES) {
        uint64_t count = tn__get64((char *)object + type->length);
        words = (void **)(void *)((char *)object + type->size);
        if (count <= TN__PART_ITEMS || !share(w, words, count))
            for (uint64_t i = 0; i < count; i++)
                reach(w, &words[i]);
    } else if (type->kind != TN_KIND_LEAF) {
        others(w, object);
    }
}

/* An entry waits in a ring while the processor fetches its object's header and its mark in this table. `stops` is asked
 * now and then; true: this ends with entries left. */
static inline __attribute__((always_inline)) bool tn__empty_stack(struct tn__worker *w, const uint64_t *marks,
                                                                  void (*look_at)(struct tn__worker *w, void *entry),
                                                                  bool (*stops)(struct tn__worker *w))
{
    enum { NEAR = 32 };
    uint32_t at = w->next_ahead;
    bool stopped = false;
    for (uint32_t nothing = 0; nothing < TN__AHEAD && !stopped; at = (at + 1) % TN__AHEAD) {
        void *in = NULL, *out = w->ahead[at];
        if (w->count) {
            in = w->entries[--w->count];
            __builtin_prefetch((char *)in - TN_GC_HEADER_SIZE);
            __builtin_prefetch((char *)in + NEAR); /* the object may begin at the end of a line */
            __builtin_prefetch(&marks[((uintptr_t)in - w->g->base) / 8 / 64]);
        }
        w->ahead[at] = in;
        if (out)
            look_at(w, out);
        nothing = in || out ? 0 : nothing + 1;
        if (!at)
            stopped = stops(w);
    }
    w->next_ahead = at;
    return !stopped;
}

#endif
