/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Full collections whose objects are marked beside threads. Where only one worker is allowed, marking goes on when a
 * thread gets new memory and at no other time, so these tests choose what is marked before a reference is moved from a
 * place that the marker has not seen to one that it does not look at again. */

#ifndef TENON_TESTS_GC_CYCLES_H
#define TENON_TESTS_GC_CYCLES_H

#include "support.h"

#include "gc/generational/cycle.h"

/* Of the heap that was opened last; tracing_ns: in its last pause. */
extern struct collections_seen {
    uint64_t concurrent, full, pauses, tracing_ns;
} seen;

/* With the concurrent collector; attaches the calling thread. */
struct tn_heap *open_marked_heap(uint64_t workers, uint64_t flags, uint64_t limit);
/* A pause; it may end a cycle. */
void pause_now(struct tn_heap *heap);
bool is_marking(struct tn_heap *heap);
/* As if the thread had got new memory again and again: so this marks all that the marker knows of. */
void mark(struct tn_heap *heap);
/* As if more had been allocated since the last one. */
void begin_cycle(struct tn_heap *heap);
/* Begins one if there is none. */
void end_cycle(struct tn_heap *heap);

/* ---- hiding ---- */

/* `black` is reached first, from a handle, and `white` only by a chain from `grey`. */
struct scene {
    struct tn_heap *heap;
    struct tn_handle *black, *grey, *moved;
};

/* In a cycle that has just begun; *state points to flags. */
struct scene open_scene(void **state);
/* The only reference to the white object goes into a handle, before the object that had it is marked. */
void hide(struct scene *s);
/* The cycle ends, and `holder`, or the next node if it `steps`, still is the white object. */
void close_scene(struct scene *s, struct tn_handle *holder, bool steps);
void load_next(const struct tn_handle *from, struct tn_handle *to);
void store_next(struct tn_handle *to, const struct tn_handle *value);
struct tn_handle *make_weak(struct tn_heap *heap, const struct tn_handle *target);

/* Each with the heap verified, and without, because then fewer stores are logged. */
extern uint64_t verified, bare;

#define VERIFIED(test)                                                                                                 \
    {#test, test, NULL, NULL, &verified},                                                                              \
    {                                                                                                                  \
#test ", not verified", test, NULL, NULL, &bare                                                                \
    }

#endif
