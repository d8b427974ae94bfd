/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances without sessions: nobody has to be told of them when code is removed. */

#include "link/core/hooks.h"

void tn__instances_announce(const struct tn__instances *instances)
{
    (void)instances;
}
