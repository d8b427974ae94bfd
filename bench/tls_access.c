/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A function that uses a thread-local variable, for bench/tls.c; compiled in each model. */

__thread long counter = 1;

long next(void)
{
    return counter++;
}
