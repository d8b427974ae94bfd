/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the rest of the linker asks of code instances (instance.c). A program that uses none contains none of it: they are
 * reached through a table that their first use announces. All of these lock what they need; session locks may be held. */

#ifndef TENON_INSTANCE_H
#define TENON_INSTANCE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct tn__instances {
    /* The first step of a removal: points every instance that has code of the tracker at its generic entry. True if some
     * instance has, or had: then tn_quiesce and `clear` follow before the code is freed. */
    bool (*withdraw)(struct tn_tracker *tracker);
    /* The last step, when nobody can be running the code any more: the instances may get other code. */
    void (*clear)(struct tn_tracker *tracker);
    /* Instances of one tracker belong to another one from now on. */
    void (*move)(struct tn_tracker *from, struct tn_tracker *to);
    void (*before_fork)(void);
    void (*after_fork)(bool in_child);
};

/* session.c: NULL until they are used. */
const struct tn__instances *tn__instances(void);
void tn__instances_announce(const struct tn__instances *instances);

/* tracker.c: the first step, and false if there are none. */
bool tn__tracker_withdraw(struct tn_tracker *tracker);

#pragma GCC visibility pop
#endif
