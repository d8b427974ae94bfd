/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads: which of them may still be using removed code, and where thread-local variables of loaded objects live.
 *
 * A thread that runs code which others may remove attaches, and reports from time to time that it holds no references
 * to such code. A removal waits until all attached threads have done so (quiescent-state-based reclamation, QSBR).
 *
 *     tn_thread_attach();
 *     while (next(&work)) {
 *         run(&work);
 *         tn_thread_quiescent();
 *     }
 *     tn_thread_detach();
 *
 * and in another thread:  unpublish(it);  tn_quiesce();  free(it); */

#ifndef TENON_API_THREAD_H
#define TENON_API_THREAD_H

#include <stddef.h>
#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Attaches the calling thread; does nothing if it is attached. Needed by threads that run code which others may remove
 * (see tn_quiesce), and by threads that use thread-local variables of an object which another thread linked after they
 * started, if its code does not ask for their places (local-exec and initial-exec models, that is without -fPIC; see
 * tn_session_check_threads). Ending a thread detaches it, after the destructors of its thread-local variables and of
 * its thread-specific data; does nothing from then on. If the system has no room for another pthread_key_create or
 * pthread_setspecific, the thread must detach itself. In the child of a fork only the thread that forked can be
 * attached. */
TN_API void tn_thread_attach(void);
TN_API void tn_thread_detach(void);

/* Reports that the calling thread is at a quiescent point: it holds no address of code or data that might be removed,
 * neither in a variable nor as a frame on its stack, and will look up again whatever it needs. Costs two loads and a
 * compare while no thread waits. Does nothing in threads that are not attached and in blocking regions. Not
 * async-signal-safe. */
TN_API void tn_thread_quiescent(void);

/* Delimit a blocking region, which counts as one long quiescent point: for system calls, locks and anything else that
 * may take long. Regions nest. They do nothing in threads that are not attached. Not async-signal-safe. */
TN_API void tn_thread_begin_blocking(void);
TN_API void tn_thread_end_blocking(void);

/* Waits until every attached thread has passed a quiescent point since the call, is in a blocking region, or has
 * detached. Whatever could no longer be found before the call is therefore unused after it, and may be freed. The
 * calling thread itself counts as quiescent. There is no timeout (but see tn_quiesce_watched): an attached thread that
 * neither passes a quiescent point nor blocks delays all who wait, so the caller must not hold anything that other
 * threads wait for outside of a blocking region. */
TN_API void tn_quiesce(void);

/* A thread that keeps another one waiting. */
struct tn_delay {
    size_t size;        /* of this struct */
    uint64_t waited_ns; /* so far */
    uint64_t thread;    /* its number in the system, as debuggers and /proc/self/task have it */
    /* An address in the managed function where it was last seen, or the initializer that it runs; NULL: not known. See
     * tn_symbolize. */
    const void *code;
    int system_call; /* the number of the system call in which it is blocked; -1: none, or not known */
};

/* Called by the thread that waits: after one second, and each time that the wait has become twice as long. */
typedef void tn_on_delay(void *context, const struct tn_delay *delay);

/* tn_quiesce that calls `on_delay` (NULL: as tn_quiesce) without a lock. */
TN_API void tn_quiesce_watched(tn_on_delay *on_delay, void *context);

/* The same for callers that cannot wait: tn_quiesce_begin returns a ticket; tn_quiesce_ended tells whether a tn_quiesce
 * called when the ticket was taken would have returned by now. The asking thread counts as quiescent. */
TN_API uint64_t tn_quiesce_begin(void);
TN_API int tn_quiesce_ended(uint64_t ticket);

/* Thread-local variables of loaded objects live in a reserve inside the program's own TLS segment, 1024 bytes per
 * thread: that also fits a host which is itself loaded by dlopen, such as a module of Python or Java. For another size,
 * a program puts TN_TLS_RESERVE(bytes); once at file scope. 16 bytes of it are the runtime's, so less does not
 * compile. What does not fit is an error, or gets memory of its own in each thread (doc/EMBEDDING.md). */
#define TN_TLS_RESERVE_ALIGNMENT 64
#define TN_TLS_RESERVE(bytes)                                                                                          \
    __thread char tn_tls_reserve[(bytes) * sizeof(char[(bytes) >= 16 ? 1 : -1])]                                       \
        __attribute__((aligned(TN_TLS_RESERVE_ALIGNMENT), tls_model("initial-exec"))) = "\x91tenon\xe5\x1f";           \
    const size_t tn_tls_reserve_size = sizeof tn_tls_reserve

extern TN_API __thread char tn_tls_reserve[] __attribute__((tls_model("initial-exec")));
extern TN_API const size_t tn_tls_reserve_size;

#ifdef __cplusplus
}
#endif
#endif
