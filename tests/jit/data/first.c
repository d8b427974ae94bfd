/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

extern long total, number;
long second(long x);
long first(long x) __asm__("first$body");

long first(long x)
{
    return second(x) + total + number;
}
