/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shared library that our linker makes (shared.sh): imports, pointers to be relocated, thread-local variables, a jump
 * table, calls near and far. */

#include <stdio.h>

__thread int counter = 41;
static __thread int counts[4];
static const int table[3] = {1, 2, 3};

int bump(void)
{
    counts[1]++;
    return ++counter + counts[1];
}

__attribute__((noinline)) static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int work(int n)
{
    printf("work %d\n", n);
    return fibonacci(n) + table[n % 3];
}

int (*pointer)(int) = work;

int select_one(int n)
{
    switch (n) {
    case 0:
        return 5;
    case 1:
        return puts("one");
    case 2:
        return work(7);
    case 3:
        return work(3);
    case 4:
        return bump();
    default:
        return -1;
    }
}
