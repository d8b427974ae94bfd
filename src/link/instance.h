/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the rest of the linker asks of code instances (instance.c). All of these lock what they need; session locks may be
 * held. */

#ifndef TENON_INSTANCE_H
#define TENON_INSTANCE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* The first step of a removal: points every instance that has code of the tracker at its generic entry. True if some instance
 * has, or had: then tn_quiesce and tn__instances_clear follow before the code is freed. */
bool tn__instances_withdraw(struct tn_tracker *tracker);

/* The last step, when nobody can be running the code any more: the instances may get other code. */
void tn__instances_clear(struct tn_tracker *tracker);

/* Instances of one tracker belong to another one from now on. */
void tn__instances_move(struct tn_tracker *from, struct tn_tracker *to);

/* As tn__threads_watch_forks. */
void tn__instances_watch_forks(void);

#pragma GCC visibility pop
#endif
