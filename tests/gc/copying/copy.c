/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The copying: Cheney's copying algorithm (C. J. Cheney, "A nonrecursive list compacting algorithm", CACM 13, 1970),
 * extended by objects that stay in place: pinned ones, those that no memory is left to copy, and large ones. The mark
 * set of a chunk that keeps objects says which they are. Nothing here recurses, or allocates anywhere but in the heap,
 * however deep a structure is: objects to scan are found by walking the copies, by the difference of the two sets of a
 * chunk (kept objects) and in a list (large objects). */

#include "copying.h"

/* The low bits of a forwarding header; the rest is the object's new address, a multiple of 8. */
#define FORWARD_BITS 7ull

struct copying {
    struct tn__collecting all;
    struct tn__space *space;
    struct tn__chunks to; /* what is copied goes here */
    char *bump, *limit;   /* the rest of the last chunk of `to` */
    uint32_t scan_chunk;  /* copies before `scan` in it, and in chunks before it, are scanned */
    char *scan;
    uint32_t grey_big, grey_kept;
    bool is_full; /* no memory is left to copy to: remaining objects stay in place */
};

/* ---- finding objects ---- */

static void make_grey(struct copying *c, struct tn__chunk *chunk, uint32_t *list)
{
    if (chunk->grey)
        return;
    chunk->grey = *list ? *list : UINT32_MAX; /* ends the list; 0: in no list */
    *list = (uint32_t)(chunk - c->space->chunks);
}

static struct tn__chunk *take_grey(struct copying *c, uint32_t *list)
{
    struct tn__chunk *chunk = &c->space->chunks[*list];
    *list = chunk->grey == UINT32_MAX ? 0 : chunk->grey;
    chunk->grey = 0;
    return chunk;
}

static void mark_large(struct copying *c, struct tn__chunk *chunk)
{
    if (chunk->marked)
        return;
    chunk->marked = true;
    make_grey(c, chunk, &c->grey_big);
}

/* The object stays where it is. */
static void mark_kept(struct copying *c, struct tn__chunk *chunk, void *object)
{
    if (!chunk->kept) {
        chunk->kept = true;
        memset((void *)((uintptr_t)object & -(uintptr_t)TN__CHUNK_SIZE), 0, TN__CHUNK_HEAD);
    }
    *tn__set_word(object, TN__MARKS) |= tn__set_bit_of(object);
    c->all.pinned++;
    make_grey(c, chunk, &c->grey_kept);
}

static void keep(void *collection, void *object)
{
    struct copying *c = collection;
    struct tn__chunk *chunk = tn__chunk_of(c->space, object);
    if (!chunk)
        return;
    if (chunk->state == TN__BIG)
        mark_large(c, chunk);
    else if (chunk->from && !(chunk->kept && tn__in_set(object, TN__MARKS)))
        mark_kept(c, chunk, object);
}

static bool is_live(const struct tn__collecting *collection, const void *object)
{
    const struct copying *c = (const struct copying *)collection;
    const struct tn__chunk *chunk = tn__chunk_of(c->space, object);
    if (!chunk)
        return true;
    if (chunk->state == TN__BIG)
        return chunk->marked;
    return !chunk->from || (*tn__header(object) & TN_GC_FORWARDED) || (chunk->kept && tn__in_set(object, TN__MARKS));
}

/* ---- copying ---- */

/* A zero word where a payload is to be aligned to 16. */
static char *room_for(struct copying *c, uint64_t size, const struct tn_type *type)
{
    if (c->bump && type->alignment == 16 && ((uintptr_t)c->bump + TN_GC_HEADER_SIZE) % 16 && c->bump < c->limit) {
        *(uint64_t *)(void *)c->bump = 0;
        c->bump += 8;
    }
    return size <= (uint64_t)(c->limit - c->bump) ? c->bump : NULL;
}

static void end_chunk(struct copying *c)
{
    struct tn__space *space = c->space;
    if (c->to.last)
        space->chunks[c->to.last].used = (uint32_t)((uintptr_t)c->bump - tn__chunk_address(space, c->to.last));
}

static bool next_chunk(struct copying *c)
{
    struct tn__space *space = c->space;
    end_chunk(c);
    uint32_t chunk = tn__space_take(space, &c->to, c->all.heap->options.flags & TN_HEAP_STRESS);
    if (!chunk)
        return false;
    char *start = (char *)tn__chunk_address(space, chunk);
    c->bump = start + TN__CHUNK_HEAD;
    c->limit = start + TN__CHUNK_SIZE;
    if (!c->scan_chunk) {
        c->scan_chunk = chunk;
        c->scan = c->bump;
    }
    return true;
}

/* The identity hash is the address that the object had when it was first hashed; from its first move on it is stored in
 * a word after the payload. */
static uint64_t store_hash(char *copy, const void *object, uint64_t size)
{
    uint64_t *header = (uint64_t *)(void *)copy;
    if ((*header & (TN_GC_HASHED | TN_GC_HASH_STORED)) != TN_GC_HASHED)
        return size;
    *header |= TN_GC_HASH_STORED;
    tn__put64(copy + size, (uintptr_t)object);
    return size + 8;
}

/* Copies the object and returns its new address; NULL: no memory is left to copy to. */
static void *copy(struct copying *c, const void *object)
{
    enum { HASH = 8, ALIGNMENT = 8 };
    const struct tn_type *type = tn__type_of(object);
    uint64_t size = tn__object_size(object);
    if (c->is_full)
        return NULL;
    if (!room_for(c, size + HASH, type) && !(next_chunk(c) && room_for(c, size + HASH, type))) {
        c->is_full = true;
        return NULL;
    }
    memcpy(c->bump, tn__header(object), size);
    size = store_hash(c->bump, object, size);
    void *result = c->bump + TN_GC_HEADER_SIZE;
    c->bump += size;
    c->all.moved += size;
    *tn__header(object) = (uintptr_t)result | TN_GC_FORWARDED;
    return result;
}

/* Atomic, because any thread may check whether its handle is null during a collection. */
static void set_slot(void **slot, void *object)
{
    __atomic_store_n(slot, object, __ATOMIC_RELAXED);
}

static void forward(void *collection, void **slot)
{
    struct copying *c = collection;
    void *object = *slot;
    struct tn__chunk *chunk = tn__chunk_of(c->space, object);
    if (!chunk)
        return;
    if (!chunk->from) {
        if (chunk->state == TN__BIG) {
            mark_large(c, chunk);
            tn__reached(&c->all, object);
        }
        return;
    }
    uint64_t header = *tn__header(object);
    if (header & TN_GC_FORWARDED) {
        set_slot(slot, (void *)(uintptr_t)(header & ~FORWARD_BITS));
        return;
    }
    if (chunk->kept && tn__in_set(object, TN__MARKS))
        return;
    void *moved = copy(c, object);
    if (moved)
        set_slot(slot, moved);
    else
        mark_kept(c, chunk, object);
    tn__reached(&c->all, object);
}

/* ---- looking at objects ---- */

/* Scans the next copy; false: there is none. */
static bool scan_copy(struct copying *c)
{
    const struct tn__space *space = c->space;
    if (!c->scan_chunk)
        return false;
    const struct tn__chunk *chunk = &space->chunks[c->scan_chunk];
    char *end = c->scan_chunk == c->to.last ? c->bump : (char *)tn__chunk_address(space, c->scan_chunk) + chunk->used;
    if (c->scan == end) {
        if (!chunk->next)
            return false;
        c->scan_chunk = chunk->next;
        c->scan = (char *)tn__chunk_address(space, c->scan_chunk) + TN__CHUNK_HEAD;
        return true;
    }
    void *object = c->scan + TN_GC_HEADER_SIZE;
    if (!*tn__header(object)) {
        c->scan += 8;
        return true;
    }
    c->scan += tn__object_size(object);
    tn__scan(&c->all, object);
    return true;
}

static void scan_kept(struct copying *c, const struct tn__chunk *chunk)
{
    uintptr_t start = tn__chunk_address(c->space, (uint32_t)(chunk - c->space->chunks));
    uint64_t *sets = (uint64_t *)start;
    for (uint32_t i = 0; i < TN__SET_WORDS; i++)
        for (uint64_t rest; (rest = sets[TN__MARKS + i] & ~sets[TN__SEEN + i]);) {
            unsigned bit = (unsigned)__builtin_ctzll(rest);
            sets[TN__SEEN + i] |= 1ull << bit;
            tn__scan(&c->all, (void *)(start + (i * 64ull + bit) * 8));
        }
}

static void drain(struct tn__collecting *collection)
{
    struct copying *c = (struct copying *)collection;
    for (;;) {
        if (scan_copy(c))
            continue;
        if (c->grey_kept) {
            scan_kept(c, take_grey(c, &c->grey_kept));
        } else if (c->grey_big) {
            const struct tn__chunk *chunk = take_grey(c, &c->grey_big);
            uintptr_t start = tn__chunk_address(c->space, (uint32_t)(chunk - c->space->chunks));
            tn__scan(&c->all, (char *)start + chunk->shift);
        } else {
            return;
        }
    }
}

/* ---- before and after ---- */

static void begin_copying(const struct tn__space *space)
{
    for (uint32_t i = space->small.first; i; i = space->chunks[i].next) {
        space->chunks[i].from = true;
        space->chunks[i].kept = false;
    }
    for (uint32_t i = space->big.first; i; i = space->chunks[i].next)
        space->chunks[i].marked = false;
}

static void free_small(struct copying *c)
{
    struct tn__space *space = c->space;
    bool unmap = c->all.heap->options.flags & TN_HEAP_STRESS;
    uint32_t next;
    for (uint32_t i = space->small.first; i; i = next) {
        next = space->chunks[i].next;
        space->chunks[i].from = false;
        if (space->chunks[i].kept)
            tn__chunks_append(space, &c->to, i);
        else
            tn__space_give(space, i, unmap);
    }
    space->small = c->to;
}

static void free_big(struct tn__space *space)
{
    struct tn__chunks old = space->big;
    uint32_t next;
    space->big = (struct tn__chunks){0};
    for (uint32_t i = old.first; i; i = next) {
        next = space->chunks[i].next;
        if (space->chunks[i].marked)
            tn__chunks_append(space, &space->big, i);
        else
            tn__space_give_big(space, i);
    }
}

static void end_copying(struct copying *c)
{
    struct tn__space *space = c->space;
    end_chunk(c);
    free_small(c);
    free_big(space);
    uint64_t wanted = tn__max64(c->all.heap->options.minimum, space->in_use) >> TN__CHUNK_SHIFT;
    tn__space_trim(space, (uint32_t)tn__min64(2 * wanted, UINT32_MAX));
}

void tn__copy(struct tn_heap *heap, struct tn_collection *done)
{
    static const struct tn__tracing tracing = {forward, keep, is_live, drain};
    struct copying c = {.all = {.tracing = &tracing, .heap = heap}, .space = &tn__copying_of(heap)->space};
    begin_copying(c.space);
    tn__find_roots(&c.all);
    tn__phase_end(heap, TN_COLLECTION_ROOTS);
    drain(&c.all);
    tn__phase_end(heap, TN_COLLECTION_TRACE);
    tn__settle_dead(&c.all);
    tn__phase_end(heap, TN_COLLECTION_WEAK);
    end_copying(&c);
    tn__phase_end(heap, TN_COLLECTION_SWEEP);
    done->moved = c.all.moved;
    done->pinned = c.all.pinned;
}
