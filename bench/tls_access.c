/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A function that uses a thread-local variable, for bench/tls.c; compiled in each model. */

__thread long counter = 1;

#ifdef LARGE
__thread char filler[LARGE]; /* more than there is space for in what threads have at their start */
#endif

long next(void)
{
    return counter++;
}
