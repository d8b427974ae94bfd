/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The chunks of address space that the copying collector's objects are in. */

#ifndef TENON_GC_SPACE_H
#define TENON_GC_SPACE_H

#include "gc/object/object.h"

#pragma GCC visibility push(hidden)

enum {
    TN__CHUNK_SHIFT = 18,
    TN__CHUNK_SIZE = 1 << TN__CHUNK_SHIFT,
    TN__CHUNK_HEAD =
        TN__CHUNK_SIZE / 8 / 8 * 2, /* of each chunk: two sets of objects, a bit for each word of the chunk */
    TN__SET_WORDS = TN__CHUNK_HEAD / 2 / 8,
    TN__LARGE = 64 << 10, /* larger objects have their own chunks and never move, */
    TN__BIG_UNIT = 4096,  /* and a multiple of this from the beginning of these */
};

enum tn__chunk_state { TN__FREE = 0, TN__SMALL, TN__BIG, TN__BIG_REST };

struct tn__chunk {
    uint8_t state;
    bool committed;
    bool from;      /* SMALL: its live objects are being moved */
    bool kept;      /* SMALL: the last collection left objects in place here: only those in its mark set are objects */
    bool marked;    /* BIG: it is live */
    uint8_t shift;  /* BIG: where its payload begins: 8 or 16 */
    uint32_t used;  /* SMALL: bytes, head included */
    uint32_t next;  /* in a list, by index; 0: the last */
    uint32_t grey;  /* BIG, and SMALL if kept: the next in the list of chunks to scan */
    uint32_t count; /* BIG: its length in chunks */
    uint64_t bytes; /* BIG: committed */
};

/* Lists of chunks by index. Chunk 0 is never used. */
struct tn__chunks {
    uint32_t first, last;
};

struct tn__space {
    uintptr_t base; /* of chunk 0 */
    uint64_t size;
    struct tn__chunk *chunks;
    uint32_t count, cursor;
    struct tn__chunks small, big, spare; /* in use; in use; committed and free */
    uint32_t spare_count;
    uint64_t in_use, large; /* bytes */
};

bool tn__space_open(struct tn__space *space, uint64_t size);
void tn__space_close(struct tn__space *space);
/* Takes a chunk for small objects and appends it to `list`; 0 if there is none. */
uint32_t tn__space_take(struct tn__space *space, struct tn__chunks *list, bool anew);
/* Frees a chunk that is in no list; `unmap`: accesses fault from now on. */
void tn__space_give(struct tn__space *space, uint32_t chunk, bool unmap);
/* A run of chunks for one object; 0 if there is none. */
uint32_t tn__space_take_big(struct tn__space *space, uint64_t bytes);
void tn__space_give_big(struct tn__space *space, uint32_t chunk);
/* Returns spare chunks to the system until at most this many are left. */
void tn__space_trim(struct tn__space *space, uint32_t most);

void tn__chunks_append(struct tn__space *space, struct tn__chunks *list, uint32_t chunk);

static inline uintptr_t tn__chunk_address(const struct tn__space *space, uint32_t chunk)
{
    return space->base + ((uint64_t)chunk << TN__CHUNK_SHIFT);
}

/* The chunk that contains the address; NULL: not in this heap. */
static inline struct tn__chunk *tn__chunk_of(const struct tn__space *space, const void *address)
{
    uintptr_t offset = (uintptr_t)address - space->base;
    return offset < space->size ? &space->chunks[offset >> TN__CHUNK_SHIFT] : NULL;
}

/* The two sets of a chunk: the objects that stay in place, and those of them that were scanned. */
enum { TN__MARKS = 0, TN__SEEN = TN__SET_WORDS };

static inline uint64_t *tn__set_word(const void *object, int set)
{
    uintptr_t start = (uintptr_t)object & -(uintptr_t)TN__CHUNK_SIZE;
    return (uint64_t *)start + set + ((uintptr_t)object - start) / 8 / 64;
}

static inline uint64_t tn__set_bit_of(const void *object)
{
    return 1ull << ((uintptr_t)object / 8 % 64);
}

static inline bool tn__in_set(const void *object, int set)
{
    return *tn__set_word(object, set) & tn__set_bit_of(object);
}

/* Every chunk in use is retired (see tn__retire), and nothing changes the space meanwhile. */
void tn__each_object(const struct tn__space *space, void (*visit)(void *context, void *object), void *context);
/* True if an object begins at this address. */
bool tn__is_object(const struct tn__space *space, const void *address);

#pragma GCC visibility pop
#endif
