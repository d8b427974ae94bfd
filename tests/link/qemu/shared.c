/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shared library that our linker makes (shared.sh): imports, pointers to be relocated, thread-local variables, a jump
 * table, calls near and far, indirect functions, constructors and destructors. */

#include <stdio.h>

extern int __cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
extern char __dso_handle __attribute__((visibility("hidden")));

static int value = 77;

static void destroy(void *argument)
{
    printf("destroyed %d %d\n", *(int *)argument, value);
}

__attribute__((constructor)) static void begin(void)
{
    printf("begin %d\n", value++);
}

/* As static objects of C++ do. */
int register_exit(int *argument)
{
    return __cxa_atexit(destroy, argument, &__dso_handle);
}

__attribute__((destructor)) static void finish(void)
{
    puts("finish");
    value++;
}

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

/* ---- indirect functions ---- */

static int three(void)
{
    return value ? 3 : 4;
}

/* Holds an address before resolvers run. */
static int (*volatile choices[])(void) = {three};

static int (*choose(void))(void)
{
    return choices[0];
}

int chosen(void) __attribute__((ifunc("choose")));
static int chosen_here(void) __attribute__((ifunc("choose")));
int (*chosen_pointer)(void) = chosen;

int call_chosen(void)
{
    int (*volatile here)(void) = chosen_here;
    return chosen() + 10 * chosen_here() + 100 * here() + 1000 * chosen_pointer() + 10000 * (chosen_pointer == chosen);
}

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
