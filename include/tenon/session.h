/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions: what everything else belongs to.
 *
 * A session owns code memory, libraries and all that is in them, and, if wanted, threads that compile. A process may have
 * several; they share nothing.
 *
 *     struct tn_session *session;
 *     struct tn_session_options options = {.size = sizeof options, .threads = 2};
 *     if (tn_session_create(&options, &session, &err))
 *         return err.code;
 *     ...
 *     tn_session_destroy(session); */

#ifndef TENON_API_SESSION_H
#define TENON_API_SESSION_H

#include "tenon/base.h"
#include "tenon/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_session; /* opaque */

enum {
    TN_SESSION_TIMINGS = 1, /* measure the phases of links, which costs some 0.2 us each */
};

/* Work that may be done by any thread. */
struct tn_task;

struct tn_session_options {
    size_t size;          /* sizeof(struct tn_session_options) */
    size_t window_size;   /* bytes of address space for code and data; 0: 1 GiB, or less where the system allows less */
    uint64_t window_near; /* place the window within reach of this address; 0: near this program's text */
    enum tn_strategy strategy;
    /* Called once per undefined symbol and place that needs it, before TN_EUNDEF is returned (its text may be cut). */
    void (*on_undefined)(void *context, const char *symbol, const char *needed_by);
    void *context;
    const struct tn_allocator *allocator; /* NULL: mimalloc */
    uint64_t flags;                       /* TN_SESSION_... */
    /* Called for failures that nobody waits for: a materializer that failed unasked, the
     * first call of a lazy function. Any thread, no lock held. */
    void (*on_error)(void *context, const struct tn_error *error);
    /* Materializers that are needed at the same time may run side by side: on this many threads of the session's own, */
    size_t threads;
    /* or on the client's: called without a lock, by the thread that needs them, it has tn_task_run called for each task,
     * once, before the session is destroyed. A thread that waits runs what nobody has begun, so tasks may come late. */
    void (*dispatch)(void *context, struct tn_task *task);
    /* Where code and data lie; copied. NULL: in memory of the session's own. If it is set, window_size, window_near and
     * strategy are 0. With TN_MEMORY_ELSEWHERE no initializer, finalizer or resolver of an indirect function is run, no
     * unwind table registered; thread-local variables, stubs and the built-in observers are TN_ENOTSUP. */
    const struct tn_memory *memory;
};

/* Creates a session. `options` may be NULL (defaults) and is not kept.
 * TN_EINVAL (bad size, window or strategy), TN_ENOMEM (no address space), TN_EPERM (the system refuses every strategy;
 * the text names the policy). */
TN_API int tn_session_create(const struct tn_session_options *options, struct tn_session **out, struct tn_error *err);

/* Unmaps everything the session linked and releases every borrowed input. No thread may run or unwind through its code.
 * Finalizers are not run: call tn_run_finalizers first where they matter. NULL is ignored. */
TN_API void tn_session_destroy(struct tn_session *session);

struct tn_stats {
    size_t size;          /* in: sizeof(struct tn_stats) as the caller knows it */
    const char *strategy; /* "dual", "sealed", "mprotect" or "client"; static */
    uint64_t objects;     /* linked so far */
    uint64_t sections, symbols, relocations;
    uint64_t got_slots, stubs;
    uint64_t code_bytes, rodata_bytes, data_bytes; /* in use */
    uint64_t reserved_bytes;                       /* address space of the windows */
    uint64_t mappings;                             /* made by the session and still there */
    /* Time spent, summed over all links; 0 unless the session has TN_SESSION_TIMINGS. */
    uint64_t read_ns, resolve_ns, layout_ns, copy_ns, relocate_ns, publish_ns;
};

TN_API void tn_session_stats(struct tn_session *session, struct tn_stats *stats);

TN_API void tn_task_run(struct tn_task *task);

#ifdef __cplusplus
}
#endif
#endif
