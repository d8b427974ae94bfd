/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Arguments and results that are in memory, in several registers, or on the stack of the x87. This file is compiled
 * twice, and both halves call each other: HERE and THERE begin the names of their functions. */

#include <complex.h>
#include <stdarg.h>
#include <stdio.h>

#define JOIN(a, b)  JOIN_(a, b)
#define JOIN_(a, b) a##b
#define OWN(name)   JOIN(HERE, name)
#define OTHER(name) JOIN(THERE, name)

typedef __int128 wide;

struct precise {
    long double a;
    int b;
};
struct aligned {
    wide a;
    long b, c;
};

#define FUNCTIONS(OF)                                                                                                  \
    long double OF(sum)(int a, long double b, double c, long double d, char e);                                        \
    wide OF(last_register)(long a, long b, long c, long d, long e, wide f, long g, wide h, long i);                    \
    wide OF(registers)(wide a, wide b, int c, wide d);                                                                 \
    long double OF(copied)(char a, struct precise b, long c, struct aligned d, struct precise e);                      \
    struct precise OF(returned)(long double a, int b);                                                                 \
    long double complex OF(two)(long double complex a, long double b);                                                 \
    long double OF(listed)(int count, ...);                                                                            \
    void OF(all)(void);
FUNCTIONS(OWN)
FUNCTIONS(OTHER)

long double OWN(sum)(int a, long double b, double c, long double d, char e)
{
    return a + b * c - d / e;
}

wide OWN(last_register)(long a, long b, long c, long d, long e, wide f, long g, wide h, long i)
{
    return f * (a + b + c + d + e) - h / g + i;
}

wide OWN(registers)(wide a, wide b, int c, wide d)
{
    return (a << c) ^ (b >> c) ^ d;
}

long double OWN(copied)(char a, struct precise b, long c, struct aligned d, struct precise e)
{
    return a + b.a * c - (long double)d.a + d.b * e.a + d.c - e.b * b.b;
}

struct precise OWN(returned)(long double a, int b)
{
    return (struct precise){a * b, b + 1};
}

long double complex OWN(two)(long double complex a, long double b)
{
    return __builtin_complex(cimagl(a) + b, creall(a) - b);
}

long double OWN(listed)(int count, ...)
{
    long double result = 0;
    va_list all;
    va_start(all, count);
    while (count--) {
        result = result * 3 + va_arg(all, int);
        result = result * 3 + va_arg(all, long double);
        result = result * 3 + (long double)va_arg(all, wide);
        result = result * 3 + va_arg(all, struct precise).a;
    }
    va_end(all);
    return result;
}

static void show(wide value)
{
    printf("%016llx%016llx\n", (unsigned long long)(value >> 64), (unsigned long long)value);
}

void OWN(all)(void)
{
    struct precise p = {1.25L, 7};
    struct aligned q = {(wide)5 << 70, -3, 4};
    wide a = ((wide)0x123456789abcdef << 64) + 77, b = -a / 3;
    printf("%La\n", OTHER(sum)(3, 1 / 3.0L, 2.5, -7, 9));
    show(OTHER(last_register)(1, 2, 3, 4, 5, a, 6, b, -7));
    show(OTHER(registers)(a, b, 9, ~a));
    show(OTHER(registers)(b, a, 99, -1));
    printf("%La\n", OTHER(copied)(-1, p, 1000, q, OTHER(returned)(1 / 7.0L, 3)));
    long double complex z = OTHER(two)(__builtin_complex(1 / 3.0L, -2.0L), 1 / 9.0L);
    printf("%La %La\n", creall(z), cimagl(z));
    printf("%La\n", OTHER(listed)(3, 1, 0.5L, a, p, -2, 3 / 7.0L, b, p, 8, 1e30L, (wide)-1, p));
}

#ifdef MAIN
int main(void)
{
    OWN(all)();
    OTHER(all)();
    return 0;
}
#endif
