/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Attributes by which clang's analysis of thread safety checks who holds the lock of a session (make lint). gcc sees
 * nothing of them.
 *
 * All sessions have one capability, "the session's lock": the analysis knows whether a lock is held, not which session
 * it belongs to. It follows no call through a pointer; the pointer's declaration says what the function may rely on. */

#ifndef TENON_LOCKED_H
#define TENON_LOCKED_H

#ifdef __clang__
#define TN__THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TN__THREAD_SAFETY(attribute)
#endif

/* Only named in attributes, so it is never defined. */
extern struct TN__THREAD_SAFETY(capability("lock")) tn__lock_of_a_session tn__session_lock_held;

/* At the end of a declaration. The caller holds the session's lock; the function may release it meanwhile, but holds it
 * when it returns. */
#define TN__LOCKED TN__THREAD_SAFETY(requires_capability(tn__session_lock_held))
/* The caller does not hold it. */
#define TN__UNLOCKED TN__THREAD_SAFETY(locks_excluded(tn__session_lock_held))
#define TN__LOCKS    TN__THREAD_SAFETY(acquire_capability(tn__session_lock_held))
#define TN__UNLOCKS  TN__THREAD_SAFETY(release_capability(tn__session_lock_held))
/* The caller holds it after the call if the result says so. */
#define TN__LEAVES_LOCKED TN__THREAD_SAFETY(assert_capability(tn__session_lock_held))
/* The body is not checked: it takes or releases the lock on some paths only. */
#define TN__LOCK_UNCHECKED TN__THREAD_SAFETY(no_thread_safety_analysis)

#endif
