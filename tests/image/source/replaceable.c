/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An image whose functions are replaced: small ones, which would be inlined, one whose result would be known, one with
 * versions for several CPUs, ones with arguments of all kinds, one that calls itself, one that a table holds. */

#include <stdarg.h>

#ifdef PROGRAM
int printf(const char *format, ...);
#endif

struct large {
    long words[12];
};

int leaf(int n)
{
    return n + 1;
}

int constant(void)
{
    return 3;
}

__attribute__((noinline)) long summed(const int *values, int count)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

double average(int count, ...)
{
    va_list values;
    double sum = 0;
    va_start(values, count);
    for (int i = 0; i < count; i++)
        sum += va_arg(values, double);
    va_end(values);
    return sum / count;
}

struct large shifted(struct large from, long by, double a, double b, double c, double d, double e, double f, double g,
                     double h, double i, long n1, long n2, long n3, long n4, long n5)
{
    for (int k = 0; k < 12; k++)
        from.words[k] += by + (long)(a + b + c + d + e + f + g + h + i) + n1 + n2 + n3 + n4 + n5;
    return from;
}

int depth(int n)
{
    return n ? depth(n - 1) + 1 : 0;
}

int (*const table[])(int) = {leaf, depth};

int calls(int n)
{
    return leaf(n) * 100 + constant();
}

int calls_by_table(int n)
{
    return table[0](n);
}

long sums(int count)
{
    int values[64];
    for (int i = 0; i < count; i++)
        values[i] = i;
    return summed(values, count);
}

double averages(void)
{
    return average(3, 1.0, 2.0, 6.0);
}

long shifts(void)
{
    struct large from = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    struct large to = shifted(from, 100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5);
    return to.words[0] * 1000 + to.words[11];
}

#ifdef PROGRAM
int main(void)
{
    printf("%d %d %ld %.0f %ld %d\n", calls(1), calls_by_table(4), sums(5), averages(), shifts(), depth(5));
    return 0;
}
#endif
