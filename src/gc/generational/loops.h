/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the loops that copy objects (minor.c) and mark them (mark.h) have in common: tables by address, and a stack, in
 * registers; and the order of an object's references. */

#ifndef TENON_GC_LOOPS_H
#define TENON_GC_LOOPS_H

#include "gc/generational/generational.h"

static inline const struct tn_type *tn__type_in(uint64_t header)
{
    return (const struct tn_type *)(uintptr_t)(header & TN_GC_TYPE_MASK);
}

/* ---- tables by address ---- */

/* `own` and `other` are tables of marks, `lines` is one of lines. */
static inline void tn__set_view(struct tn__worker *w, const uint64_t *own, const uint64_t *other, const uint8_t *lines)
{
    const struct tn__generational *g = w->g;
    uintptr_t before = g->base >> TN__TABLE_SHIFT;
    w->view.base = g->base;
    w->view.size = g->size;
    w->view.own = (uintptr_t)own - before;
    w->view.other = (uintptr_t)other - before;
    w->view.lines = (uintptr_t)lines - before;
}

/* The word that has the object's bit. */
static inline uint64_t *tn__mark_word(uintptr_t table, const void *object)
{
    return (uint64_t *)(table + (uintptr_t)object / 8 / 64 * 8);
}

/* The first line of an object whose header is at this address, and the last one. Of a large object only the first is
 * noted. */
static inline uint8_t *tn__first_line(const struct tn__view *v, uintptr_t header)
{
    return (uint8_t *)(v->lines + header / TN__LINE);
}

static inline uint8_t *tn__last_line(const struct tn__view *v, uintptr_t header, uint64_t size)
{
    return tn__first_line(v, size > TN__BLOCK / 2 ? header : header + size - 1);
}

/* ---- references ---- */

/* Loops keep the top of the stack in a register; the worker has it while other functions push. */
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

/* Pushes what is to be looked at later because of the reference in this word; the top afterwards. */
typedef void **tn__push(struct tn__worker *w, const struct tn__view *v, void **top, void **slot);

/* Its references are bits of a word. */
static inline bool tn__is_fixed(const struct tn_type *type)
{
    return type->kind == TN_KIND_FIXED && !type->offsets;
}

/* Pushes the references of an object of such a type. Most references follow each other in it; the first one of such a
 * row is at the top of the stack afterwards. (Some processors are slow to find the highest bit.) */
static inline __attribute__((always_inline)) void **tn__push_fixed(struct tn__worker *w, const struct tn__view *v,
                                                                   void **top, void *object, const struct tn_type *type,
                                                                   tn__push *push,
                                                                   void (*make_space)(struct tn__worker *w))
{
    void **words = object;
    if (top >= w->entries + TN__ENTRIES)
        top = tn__after(w, top, make_space);
    for (uint64_t references = type->references, after; references; references &= after) {
        after = references + (references & -references);
        void **start = words + tn__lowest_bit(references), **slot = words + (after ? tn__lowest_bit(after) : 64);
        do
            top = push(w, v, top, --slot);
        while (slot > start);
    }
    return top;
}

#endif
