/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

long total = 40;

long second(long x)
{
    return 2 * x;
}

long first(long x)
{
    return second(x) + total;
}
