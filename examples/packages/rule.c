/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A rule, into which `step` is inlined. */

int step(int n);

int rule(int n)
{
    return 2 * step(n);
}
