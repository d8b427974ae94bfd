/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Frames between the host's, to be unwound; compiled with -fexceptions -funwind-tables (rules.mk). */

int through(int (*function)(void *), void *context);
int through_twice(int (*function)(void *), void *context);
int with_cleanup(int (*function)(void *), void *context, int *cleaned);

__attribute__((noinline)) int through(int (*function)(void *), void *context)
{
    volatile int frame[20] = {0};
    frame[3] = function(context);
    return frame[3] + 1;
}

__attribute__((noinline)) int through_twice(int (*function)(void *), void *context)
{
    return through(function, context) + 1;
}

static void clean(int **cleaned)
{
    ++**cleaned;
}

/* Its cleanup runs when an exception passes: needs the language-specific data and the personality routine. */
int with_cleanup(int (*function)(void *), void *context, int *cleaned)
{
    __attribute__((cleanup(clean))) int *guard = cleaned;
    return through_twice(function, context) + (guard ? 0 : 1);
}
