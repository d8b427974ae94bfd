/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads: who may still be using what is removed, and where thread-local variables of loaded objects live.
 *
 * A thread that runs code which others remove attaches, and says now and then that it holds on to nothing. Whoever removes
 * something waits until all have said so.
 *
 *     tn_thread_attach();
 *     while (next(&work)) {
 *         run(&work);
 *         tn_thread_quiescent();
 *     }
 *     tn_thread_detach();
 *
 *     unpublish(it);  tn_quiesce();  free(it);  (another thread) */

#ifndef TENON_API_THREAD_H
#define TENON_API_THREAD_H

#include <stddef.h>
#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Attaches the calling thread, or does nothing if it is attached. Needed by threads that were started before an object with
 * thread-local variables is linked by another thread, and that will use these variables; and by threads that run code which
 * others remove, see tn_quiesce. A thread detaches before it ends. After a fork only the thread that forked is attached in
 * the child. */
TN_API void tn_thread_attach(void);
TN_API void tn_thread_detach(void);

/* Says that the calling thread is at a quiescent point: it holds no address of code or data that might be removed, neither
 * in a variable nor as a frame on its stack, and will look up anew what it needs. Costs two loads and a compare while
 * nobody waits. Does nothing in threads that are not attached and in blocking regions. Not for signal handlers. */
TN_API void tn_thread_quiescent(void);

/* Between these two the calling thread is one long quiescent point: for system calls, locks and whatever else may last. They
 * nest, and do nothing in threads that are not attached. Not for signal handlers. */
TN_API void tn_thread_begin_blocking(void);
TN_API void tn_thread_end_blocking(void);

/* Waits until every attached thread has passed a quiescent point since the call, is in a blocking region or has detached. So
 * what nobody could find any more before the call is used by nobody after it, and may be freed:
 *     unpublish it;  tn_quiesce();  free it.
 * The calling thread itself counts as quiescent. There is no time limit: an attached thread that neither passes a point nor
 * blocks keeps all waiting, so the caller must hold nothing that other threads wait for outside of a blocking region. */
TN_API void tn_quiesce(void);

/* The same for those who cannot wait: `begin` answers a ticket, `ended` whether tn_quiesce would have returned by now if it
 * had been called then. The thread that asks counts as quiescent. */
TN_API uint64_t tn_quiesce_begin(void);
TN_API int tn_quiesce_ended(uint64_t ticket);

/* Thread-local variables of loaded objects live in a reserve in the program's own TLS segment, of 4096 bytes a thread. A
 * program that wants another size says TN_TLS_RESERVE(bytes); once, at file level. */
#define TN_TLS_RESERVE_ALIGNMENT 64
#define TN_TLS_RESERVE(bytes)                                                                                          \
    __thread char tn_tls_reserve[bytes]                                                                                \
        __attribute__((aligned(TN_TLS_RESERVE_ALIGNMENT), tls_model("initial-exec"))) = "\x91tenon\xe5\x1f";           \
    const size_t tn_tls_reserve_size = sizeof tn_tls_reserve

extern TN_API __thread char tn_tls_reserve[] __attribute__((tls_model("initial-exec")));
extern TN_API const size_t tn_tls_reserve_size;

#ifdef __cplusplus
}
#endif
#endif
