/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What all collectors share: allocation and collections from their beginning to their end, roots, dead objects, and
 * verification. */

#ifndef TENON_GC_COLLECT_H
#define TENON_GC_COLLECT_H

#include "gc/threads/threads.h"

#pragma GCC visibility push(hidden)

/* ---- allocation (allocate.c) ---- */

/* Under the lock; may collect. The object is zero except for its header. NULL: out of memory. */
void *tn__allocate(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t payload, const struct tn_type *type);

/* ---- collection (collect.c) ---- */

/* What tn__gc_log does, in managed code or while objects are held: remembers that `value` is about to be stored into
 * the word `slot` of the object, or values into any of its words (NULL). */
void tn__log_store(struct tn_heap *heap, void *object, void *slot, void *value);

/* Under the lock: a whole collection, including stopping the world. */
void tn__collect_now(struct tn_heap *heap, enum tn__extent extent);

/* The phase of the heap's collection that began when the last one ended has ended. */
void tn__phase_end(struct tn_heap *heap, enum tn_collection_phase phase);

/* For on_collection: what a thread has done. While the world is stopped, or by the holder of heap->beside. */
void tn__note_work(struct tn_heap *heap, const struct tn_collection_work *work);

/* A collection, or a part of one that reaches objects from roots. A collector's own struct begins with it. */
struct tn__collecting {
    const struct tn__tracing *tracing;
    struct tn_heap *heap;
    bool is_partial; /* all old objects are live: finalizers that were there at the last collection are not looked at */
    void *weak, *ephemerons; /* lists linked through the word that such objects reserve for the collector */
    struct tn__keys *keys;   /* that ephemerons wait for; NULL: for none */
    uint64_t moved, pinned;  /* bytes; objects */
};

/* Clears the results of calls that are not objects, while the collector's data still tells which are. */
void tn__sift_results(struct tn_heap *heap, bool (*is_object)(const struct tn_heap *heap, const void *address));
/* Keeps everything that is pinned, then forwards all roots. */
void tn__find_roots(struct tn__collecting *c);
/* Forwards the references of an object that was reached. */
void tn__scan(struct tn__collecting *c, void *object);

/* ---- ephemerons (ephemerons.c) ---- */

/* Reaches the values of live keys, until no more keys become live. Those of dead keys stay in the list. */
void tn__settle_ephemerons(struct tn__collecting *c);
/* Of the list. */
void tn__clear_ephemerons(struct tn__collecting *c);

void tn__key_reached(struct tn__collecting *c, const void *object);

/* A collector calls this when it reaches an object for the first time, with its address before it moved. */
static inline void tn__reached(struct tn__collecting *c, const void *object)
{
    if (__builtin_expect(c->keys != NULL, false))
        tn__key_reached(c, object);
}

/* ---- weak references and finalizers (weak.c) ---- */

struct tn__finalizer {
    struct tn__finalizer *next;
    const void *runner; /* the thread that runs it, see tn__this_thread */
    uintptr_t frame;    /* of the function that called it; stacks grow down */
    void *object;
    void (*function)(void *context, struct tn_handle *object);
    void *context;
    struct tn_handle *handle; /* made beforehand, so that running cannot fail */
};

/* Clears weak references and queues finalizers, after everything strongly reachable was found. */
void tn__settle_dead(struct tn__collecting *c);

/* Runs queued finalizers, unless the calling thread is running them already. A safepoint; no lock may be held. */
void tn__run_finalizers_here(struct tn_heap *heap);

/* In the child of a fork: forgets those that other threads were running. */
void tn__finalizers_drop(struct tn_heap *heap);

/* ---- permanent objects of images (permanent.c); under the heap's lock ---- */

struct tn__permanent_part {
    char *start;
    uint64_t size;
    uint64_t identity; /* added to the address of an object: what its identity hash is made of */
    bool is_frozen;
};

/* Adds the parts of an image, all or none. `at_end` is called when the heap is destroyed, the newest image's first.
 * TN_EINVAL, TN_ENOMEM. */
int tn__permanent_add(struct tn_heap *heap, const struct tn__permanent_part *parts, size_t count, void *owner,
                      void (*at_end)(void *owner), struct tn_error *err);
/* Removes them; `at_end` is not called. */
void tn__permanent_remove(struct tn_heap *heap, const void *owner);
/* The owners, oldest first. NULL: there are no more. */
void *tn__permanent_owner(const struct tn_heap *heap, size_t index);
/* Stores a reference into a permanent object, while objects stay where they are (tn__objects_hold). */
void tn__permanent_store(struct tn_heap *heap, void *object, void **slot, void *value);

/* ---- large arrays among these (cards.c); changed as the list of logged objects is ---- */

struct tn__cards {
    struct tn__card_array *arrays; /* by address */
    size_t count, capacity;
};

/* Whether stores into the object are noted here. */
bool tn__cards_cover(const void *object);
/* Notes a store to a word of it; NULL: to any. False: no memory. */
bool tn__cards_note(struct tn__cards *all, void *object, const void *slot);
/* Visits the references in cards that were stored to. */
void tn__cards_visit(const struct tn__cards *all, tn_visit_slot *visit, void *context);
/* Forgets cards without references into the heap. */
void tn__cards_clean(struct tn__cards *all, const struct tn_heap *heap);
/* Whether all references of the object into the heap are in cards that were noted. */
bool tn__cards_hold(const struct tn__cards *all, const struct tn_heap *heap, void *object);
/* Forgets objects from `start` to `end`. */
void tn__cards_forget(struct tn__cards *all, const char *start, const char *end);
void tn__cards_free(struct tn__cards *all);

/* ---- verification (verify.c) ---- */

/* With TN_HEAP_VERIFY, while the world is stopped. tn__verify_heap: after a collection, or a part of one that could be
 * the last; tn__verify_barriers: before the next one. */
void tn__verify_heap(struct tn_heap *heap);
void tn__verify_barriers(struct tn_heap *heap);
void tn__verify_end(struct tn_heap *heap);

/* What the barrier does if the heap is verified: notes that `value` is about to be stored into a word of the object,
 * and verifies that its type lists a reference there. NULL: values may be stored into any of its words. */
void tn__verify_log(struct tn_heap *heap, void *object, void *slot, void *value);

#pragma GCC visibility pop
#endif
