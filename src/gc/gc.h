/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The collector's internal interfaces, file by file:
 *     type.c      sizes and references of objects
 *     space.c     chunks of address space, large objects
 *     heap.c      heaps, statistics; default.c: the heap of threads that did not choose one
 *     thread.c    attaching, stopping the world; level.c: entering and leaving managed code
 *     allocate.c  the slow path of allocation
 *     collect.c   the collection: a stop-the-world copy of everything that is not pinned; weak.c: weak references, finalizers
 *     verify.c    checks the heap after a collection
 *     maps.c      stack maps: their checks, and lookup by return address; loaded.c: those of loaded objects
 *     walk.c      the stack walker
 *     await.c     waiting until threads have stopped
 *     fork.c      all heaps, and forks
 *     overflow.c  reports of full stacks
 *     handles.c   handles and pins; access.c: objects by handles; roots.c: root ranges
 *     host_x86_64.c  entries that compiled code calls with special calling conventions
 * A heap's lock guards all of it, except what a thread does with its own chunk. The collecting thread holds the lock from the
 * stop request until the world runs again, so a thread that waits for the lock waits for the collection. */

#ifndef TENON_GC_INTERNAL_H
#define TENON_GC_INTERNAL_H

#include <pthread.h>

#include "base/base.h"
#include "base/lazy_frame.h"
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

/* ---- handles and pins (handles.c) ---- */

struct tn_handle {
    void *object;
    struct tn_heap *heap;
    struct tn__list all;      /* in the heap's list, or free */
    struct tn_handle *before; /* the one that its thread made before it in a scope */
    uint32_t depth;           /* of its scope; 0: in none */
};

struct tn__pin {
    void *object;
    uint32_t count;
    struct tn__pin *next;
};

/* ---- finalizers (weak.c) ---- */

struct tn__finalizer {
    struct tn__finalizer *next;
    const void *runner; /* the thread that runs it, see tn__this_thread */
    void *object;
    void (*function)(void *context, struct tn_handle *object);
    void *context;
    struct tn_handle *handle; /* made beforehand, so that running cannot fail */
};

/* ---- threads (thread.c) ---- */

enum { TN__RESULTS = 3 }; /* registers that may hold a call's result */

struct tn__mutator {
    struct tn_heap *heap;
    struct tn_gc_block *block;
    struct tn__list all;
    struct tn_gc_anchor *anchors; /* the array; the first two have no frames */
    uint64_t anchors_size;        /* bytes of address space */
    struct tn_gc_anchor *away;    /* the level that it left for the lock of another heap; NULL: none */
    uint64_t signal_stack;        /* 0: none of ours; see overflow.c */
    size_t signal_stack_size;
    uint32_t thread;          /* its number in the system */
    uint32_t chunk;           /* that it allocates from, up to `limit`; 0: none */
    char *limit;              /* the value of block->limit unless the world is to stop */
    struct tn_handle *newest; /* handle in its scopes */
    uint32_t scope_depth;
    struct tn__lazy_frame *calls; /* whose lazy functions are being looked up, newest first */
    void *results[TN__RESULTS];   /* of a call that has just returned, pinned: see tn__gc_after_call */
    bool finalizing;
};

/* Indexes of `runtime` in a thread's block. Assembly sets TN__COLLECTED to NULL; it is not NULL once the thread has
 * collected. */
enum { TN__MUTATOR, TN__COLLECTED };

static inline struct tn__mutator *tn__self(void)
{
    return tn__gc_block.runtime[TN__MUTATOR];
}

/* for (TN__EACH_MUTATOR(at, heap)) visits the mutators; `at` is the struct tn__list in each, see tn__mutator_at. */
#define TN__EACH_MUTATOR(at, heap)                                                                                     \
    struct tn__list *at = (heap)->mutators.next;                                                                       \
    at != &(heap)->mutators;                                                                                           \
    at = at->next

static inline struct tn__mutator *tn__mutator_at(struct tn__list *at)
{
    return tn__container_of(at, struct tn__mutator, all);
}

/* Identifies the calling thread, also in the child of its forks. */
static inline const void *tn__this_thread(void)
{
    return &tn__gc_block;
}

/* ---- levels (level.c) ---- */

/* What an array of anchors begins with, above all frames: the second one is that of a thread outside managed code. */
enum { TN__HIGHEST = -1, TN__NATIVE = -15 };
_Static_assert((TN__HIGHEST & TN_GC_OUTSIDE) && (TN__NATIVE & TN_GC_STATE) == TN_GC_OUTSIDE &&
                   (TN__NATIVE | TN_GC_STATE) < (TN__HIGHEST & ~TN_GC_STATE),
               "two levels that no collection waits for");

static inline struct tn_gc_anchor *tn__native_level(const struct tn__mutator *mutator)
{
    return mutator->anchors + 1;
}

static inline struct tn_gc_anchor *tn__top_of(const struct tn__mutator *mutator)
{
    return __atomic_load_n(&mutator->block->top, __ATOMIC_SEQ_CST);
}

static inline void tn__set_top(struct tn__mutator *mutator, struct tn_gc_anchor *anchor)
{
    __atomic_store_n(&mutator->block->top, anchor, __ATOMIC_SEQ_CST);
}

/* Atomic, because a collector may be reading an anchor that was the top one a moment ago. */
static inline void tn__set_sp(struct tn_gc_anchor *anchor, uintptr_t sp)
{
    __atomic_store_n(&anchor->sp, sp, __ATOMIC_RELEASE);
}

/* Without the state. */
static inline uintptr_t tn__sp_of(const struct tn_gc_anchor *anchor)
{
    return __atomic_load_n(&anchor->sp, __ATOMIC_ACQUIRE) & ~(uintptr_t)TN_GC_STATE;
}

static inline bool tn__is_outside(const struct tn_gc_anchor *anchor)
{
    return __atomic_load_n(&anchor->sp, __ATOMIC_ACQUIRE) & TN_GC_OUTSIDE;
}

/* The thread leaves managed code, so no collection waits for it until tn__come_back is called with the returned level. NULL: it
 * was outside before. `state`: TN_GC_OUTSIDE, with TN_GC_FENCED if it calls no managed code meanwhile. */
struct tn_gc_anchor *tn__leave(struct tn__mutator *mutator, unsigned state);
/* Goes from a level outside managed code to `to`, the same level or a new one. Returns only while the world runs. */
void tn__come_back(struct tn__mutator *mutator, struct tn_gc_anchor *from, struct tn_gc_anchor *to);

/* Drops levels whose frames are gone: those below `fp`, and those that a callee left behind in the call of the level below. */
struct tn_gc_anchor *tn__drop_levels(struct tn_gc_anchor *p, uintptr_t fp);

/* ---- the lock and the world (thread.c) ---- */

/* From now on the thread is outside of managed code, so that it may wait for locks: its references must be in frames or handles.
 * The result is for tn__outside_end, which returns only while its heap's world runs. */
struct tn_gc_anchor *tn__outside_begin(void);
void tn__outside_end(struct tn_gc_anchor *level);

/* Waits for the lock outside of managed code, so no collection waits for this thread: the caller's references must be in
 * frames or handles. A thread that is attached to another heap stays outside until it has released the lock: otherwise two
 * threads could wait for each other's heaps. */
void tn__heap_lock(struct tn_heap *heap);
void tn__heap_unlock(struct tn_heap *heap);
/* True if the calling thread holds the lock. */
bool tn__heap_is_mine(const struct tn_heap *heap);

/* While the result is true objects stay where they are, because the thread has the lock; also if it is false, because the thread
 * is in managed code of this heap. Not a safepoint in managed code. */
bool tn__objects_hold(struct tn_heap *heap);
void tn__objects_release(struct tn_heap *heap, bool locked);

/* Under the lock: until tn__world_start, no other thread of the heap runs managed code or changes the heap. They nest. */
void tn__world_stop(struct tn_heap *heap);
void tn__world_start(struct tn_heap *heap);

/* True once no collection has to wait for the thread. */
bool tn__is_stopped(const struct tn__mutator *mutator);
/* Under the lock: returns when all other threads of the heap have stopped (await.c). */
void tn__await_stopped(struct tn_heap *heap);
/* The thread has just stopped: wakes the collector if that sleeps. */
void tn__wake_collector(struct tn_heap *heap);

/* What threads do for overflow.c when they attach and detach; NULL until it is used. Accessed atomically. */
struct tn__stack_watch {
    void (*attach)(struct tn__mutator *mutator);
    void (*detach)(struct tn__mutator *mutator);
};
extern const struct tn__stack_watch *tn__stack_watch;

/* In the child of a fork: forgets a thread that does not exist there. */
void tn__mutator_drop(struct tn__mutator *mutator);

enum { TN__STOP = 1, TN__STRESS = 2 }; /* bits of `poll` */

/* Called by assembly. `results`: the registers that may hold a call's result.
 * In stress mode: after a native call; at the beginning of a transition. */
void tn__gc_after_call(void *const results[TN__RESULTS]);
void tn__gc_begin_transition(void *const results[TN__RESULTS]);
/* If `poll` is set: at the end of a transition. */
void tn__gc_end_transition(void *const results[TN__RESULTS]);
/* After the second return of a function, if that came from a transition. */
void tn__gc_after_jump(void);

/* If the heap is in stress mode. */
void tn__collect_in_stress(struct tn__mutator *mutator);

/* Detects the processor features that assembly depends on. Before the first heap. */
void tn__gc_look_at_machine(void);

/* Has lazy stubs report the calls that wait in them (base/lazy_frame.h). */
void tn__watch_lazy_calls(void);

/* Makes the end of the thread's chunk visible to compiled code. */
void tn__publish_limit(struct tn__mutator *mutator);
/* Closes the thread's chunk at the end of its last object; the thread has none afterwards. */
void tn__retire(struct tn__mutator *mutator);

/* ---- heaps (heap.c) ---- */

struct tn_heap {
    pthread_mutex_t lock;
    const void *holder;     /* of the lock, see tn__this_thread; NULL: none. Accessed atomically */
    struct tn__list listed; /* in the list of all heaps */
    bool locked_for_fork;   /* by fork.c */
    uint32_t asleep;        /* not 0: the thread that stops the world sleeps; see await.c */
    bool fences;            /* the system refuses tn__os_fence_threads: threads use fences of their own */
    uint32_t stops;         /* calls of tn__world_stop without their tn__world_start */
    struct tn_heap_options options;
    struct tn__space space;
    uint64_t allocated, threshold; /* bytes since the last collection; how many start the next one */
    struct tn__list mutators;
    /* Guards handles and pins. They are made for objects that must not move meanwhile, so no collection happens while a
     * thread waits for it. Taken after `lock`. */
    pthread_mutex_t roots_lock;
    struct tn__list handles;
    struct tn__pin **pins; /* a hash table by object */
    size_t pin_count, pin_capacity;
    struct tn__finalizer *finalizers, *waiting, **waiting_end, *running;
    uint64_t waiting_count; /* written atomically under the lock, read also without it */
    struct tn_heap_stats stats;
    struct tn__snapshot *snapshot; /* for verification; see verify.c */
    char corruption[200];          /* what verification found, where that is not a constant text */
};

/* The list of all heaps, for forks (fork.c). These wait outside of managed code. */
void tn__heaps_add(struct tn_heap *heap);
void tn__heaps_remove(struct tn_heap *heap);

/* If this heap is the default, there is none any more (default.c). */
void tn__default_forget(struct tn_heap *heap);
void tn__default_lock(void);
void tn__default_unlock(void);

/* Reports a corrupt heap through its options; does not return. */
__attribute__((noreturn)) void tn__corrupt(struct tn_heap *heap, const char *what);

/* ---- allocation (allocate.c) ---- */

/* Under the lock; may collect. The object is zero except for its header. NULL: out of memory. */
void *tn__allocate(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t payload, const struct tn_type *type);

/* True if `bytes` more stay within the limit. */
static inline bool tn__within_limit(const struct tn_heap *heap, uint64_t bytes)
{
    return heap->space.in_use <= heap->options.limit && bytes <= heap->options.limit - heap->space.in_use;
}

/* ---- handles and pins ---- */

/* These take roots_lock. */
void tn__visit_handles(struct tn_heap *heap, tn_visit_slot *visit, void *context);
void tn__each_pin(struct tn_heap *heap, void (*visit)(void *context, void *object), void *context);
bool tn__pin(struct tn_heap *heap, void *object);
void tn__unpin(struct tn_heap *heap, const void *object);
/* In no scope. */
struct tn_handle *tn__handle_make(struct tn_heap *heap, void *object);
/* As tn_handle_free; under roots_lock, or in the child of a fork. */
void tn__handle_drop(struct tn_handle *handle);
/* The same: frees the handles of this scope and of those within it. */
void tn__scopes_end(struct tn__mutator *mutator, uint32_t depth);
/* Puts a new handle into the calling thread's scope, if there is one. */
void tn__handle_enter_scope(struct tn_handle *handle);

/* ---- collection (collect.c) ---- */

struct tn__collector {
    struct tn_heap *heap;
    struct tn__chunks to; /* what is copied goes here */
    char *bump, *limit;   /* the rest of the last chunk of `to` */
    uint32_t scan_chunk;  /* copies before `scan` in it, and in chunks before it, are scanned */
    char *scan;
    uint32_t grey_big, grey_kept;
    void *weak, *ephemerons; /* lists linked through the word that such objects reserve for the collector */
    uint64_t moved, pinned;
    bool is_full; /* no memory is left to copy to: remaining objects stay in place */
};

/* Under the lock: a whole collection, including stopping the world. */
void tn__collect_now(struct tn_heap *heap);

/* The world is stopped and every chunk retired. Fills in the counts of `done`. */
void tn__collect(struct tn_heap *heap, struct tn_collection *done);

/* Updates the slot to its object's new address; copies the object if that has not happened yet. */
void tn__forward_slot(void *collector, void **slot);
/* Pins the object for this collection. Before anything moves. */
void tn__keep(struct tn__collector *c, void *object);
/* Scans copies and kept objects until none is left. */
void tn__drain(struct tn__collector *c);
/* True if the object was reached so far. */
bool tn__is_live(const struct tn__collector *c, const void *object);

/* Clears weak references and queues finalizers, after everything strongly reachable was found (weak.c). */
void tn__settle_dead(struct tn__collector *c);

/* Runs queued finalizers, unless the calling thread is running them already. A safepoint; no lock may be held. */
void tn__run_finalizers_here(struct tn_heap *heap);

/* In the child of a fork: forgets those that other threads were running. */
void tn__finalizers_drop(struct tn_heap *heap);

/* The world is stopped. tn__verify_heap: after a collection; tn__verify_barriers: before the next one. */
void tn__verify_heap(struct tn_heap *heap);
void tn__verify_barriers(struct tn_heap *heap);
void tn__verify_end(struct tn_heap *heap);

/* Notes that a reference is about to be stored into a word of the object, and verifies that its type lists one there. NULL: into some
 * word; then the heap may be NULL as well. */
void tn__log(struct tn_heap *heap, void *object, const void *slot);
/* The same for compiled code. */
void tn__gc_log_here(void *object, const void *slot);

/* True if an object begins at this address. The world is stopped and every chunk retired (space.c). */
bool tn__is_object(const struct tn_heap *heap, const void *address);

/* Calls `visit` for every object, under the same conditions. */
void tn__each_object(struct tn_heap *heap, void (*visit)(void *context, void *object), void *context);

/* ---- stack maps (maps.c) ---- */

struct tn__map {
    uint64_t address; /* the return address */
    const uint8_t *function, *record;
};

/* Calls `safepoint` for each safepoint of a section until it returns nonzero, and returns that. Functions must lie in `code`.
 * TN_EFORMAT, possibly after some safepoints were visited. */
int tn__maps_read(const uint8_t *section, size_t size, struct tn_range code,
                  int (*safepoint)(void *context, const struct tn__map *map), void *context, struct tn_error *err);

/* Checks the section and enters its safepoints. The section must stay in place until they are removed. TN_EFORMAT, TN_ENOMEM:
 * nothing was entered. */
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

/* ---- what compiled code needs (loaded.c, files.c) ---- */

/* By name, besides tn__gc_block. */
#define TN__MANAGED_NAMES(X)                                                                                           \
    X(tn__gc_allocate)                                                                                                 \
    X(tn__gc_poll)                                                                                                     \
    X(tn__gc_log)                                                                                                      \
    X(tn__gc_move)                                                                                                     \
    X(tn__gc_enter)                                                                                                    \
    X(tn__gc_call_native)                                                                                              \
    X(tn__gc_call_twice)                                                                                               \
    X(tn__gc_return_twice)                                                                                             \
    X(tn__gc_call_outside)                                                                                             \
    X(tn__gc_call_outside_memory)                                                                                      \
    X(tn_weak_type)                                                                                                    \
    X(tn_ephemeron_type)                                                                                               \
    X(tn_call_blocking)                                                                                                \
    X(tn_pin_object)                                                                                                   \
    X(tn_unpin_object)                                                                                                 \
    X(tn_managed_begin)                                                                                                \
    X(tn_managed_end)                                                                                                  \
    X(tn_heap_current)                                                                                                 \
    X(tn_heap_collect)                                                                                                 \
    X(tn_heap_stats)                                                                                                   \
    X(tn_handle_of)                                                                                                    \
    X(tn_handle_free)                                                                                                  \
    X(tn_handle_finalize)                                                                                              \
    X(tn_run_pending_finalizers)

/* ---- stacks (walk.c) ---- */

/* Visits every managed frame of the thread: its references and derived pointers with `slot`, unless that is NULL, and the
 * objects that it pins with `pin`. Returns what is wrong with the stack, or NULL. */
const char *tn__walk_stack(const struct tn__mutator *mutator, tn_visit_slot *slot,
                           void (*pin)(void *context, void *object), void *context);

/* ---- roots (roots.c) ---- */

int tn__roots_add_section(uint64_t owner, const uint8_t *section, size_t size, struct tn_range data,
                          struct tn_error *err);
void tn__roots_remove_owner(uint64_t owner);
int tn__roots_add_program(struct tn_error *err);
void tn__visit_roots(tn_visit_slot *slot, void *context);

#pragma GCC visibility pop
#endif
