/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiled for Windows, by both of its kinds of compilers: what their objects have in common. */

extern int host_add(int, int);
__declspec(dllimport) int host_mul(int, int);
__declspec(dllimport) extern int host_var;
extern int other_static(int);
extern int defined_twice(int);

static int counter = 5;
int table[3] = {1, 2, 3};
int zeros[100];
int *pointer = &table[1];
static int (*volatile through_pointer)(int, int) = host_add;

__attribute__((weak)) int weak_here(void)
{
    return 77;
}

__attribute__((weak)) int weak_elsewhere(void)
{
    return 1;
}

#ifdef __clang__
extern __attribute__((weak)) int weak_nowhere(void);
#else
static int (*const volatile weak_nowhere)(void); /* gcc's references are never weak */
#endif

__attribute__((noinline, selectany)) extern const double constant = 3.25;

int add3(int a, int b, int c)
{
    return host_add(host_add(a, b), c);
}

int mul(int a, int b)
{
    return host_mul(a, b) + host_var;
}

int next(void)
{
    return counter++ + *pointer + zeros[3];
}

int calls(int x)
{
    return through_pointer(x, 2) + weak_here() * 100 + weak_elsewhere() * 10000 + (weak_nowhere ? 1000000 : 0);
}

double real(double x)
{
    return x * constant + 0.5;
}

int choose(int x)
{
    switch (x) {
    case 0:
        return host_add(x, 5);
    case 1:
        return host_add(x, 99);
    case 2:
        return host_mul(x, 12);
    case 3:
        return host_add(x, -4);
    case 4:
        return host_mul(x, 71);
    case 5:
        return host_add(x, 3);
    default:
        return 0;
    }
}

int others(int x)
{
    return other_static(x) + defined_twice(x);
}

/* More than a page on the stack: compilers call a function that touches each. */
int large_frame(int x)
{
    volatile char bytes[3000];
    for (int i = 0; i < 3000; i++)
        bytes[i] = (char)(x + i);
    return bytes[2999];
}
