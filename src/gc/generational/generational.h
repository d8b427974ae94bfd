/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The generational collector. New objects are young: they are allocated in the pieces of the nursery, which every
 * collection empties. Survivors are copied into the old space: blocks of lines (S. Blackburn, K. McKinley, "Immix: a
 * mark-region garbage collector", PLDI 2008), where objects stay until they die.
 *
 * All of it is one range of addresses: first the young ones, from a multiple of their size on, then old blocks. */

#ifndef TENON_GC_GENERATIONAL_H
#define TENON_GC_GENERATIONAL_H

#include "gc/collect/collect.h"

#pragma GCC visibility push(hidden)

enum {
    TN__LINE_SHIFT = 6,
    TN__LINE = 1 << TN__LINE_SHIFT,
    TN__BLOCK_SHIFT = 15,
    TN__BLOCK = 1 << TN__BLOCK_SHIFT,
    TN__LINES = TN__BLOCK / TN__LINE, /* of a block */
    TN__MEDIUM = 256,                 /* larger objects are not squeezed into holes */
    TN__UNIT_SHIFT = 20,              /* what is committed at once */
    TN__UNIT = 1 << TN__UNIT_SHIFT,
    TN__PIECE = 256 << 10,     /* of the nursery: a thread allocates in one at a time */
    TN__YOUNG_SIZE = 64 << 20, /* addresses of the nursery; a power of two */
    TN__PIECES = TN__YOUNG_SIZE / TN__PIECE,
    TN__FIRST_OLD = TN__YOUNG_SIZE >> TN__BLOCK_SHIFT, /* block */
};

/* A block. FULL and HOLES: of small objects; HOLES: the last full collection found free lines in it, and they have not
 * been given out since. REST: of an object that begins in an earlier block. */
enum tn__block_state { TN__BLOCK_FREE = 0, TN__BLOCK_FULL, TN__BLOCK_HOLES, TN__BLOCK_LARGE, TN__BLOCK_REST };

/* A piece. OLD: objects in it are pinned, or there was no memory for their copies, so they are old now; nothing else is
 * allocated there until a full collection finds none. */
enum tn__piece_state { TN__PIECE_FREE = 0, TN__PIECE_YOUNG, TN__PIECE_OLD };

/* Words and objects that barriers remembered; objects have the lowest bit set. */
struct tn__log {
    struct tn__log *next;
    uint32_t count;
    uintptr_t entries[4092];
};

/* Objects that a thread has allocated in a hole, one after the other. */
struct tn__span {
    char *start, *end;
};

struct tn__generational {
    uintptr_t base; /* of the young addresses, and of all */
    uint64_t size;
    /* Tables by address: a bit for each word where an old object begins, unless it is in a span; a byte for each line,
     * not 0 if an object of a full collection is in it. */
    uint64_t *starts;
    uint8_t *lines;
    uint8_t *units;                                         /* committed ones */
    uint8_t *blocks;                                        /* their states; those of young addresses are FULL */
    bool *moving;                                           /* blocks whose objects are being moved */
    uint32_t block_count, block_end, first_free, next_hole; /* from `block_end` on, no block has ever been used */
    char *hole, *hole_end, *medium, *medium_end;            /* where copies go */
    uint64_t used, large, budget; /* bytes of the old space; `used` at which it is collected */
    uint64_t holes, committed;    /* bytes: free ones in blocks of small objects when it was swept; of all units */
    bool retry;                   /* no memory was left: until the next full collection nothing is tried */

    uint8_t pieces[TN__PIECES];
    uint32_t piece_used[TN__PIECES];
    uint32_t pieces_young, pieces_most, next_piece;
    bool is_direct; /* nothing is young: threads allocate in holes */
    uint32_t full_nurseries;
    struct tn__span *spans;
    size_t span_count, span_capacity;

    pthread_mutex_t log_lock; /* for these. A leaf */
    struct tn__log *logs;
    size_t log_count, log_limit; /* of buffers */
    bool log_is_lost;            /* no memory: all old objects are looked at */

    void **stack; /* of objects to scan */
    uint64_t stack_size, stack_committed, stack_count;
    bool stack_is_full;

    uint64_t live_before, last_full, promoted; /* for the sizing */
    double growth_rate, mark_rate;
};

static inline struct tn__generational *tn__generational_of(const struct tn_heap *heap)
{
    return heap->own;
}

static inline bool tn__is_in_space(const struct tn__generational *g, const void *address)
{
    return (uintptr_t)address - g->base < g->size;
}

static inline bool tn__has_young_address(const struct tn__generational *g, const void *address)
{
    return (uintptr_t)address - g->base < TN__YOUNG_SIZE;
}

static inline uint32_t tn__block_of(const struct tn__generational *g, const void *object)
{
    return (uint32_t)(((uintptr_t)object - TN_GC_HEADER_SIZE - g->base) >> TN__BLOCK_SHIFT);
}

static inline uint64_t *tn__start_word(const struct tn__generational *g, const void *object)
{
    return &g->starts[((uintptr_t)object - g->base) / 8 / 64];
}

static inline uint64_t tn__start_bit(const void *object)
{
    return 1ull << ((uintptr_t)object / 8 % 64);
}

static inline bool tn__is_start(const struct tn__generational *g, const void *object)
{
    return *tn__start_word(g, object) & tn__start_bit(object);
}

/* ---- memory (space.c) ---- */

bool tn__gen_open(struct tn__generational *g, uint64_t limit);
void tn__gen_close(struct tn__generational *g);
/* Room for an object of this size in the old space, whose start it marks; the address of its payload. NULL: none. */
void *tn__gen_room(struct tn__generational *g, uint64_t size, const struct tn_type *type);
/* A hole of at least this size; NULL: none. */
char *tn__gen_take_hole(struct tn__generational *g, uint64_t size, char **end);
/* Copies the object to the old space and leaves its new address in its header. NULL: there is no memory. */
void *tn__gen_copy(struct tn__generational *g, void *object);
/* The number of a free piece, committed; TN__PIECES: none. `anew`: one that was used long ago. */
uint32_t tn__gen_take_piece(struct tn__generational *g, bool anew);
/* Frees young pieces; `unmap`: accesses fault from now on. */
void tn__gen_free_pieces(struct tn__generational *g, bool unmap);
/* From now on copies go to free blocks only, and starts and lines are those of no object. */
void tn__gen_clear(struct tn__generational *g);
/* Frees blocks and pieces in which no line is in use or no object starts, and finds holes in the others. */
void tn__gen_sweep(struct tn__generational *g);

/* The stack. False: memory for that many entries cannot be had. */
bool tn__gen_grow_stack(struct tn__generational *g, uint64_t entries);

static inline void tn__gen_push(struct tn__generational *g, void *object)
{
    if (g->stack_count * sizeof *g->stack == g->stack_committed && !tn__gen_grow_stack(g, g->stack_count + 1))
        g->stack_is_full = true;
    else
        g->stack[g->stack_count++] = object;
}

/* Gives free blocks and pieces back to the system, and units of them with their tables; after a full collection
 * (trim.c). */
void tn__gen_trim(struct tn__generational *g);

/* ---- all objects (walk.c) ---- */

void tn__gen_each_object(const struct tn__generational *g, void (*visit)(void *context, void *object), void *context);
void tn__gen_each_old(const struct tn__generational *g, void (*visit)(void *context, void *object), void *context);
bool tn__gen_is_object(const struct tn__generational *g, const void *address);

/* ---- what barriers remember (log.c) ---- */

/* In the thread's buffer, by the thread itself; or, if that is NULL, in one of the heap's. */
void tn__gen_log(struct tn__generational *g, struct tn__mutator *mutator, uintptr_t entry);
/* The thread's buffer becomes the heap's. */
void tn__gen_hand_over(struct tn__generational *g, struct tn__mutator *mutator);
/* Calls for all entries of the heap's buffers, and forgets them. The world is stopped. */
void tn__gen_take_logs(struct tn__generational *g, void (*visit)(void *context, uintptr_t entry), void *context);

/* ---- collections; the world is stopped, and every thread retired ---- */

/* Empties the nursery (minor.c). */
void tn__gen_minor(struct tn_heap *heap, struct tn_collection *done);
/* Marks the old space and frees what is dead. The nursery is empty. `all`: moves all objects (major.c). */
void tn__gen_major(struct tn_heap *heap, bool all, struct tn_collection *done);

#pragma GCC visibility pop
#endif
