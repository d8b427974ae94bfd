/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How links reach their observers, and what the built-in ones share. Everything is reached through pointers that
 * tn_add_observer sets, so a program that names no observer has none of this. */

#ifndef TENON_OBSERVER_H
#define TENON_OBSERVER_H

#include "link/passes/link.h"

#pragma GCC visibility push(hidden)

/* Suffix of the names of stubs. */
#define TN__STUB_SUFFIX "@stub"

/* NAME@stub, or NULL when memory is out. */
static inline char *tn__stub_name(struct tn__arena *arena, const char *name)
{
    size_t length = strlen(name);
    char *text = tn__arena_alloc(arena, length + sizeof TN__STUB_SUFFIX);
    if (!text)
        return NULL;
    memcpy(text, name, length);
    memcpy(text + length, TN__STUB_SUFFIX, sizeof TN__STUB_SUFFIX);
    return text;
}

/* True if an observer with this function has been added; used by built-in ones, for which a second call does
 * nothing. */
bool tn__is_observed(struct tn_session *session,
                     int (*linked)(void *, const struct tn_linked_object *const *, size_t, struct tn_error *));

/* The lock for data shared by the built-in observers of all sessions. Taken after a session's lock; free in the child
 * of a fork. Data under it is changed only while a session's lock is held too. */
void tn__observers_lock(void);
void tn__observers_unlock(void);

#pragma GCC visibility pop
#endif
