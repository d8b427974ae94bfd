/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a session frees later: one queue, where each entry waits for an acknowledgement (doc/REDIRECT.md). The list of
 * an acknowledgement is `session->later[...]`, under the session's lock. */

#ifndef TENON_LATER_H
#define TENON_LATER_H

enum tn__acknowledgement {
    /* Removals that do not wait (struct tn__removal, session/reclaim.c), in this order, which may begin again: */
    TN__ACK_CALL,       /* the call that began it has continued lookups */
    TN__ACK_NONE,       /* nothing: the session's thread looks at it next */
    TN__ACK_QUIESCENCE, /* attached threads have been quiescent since that */
    /* Removed stubs (struct tn__lazy_batch, redirect/first_call.c): their first calls that are under way have ended. */
    TN__ACK_FIRST_CALLS,
    /* Removed promises (struct tn_responsibility, demand/promise.c): materializers have ended them. */
    TN__ACK_MATERIALIZERS,
    /* Removed code with destructors of thread_local objects (struct tn_tracker, session/linger.c): threads have run
     * them, */
    TN__ACK_THREADS,
    /* or do not exist in the child of a fork; there the next removal frees it. */
    TN__ACK_FORK,
    TN__ACKNOWLEDGEMENTS
};

#endif
