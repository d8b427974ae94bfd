/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Room for objects in the old space: small ones in holes, medium ones in free blocks, large ones in runs of blocks. */

#include "gc/generational/copies.h"

static inline char *place(char *at, const struct tn_type *type)
{
    return type->alignment == 16 && ((uintptr_t)at + TN_GC_HEADER_SIZE) % 16 ? at + 8 : at;
}

static inline char *bump(char **at, const char *end, uint64_t size, const struct tn_type *type)
{
    char *header = place(*at, type);
    if (!*at || header > end || size > (uint64_t)(end - header))
        return NULL;
    *at = header + size;
    return header;
}

/* ---- in turns, if there are several workers ---- */

static inline void lock(struct tn__worker *w)
{
    if (!w->alone)
        tn__mutex_lock(&w->g->team.lock);
}

static inline void unlock(struct tn__worker *w)
{
    if (!w->alone)
        tn__mutex_unlock(&w->g->team.lock);
}

/* The next hole or block to allocate in. False: there is none. */
static bool refill(struct tn__worker *w, uint64_t size)
{
    struct tn__generational *g = w->g;
    bool is_medium = size > TN__MEDIUM; /* would waste the hole */
    char *end = NULL, *start = NULL;
    lock(w);
    if (!is_medium) {
        start = tn__gen_take_hole(g, &w->holes, size + 8, &end);
    } else {
        uint32_t block = tn__gen_take_blocks(g, 1, TN__BLOCK_FULL);
        if (block) {
            start = tn__block_address(g, block);
            end = start + TN__BLOCK;
        }
    }
    unlock(w);
    *(is_medium ? &w->medium : &w->hole) = start;
    *(is_medium ? &w->medium_end : &w->hole_end) = end;
    return start;
}

static __attribute__((noinline)) char *space_small_slowly(struct tn__worker *w, uint64_t size,
                                                          const struct tn_type *type)
{
    bool is_medium = size > TN__MEDIUM;
    char **at = is_medium ? &w->medium : &w->hole, **end = is_medium ? &w->medium_end : &w->hole_end;
    char *header = is_medium ? bump(at, *end, size, type) : NULL;
    return header ? header : refill(w, size) ? bump(at, *end, size, type) : NULL;
}

static inline char *space_small(struct tn__worker *w, uint64_t size, const struct tn_type *type)
{
    char *header = bump(&w->hole, w->hole_end, size, type);
    return header ? header : space_small_slowly(w, size, type);
}

static __attribute__((cold)) char *space_large(struct tn__worker *w, uint64_t size, const struct tn_type *type)
{
    struct tn__generational *g = w->g;
    uint64_t bytes = tn__align_up(size + 8, TN__BLOCK);
    if (bytes > g->size)
        return NULL;
    lock(w);
    uint32_t first = tn__gen_take_blocks(g, (uint32_t)(bytes >> TN__BLOCK_SHIFT), TN__BLOCK_LARGE);
    if (first)
        g->large += bytes;
    unlock(w);
    return first ? place(tn__block_address(g, first), type) : NULL;
}

void *tn__gen_space(struct tn__generational *g, uint64_t size, const struct tn_type *type)
{
    struct tn__worker *w = &g->first;
    char *header = size > TN__BLOCK / 2 ? space_large(w, size, type) : space_small(w, size, type);
    void *object = header ? tn__set_start(w, header) : NULL;
    if (object && g->marks)
        g->beside->born(w, object, type, size);
    return object;
}

/* ---- copies ---- */

/* The space that was taken last is free again, because another worker has copied the object. A large one stays. */
static void give_back(struct tn__worker *w, char *header, uint64_t size)
{
    if (w->hole == header + size)
        w->hole = header;
    else if (w->medium == header + size)
        w->medium = header;
}

/* Leaves word in the object's header where it went. What another worker has left there is the result. */
static uint64_t claim(struct tn__worker *w, void *object, uint64_t header, uint64_t word)
{
    if (w->alone)
        *tn__header(object) = word;
    else if (!__atomic_compare_exchange_n(tn__header(object), &header, word, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return header;
    return word;
}

static void *where(uint64_t header)
{
    return (header & TN__STAYS) == TN__STAYS ? NULL : (void *)(uintptr_t)(header & ~TN__FORWARD_BITS);
}

/* The address that the object had when it was first hashed becomes a part of it. */
static __attribute__((noinline)) void store_hash(char *end, const void *object)
{
    tn__put64(end, (uintptr_t)object);
}

void *tn__gen_copy(struct tn__worker *w, void *object, uint64_t header, bool *is_mine)
{
    const struct tn_type *type = tn__type_in(header);
    uint64_t size = tn__size_by(object, header), space = size;
    bool gets_hash = (header & (TN_GC_HASHED | TN_GC_HASH_STORED)) == TN_GC_HASHED;
    if (gets_hash)
        space += TN_GC_HASH_STORED;
    char *to = __atomic_load_n(&w->g->retry, __ATOMIC_RELAXED) ? NULL
               : space > TN__BLOCK / 2                         ? space_large(w, space, type)
                                                               : space_small(w, space, type);
    if (!to) {
        __atomic_store_n(&w->g->retry, true, __ATOMIC_RELAXED);
        uint64_t left = claim(w, object, header, header | TN__STAYS);
        *is_mine = left == (header | TN__STAYS);
        w->all.pinned += *is_mine;
        return where(left);
    }
    uint64_t *words = (uint64_t *)(void *)to;
    tn__copy_words(words + 1, object, size - TN_GC_HEADER_SIZE);
    words[0] = tn__copied_header(header, type);
    if (gets_hash) {
        words[0] |= TN_GC_HASH_STORED;
        store_hash(to + size, object);
    }
    /* The start comes first: a worker that finds the new address may ask whether it has been reached. */
    uint64_t word = (uint64_t)(uintptr_t)tn__set_start(w, to) | TN_GC_FORWARDED, left = claim(w, object, header, word);
    *is_mine = left == word;
    if (*is_mine) {
        w->promoted += size;
        if (w->g->marks)
            w->g->beside->born(w, words + 1, type, space);
        return words + 1;
    }
    __atomic_fetch_and(tn__start_word(w->g, words + 1), ~tn__start_bit(words + 1), __ATOMIC_RELAXED);
    give_back(w, to, space);
    return where(left);
}
