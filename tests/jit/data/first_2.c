/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* first.c of level 2, which can be told from the other by its result. */

extern long total, number;
long second(long x);
long first(long x) __asm__("first$body.t2");

long first(long x)
{
    return second(x) + total + number + 1000;
}
