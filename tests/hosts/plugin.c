/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loaded code: thread-local variables with and without initial values, in this object and in the other one; the host's
 * functions and data; initializers. */

extern void say(const char *text, long number);
extern long table[4];
extern __thread long shared;

__thread long counter = 5;
static __thread long hidden = 7;
static __thread char zeros[200];
static long plain = 3;
__thread long *pointer = &plain;

__attribute__((constructor(200))) static void later(void)
{
    say("second initializer", *pointer);
}

__attribute__((constructor(101))) static void sooner(void)
{
    say("first initializer", table[3]);
}

__attribute__((destructor)) static void last(void)
{
    say("finalizer", 0);
}

long work(long number)
{
    counter++;
    hidden += 2;
    zeros[number] += 1;
    shared += table[number % 4];
    return counter * 1000000 + hidden * 10000 + zeros[number] * 1000 + shared + *pointer;
}
