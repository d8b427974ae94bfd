/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For a host without a dynamic linker: thread-local variables in two threads, an indirect function, calls of the
 * host. */

#include <pthread.h>
#include <stdio.h>

static __thread int counted = 40;
__thread long zeroed;

static int three(void)
{
    return 3;
}

static int (*choose(void))(void)
{
    return three;
}

int chosen(void) __attribute__((ifunc("choose")));
extern int missing __attribute__((weak));

static void *count(void *times)
{
    for (int i = 0; i < *(int *)times; i++)
        counted++, zeroed += chosen();
    printf("%d %ld\n", counted, zeroed);
    return NULL;
}

int main(int argc, char **argv)
{
    int times = 5;
    pthread_t thread;
    counted++;
    if (pthread_create(&thread, NULL, count, &times) || pthread_join(thread, NULL))
        return 1;
    count(&argc);
    puts(&missing ? "there" : argv[1]);
    return 7;
}
