/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the compiler calls behind the programmer's back: libgcc. */

#include <complex.h>
#include <stdio.h>

typedef unsigned __int128 u128;

static void show(const char *name, u128 value)
{
    printf("%s %016llx%016llx\n", name, (unsigned long long)(value >> 64), (unsigned long long)value);
}

int main(void)
{
    volatile u128 a = ((u128)0x123456789abcdef0 << 64) | 0xfedcba9876543210, b = 0x1000000000000003;
    volatile __int128 c = -(__int128)(a >> 1);
    show("div", a / b);
    show("mod", a % b);
    show("sdiv", (u128)(c / (__int128)b));
    show("smod", (u128)(c % 1000003));
    volatile double d = 1.5e25;
    show("fix", (u128)d);
    printf("%g %g\n", (double)a, (double)(float)c);
    volatile __float128 q = 1.25, r = 3;
    q = q / r + r * q - 1;
    printf("%.17g %d %lld\n", (double)q, q < r, (long long)(q * 1000));
    volatile double complex z = 3 + 4 * I;
    z = z * z / (1 - I);
    printf("%g %g\n", creal(z), cimag(z));
    volatile unsigned long long bits = 0xf0f0123;
    volatile int power = 13;
    printf("%d %g\n", __builtin_popcountll(bits), __builtin_powi(1.1, power));
    printf("%d\n", __builtin_cpu_supports("sse2") != 0);
    return 0;
}
