/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Control flow: switches of several shapes, computed goto, recursion, tail calls, invariant conditions, early exits. */

#include "corpus.h"

static int table_switch(int x)
{
    switch (x) {
    case 0:
        return 17;
    case 1:
        return 4;
    case 2:
        return 99;
    case 3:
        return -5;
    case 4:
        return 23;
    case 5:
        return 42;
    default:
        return 0;
    }
}

static int sparse_switch(unsigned x)
{
    switch (x) {
    case 1:
    case 1000:
        return 1;
    case 77777:
        return 2;
    case 10 ... 19:
        return 3;
    case 0xffffffff:
        return 4;
    }
    return 5;
}

/* An interpreter: pushes, adds, multiplies, jumps back while the counter lasts. */
static uint64_t interpret(const uint8_t *code, uint64_t n)
{
    static const void *const labels[] = {&&push, &&add, &&mul, &&loop, &&end};
    uint64_t stack[8] = {0}, *top = stack;
    const uint8_t *at = code;
    goto *labels[*at];
push:
    *++top = at[1] + n;
    at += 2;
    goto *labels[*at];
add:
    top[-1] += top[0];
    top--;
    goto *labels[*++at];
mul:
    top[-1] = top[-1] * top[0] + 1;
    top--;
    goto *labels[*++at];
loop:
    at = n-- ? code : at + 1;
    goto *labels[*at];
end:
    return *top;
}

static int is_odd(unsigned n);

static int is_even(unsigned n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}

static int is_odd(unsigned n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

static unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

/* The condition does not change in the loop. */
static unsigned unswitch(const unsigned *x, int n, int subtract)
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        if (subtract)
            sum -= x[i] * 3;
        else
            sum += x[i] >> 1;
        if (sum == 0x12345)
            return ~0u;
    }
    return sum;
}

static int find(const char *text, char c)
{
    for (int i = 0; text[i]; i++)
        if (text[i] == c)
            return i;
    return -1;
}

static unsigned collatz(uint64_t n)
{
    unsigned steps = 0;
    for (; n != 1; steps++)
        n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}

uint64_t run(void)
{
    static const uint8_t program[] = {0, 3, 0, 5, 2, 1, 3, 4};
    unsigned values[64];
    uint64_t hash = 1, state = 4711;
    for (int i = 0; i < 64; i++)
        values[i] = (unsigned)next(&state);
    for (int i = -2; i < 9; i++)
        hash = mix(hash, (uint64_t)table_switch(i));
    static const unsigned sparse[] = {0, 1, 9, 10, 19, 20, 1000, 77777, 0xffffffff};
    for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++)
        hash = mix(hash, (uint64_t)sparse_switch(sparse[i]));
    hash = mix(hash, interpret(program, 6));
    hash = mix(hash, (uint64_t)(is_even(100000) + 2 * is_odd(77777)));
    hash = mix(hash, ackermann(2, 9));
    hash = mix(hash, unswitch(values, 64, values[0] & 1) + unswitch(values, 64, !(values[0] & 1)));
    hash = mix(hash, (uint64_t)(find("a needle in a haystack", 'y') + find("nothing", 'z')));
    return mix(hash, collatz(837799));
}
