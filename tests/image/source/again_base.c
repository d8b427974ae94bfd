/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What again.cpp uses: -DG changes a body. */

#ifndef G
#define G x + 1
#endif

int base_variable = 50;

int g(int x)
{
    return G;
}
