/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The copying: Cheney's copying algorithm (C. J. Cheney, "A nonrecursive list compacting algorithm", CACM 13, 1970),
 * extended by objects that stay in place: pinned ones, those that no memory is left to copy, and large ones. The mark
 * set of a chunk that keeps objects says which they are. Nothing here recurses, or allocates anywhere but in the heap,
 * however deep a structure is: objects to scan are found by walking the copies, by the difference of the two sets of a
 * chunk (kept objects) and in a list (large objects). */

#include "gc/collect/collect.h"

/* The low bits of a forwarding header; the rest is the object's new address, a multiple of 8. */
#define FORWARD_BITS 7ull

/* ---- finding objects ---- */

static void make_grey(struct tn__collector *c, struct tn__chunk *chunk, uint32_t *list)
{
    if (chunk->grey)
        return;
    chunk->grey = *list ? *list : UINT32_MAX; /* ends the list; 0: in no list */
    *list = (uint32_t)(chunk - c->heap->space.chunks);
}

static struct tn__chunk *take_grey(struct tn__collector *c, uint32_t *list)
{
    struct tn__chunk *chunk = &c->heap->space.chunks[*list];
    *list = chunk->grey == UINT32_MAX ? 0 : chunk->grey;
    chunk->grey = 0;
    return chunk;
}

static void mark_large(struct tn__collector *c, struct tn__chunk *chunk)
{
    if (chunk->marked)
        return;
    chunk->marked = true;
    make_grey(c, chunk, &c->grey_big);
}

/* The object stays where it is. */
static void mark_kept(struct tn__collector *c, struct tn__chunk *chunk, void *object)
{
    if (!chunk->kept) {
        chunk->kept = true;
        memset((void *)((uintptr_t)object & -(uintptr_t)TN__CHUNK_SIZE), 0, TN__CHUNK_HEAD);
    }
    *tn__set_word(object, TN__MARKS) |= tn__set_bit_of(object);
    c->pinned++;
    make_grey(c, chunk, &c->grey_kept);
}

void tn__keep(void *collector, void *object)
{
    struct tn__collector *c = collector;
    struct tn__chunk *chunk = tn__chunk_of(&c->heap->space, object);
    if (!chunk)
        return;
    if (chunk->state == TN__BIG)
        mark_large(c, chunk);
    else if (chunk->from && !(chunk->kept && tn__in_set(object, TN__MARKS)))
        mark_kept(c, chunk, object);
}

bool tn__is_live(const struct tn__collector *c, const void *object)
{
    const struct tn__chunk *chunk = tn__chunk_of(&c->heap->space, object);
    if (!chunk)
        return true;
    if (chunk->state == TN__BIG)
        return chunk->marked;
    return !chunk->from || (*tn__header(object) & TN_GC_FORWARDED) || (chunk->kept && tn__in_set(object, TN__MARKS));
}

/* ---- copying ---- */

/* A zero word where a payload is to be aligned to 16. */
static char *room_for(struct tn__collector *c, uint64_t size, const struct tn_type *type)
{
    if (c->bump && type->alignment == 16 && ((uintptr_t)c->bump + TN_GC_HEADER_SIZE) % 16 && c->bump < c->limit) {
        *(uint64_t *)(void *)c->bump = 0;
        c->bump += 8;
    }
    return size <= (uint64_t)(c->limit - c->bump) ? c->bump : NULL;
}

static void end_chunk(struct tn__collector *c)
{
    struct tn__space *space = &c->heap->space;
    if (c->to.last)
        space->chunks[c->to.last].used = (uint32_t)((uintptr_t)c->bump - tn__chunk_address(space, c->to.last));
}

static bool next_chunk(struct tn__collector *c)
{
    struct tn__space *space = &c->heap->space;
    end_chunk(c);
    uint32_t chunk = tn__space_take(space, &c->to, c->heap->options.flags & TN_HEAP_STRESS);
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
static void *copy(struct tn__collector *c, const void *object)
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
    c->moved += size;
    *tn__header(object) = (uintptr_t)result | TN_GC_FORWARDED;
    return result;
}

/* Atomic, because any thread may check whether its handle is null during a collection. */
static void set_slot(void **slot, void *object)
{
    __atomic_store_n(slot, object, __ATOMIC_RELAXED);
}

void tn__forward_slot(void *collector, void **slot)
{
    struct tn__collector *c = collector;
    void *object = *slot;
    struct tn__chunk *chunk = tn__chunk_of(&c->heap->space, object);
    if (!chunk)
        return;
    if (!chunk->from) {
        if (chunk->state == TN__BIG)
            mark_large(c, chunk);
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
}

/* ---- looking at objects ---- */

static void look_at(struct tn__collector *c, void *object)
{
    void **words = object;
    switch (tn__type_of(object)->kind) {
    case TN_KIND_WEAK:
        words[1] = c->weak;
        c->weak = object;
        break;
    case TN_KIND_EPHEMERON:
        words[2] = c->ephemerons;
        c->ephemerons = object;
        break;
    default:
        tn__visit_references(object, tn__forward_slot, c);
    }
}

/* Scans the next copy; false: there is none. */
static bool scan_copy(struct tn__collector *c)
{
    const struct tn__space *space = &c->heap->space;
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
    look_at(c, object);
    return true;
}

static void scan_kept(struct tn__collector *c, const struct tn__chunk *chunk)
{
    uintptr_t start = tn__chunk_address(&c->heap->space, (uint32_t)(chunk - c->heap->space.chunks));
    uint64_t *sets = (uint64_t *)start;
    for (uint32_t i = 0; i < TN__SET_WORDS; i++)
        for (uint64_t rest; (rest = sets[TN__MARKS + i] & ~sets[TN__SEEN + i]);) {
            unsigned bit = (unsigned)__builtin_ctzll(rest);
            sets[TN__SEEN + i] |= 1ull << bit;
            look_at(c, (void *)(start + (i * 64ull + bit) * 8));
        }
}

void tn__drain(struct tn__collector *c)
{
    for (;;) {
        if (scan_copy(c))
            continue;
        if (c->grey_kept) {
            scan_kept(c, take_grey(c, &c->grey_kept));
        } else if (c->grey_big) {
            const struct tn__chunk *chunk = take_grey(c, &c->grey_big);
            uintptr_t start = tn__chunk_address(&c->heap->space, (uint32_t)(chunk - c->heap->space.chunks));
            look_at(c, (char *)start + chunk->shift);
        } else {
            return;
        }
    }
}

/* ---- before and after ---- */

void tn__copy_begin(struct tn__collector *c)
{
    struct tn__space *space = &c->heap->space;
    for (uint32_t i = space->small.first; i; i = space->chunks[i].next) {
        space->chunks[i].from = true;
        space->chunks[i].kept = false;
    }
    for (uint32_t i = space->big.first; i; i = space->chunks[i].next)
        space->chunks[i].marked = false;
}

static void free_small(struct tn__collector *c)
{
    struct tn__space *space = &c->heap->space;
    bool unmap = c->heap->options.flags & TN_HEAP_STRESS;
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

void tn__copy_end(struct tn__collector *c)
{
    struct tn__space *space = &c->heap->space;
    end_chunk(c);
    free_small(c);
    free_big(space);
    uint64_t wanted = tn__max64(c->heap->options.minimum, space->in_use) >> TN__CHUNK_SHIFT;
    tn__space_trim(space, (uint32_t)tn__min64(2 * wanted, UINT32_MAX));
}
