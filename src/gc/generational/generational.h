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
    TN__TABLE_SHIFT = 6,              /* tables take a 64th of the memory that they describe */
    TN__MEDIUM = 256,                 /* larger objects are not squeezed into holes */
    TN__UNIT_SHIFT = 21,              /* what is committed at once: a huge page */
    TN__UNIT = 1 << TN__UNIT_SHIFT,
    TN__PIECE = 256 << 10,     /* of the nursery: a thread allocates in one at a time */
    TN__YOUNG_SIZE = 64 << 20, /* addresses of the nursery; a power of two */
    TN__PIECES = TN__YOUNG_SIZE / TN__PIECE,
    TN__FIRST_OLD = TN__YOUNG_SIZE >> TN__BLOCK_SHIFT, /* block */
    TN__ENTRIES = 2048,                                /* of a worker's stack; the older half goes to others */
    TN__MORE_ENTRIES = 64,                             /* after them; as many as an object may have by bits */
    TN__AHEAD = 16,                                    /* steps between fetching an object and looking at it */
    TN__MOST_WORKERS = 16,
};

/* Low bits of the header of an object that was reached. FORWARDED alone: the rest is its new address, a multiple of 8.
 * FORWARDED and UNLOGGED: it stays where it is, the rest is its type; both bits are put right in the end. */
#define TN__FORWARD_BITS 7ull
#define TN__STAYS        ((uint64_t)(TN_GC_FORWARDED | TN_GC_UNLOGGED))

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

/* The block in whose holes objects are allocated, and the first line that was not looked at. 0: none. */
struct tn__cursor {
    uint32_t block, line;
};

/* Entries of a worker's stack that are for workers without any; or objects that marking beside threads has found. */
struct tn__packet {
    struct tn__packet *next;
    uint32_t count;
    void *entries[TN__ENTRIES / 2];
};

/* The rest of an array of references: it is looked at in parts, or the stack would grow by its length. */
struct tn__part {
    void **items;
    uint64_t count;
};

/* What pauses and the marker leave for each other while objects are marked beside threads: objects to be marked; weak
 * references and ephemerons that are; and objects with visitors, whose references are visited in the next pause. */
enum tn__found { TN__GREY, TN__WEAK, TN__CUSTOM, TN__FOUND_COUNT };

/* What a worker looks up at each step (loops.h). Of the tables by address, these are where the entry of address 0 would
 * be; each has a byte for a line. Loops have a copy in registers: as far as the compiler knows, each store of a line's
 * byte might change the collector. */
struct tn__view {
    uintptr_t base; /* of the space */
    uint64_t size;
    uintptr_t own, other; /* marks: of this worker, and of the other one of two */
    uintptr_t lines;
    /* No ephemeron waits for an object, and no other worker writes to `own`. While objects are copied, no other one
     * runs, no old ones are at young addresses, and none are being marked; while they are marked, none move. */
    bool is_plain;
};

/* A thread that collects. Number 0 is the thread that stopped the world; it also does everything that is not shared. */
struct tn__worker {
    struct tn__collecting all; /* first */
    struct tn__generational *g;
    bool alone;        /* no other one runs */
    bool shares_marks; /* several of them mark in the same table */
    struct tn__view view;
    struct tn__cursor holes;
    char *hole, *hole_end, *medium, *medium_end; /* where copies go */
    uint64_t promoted, marked;                   /* bytes; entries looked at */
    uint64_t began, ended, waited;               /* in ns, if several run */
    uint32_t id;                                 /* its thread's number in the system */
    struct tn__log *log;                         /* taken, not looked at yet */
    struct tn__part part;                        /* likewise */
    struct tn__packet **shared;                  /* where entries go that it does not keep */
    struct tn__packet *found[TN__FOUND_COUNT];   /* that it fills: members of the cycle's lists */
    pthread_t thread;
    uint32_t phase; /* when it was started */
    uint32_t next_ahead, count;
    void *ahead[TN__AHEAD], *entries[TN__ENTRIES + TN__MORE_ENTRIES];
};

/* What several workers do together (work.c). */
struct tn__team {
    struct tn__mutex lock;       /* for all of it, and for memory while workers run. A leaf */
    struct tn__mutex visit_lock; /* while a type's function visits references; `lock` may be taken meanwhile */
    struct tn__worker *workers[TN__MOST_WORKERS];
    uint32_t started, process, forks; /* threads beside number 0, in this process; see tn_heap.forks */
    uint32_t size;                    /* of those that run now; 1: number 0 alone */
    uint32_t idle, unfinished;        /* read without the lock too */
    uint32_t phase, event; /* futex words: changed when a phase begins; when there is work, or all have finished */
    bool has_finished, ends;
    void (*work)(struct tn__worker *worker);
    bool (*take)(struct tn__worker *worker); /* other work than packets; under the lock */
    struct tn__packet *shared, *unused;
    uint64_t packets, packets_size, packets_used, packets_committed; /* address space */
    struct tn__part parts[64];
    uint32_t part_count;
    bool is_full; /* an entry was dropped for lack of memory */
};

struct tn__cycle;

/* What marking beside threads adds to this collector: a table, so that programs without it do not contain it. */
struct tn__beside {
    /* What is due with so many bytes in use in the old space, apart from emptying the nursery. */
    enum tn__extent (*due)(const struct tn_heap *heap, uint64_t used);
    /* At the end of each pause. */
    void (*plan)(struct tn__generational *g);
    /* A thread has got so much new memory, under the heap's lock: a piece, or a hole, which counts as one; or an object
     * in the old space. */
    void (*help)(struct tn_heap *heap, uint64_t bytes);
    /* In a pause: before the nursery is emptied, and after it. True: this has ended a full collection. */
    void (*begin)(struct tn_heap *heap, enum tn__extent extent);
    bool (*end)(struct tn_heap *heap, struct tn_collection *done);
    /* While objects are marked: of one that is old from now on, whose references the pause visits itself; and of an
     * old one that a root, a new object or a stored word refers to. */
    void (*born)(struct tn__worker *w, void *object, const struct tn_type *type, uint64_t size);
    void (*reached)(struct tn__worker *w, void *object);
    /* While objects are marked, when the thread's buffer of logged stores is full: leaves the entries that the next
     * pause has to look at; their number. */
    size_t (*sift)(struct tn__generational *g, uintptr_t *entries, size_t count);
    /* While objects are marked: a thread is going to allocate in this hole. */
    void (*open)(struct tn__generational *g, char *start, char *end);
    /* The thread goes on elsewhere: what it has allocated there becomes like other old objects; `hole_end` of the hole,
     * from whose start they follow each other. */
    void (*settle)(struct tn__generational *g, char *start, char *end, char *hole_end);
};

struct tn__generational {
    uintptr_t base; /* of the young addresses, and of all */
    uint64_t size;
    /* Tables by address: a bit for each word where an old object begins, unless it is in a span; a byte for each line,
     * not 0 if an object of a full collection is in it. */
    uint64_t *starts;
    uint8_t *lines;
    uint64_t *spare_starts; /* NULL, or a second pair: for marking beside threads */
    uint8_t *spare_lines;
    uint64_t *pair[2];   /* NULL, or the marks of each of two workers in a table of its own; clear afterwards */
    uint64_t next_unit;  /* whose marks are to be gathered in `starts`. Atomic */
    uint64_t *marks;     /* NULL, or the second table of starts: objects are being marked beside threads */
    bool marks_are_lost; /* no memory: they cannot become complete */
    uint16_t *counts;    /* used lines of blocks in the second tables */
    uint64_t tables;     /* address of all tables */
    uint8_t *units;      /* committed ones */
    uint8_t *blocks;     /* their states; those of young addresses are FULL */
    uint8_t *moving;     /* by block; not 0: its objects are being moved */
    uint32_t block_count, block_end, first_free, next_hole; /* from `block_end` on, no block has ever been used */
    struct tn__cursor direct;                               /* of threads that allocate in holes */
    uint64_t used, large, budget; /* bytes of the old space; `used` at which it is collected */
    uint64_t holes, committed;    /* bytes: free ones in blocks of small objects when it was swept; of all units */
    bool retry;                   /* no memory was left: until the next full collection nothing is tried */
    bool any_moving, is_huge;
    uint64_t next_huge, huge_end; /* units that are to get large pages */
    uint64_t new_bytes;           /* that threads got since one of them did */
    uint32_t untried;             /* new units that get small pages, as a large one took long */

    uint8_t pieces[TN__PIECES];
    uint32_t piece_used[TN__PIECES];
    uint32_t pieces_young, pieces_old, next_piece;
    bool is_direct; /* nothing is young: threads allocate in holes */
    uint32_t full_nurseries;
    uint64_t nursery;    /* bytes after which it is emptied, if pauses have to be short */
    uint64_t direct_end; /* `used` at which this ends for one nursery, if objects are marked beside threads */

    struct tn__span *spans; /* long ones, and if there is memory for them; objects of others have starts */
    size_t span_count, span_capacity;

    struct tn__mutex log_lock; /* for these. A leaf */
    struct tn__log *logs;
    size_t log_count, log_limit; /* of buffers */
    bool log_is_lost;            /* no memory: all old objects are looked at */

    uint32_t workers; /* that may collect */
    struct tn__team team;
    struct tn__worker first;

    const struct tn__beside *beside; /* NULL: objects are marked while the world is stopped */
    struct tn__cycle *cycle;

    uint64_t live_before, last_full, promoted; /* for the sizing */
    double growth_rate, mark_rate;
    double fastest; /* marking, in ns for each entry */
};

/* Puts the header of an object that stayed right. */
static inline void tn__settle_header(void *object)
{
    uint64_t *header = tn__header(object);
    if ((*header & TN__STAYS) == TN__STAYS)
        *header &= ~(tn__type_of(object)->kind == TN_KIND_LEAF ? TN__STAYS : (uint64_t)TN_GC_FORWARDED);
}

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

static inline bool tn__has_bit(const struct tn__generational *g, const uint64_t *table, const void *object)
{
    uint64_t word = ((uintptr_t)object - g->base) / 8;
    return __atomic_load_n(&table[word / 64], __ATOMIC_RELAXED) >> word % 64 & 1;
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

/* Of a word that is not 0. */
static inline unsigned tn__lowest_bit(uint64_t word)
{
    return (unsigned)__builtin_ctzll(word);
}

/* The bits of a line are a byte of a table of starts or marks: the owner of the line writes no others. */
static inline uint8_t *tn__bits_of(const struct tn__generational *g, uint64_t *table, const void *object)
{
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && TN__LINE == 64, "a byte of a word of bits");
    return (uint8_t *)table + ((uintptr_t)object - g->base) / TN__LINE;
}

static inline uint8_t tn__bits(const struct tn__generational *g, uint64_t *table, const void *object)
{
    return __atomic_load_n(tn__bits_of(g, table, object), __ATOMIC_RELAXED);
}

static inline void tn__set_bits(const struct tn__generational *g, uint64_t *table, const void *object, uint8_t bits)
{
    __atomic_store_n(tn__bits_of(g, table, object), bits, __ATOMIC_RELAXED);
}

/* Old objects in pieces have the headers of others. */
static inline bool tn__is_young(const struct tn__generational *g, const void *object)
{
    return tn__has_young_address(g, object) && !(g->pieces_old && tn__is_start(g, object));
}

/* ---- memory (space.c) ---- */

/* `spares`: with the second pair of tables. */
bool tn__gen_open(struct tn__generational *g, uint64_t limit, bool spares);
void tn__gen_close(struct tn__generational *g);
/* From now on the old space has large pages, if the system can: objects are found far from each other. */
void tn__gen_use_huge(struct tn__generational *g);
/* A thread has got so much memory: now and then a unit that was in use before gets its large page. This copies the
 * unit, so it is not done to all of them in one pause. */
void tn__gen_make_huge(struct tn__generational *g, uint64_t bytes);
/* Makes a part of the range usable. */
bool tn__gen_commit(struct tn__generational *g, uint64_t offset, uint64_t size);
/* Gives a unit back to the system, with its part of the tables. */
void tn__gen_give_unit(struct tn__generational *g, uint64_t unit);

static inline char *tn__block_address(const struct tn__generational *g, uint32_t block)
{
    return (char *)(g->base + ((uint64_t)block << TN__BLOCK_SHIFT));
}

/* ---- blocks, holes in them, pieces (blocks.c) ---- */

/* The first run of this many free blocks. 0: there is none. */
uint32_t tn__gen_take_blocks(struct tn__generational *g, uint32_t count, enum tn__block_state state);
/* A hole of at least this size, from where the cursor is; NULL: none. */
char *tn__gen_take_hole(struct tn__generational *g, struct tn__cursor *cursor, uint64_t size, char **end);
/* The number of a free piece, committed; TN__PIECES: none. `anew`: one that was used long ago. */
uint32_t tn__gen_take_piece(struct tn__generational *g, bool anew);
/* Frees young pieces; `unmap`: accesses fault from now on. */
void tn__gen_free_pieces(struct tn__generational *g, bool unmap);
/* Objects have stayed in pieces: puts the headers of all old ones there right (TN__STAYS). */
void tn__gen_settle_pieces(struct tn__generational *g);
/* From now on copies go to free blocks only, and starts and lines are those of no object. */
void tn__gen_clear(struct tn__generational *g);
/* Used lines of the block, as the last full collection has found them. */
uint32_t tn__gen_count_lines(const struct tn__generational *g, uint32_t block);
/* Frees blocks and pieces in which no line is in use or no object starts, and finds holes in the others. `counts`: used
 * lines of each block; NULL: they have not been counted. */
void tn__gen_sweep(struct tn__generational *g, const uint16_t *counts);

/* ---- space for objects (copies.c) ---- */

/* Makes space for an object of this size in the old space, and marks its start. Returns the address of its payload;
 * NULL: there is no space. The heap has no running workers. */
void *tn__gen_space(struct tn__generational *g, uint64_t size, const struct tn_type *type);
/* Copies the object, whose header was `header`, to the old space and leaves its new address in its header, unless
 * another worker did (`is_mine`); the address. NULL: there is no memory, so that the object stays (TN__STAYS). */
void *tn__gen_copy(struct tn__worker *w, void *object, uint64_t header, bool *is_mine);

/* Bytes of the object, if this is its header. */
static inline uint64_t tn__size_by(const void *object, uint64_t header)
{
    const struct tn_type *type = (const struct tn_type *)(uintptr_t)(header & TN_GC_TYPE_MASK);
    uint64_t payload = type->size;
    if (type->element)
        payload += type->element * tn__get64((const char *)object + type->length);
    uint64_t size = TN_GC_HEADER_SIZE + tn__align_up(payload, 8) + (header & TN_GC_HASH_STORED);
    return size < 2 * TN_GC_HEADER_SIZE ? 2 * TN_GC_HEADER_SIZE : size;
}
_Static_assert(TN_GC_HASH_STORED == 8, "the word that it takes");

/* ---- workers and their stacks (work.c) ---- */

bool tn__gen_open_team(struct tn__generational *g);
void tn__gen_close_team(struct tn__generational *g, const struct tn_heap *heap);
/* A phase: `work` in several threads, until tn__gen_more is false in each. */
void tn__gen_run(struct tn__generational *g, uint32_t size, enum tn_collection_phase phase,
                 void (*work)(struct tn__worker *worker), bool (*take)(struct tn__worker *worker));
/* Gets entries of others, or other work (`take`). False: all workers have finished. */
bool tn__gen_more(struct tn__worker *w);
/* The older half of the stack goes to the team, if there is memory. */
void tn__gen_share(struct tn__worker *w);
/* One without entries. NULL: there is no memory. */
struct tn__packet *tn__gen_take_packet(struct tn__team *team);
/* The worker's stack is empty: gets entries that were shared. */
bool tn__gen_get_packet(struct tn__worker *w);
/* tn__scan; types' functions run in one worker at a time. */
void tn__gen_scan_any(struct tn__worker *w, void *object);
/* False: there are too many parts. */
bool tn__gen_share_part(struct tn__worker *w, void **items, uint64_t count);

static inline void tn__gen_push(struct tn__worker *w, void *entry)
{
    if (w->count >= TN__ENTRIES)
        tn__gen_share(w);
    TN__CHECK(w->count < TN__ENTRIES + TN__MORE_ENTRIES);
    w->entries[w->count++] = entry;
}

/* Now and then: others may have nothing to do. */
static inline void tn__gen_help(struct tn__worker *w)
{
    if (!w->alone && w->count > TN__AHEAD && __atomic_load_n(&w->g->team.idle, __ATOMIC_RELAXED))
        tn__gen_share(w);
}

/* ---- all objects (walk.c) ---- */

void tn__gen_each_object(const struct tn__generational *g, void (*visit)(void *context, void *object), void *context);
void tn__gen_each_old(const struct tn__generational *g, void (*visit)(void *context, void *object), void *context);
void tn__gen_each_start(const struct tn__generational *g, uint64_t offset, uint64_t size,
                        void (*visit)(void *context, void *object), void *context);
/* The same by another table of starts. */
void tn__gen_each_in(const struct tn__generational *g, const uint64_t *table, uint64_t offset, uint64_t size,
                     void (*visit)(void *context, void *object), void *context);
bool tn__gen_is_object(const struct tn__generational *g, const void *address);

/* ---- what barriers remember (log.c) ---- */

/* Logs an entry in the thread's buffer, called by the thread itself; or, if `mutator` is NULL, in one of the heap's
 * buffers. */
void tn__gen_log(struct tn__generational *g, struct tn__mutator *mutator, uintptr_t entry);
/* The thread's buffer becomes the heap's. */
void tn__gen_hand_over(struct tn__generational *g, struct tn__mutator *mutator);
/* One of the heap's buffers; it is the caller's then. NULL: there is none. The world is stopped. */
struct tn__log *tn__gen_take_log(struct tn__generational *g);
void tn__gen_free_logs(struct tn__generational *g);

/* ---- collections; the world is stopped, and every thread retired ---- */

/* Empties the nursery (minor.c). */
void tn__gen_minor(struct tn_heap *heap, uint32_t workers, struct tn_collection *done);
/* Marks the old space and frees what is dead; moves objects in blocks that were chosen. The nursery is empty
 * (major.c). */
void tn__gen_major(struct tn_heap *heap, uint32_t workers, struct tn_collection *done);
/* Chooses blocks for the next of these: few or none of them usually; every one under stress (evacuate.c). */
void tn__gen_choose_moving(struct tn_heap *heap);
/* After a full collection, for another one: all blocks that are worth moving. False: that would gain little. */
bool tn__gen_choose_sparse(struct tn__generational *g);

/* ---- the collector (collector.c) ---- */

int tn__gen_create(struct tn_heap *heap, const struct tn__beside *beside, struct tn_error *err);
void tn__gen_close_heap(struct tn_heap *heap);
enum tn__extent tn__gen_due(const struct tn_heap *heap, const struct tn__mutator *mutator, uint64_t size);
void *tn__gen_take(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t size, const struct tn_type *type);
void tn__gen_retire(struct tn__mutator *mutator);
void tn__gen_log_store(struct tn_heap *heap, void *object, void *slot, void *value);
void tn__gen_collect(struct tn_heap *heap, enum tn__extent extent, struct tn_collection *done);
void tn__gen_each(const struct tn_heap *heap, void (*visit)(void *context, void *object), void *context);
/* The budget after a full collection: there were `before` bytes in the old space when it began, at `start`, and marking
 * took so many ns. */
void tn__gen_set_budget(struct tn_heap *heap, uint64_t before, uint64_t start, uint64_t marking);

/* ---- verification (check.c) ---- */

/* After a full collection: what is wrong, or NULL. */
const char *tn__gen_check(const struct tn__generational *g);

#pragma GCC visibility pop
#endif
