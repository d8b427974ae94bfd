/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A heap, its threads, and their references. A heap's lock guards all of it, except what a thread does with its own
 * memory. The collecting thread holds the lock from the stop request until the world runs again, so a thread that waits
 * for the lock waits for the collection. */

#ifndef TENON_GC_THREADS_H
#define TENON_GC_THREADS_H

#include "base/lazy_frame.h"
#include "base/mutex.h"
#include "gc/object/object.h"
#include "gc/threads/collector.h"

#pragma GCC visibility push(hidden)

/* ---- heaps ---- */

/* A log of work. What does not fit is not noted. Used while the world is stopped, or by the holder of `beside`. */
struct tn__work_log {
    struct tn_collection_work rows[64];
    uint32_t count;
};

struct tn__collecting;

/* What collections and others do with permanent objects (collect/permanent.c). The world is stopped, except for `log`,
 * which is for barriers and not a safepoint, and for `count` and `identity`. */
struct tn__permanent_work {
    /* `slot` and `value` as tn__gc_log has them. */
    void (*log)(struct tn_heap *heap, void *object, void *slot, void *value);
    void (*scan)(struct tn__collecting *c); /* forwards references of the logged ones, but for weak kinds */
    void (*link)(struct tn__collecting *c); /* enters these in the lists of weak objects and ephemerons */
    void (*arm)(struct tn_heap *heap);      /* those that refer to the heap no longer; after a collection */
    void (*verify)(struct tn_heap *heap);   /* before one: those that refer to the heap are logged */
    void (*each_object)(const struct tn_heap *heap, void (*visit)(void *context, void *object), void *context);
    void (*count)(const struct tn_heap *heap, struct tn_heap_stats *stats);
    bool (*is_start)(struct tn_heap *heap, const void *address);          /* or it lies in no space */
    uint64_t (*identity)(const struct tn_heap *heap, const void *object); /* what its hash is made of */
    void (*end)(struct tn_heap *heap);
};

struct tn_heap {
    struct tn__mutex lock;
    const void *holder;     /* of the lock, see tn__this_thread; NULL: none. Accessed atomically */
    struct tn__list listed; /* in the list of all heaps */
    bool locked_for_fork;   /* by heaps.c */
    bool awaits_fork;       /* the holder of the lock waits in heaps.c until another thread has forked. Atomic */
    uint32_t asleep;        /* not 0: the thread that stops the world sleeps; see await.c */
    bool fences;            /* the system refuses tn__os_fence_threads: threads use fences of their own */
    uint32_t forks;         /* whose child the process is, since the heap was made */
    uint32_t stops;         /* calls of tn__world_stop without their tn__world_start */
    /* Whatever touches objects beside the heap's threads without being one holds `beside`, and gives it back soon after
     * `beside_stops` has become other than 0 (2: and sleeps until it is 0). Held while the world is stopped. */
    struct tn__mutex beside;
    uint32_t beside_stops;
    uint32_t beside_held; /* the number that `stops` had when `beside` was taken; 0: it is free for others */
    struct tn_heap_options options;
    const struct tn_collector *collector;
    void *own;          /* the collector's */
    uintptr_t start;    /* of the addresses that its objects are in */
    uint64_t size;      /* bytes of these */
    uint64_t in_use;    /* bytes that objects are in, and free ones between these */
    uint64_t large;     /* those of large objects */
    uint64_t committed; /* bytes that it has from the system */
    uintptr_t young;    /* as in the blocks of its threads */
    uint64_t young_size;
    struct tn__list mutators;
    struct tn__permanent *permanent; /* its permanent objects; NULL, as the next one: there have been none */
    const struct tn__permanent_work *permanent_work; /* written atomically */
    /* Guards handles and pins. They are made for objects that must not move meanwhile, so no collection happens while a
     * thread waits for it. Taken after `lock`. */
    struct tn__mutex roots_lock;
    struct tn__list handles;
    struct tn__pin **pins; /* a hash table by object */
    size_t pin_count, pin_capacity;
    /* Made since the last collection; before it; of dead objects; being run. */
    struct tn__finalizer *finalizers, *old_finalizers, *waiting, **waiting_end, *running;
    uint64_t waiting_count; /* written atomically under the lock, read also without it */
    struct tn_heap_stats stats;
    struct tn_collection *current; /* the collection that is going on */
    uint64_t phase_start;          /* of its present phase */
    struct tn__work_log work;      /* since the last collection */
    struct tn__snapshot *snapshot; /* for verification; see verify.c */
    char corruption[200];          /* what verification found, where that is not a constant text */
    bool is_corrupt;               /* on_corruption was called. Accessed atomically */
};

/* `budget` bytes in use, but at most the soft limit as long as an eighth of that is free with `live` bytes. */
static inline uint64_t tn__within_soft_limit(const struct tn_heap *heap, uint64_t live, uint64_t budget)
{
    uint64_t soft = heap->options.soft_limit;
    return live <= soft - soft / 8 ? tn__min64(budget, soft) : budget;
}

/* True if the heap stays within its limit with as many `unit`s more as an object of `bytes` takes, which may be aligned
 * to 16. A size beyond the limit does not overflow. */
static inline bool tn__is_within_limit(const struct tn_heap *heap, uint64_t bytes, uint64_t unit)
{
    uint64_t limit = heap->options.limit;
    return heap->in_use <= limit && bytes <= limit && tn__align_up(bytes + 16, unit) <= limit - heap->in_use;
}

static inline bool tn__is_in_heap(const struct tn_heap *heap, const void *address)
{
    return (uintptr_t)address - heap->start < heap->size;
}

/* Reports a corrupt heap through its options; does not return. */
__attribute__((noreturn)) void tn__corrupt(struct tn_heap *heap, const char *what);

/* The barrier's tests (doc/GC.md): true if the store of `value` into the object has to be logged. */
static inline bool tn__needs_log(const struct tn_heap *heap, const void *object, const void *value)
{
    uint64_t header = tn__header_now(object);
    return (header & TN_GC_UNLOGGED) &&
           ((header & TN_GC_PERMANENT) || ((uintptr_t)value ^ heap->young) < heap->young_size);
}

/* ---- threads (thread.c) ---- */

enum { TN__RESULTS = 8 }; /* registers that may hold a call's result */

struct tn__mutator {
    /* The collector's. While log_at is below log_end, tn__gc_log stores the slot there instead of calling it. */
    uintptr_t *log_at, *log_end;
    struct tn_heap *heap;
    struct tn_gc_block *block;
    struct tn__list all;
    struct tn_gc_anchor *anchors; /* the array; the first two have no frames */
    uint64_t anchors_size;        /* bytes of address space */
    uint64_t stack_end;           /* of the thread's stack; 0: unknown */
    uint64_t stack_size;          /* at most */
    struct tn_gc_anchor *away;    /* the level that it left for the lock of another heap; NULL: none */
    uint64_t signal_stack;        /* 0: none of ours; see overflow.c */
    size_t signal_stack_size;
    uint32_t thread;          /* its number in the system */
    uint32_t chunk;           /* the collector's: what it allocates from, up to `limit`; 0: nothing */
    char *chunk_start;        /* likewise */
    void *log;                /* the collector's: what its barriers have remembered */
    char *limit;              /* the value of block->limit unless the world is to stop */
    struct tn_handle *newest; /* handle in its scopes */
    uint32_t scope_depth;
    struct tn__lazy_frame *calls; /* whose lazy functions are being looked up, newest first */
    void *results[TN__RESULTS];   /* of a call that has just returned, pinned: see tn__gc_after_call */
};

/* Indexes of `runtime` in a thread's block. Assembly sets TN__COLLECTED to NULL; it is not NULL once the thread has
 * collected. */
enum { TN__MUTATOR, TN__COLLECTED };

static inline struct tn__mutator *tn__self(void)
{
    return tn__gc_block.runtime[TN__MUTATOR];
}

#define TN__EACH_MUTATOR(mutator, heap) TN_EACH(struct tn__mutator, mutator, &(heap)->mutators, all)

/* Identifies the calling thread, also in the child of its forks. */
static inline const void *tn__this_thread(void)
{
    return &tn__gc_block;
}

enum { TN__STOP = 1, TN__STRESS = 2 }; /* bits of `poll` */

/* The anchors of threads that are attached to no heap: both are alike, so entries take the slow path. */
extern struct tn_gc_anchor tn__unattached[3];

/* What threads do for overflow.c when they attach and detach; NULL until it is used. Accessed atomically. */
struct tn__stack_watch {
    void (*attach)(struct tn__mutator *mutator);
    void (*detach)(struct tn__mutator *mutator);
};
extern const struct tn__stack_watch *tn__stack_watch;

/* In the child of a fork: forgets a thread that does not exist there. */
void tn__mutator_drop(struct tn__mutator *mutator);

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

/* The thread leaves managed code, so no collection waits for it until tn__come_back is called with the returned level.
 * NULL: it was outside before. `state`: TN_GC_OUTSIDE, with TN_GC_FENCED if it calls no managed code meanwhile. */
struct tn_gc_anchor *tn__leave(struct tn__mutator *mutator, unsigned state);
/* Goes from a level outside managed code to `to`, the same level or a new one. Returns only while the world runs. */
void tn__come_back(struct tn__mutator *mutator, struct tn_gc_anchor *from, struct tn_gc_anchor *to);

/* If a collector is waiting: after the thread left managed code in a place that is slow anyway. */
void tn__wake_if_stopping(const struct tn__mutator *mutator);

/* Drops levels whose frames are gone: those below `fp`, and those that a callee left behind in the call of the level
 * below. */
struct tn_gc_anchor *tn__drop_levels(struct tn_gc_anchor *p, uintptr_t fp);

/* NULL unless one of two places with managed frames is on the thread's stack and the other one is not: then what is
 * wrong. Levels are known by where they are on one stack, and those of another one would look abandoned. */
const char *tn__find_other_stack(const struct tn__mutator *mutator, uintptr_t a, uintptr_t b);
/* A level at `sp` is not there any more: the thread has run something else on another stack meanwhile. */
__attribute__((noreturn)) void tn__lost_level(const struct tn__mutator *mutator, uintptr_t sp);

/* ---- the lock and the world (world.c, await.c) ---- */

/* From now on the thread is outside of managed code, so that it may wait for locks: its references must be in frames or
 * handles. The result is for tn__outside_end, which returns only while its heap's world runs. */
struct tn_gc_anchor *tn__outside_begin(void);
void tn__outside_end(struct tn_gc_anchor *level);

/* For functions that wait for other threads or make objects: TN_ECYCLE in a callback. */
int tn__may_wait(struct tn_error *err);
/* For functions that have no error to return: reports the heap as corrupt; does not return. */
__attribute__((noreturn)) void tn__refuse_callback(struct tn_heap *heap);
/* For functions that use objects of this heap: TN_ECYCLE in a callback under another heap's lock, and in visitors. */
int tn__may_use(const struct tn_heap *heap, struct tn_error *err);

/* Waits for the lock outside of managed code, so no collection waits for this thread: the caller's references must be
 * in frames or handles. A thread that is attached to another heap stays outside until it has released the lock:
 * otherwise two threads could wait for each other's heaps. In a callback, this reports the heap as corrupt. */
void tn__heap_lock(struct tn_heap *heap);
void tn__heap_unlock(struct tn_heap *heap);
/* True if the calling thread holds the lock. */
bool tn__heap_is_mine(const struct tn_heap *heap);

/* While the result is true objects stay where they are, because the thread has the lock; also if it is false, because
 * the thread is in managed code of this heap or in a callback under its lock. Not a safepoint in managed code. */
bool tn__objects_hold(struct tn_heap *heap);
void tn__objects_release(struct tn_heap *heap, bool locked);

/* Under the lock: until tn__world_start, no other thread of the heap runs managed code or changes the heap. They
 * nest. */
void tn__world_stop(struct tn_heap *heap);
void tn__world_start(struct tn_heap *heap);

/* Under the lock: returns when all other threads of the heap have stopped (await.c). */
void tn__await_stopped(struct tn_heap *heap);

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

/* ---- frames of this processor (host_MACHINE.c) ---- */

/* Distance from the frame pointer to the frame record: the caller's frame pointer, and then the return address. */
extern const int tn__frame_record;

/* A return address as the caller left it: without what the function has added to protect it. */
uintptr_t tn__plain_address(uintptr_t address);

static inline uintptr_t tn__outer_frame_at(uintptr_t fp)
{
    return fp + (uintptr_t)(intptr_t)tn__frame_record;
}

static inline uintptr_t tn__return_address_at(uintptr_t fp)
{
    return tn__outer_frame_at(fp) + sizeof(uintptr_t);
}

/* ---- stacks (walk.c) ---- */

/* Visits every managed frame of the thread: its references and derived pointers with `slot`, unless that is NULL, and
 * the objects that it pins with `pin`. Returns what is wrong with the stack, or NULL. */
const char *tn__walk_stack(const struct tn__mutator *mutator, tn_visit_slot *slot,
                           void (*pin)(void *context, void *object), void *context);

#pragma GCC visibility pop
#endif
