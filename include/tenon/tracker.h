/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Trackers: what is removed together.
 *
 * Whatever is added names a tracker as its owner, or belongs to that of its library. When a tracker is removed, its
 * definitions, code, data, unwind tables and names go, and their memory is used again. Code that other threads may be running
 * is retired instead: nobody finds it any more, and it goes when they have let go of it.
 *
 *     struct tn_tracker *version;
 *     tn_tracker_create(library, &version, &err);
 *     object.owner = version;
 *     tn_add_object(library, &object, &err);
 *     ...
 *     tn_tracker_retire(version, &err);  (threads may be running it; else tn_tracker_remove) */

#ifndef TENON_API_TRACKER_H
#define TENON_API_TRACKER_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;

struct tn_tracker; /* opaque; lives until it or its session is destroyed */

/* A tracker owns the objects, definitions and promises that name it as their owner; they are removed together.
 * TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_tracker_create(struct tn_library *library, struct tn_tracker **out, struct tn_error *err);

/* The tracker of what names none. It lives as long as the library. */
TN_API struct tn_tracker *tn_library_tracker(struct tn_library *library);

/* Makes everything that `from` owns belong to `to`, a tracker of the same library. TN_EINVAL. */
TN_API int tn_tracker_transfer(struct tn_tracker *from, struct tn_tracker *to, struct tn_error *err);

/* Removes the tracker's objects: runs the finalizers of those that were initialised, takes their definitions, unwind tables
 * and memory back. The tracker can be used again. No thread may run or unwind through the removed code (if some may:
 * tn_tracker_retire), and nothing may refer to it any more: objects that were linked against it keep the old addresses.
 * Objects that are not linked yet fall back on weak definitions, common ones and COMDAT groups of their own that had given
 * way to what is removed. Code that was published through code instances is withdrawn first; then, if there was any, this
 * waits as tn_quiesce does, so attached threads may be running it. TN_ENOMEM (nothing was removed, but instances may have
 * been withdrawn). */
TN_API int tn_tracker_remove(struct tn_tracker *tracker, struct tn_error *err);

/* Removes the tracker's objects while attached threads may be running them. When it has begun, nobody finds the code any
 * more: definitions and promises go, code instances that have code of the tracker go back to their generic entries, lazy
 * functions that lead to it are looked up again at their next call (redirectable ones fail, or, without on_failure, have to be
 * led elsewhere before). Then it waits as tn_quiesce does, by the same rules, and only then finalizers are run, and unwind
 * tables and memory taken back. What is added to the tracker meanwhile stays, but code that instances get for it meanwhile is
 * withdrawn. As with tn_tracker_remove, no object that stays may refer to the code. TN_EREMOVED, TN_ENOMEM (nothing was
 * removed). */
TN_API int tn_tracker_retire(struct tn_tracker *tracker, struct tn_error *err);

/* Ends the tracker; its objects belong to the library from now on. NULL is ignored. */
TN_API void tn_tracker_destroy(struct tn_tracker *tracker);

#ifdef __cplusplus
}
#endif
#endif
