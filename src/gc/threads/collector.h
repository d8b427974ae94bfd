/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The interface between collectors and everything else: heaps, threads, stack maps and roots know a collector by these
 * functions only. A program contains the collectors that it names (tenon_heap.h).
 *
 * A collector has its own data in heap->own, and keeps start, size, in_use, large, committed, young and young_size of
 * the heap up to date. It gets roots and dead objects from the room `collect`, to which it hands a struct
 * tn__collection. */

#ifndef TENON_GC_COLLECTOR_H
#define TENON_GC_COLLECTOR_H

#include <stdbool.h>

#include "tenon_heap.h"

struct tn__mutator;

/* What a collection is to reclaim, from the least. COMPACT: right after a FULL one, what moving objects together makes
 * of it. TRIM: all of this, and free memory goes back to the system. */
enum tn__extent { TN__NOTHING, TN__PARTIAL, TN__FULL, TN__COMPACT, TN__TRIM };

struct tn_collector {
    const char *name;            /* for TENON_GC */
    enum tn__extent last_resort; /* what makes the most space for an object: FULL or COMPACT */

    /* ---- a heap ---- */

    /* Reserves memory; heap->options are complete. TN_ENOMEM: nothing is left behind. */
    int (*open)(struct tn_heap *heap, struct tn_error *err);
    void (*close)(struct tn_heap *heap);

    /* ---- allocation; under the heap's lock, except `log` ---- */

    /* Whether a collection is due before the thread (NULL: one of another heap, or of none) allocates `size` bytes,
     * header included. */
    enum tn__extent (*due)(const struct tn_heap *heap, const struct tn__mutator *mutator, uint64_t size);
    /* Makes space for an object, after its header. NULL: memory or the limit does not allow it. */
    void *(*take)(struct tn_heap *heap, struct tn__mutator *mutator, uint64_t size, const struct tn_type *type);
    /* Takes the memory back that the thread allocates in; its limit is NULL then. The world is stopped, or the thread
     * is being detached. */
    void (*retire)(struct tn__mutator *mutator);
    /* tn__gc_log (tenon_gc.h), in managed code or while objects are held. */
    void (*log)(struct tn_heap *heap, void *object, void *slot, void *value);

    /* ---- the world is stopped, and every thread retired ---- */

    /* Fills in moved, pinned and all from `full` to `holes`, and says when its phases end (tn__phase_end). */
    void (*collect)(struct tn_heap *heap, enum tn__extent extent, struct tn_collection *done);
    void (*each_object)(const struct tn_heap *heap, void (*visit)(void *context, void *object), void *context);
};

struct tn__collecting;

/* How the room `collect` traces objects on behalf of a collector. `collection` is a struct tn__collecting. */
struct tn__tracing {
    /* Reaches the object of a slot, and updates the slot. */
    tn_visit_slot *forward;
    /* Reaches an object that must not move; before anything has moved. */
    void (*keep)(void *collection, void *object);
    /* True if the object was reached so far, or is not collected. */
    bool (*is_live)(const struct tn__collecting *collection, const void *object);
    /* Scans objects that were reached until none is left (tn__scan). */
    void (*drain)(struct tn__collecting *collection);
};

#endif
