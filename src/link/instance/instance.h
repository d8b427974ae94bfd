/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How the rest of the linker reaches code instances (instance.c): through a table that is set by their first use, so that a
 * program without instances contains none of their code. These functions take their own locks; session locks may be held.
 * */

#ifndef TENON_INSTANCE_H
#define TENON_INSTANCE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct tn__instances {
    /* The first step of a removal: points every instance with code of the tracker at its generic entry. True if there are or
     * were such instances: then tn_quiesce and `clear` must follow before the code is freed. */
    bool (*withdraw)(struct tn_tracker *tracker);
    /* The last step, once no thread can be running the code: allows the instances to get other code. */
    void (*clear)(struct tn_tracker *tracker);
    /* Moves the instances of one tracker to another. */
    void (*move)(struct tn_tracker *from, struct tn_tracker *to);
};

/* session.c: NULL until instances are used. */
const struct tn__instances *tn__instances(void);
void tn__instances_announce(const struct tn__instances *instances);

/* tracker.c: the first step; false if instances are not used. */
bool tn__tracker_withdraw(struct tn_tracker *tracker);

#pragma GCC visibility pop
#endif
