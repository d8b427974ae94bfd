/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that are called through lazy stubs, with arguments of every class; and callers of stubs. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "lazy.h"

sum_function sum;
sum_longs_function sum_longs;
make_large_function make_large;
make_pair_function make_pair;
make_long_double_function make_long_double;
format_function format;
int read_errno(void);
int twice(int n);
int once(int n);

long sum(long a, double x, int b, float y, long c, double z, short d, double w, long e, double v, char f, double u,
         long g, double t, double s, double r, double q, long h, unsigned char i)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i +
           (long)(x + 2 * y + 3 * z + 4 * w + 5 * v + 6 * u + 7 * t + 8 * s + 9 * r + 10 * q);
}

long sum_longs(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

struct large make_large(int first, struct large by_value, double factor)
{
    for (int i = 0; i < 8; i++)
        by_value.values[i] = first + by_value.values[i] * factor;
    return by_value;
}

struct pair make_pair(struct pair pair, struct pair other)
{
    return (struct pair){pair.x + other.x, pair.n - other.n};
}

long double make_long_double(long double x, int n)
{
    return x * n;
}

int format(char *out, unsigned long size, const char *text, ...)
{
    va_list list;
    va_start(list, text);
    int length = vsnprintf(out, size, text, list);
    va_end(list);
    return length;
}

int read_errno(void)
{
    return errno;
}

/* Itself lazy, it calls another lazy function while that is still to be looked up. */
int twice(int n)
{
    return 2 * once(n);
}
