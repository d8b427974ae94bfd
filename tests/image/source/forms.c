/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What functions and data of C can be, each in an image; `forms` answers the number of the first that is not as it
 * should be, or 0. */

#include <setjmp.h>
#include <stdarg.h>

/* Assembly of the file's own, and names for functions and variables that exist. */
#ifndef NO_ASSEMBLY
__asm__(".text\n.globl in_assembly\n.type in_assembly, @function\nin_assembly: movl $7, %eax\n ret\n"
        ".size in_assembly, . - in_assembly");
int in_assembly(void);
#else
static int in_assembly(void)
{
    return 7;
}
#endif

int public_sum(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

static int local_sum(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += 2 * i;
    return sum;
}

extern __typeof(public_sum) alias_of_public __attribute__((alias("public_sum")));
extern __typeof(public_sum) weak_alias __attribute__((weak, alias("public_sum")));
extern __typeof(local_sum) alias_of_local __attribute__((alias("local_sum")));
int (*const table[])(int) = {public_sum, alias_of_public, weak_alias, alias_of_local, local_sum};

int variable = 5;
extern int alias_of_variable __attribute__((alias("variable")));
__attribute__((weak)) int gives_way(int n)
{
    return n + 1;
}
extern int not_there(int) __attribute__((weak));

/* Sections that the linker frames. */
__attribute__((section("framed"), used)) static int first = 4;
__attribute__((section("framed"), used)) static int second = 5;
extern int __start_framed[], __stop_framed[];

/* Arguments and results in memory, as many as the caller likes, and calls that are jumps. */
struct large {
    double values[6];
    int count;
};

__attribute__((noinline)) struct large scaled(int factor, struct large from)
{
    for (int i = 0; i < 6; i++)
        from.values[i] *= factor;
    from.count += factor;
    return from;
}

__attribute__((noinline)) long sum_of_list(int count, va_list list)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(list, long);
    return sum + (long)va_arg(list, double);
}

__attribute__((noinline)) long sum_of(int count, ...)
{
    va_list list;
    va_start(list, count);
    long sum = sum_of_list(count, list);
    va_end(list);
    return sum;
}

int is_odd(unsigned n);
__attribute__((noinline)) int is_even(unsigned n)
{
    if (!n)
        return 1;
    __attribute__((musttail)) return is_odd(n - 1);
}

__attribute__((noinline)) int is_odd(unsigned n)
{
    for (unsigned i = 0; i < 2; i++)
        __asm__ volatile("" ::: "memory");
    if (!n)
        return 0;
    __attribute__((musttail)) return is_even(n - 1);
}

/* Labels as values, and returning twice. */
int interpret(const unsigned char *code)
{
    static void *const operations[] = {&&increment, &&twice, &&end};
    int value = 1;
    goto *operations[*code++];
increment:
    value++;
    goto *operations[*code++];
twice:
    value *= 2;
    goto *operations[*code++];
end:
    return value;
}

int by_label(int n)
{
    void *next = &&odd;
    int sum = 0;
again:
    if (n % 2 == 0)
        next = &&even;
    goto *next;
even:
    sum += 10;
odd:
    sum++;
    next = &&odd;
    if (--n > 0)
        goto again;
    return sum;
}

static jmp_buf back;
static __thread int jumps;

__attribute__((noinline)) static void jump(int n)
{
    for (int i = 0; i < n; i++)
        jumps++;
    longjmp(back, n);
}

int returns_twice(int n)
{
    volatile int count = 0;
    int value = setjmp(back);
    count++;
    if (!value)
        jump(n);
    for (int i = 0; i < 3; i++)
        count += value;
    return count;
}

/* In the order of their numbers. */
static int order;
__attribute__((constructor(200))) static void later(void)
{
    for (int i = 0; i < 1; i++)
        order = 10 * order + 2;
}
__attribute__((constructor(150))) static void sooner(void)
{
    order = 10 * order + 1;
}
__attribute__((constructor)) static void last(void)
{
    order = 10 * order + public_sum(3);
}

int forms(void)
{
    const unsigned char code[] = {0, 1, 1, 0, 2};
    const struct large from = {{1, 2, 3, 4, 5, 6}, 9}, to = scaled(3, from);
    const int good[] = {
        in_assembly() == 7,
        public_sum(5) == 10 && alias_of_public(5) == 10 && weak_alias(5) == 10 && alias_of_local(5) == 20,
        table[0](5) == 10 && table[1](5) == 10 && table[2](5) == 10 && table[3](5) == 20 && table[4](5) == 20,
        alias_of_variable == 5 && gives_way(1) == 2 && !not_there,
        __stop_framed - __start_framed == 2 && first + second == 9,
        to.values[5] == 18 && to.count == 12 && from.count == 9,
        sum_of(3, 1L, 2L, 3L, 4.5) == 10,
        is_even(1000000) && !is_even(7) && is_odd(7),
        interpret(code) == 9 && by_label(4) == 24,
        returns_twice(4) == 14 && jumps % 4 == 0,
        order == 123,
    };
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!good[i])
            return (int)i + 1;
    return 0;
}
