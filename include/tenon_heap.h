/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The collected heap, for programs around managed code: heaps, types, handles. Managed code itself is written against
 * tenon_managed.h or comes from a compiler of yours (doc/IR.md); doc/GC.md explains how they fit together.
 *
 * A thread that is not in managed code refers to objects by handles, whatever the collector does meanwhile; it holds up no
 * collection. Raw addresses are good between tn_managed_begin and tn_managed_end until the next safepoint, or while pinned.
 *
 * Threads: all functions may be called from any thread at any time, also by managed code's callees and in blocking calls. A
 * handle is used by one thread at a time. Errors as in tenon.h. */

#ifndef TENON_HEAP_H
#define TENON_HEAP_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types ---- */

enum tn_kind {
    TN_KIND_LEAF = 0,   /* no references; may have elements */
    TN_KIND_FIXED,      /* references where `references` or `offsets` say; elements hold none */
    TN_KIND_REFERENCES, /* the elements, of 8 bytes, are references */
    TN_KIND_STRUCTS,    /* the elements are structs with references where `references` or `offsets` say */
    TN_KIND_WEAK, /* 16 bytes: a reference that becomes null when its object dies, and a word of the collector's */
    TN_KIND_EPHEMERON, /* 24 bytes: key, value, a word of the collector's; the value lives if key and ephemeron do; both become
                          null when the key dies */
    TN_KIND_CUSTOM, /* `visit` finds the references */
};

/* Called for each slot that holds a reference or null. */
typedef void tn_visit_slot(void *context, void **slot);

/* Describes objects. Lives as long as objects of it; constants of a program do. The collector trusts it. */
struct tn_type {
    const char *name;        /* for statistics; may be NULL */
    uint32_t kind;           /* enum tn_kind */
    uint32_t alignment;      /* of payloads: 8 or 16 */
    uint64_t size;           /* bytes of payload, of arrays those before the first element */
    uint64_t element;        /* arrays: bytes of an element; 0: no array */
    uint64_t length;         /* arrays: where in the payload the number of elements lies, 64 bits */
    uint64_t references;     /* bit i: the word at 8 * i of the object, or of an element, is a reference */
    const uint32_t *offsets; /* or, if not NULL: distances in bytes of the words that are */
    uint64_t offset_count;
    void (*visit)(void *object, tn_visit_slot *slot, void *context); /* may not call anything of the heap */
} __attribute__((aligned(16)));

/* Ready-made: objects of these two hold what their first words refer to weakly. */
TN_API extern const struct tn_type tn_weak_type, tn_ephemeron_type;

/* ---- heaps ---- */

struct tn_heap;   /* opaque */
struct tn_handle; /* opaque: refers to an object, wherever it moves, and keeps it alive */

enum {
    TN_HEAP_STRESS =
        1, /* collect and move at every safepoint, and unmap what was moved from; doc/GC.md says where these are */
    TN_HEAP_VERIFY = 2, /* check the whole heap after each collection; what is wrong goes to on_corruption */
};

struct tn_collection {
    size_t size;                   /* of this struct */
    uint64_t number;               /* of the heap's collections, from 1 */
    uint64_t stop_ns, pause_ns;    /* until all threads had stopped; from the request until they went on */
    uint64_t before, after, moved; /* bytes of chunks and large objects in use; bytes copied */
    uint64_t pinned;               /* objects that stayed where they were for a pin */
};

struct tn_heap_options {
    size_t size;      /* sizeof(struct tn_heap_options) */
    uint64_t limit;   /* bytes in use after a collection, that of copying apart; 0: 16 GiB */
    uint64_t minimum; /* bytes allocated between two collections at least; 0: 32 MiB */
    uint64_t flags;   /* TN_HEAP_... */
    /* Managed code asked for an object of `payload` bytes and there is no memory, not even after a collection. Must not return: it
     * ends the program or leaves by longjmp. NULL: a trap instruction. */
    void (*out_of_memory)(void *context, size_t payload);
    /* A stack or the heap is not what it must be: there is no way to go on. As out_of_memory. */
    void (*on_corruption)(void *context, const char *what);
    /* After each collection, by the thread that ran it: must not call the heap. May be NULL. */
    void (*on_collection)(void *context, const struct tn_collection *collection);
    void *context;
};

/* TN_EINVAL, TN_ENOMEM, TN_EFORMAT (the program's own stack maps are malformed). */
TN_API int tn_heap_create(const struct tn_heap_options *options, struct tn_heap **out, struct tn_error *err);

/* No thread may be attached but the caller; its handles end, finalizers that wait are not run. NULL is ignored. */
TN_API void tn_heap_destroy(struct tn_heap *heap);

/* Makes the calling thread one of the heap's: it may call managed code. A thread that calls managed code unattached is
 * attached to the default heap. TN_EINVAL (attached to another one), TN_ENOMEM. */
TN_API int tn_heap_attach(struct tn_heap *heap, struct tn_error *err);

/* Nothing if the thread is attached to no heap. It must not be in managed code. */
TN_API void tn_heap_detach(void);

/* Options as the environment has them: TENON_GC=copy names the collector, TENON_GC_STRESS=1 and TENON_GC_VERIFY=1 are flags,
 * TENON_GC_LIMIT is a number of bytes. TN_EINVAL (the text names the variable). */
TN_API int tn_heap_options_from_environment(struct tn_heap_options *options, struct tn_error *err);

/* The heap of threads that attached to none: the one set here, else one that is made when it is first needed, with options as the
 * environment has them. */
TN_API void tn_heap_set_default(struct tn_heap *heap);
TN_API int tn_heap_default(struct tn_heap **out, struct tn_error *err);

/* The calling thread's heap, or NULL. */
TN_API struct tn_heap *tn_heap_current(void);

/* Collects everything that is not reachable. A safepoint. */
TN_API void tn_heap_collect(struct tn_heap *heap);

struct tn_heap_stats {
    size_t size;                             /* in: sizeof(struct tn_heap_stats) as the caller knows it */
    uint64_t collections, moved, pinned;     /* sums over collections */
    uint64_t pause_ns, longest_pause_ns;     /* sum and maximum */
    uint64_t longest_stop_ns;                /* until all threads had stopped */
    uint64_t in_use, large;                  /* bytes; those of large objects are in both */
    uint64_t finalizers, finalizers_waiting; /* registered; of dead objects, not run yet */
    uint64_t threads;                        /* attached */
};

TN_API void tn_heap_stats(struct tn_heap *heap, struct tn_heap_stats *stats);

/* Calls `visit` for every object, while all threads are stopped: it must not call the heap. */
TN_API void tn_heap_walk(struct tn_heap *heap,
                         void (*visit)(void *context, void *object, const struct tn_type *type, size_t payload),
                         void *context);

/* ---- handles ---- */

/* Makes an object, all of it zero, with `length` elements if its type is an array's. TN_ENOMEM, TN_EINVAL (no array, and a length). */
TN_API int tn_handle_new(struct tn_heap *heap, const struct tn_type *type, uint64_t length, struct tn_handle **out,
                         struct tn_error *err);

/* A handle for a raw reference, which may be NULL; the caller is between tn_managed_begin and _end, or managed code's callee.
 * TN_ENOMEM. */
TN_API int tn_handle_of(struct tn_heap *heap, void *object, struct tn_handle **out, struct tn_error *err);

TN_API void tn_handle_free(struct tn_handle *handle); /* NULL is ignored */

/* Handles that the calling thread makes behind tn_scope_begin are freed by tn_scope_end; scopes nest. Only for attached
 * threads. */
TN_API void tn_scope_begin(void);
TN_API void tn_scope_end(void);

/* Makes `handle` refer to what `from` refers to; NULL: to nothing. */
TN_API void tn_handle_set(struct tn_handle *handle, const struct tn_handle *from);
TN_API int tn_handle_is_null(const struct tn_handle *handle);
TN_API int tn_handle_same(const struct tn_handle *a, const struct tn_handle *b);
TN_API const struct tn_type *tn_handle_type(const struct tn_handle *handle); /* NULL of null */

/* Copies bytes that are no references out of an object, or into it. TN_EINVAL (null, or outside of the payload). */
TN_API int tn_handle_read(const struct tn_handle *handle, uint64_t offset, void *to, size_t size, struct tn_error *err);
TN_API int tn_handle_write(struct tn_handle *handle, uint64_t offset, const void *from, size_t size,
                           struct tn_error *err);

/* Loads the reference at `offset` of the object into `to`, or stores what `value` (NULL: null) refers to there. TN_EINVAL. */
TN_API int tn_handle_load(const struct tn_handle *handle, uint64_t offset, struct tn_handle *to, struct tn_error *err);
TN_API int tn_handle_store(struct tn_handle *handle, uint64_t offset, const struct tn_handle *value,
                           struct tn_error *err);

/* The object stays where it is, which is the answer, until tn_handle_unpin was called as often. TN_ENOMEM, TN_EINVAL (null). */
TN_API int tn_handle_pin(struct tn_handle *handle, void **address, struct tn_error *err);
TN_API void tn_handle_unpin(struct tn_handle *handle);

/* A number that an object keeps for life, wherever it moves. 0 of null. */
TN_API uint64_t tn_handle_hash(struct tn_handle *handle);

/* Calls `function` with a handle, which is freed afterwards, once the object is not reachable from elsewhere any more: by a
 * thread that allocates or calls tn_run_pending_finalizers, never while the world is stopped. TN_ENOMEM, TN_EINVAL (null). */
TN_API int tn_handle_finalize(struct tn_handle *handle, void (*function)(void *context, struct tn_handle *object),
                              void *context, struct tn_error *err);

/* Runs what waits; how many there were. */
TN_API size_t tn_run_pending_finalizers(struct tn_heap *heap);

/* ---- raw references ---- */

/* In between, collections wait for the calling thread, and raw references stay good until it calls something that is a
 * safepoint: managed functions, tn_heap_collect, tn_handle_new. For passing references to managed functions. Nests. Only for
 * attached threads. Native code to which a longjmp or a throw out of managed code has led calls tn_managed_end there, before it goes
 * on: that ends what was left behind. */
TN_API void tn_managed_begin(void);
TN_API void tn_managed_end(void);
TN_API void *tn_handle_object(const struct tn_handle *handle);

/* For managed code's callees: the object, which they were given raw, stays where it is until tn_unpin_object was called as often.
 * Answers its address; NULL: no memory, or the thread is attached to no heap. */
TN_API void *tn_pin_object(void *object);
TN_API void tn_unpin_object(void *address);

/* For managed code: calls a function, which is not managed and takes no more than four words, and answers its word. It may wait for
 * other threads: collections do not wait for this one meanwhile. What it is given must be pinned. It may call managed code, but
 * not be left by longjmp or a throw. */
TN_API intptr_t tn_call_blocking(void *function, intptr_t a, intptr_t b, intptr_t c, intptr_t d);

/* ---- root ranges and loaded code ---- */

/* `count` words at `words` hold references from now on, until they are removed by the same address. TN_ENOMEM. */
TN_API int tn_roots_add(void *words, size_t count, struct tn_error *err);
TN_API void tn_roots_remove(void *words);

/* Lets objects that are linked into `session` from now on hold managed code: reads their stack maps and the ranges of globals that
 * hold references. Links fail with TN_EFORMAT if these are malformed. Once per session. TN_ENOMEM. */
TN_API int tn_observe_managed_code(struct tn_session *session, struct tn_error *err);

/* Defines in `library` what managed code needs of this runtime. TN_EDUP, TN_ENOMEM. */
TN_API int tn_define_managed_runtime(struct tn_library *library, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
