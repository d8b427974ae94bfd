/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How links reach their observers, and what the built-in ones share. Everything is reached through pointers that
 * tn_add_observer sets, so a program that names no observer has none of this. */

#ifndef TENON_OBSERVER_H
#define TENON_OBSERVER_H

#include "link.h"

#pragma GCC visibility push(hidden)

/* What a session with observers calls, under its lock. */
struct tn__watch {
    int (*linked)(struct tn__link *link); /* everything is in place; its failure is the link's */
    void (*removed)(struct tn_tracker *owner);
    void (*closed)(struct tn_session *session);
};

/* Behind the name of what a stub leads to. */
#define TN__STUB_SUFFIX "@stub"

/* True if an observer with this function was added. For built-in ones: adding one twice does nothing. */
bool tn__is_observed(struct tn_session *session,
                     int (*linked)(void *, const struct tn_linked_object *const *, size_t, struct tn_error *));

/* One lock for what the built-in observers of all sessions keep in common. Taken after a session's lock; the child of a
 * fork finds it free. Whoever changes what it covers holds a session's lock as well. */
void tn__observers_lock(void);
void tn__observers_unlock(void);

#pragma GCC visibility pop
#endif
