/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects, the memory that they are in, and where code and its data keep references to them. */

#ifndef TENON_GC_OBJECT_H
#define TENON_GC_OBJECT_H

#include "base/base.h"
#include "tenon_gc.h"
#include "tenon_heap.h"

#pragma GCC visibility push(hidden)

/* ---- objects (type.c) ---- */

static inline uint64_t *tn__header(const void *object)
{
    return (uint64_t *)(uintptr_t)object - 1;
}

static inline const struct tn_type *tn__type_of(const void *object)
{
    return (const struct tn_type *)(uintptr_t)(*tn__header(object) & TN_GC_TYPE_MASK);
}

/* Bytes of the object's payload; and of payload and header together, as the heap counts them. */
uint64_t tn__payload(const void *object);
uint64_t tn__object_size(const void *object);
/* tn__object_size for a payload of this size; UINT64_MAX: no object can be so large. */
uint64_t tn__allocation_size(uint64_t payload);

/* Calls `visit` for every strong reference of the object: not for those of WEAK and EPHEMERON types. */
void tn__visit_references(void *object, tn_visit_slot *visit, void *context);

/* ---- chunks (space.c) ---- */

enum {
    TN__CHUNK_SHIFT = 18,
    TN__CHUNK_SIZE = 1 << TN__CHUNK_SHIFT,
    TN__CHUNK_HEAD =
        TN__CHUNK_SIZE / 8 / 8 * 2, /* of each chunk: two sets of objects, a bit for each word of the chunk */
    TN__SET_WORDS = TN__CHUNK_HEAD / 2 / 8,
    TN__LARGE = 64 << 10, /* larger objects have their own chunks and never move */
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

/* ---- stack maps (maps.c) ---- */

struct tn__map {
    uint64_t address; /* the return address */
    const uint8_t *function, *record;
};

/* Calls `safepoint` for each safepoint of a section until it returns nonzero, and returns that. Functions must lie in
 * `code`. TN_EFORMAT, possibly after some safepoints were visited. */
int tn__maps_read(const uint8_t *section, size_t size, struct tn_range code,
                  int (*safepoint)(void *context, const struct tn__map *map), void *context, struct tn_error *err);

/* Checks the section and enters its safepoints. The section must stay in place until they are removed. TN_EFORMAT,
 * TN_ENOMEM: nothing was entered. */
int tn__maps_add(const uint8_t *section, size_t size, struct tn_range code, struct tn_error *err);
void tn__maps_remove(const uint8_t *section, size_t size, struct tn_range code);
/* Adds those of the program itself, once. */
int tn__maps_add_program(struct tn_error *err);

void tn__maps_lock(void);
bool tn__maps_trylock(void);
void tn__maps_unlock(void);
/* Under this lock. NULL: not a return address in managed code. */
const struct tn__map *tn__maps_find(uint64_t address);
/* Under this lock: true if any safepoint lists pinned slots. */
bool tn__maps_have_pins(void);

/* A decoded record. Slots are counted in words from the frame pointer. */
struct tn__frame_map {
    const uint8_t *roots, *bases, *derived, *pinned;
    uint32_t root_count, base_count, derived_count, pinned_count;
    bool wide, entry;
};

struct tn__frame_map tn__map_decode(const struct tn__map *map);

static inline int32_t tn__map_slot(const struct tn__frame_map *map, const uint8_t *slots, uint32_t i)
{
    return map->wide ? (int32_t)tn__get32(slots + 4 * (size_t)i) : (int16_t)tn__get16(slots + 2 * (size_t)i);
}

/* ---- roots (roots.c) ---- */

int tn__roots_add_section(uint64_t owner, const uint8_t *section, size_t size, struct tn_range data,
                          struct tn_error *err);
void tn__roots_remove_owner(uint64_t owner);
int tn__roots_add_program(struct tn_error *err);
void tn__visit_roots(tn_visit_slot *slot, void *context);

#pragma GCC visibility pop
#endif
