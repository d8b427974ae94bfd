/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An exception passes functions whose variables have sizes that are no multiples of eight, and that save registers. The
 * function that catches it has values in all registers that a callee keeps: GUARD makes that function, in a file that
 * another compiler optimises. */

#define COUNTS(X)                                                                                                      \
    X(1, (int a), (a))                                                                                                 \
    X(2, (int a, char b), (a, b))                                                                                      \
    X(3, (int a, int b, int c), (a, b, c))                                                                             \
    X(5, (int a, int b, int c, short d, char e), (a, b, c, d, e))                                                      \
    X(9, (int a, int b, int c, int d, int e, int f, int g, int h, int i), (a, b, c, d, e, f, g, h, i))

#define DECLARE(n, parameters, arguments)                                                                              \
    void thrower##n parameters;                                                                                        \
    void pass##n parameters;
COUNTS(DECLARE)

#ifndef GUARD

#define PASS(n, parameters, arguments)                                                                                 \
    void pass##n parameters                                                                                            \
    {                                                                                                                  \
        thrower##n arguments;                                                                                          \
    }
COUNTS(PASS)

#else

#include <cstdio>

#define THROW(n, parameters, arguments)                                                                                \
    void thrower##n parameters                                                                                         \
    {                                                                                                                  \
        throw a;                                                                                                       \
    }
COUNTS(THROW)

static volatile long source[6] = {0x101, 0x202, 0x303, 0x404, 0x505, 0x606};
static int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9;

/* Returns whether all six values outlive the exception. */
#define CATCH(n, parameters, arguments)                                                                                \
    __attribute__((noinline)) static bool keeps##n()                                                                   \
    {                                                                                                                  \
        long u = source[0], v = source[1], w = source[2], x = source[3], y = source[4], z = source[5];                 \
        bool caught = false;                                                                                           \
        try {                                                                                                          \
            pass##n arguments;                                                                                         \
        } catch (int) {                                                                                                \
            caught = true;                                                                                             \
        }                                                                                                              \
        return caught && u == source[0] && v == source[1] && w == source[2] && x == source[3] && y == source[4] &&     \
               z == source[5];                                                                                         \
    }
COUNTS(CATCH)

/* Prints a number with a bit for each function through which a register has changed. */
int main()
{
    int lost = 0, bit = 1;
    (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i;
#define CHECK(n, parameters, arguments)                                                                                \
    lost |= keeps##n() ? 0 : bit;                                                                                      \
    bit *= 2;
    COUNTS(CHECK)
    std::printf("%d\n", lost);
    return 0;
}

#endif
