/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What other packages use. */

#ifndef STEP
#define STEP 1
#endif

int step(int n)
{
    return n + STEP;
}
