/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The code of an image: functions that differ by target, called in every way that C has. */

#include <stddef.h>

__attribute__((noinline)) static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Direct calls, from one that is cloned and from one that is not. */
double squares(const double *a, size_t rows, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += dot(a + i * n, a + i * n, n);
    return sum;
}

double length(const double *a, size_t n)
{
    return dot(a, a, n);
}

/* Through pointers in data, which are the same everywhere. */
static int bits(int a)
{
    int count = 0;
    for (; a; a = (int)((unsigned)a >> 1))
        count += a & 1;
    return count;
}

static int twice(int a)
{
    return 2 * a;
}

int (*const functions[2])(int) = {bits, twice};

__attribute__((noinline)) int through(int index, int a)
{
    return functions[index](a);
}

__attribute__((noinline)) int is_bits(int (*function)(int))
{
    return function == bits;
}

int same_address(void)
{
    return is_bits(functions[0]) && !is_bits(functions[1]);
}

/* More arguments than registers, and as many as the caller likes. */
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, double h, const long *i)
{
    long sum = 0;
    for (long n = 0; n < a; n++)
        sum += b + c + d + e + f + g + (long)h + i[n];
    return sum;
}

long some(int count, ...)
{
    __builtin_va_list list;
    long sum = 0;
    __builtin_va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += __builtin_va_arg(list, long);
    __builtin_va_end(list);
    return sum;
}

extern __typeof(bits) other_name __attribute__((alias("bits")));

#if defined __aarch64__
#define HERE "adr %0, ."
#elif defined __riscv
#define HERE "auipc %0, 0"
#else
#define HERE "lea (%%rip), %0"
#endif

/* Where the version lies that runs. */
const char *where(int n)
{
    const char *at = 0;
    for (; n; n--)
        __asm__ volatile(HERE : "=r"(at));
    return at;
}
