/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What is linked when it is called: asks the host once, while it is linked, and once per call. */

int witness(int n);
int once(int n);

int once(int n)
{
    return witness(n) + 1;
}
