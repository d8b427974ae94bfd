/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Trackers: what is removed together.
 *
 * Whatever is added to a library names a tracker as its owner, or belongs to the library's own tracker. Removing a
 * tracker removes its definitions, code, data and unwind tables; their memory is reused. Code that other threads may
 * still be running is retired instead: it can no longer be found, and is removed once they are done with it.
 *
 *     struct tn_tracker *version;
 *     tn_tracker_create(library, &version, &err);
 *     object.owner = version;
 *     tn_add_object(library, &object, &err);
 *     ...
 *     tn_tracker_retire(version, &err);  (if threads may be running it; otherwise tn_tracker_remove) */

#ifndef TENON_API_TRACKER_H
#define TENON_API_TRACKER_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;

struct tn_tracker; /* opaque; lives until it or its session is destroyed */

/* Creates a tracker, which owns the objects, definitions, stubs and promises that name it as their owner.
 * TN_EINVAL, TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_tracker_create(struct tn_library *library, struct tn_tracker **out, struct tn_error *err);

/* The tracker of everything that names no owner. It lives as long as the library; destroying it does nothing. */
TN_API struct tn_tracker *tn_library_tracker(struct tn_library *library);

/* Moves everything that `from` owns to `to`, a tracker of the same library. TN_EINVAL, TN_EREMOVED. */
TN_API int tn_tracker_transfer(struct tn_tracker *from, struct tn_tracker *to, struct tn_error *err);

/* Removes what the tracker owns: runs the finalizers of objects that were initialised, then removes definitions, unwind
 * tables and memory. The tracker can be used again. No thread may be running the removed code or unwinding through it
 * (otherwise use tn_tracker_retire), and nothing may refer to it: objects that were linked against it keep the old
 * addresses. Objects not yet linked fall back on their own weak or common definitions and COMDAT groups that had given
 * way to what is removed. Code published through code instances is withdrawn first; if there was any, the call then
 * waits as tn_quiesce does, so attached threads may be running such code. TN_EINVAL (it is the own tracker of an open
 * library: tenon/dl.h), TN_EREMOVED, TN_ENOMEM (nothing was removed, but instances may have been withdrawn, and
 * finalizers have run). If threads have yet to run destructors of the code's thread_local objects, its memory stays
 * until they have (doc/SESSION.md); so it is with every way of removing code. The caller's own run now. */
TN_API int tn_tracker_remove(struct tn_tracker *tracker, struct tn_error *err);

/* Removes what the tracker owns while attached threads may still be running it. First the code becomes unreachable:
 * definitions and promises are removed; code instances with code of the tracker return to their generic entries; lazy
 * functions that lead to it are looked up again at their next call. (Redirectable functions fail from then on; those
 * without on_failure must be redirected beforehand.) Then the call waits as tn_quiesce does, by the same rules. Only
 * after that are finalizers run, and unwind tables and memory released. Anything added to the tracker in the meantime
 * stays, but code published for it through instances in the meantime is withdrawn. As with tn_tracker_remove, no object
 * that stays may refer to the code. A lazy function of the tracker whose body is promised, as in a lazy JIT, and that
 * was not called before, cannot be made any more: a thread that is still running the code and calls it reaches
 * on_failure. Where that may be, redirect what leads to the code, and call tn_quiesce before this. TN_EINVAL (as
 * above), TN_EREMOVED, TN_ENOMEM (nothing was removed). */
TN_API int tn_tracker_retire(struct tn_tracker *tracker, struct tn_error *err);

/* Called once, without a lock, when a removal that does not wait has ended: by a thread of the session's own, and in
 * the order in which such removals were begun unless code was found again meanwhile. It may call anything, also
 * tn_session_destroy. `err` is NULL, or TN_ECANCELLED: the session is being destroyed (by the thread that calls); the
 * code is gone, but its finalizers have not run. */
typedef void tn_removed(void *context, const struct tn_error *err);

/* tn_tracker_retire that does not wait for threads. When it returns, nothing finds the definitions and promises any
 * more; the tracker can be used again, or destroyed. The rest is done by a thread of the session's own, which the first
 * such call of a session starts, and which blocks all signals: code instances and lazy functions are redirected at
 * once; finalizers, exit handlers and `done` are called, on that thread, when attached threads have been quiescent.
 * Destructors of the caller's thread_local objects run when it ends, as those of other threads do. The call itself only
 * waits while links need objects of the tracker; it may continue lookups that waited for its promises, whose callbacks
 * must not destroy the session. In the child of a fork, which has no such thread, removals that are under way go on at
 * the next call that begins one, or end with the session; a `done` that was running is not called there. TN_EINVAL,
 * TN_EREMOVED, TN_ENOMEM (also: no thread), TN_ECANCELLED (the session is being destroyed): `done` is not called, and
 * nothing was removed. */
TN_API int tn_tracker_retire_start(struct tn_tracker *tracker, tn_removed *done, void *context, struct tn_error *err);

/* Destroys the tracker; everything it owned belongs to the library from now on. NULL is ignored. */
TN_API void tn_tracker_destroy(struct tn_tracker *tracker);

#ifdef __cplusplus
}
#endif
#endif
