/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The other object: a thread-local variable for the first one, and an indirect function. */

__thread long shared = 100;

static long plain(void)
{
    return 41;
}

static long best(void)
{
    return 42;
}

static void *choose(void)
{
    return shared == 100 ? (void *)best : (void *)plain; /* a resolver sees relocated code and its thread's variables */
}

long chosen(void) __attribute__((ifunc("choose")));
long (*volatile chosen_pointer)(void) = chosen;

long call_chosen(void)
{
    return chosen() + chosen_pointer();
}
