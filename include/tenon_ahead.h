/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling ahead: a JIT compiles functions before they are called, on threads that have nothing else to do
 * (tn_session_run_idle). Which ones? Those that the client names; those that were called in the last run, in that
 * order; and those that functions in use call.
 *
 * They are compiled and not linked: nothing is looked up for them, weak definitions still give way, and what fails is
 * reported when a call needs it, which compiles the function again. A call of a function that is being compiled ahead
 * does not wait for that either. Errors as in tenon.h. */

#ifndef TENON_AHEAD_H
#define TENON_AHEAD_H

#include "tenon_cache.h"
#include "tenon_jit.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_ahead_options {
    size_t size; /* sizeof(struct tn_ahead_options) */
    int callees; /* not 0: what is in use, or is compiled ahead, is searched for calls */
    /* Not NULL: keeps the order in which the functions of each module are called first, and has that of earlier runs; a
     * store of tenon_cache.h, which may be that of a cache. Outlives the JIT and its session. */
    const struct tn_store *orders;
    uint64_t parts, bytes; /* so many functions, and bytes of their objects, may wait to be called; 0: 256, 64 MiB */
    uint64_t ns;           /* processor time for all of it; 0: no limit */
};

/* Has the JIT compile ahead, one function at a time; called once, before modules are added, as those that are there
 * already take no part. The JIT keeps a copy of the IR of each later module that does not `stay`. With tiers, functions
 * are compiled ahead for the tier with which they begin. TN_EINVAL (twice), TN_ENOTSUP (the session has neither threads
 * nor those of the client: tn_jit_options.threads), TN_ENOMEM. In the child of a fork, nothing more is compiled
 * ahead. */
TN_API int tn_jit_compile_ahead(struct tn_jit *jit, const struct tn_ahead_options *options, struct tn_error *err);

/* Ends it: what is being compiled ahead stops between two passes, which is waited for, and the orders of first calls
 * are written. Otherwise that happens when the JIT is destroyed; a program that ends by exit(3) calls this. What is
 * there is still used. Not while an observer of a compilation is called. NULL is ignored. */
TN_API void tn_jit_end_ahead(struct tn_jit *jit);

struct tn_prefetch; /* opaque */

/* Has functions compiled ahead, before all others, in this order. Names as in the modules, those that other modules may
 * use; of several modules with the name, the one added last. Names that mean nothing, and functions that were called,
 * are passed over. *handle, if `handle` is not NULL, is the client's until tn_prefetch_cancel or tn_prefetch_keep. Any
 * thread, without waiting for anything. TN_EINVAL (the JIT does not compile ahead), TN_ENOMEM. */
TN_API int tn_jit_prefetch(struct tn_jit *jit, const char *const *names, size_t count, struct tn_prefetch **handle,
                           struct tn_error *err);

/* Takes the handle back. Functions that were not begun are not compiled for it, and one that has been begun stops
 * between two passes of its optimisation; those that are there stay. NULL is ignored. */
TN_API void tn_prefetch_cancel(struct tn_prefetch *handle);
/* Takes the handle back and nothing else. NULL is ignored. */
TN_API void tn_prefetch_keep(struct tn_prefetch *handle);

struct tn_ahead_stats {
    size_t size;                /* in: sizeof(struct tn_ahead_stats) as the caller knows it */
    uint64_t compiled;          /* functions, and the data of modules, that were compiled ahead */
    uint64_t used;              /* those of them that were needed afterwards */
    uint64_t unused;            /* those that were removed, or are left at the end; until then, those that wait */
    uint64_t cancelled, failed; /* begun and stopped; could not be compiled */
    uint64_t overtaken;         /* of the cancelled ones, those that a call compiled itself meanwhile */
    uint64_t found;             /* were in a cache, so that there was nothing to do */
    uint64_t spent_ns, used_ns; /* processor time of all of it; of what was used */
    uint64_t waited_ns;         /* that calls and lookups spent compiling, or taking what was compiled ahead */
};

/* All 0 if the JIT does not compile ahead. */
TN_API void tn_ahead_stats(const struct tn_jit *jit, struct tn_ahead_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
