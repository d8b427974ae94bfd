/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code that changes while threads call it; briefly. */

#include "storm.h"

int main(void)
{
    return run_storms(500);
}
