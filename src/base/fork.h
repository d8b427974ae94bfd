/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What has to be in order in the child of a fork. The child has one thread, the one that forked, and a copy of the
 * memory as it was at that moment: a lock that another thread held stays locked for ever, and a change that another
 * thread had begun stays as it is. So the forking thread takes every lock before the fork, in the order of their levels
 * (mutex.h), and both processes release them after it, in the reverse order. */

#ifndef TENON_FORK_H
#define TENON_FORK_H

#include "base/base.h"
#include "base/mutex.h"

#pragma GCC visibility push(hidden)

struct tn__fork_hooks {
    struct tn__mutex *lock; /* held meanwhile; may be NULL, and so may these: */
    void (*before)(void);   /* takes further locks */
    /* Releases them. In the child, it also forgets what belonged to other threads. Their memory may be gone. */
    void (*after)(bool in_child);
};

/* A number that changes at each fork, in both parent and child, while all these locks are held. So what one of them
 * guards is of one generation. */
uint64_t tn__fork_generation(void);

/* From now on forks call these hooks at their level, so each function that takes a lock calls this first. Calls after
 * the first one do nothing. Any locks may be held. */
void tn__forks_watch(enum tn__level level, const struct tn__fork_hooks *hooks);

#pragma GCC visibility pop
#endif
