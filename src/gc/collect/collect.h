/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Allocation and collection. */

#ifndef TENON_GC_COLLECT_H
#define TENON_GC_COLLECT_H

#include "gc/threads/threads.h"

#pragma GCC visibility push(hidden)

/* ---- allocation (allocate.c) ---- */

/* Under the lock; may collect. The object is zero except for its header. NULL: out of memory. */
void *tn__allocate(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t payload, const struct tn_type *type);

/* ---- collection (collect.c) ---- */

/* Under the lock: a whole collection, including stopping the world. */
void tn__collect_now(struct tn_heap *heap);

/* ---- copying (copy.c) ---- */

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

/* The world is stopped and every chunk retired. Afterwards only live objects are left. */
void tn__copy_begin(struct tn__collector *c);
void tn__copy_end(struct tn__collector *c);

/* Updates the slot to its object's new address; copies the object if that has not happened yet. */
void tn__forward_slot(void *collector, void **slot);
/* Pins the object for this collection. Before anything moves. */
void tn__keep(void *collector, void *object);
/* Scans copies and kept objects until none is left. */
void tn__drain(struct tn__collector *c);
/* True if the object was reached so far. */
bool tn__is_live(const struct tn__collector *c, const void *object);

/* ---- weak references and finalizers (weak.c) ---- */

struct tn__finalizer {
    struct tn__finalizer *next;
    const void *runner; /* the thread that runs it, see tn__this_thread */
    void *object;
    void (*function)(void *context, struct tn_handle *object);
    void *context;
    struct tn_handle *handle; /* made beforehand, so that running cannot fail */
};

/* Clears weak references and queues finalizers, after everything strongly reachable was found. */
void tn__settle_dead(struct tn__collector *c);

/* Runs queued finalizers, unless the calling thread is running them already. A safepoint; no lock may be held. */
void tn__run_finalizers_here(struct tn_heap *heap);

/* In the child of a fork: forgets those that other threads were running. */
void tn__finalizers_drop(struct tn_heap *heap);

/* ---- verification (verify.c) ---- */

/* Reports a corrupt heap through its options; does not return. */
__attribute__((noreturn)) void tn__corrupt(struct tn_heap *heap, const char *what);

/* The world is stopped. tn__verify_heap: after a collection; tn__verify_barriers: before the next one. */
void tn__verify_heap(struct tn_heap *heap);
void tn__verify_barriers(struct tn_heap *heap);
void tn__verify_end(struct tn_heap *heap);

/* What the barrier does if the heap is verified: notes that `value` is about to be stored into a word of the object,
 * and verifies that its type lists a reference there. NULL: values may be stored into any of its words. */
void tn__log(struct tn_heap *heap, void *object, void *slot, void *value);
/* The same for compiled code. */
void tn__gc_log_here(void *object, void *slot, void *value);

#pragma GCC visibility pop
#endif
