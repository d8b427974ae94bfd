/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A full collection whose objects are marked beside threads, between two pauses: what its marking (marker.c) and its
 * course (concurrent.c) share. Used while the world is stopped, or by the holder of heap->beside. */

#ifndef TENON_GC_CYCLE_H
#define TENON_GC_CYCLE_H

#include "gc/generational/mark.h"

#pragma GCC visibility push(hidden)

enum { TN__SHORT_NS = 100000 }; /* of a pause, for what is left to be marked; a pause that needs less ends the cycle */

/* The rest of a long array, which is looked at in parts: its elements are references (no type), or structs. */
struct tn__rest {
    char *at;
    uint64_t count;
    const struct tn_type *type;
};

/* An object that was allocated in the old space. */
struct tn__born {
    void *object;
    uint64_t size;
};

/* A hole in which a thread has allocated, from its start on. */
struct tn__filled {
    char *start, *end, *hole_end;
};

struct tn__filled_list {
    struct tn__filled *items;
    size_t count, capacity;
};

struct tn__cycle {
    struct tn_heap *heap;
    struct tn__worker marker;
    struct tn__packet *found[TN__FOUND_COUNT];
    struct tn__rest *rests;
    size_t rest_count, rest_capacity;
    struct tn__born *born; /* since the last pause; under the heap's lock */
    size_t born_count, born_capacity;
    struct tn__filled_list fresh, filled; /* likewise; before it: for the marker */
    struct tn__log *noted;                /* objects that threads have marked; under log_lock */
    uint64_t deadline;                    /* at which tn__mark_beside stops; 0: when the world is to stop */
    bool is_dry;                          /* nothing was left to be marked at that time. Also read by others: atomic */
    struct tn__packet *looking;           /* ephemerons whose keys may have been marked since: the packet, */
    uint32_t looking_at;                  /* the entry, */
    bool is_looking, has_found;           /* and whether there were any since the first packet */

    bool begins;                    /* in the pause that goes on */
    bool is_dirty;                  /* bits of an earlier cycle are in the spare tables, */
    uint32_t next_dirty, dirty_end; /* up to this block; the unit that is next to be cleared */
    uint64_t new_bytes;             /* bytes that threads got since one of them last helped */
    uint64_t early;                 /* bytes before the budget is reached that the next cycle begins at */
    uint64_t used_before, start, marking_ns, used_at_pause, slice_ns; /* as the cycle began; so far; ... */

    pthread_t thread;
    bool has_thread, wants_thread, ends;
    uint32_t forks, process; /* heap->forks when the thread was started; the process that may start one */
    uint32_t event;          /* futex word: changed when there is work for it */
    bool sleeps;             /* on that word. Atomic */
};

/* ---- allocation in holes (spans.c) ---- */

/* The functions of struct tn__beside. */
void tn__span_open(struct tn__generational *g, char *start, char *end);
void tn__span_settle(struct tn__generational *g, char *start, char *end, char *hole_end);
/* In a pause: what threads have filled is for the marker now. */
void tn__spans_hand_over(struct tn__cycle *cycle);

/* The next two too. */
size_t tn__sift_stores(struct tn__generational *g, uintptr_t *entries, size_t count);
/* A buffer of marked objects that have not been scanned; the caller's. NULL: there is none. */
struct tn__log *tn__take_noted(struct tn__cycle *cycle);

/* ---- marking (marker.c) ---- */

/* From now on nothing is marked. The second tables are clear. */
void tn__marker_reset(struct tn__cycle *cycle);
/* Marks until the deadline. True: nothing is left, except what pauses have to find. */
bool tn__mark_beside(struct tn__cycle *cycle);
/* While the world is stopped: visits objects that have visitors. False: the deadline was reached. */
bool tn__visit_some(struct tn__cycle *cycle);
/* The same, and marks all that is left. */
bool tn__mark_in_pause(struct tn__cycle *cycle);
/* In a pause: marks what was allocated in the old space since the last one. */
void tn__mark_noted(struct tn__cycle *cycle);
/* The functions of the same names in struct tn__beside. */
void tn__mark_born(struct tn__worker *w, void *object, const struct tn_type *type, uint64_t size);
void tn__mark_later(struct tn__worker *w, void *object);
/* Clears weak references and queues finalizers; everything is marked, but for what they reach. */
void tn__marker_settle(struct tn__cycle *cycle);
/* Packets of lists become unused. */
void tn__marker_forget(struct tn__cycle *cycle);

/* ---- verification (concurrent.c) ---- */

#pragma GCC visibility pop
#endif
