/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Marking, as full collections do it while the world is stopped (major.c) and beside threads (marker.c): the order in
 * which objects are looked at. Both give it their functions as constants, so that the compiler inlines them. */

#ifndef TENON_GC_MARK_H
#define TENON_GC_MARK_H

#include "gc/generational/loops.h"

enum { TN__PART_ITEMS = 512 };

/* Pushes the references of an array; the last one is at the top of the stack afterwards. */
static inline __attribute__((always_inline)) void tn__push_items(struct tn__worker *w, void **items, uint64_t count,
                                                                 tn__push *push,
                                                                 void (*make_space)(struct tn__worker *w))
{
    const struct tn__view v = w->view;
    void **top = tn__top(w);
    for (void **end = items + count; items < end;) {
        if (top >= w->entries + TN__ENTRIES)
            top = tn__after(w, top, make_space);
        for (uint64_t part = tn__min64(TN__MORE_ENTRIES, (uint64_t)(end - items)); part--; items++)
            top = push(w, &v, top, items);
    }
    tn__keep_top(w, top);
}

/* ---- objects ---- */

/* An entry waits in a ring while the processor fetches its object's header and its mark. `stops` is asked now and then;
 * true: this ends with entries left. */
static inline __attribute__((always_inline)) bool
tn__empty_stack(struct tn__worker *w,
                void **(*look_at)(struct tn__worker *w, const struct tn__view *v, void **top, void *entry),
                bool (*stops)(struct tn__worker *w))
{
    enum { NEAR = 32 };
    const struct tn__view v = w->view;
    uint32_t at = w->next_ahead, left = TN__AHEAD; /* steps until the ring is empty too */
    void **top = tn__top(w);
    bool stopped = false;
    while (!stopped) {
        void *in = NULL, *out = w->ahead[at];
        if (top > w->entries) {
            in = *--top;
            __builtin_prefetch((char *)in - TN_GC_HEADER_SIZE);
            __builtin_prefetch((char *)in + NEAR); /* the object may begin at the end of a line */
            __builtin_prefetch(tn__mark_word(v.own, in));
            left = TN__AHEAD;
        } else if (!left--) {
            break;
        }
        w->ahead[at] = in;
        at = (at + 1) % TN__AHEAD;
        if (out)
            top = look_at(w, &v, top, out);
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
