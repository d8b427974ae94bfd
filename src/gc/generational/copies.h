/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Copies of most objects, inline for the loop that empties the nursery. */

#ifndef TENON_GC_COPIES_H
#define TENON_GC_COPIES_H

#include "gc/generational/loops.h"

/* Notes that an object begins after this header; the object. */
static inline void *tn__set_start(struct tn__worker *w, char *header)
{
    void *object = header + TN_GC_HEADER_SIZE;
    uint64_t *word = tn__start_word(w->g, object);
    TN__CHECK(!tn__has_bit(w->g, w->g->starts, object));
    if (w->alone)
        *word |= tn__start_bit(object);
    else
        __atomic_fetch_or(word, tn__start_bit(object), __ATOMIC_RELAXED);
    return object;
}

/* What the header of a copy is, if that of the object was `header`. */
static inline uint64_t tn__copied_header(uint64_t header, const struct tn_type *type)
{
    return (header & ~(uint64_t)TN_GC_UNLOGGED) | (type->kind == TN_KIND_LEAF ? 0 : TN_GC_UNLOGGED);
}

static inline void tn__copy_words(uint64_t *to, const uint64_t *from, uint64_t size)
{
    enum { SHORT = 128 };
    if (size > SHORT)
        memcpy(to, from, size);
    else
        for (uint64_t i = 0; i < size / 8; i++)
            to[i] = from[i];
}

/* tn__gen_copy for most objects: of a type with one size, not hashed, into the hole that the worker has. NULL: it is
 * not so, and nothing has been done. The view is plain. */
static inline void *tn__gen_copy_small(struct tn__worker *w, const struct tn__view *v, void *object, uint64_t header)
{
    const struct tn_type *type = tn__type_in(header);
    char *to = w->hole;
    uint64_t payload = tn__align_up(type->size, 8), size = TN_GC_HEADER_SIZE + payload;
    if (header & (TN_GC_HASHED | TN_GC_HASH_STORED) || type->element || type->alignment == 16 || !payload ||
        size > (uint64_t)(w->hole_end - to))
        return NULL;
    w->hole = to + size;
    w->promoted += size;
    uint64_t *words = (uint64_t *)(void *)to;
    words[0] = tn__copied_header(header, type);
    tn__copy_words(words + 1, object, payload);
    TN__CHECK(!(*tn__mark_word(v->own, words + 1) & tn__start_bit(words + 1)));
    *tn__mark_word(v->own, words + 1) |= tn__start_bit(words + 1);
    *tn__header(object) = (uint64_t)(uintptr_t)(words + 1) | TN_GC_FORWARDED;
    return words + 1;
}

#endif
