/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The native side of the programs that `generate` makes. */

long callback(long (*f)(long), long n);
long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i);

long callback(long (*f)(long), long n)
{
    volatile char room[77];
    room[0] = 1;
    return f(n) + room[0];
}

long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
    return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9;
}
