/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A program of which a run uses a part: its first argument says what to do with the others. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long largest(const long *numbers, int count)
{
    long best = numbers[0];
    for (int i = 1; i < count; i++)
        best = numbers[i] > best ? numbers[i] : best;
    return best;
}

long sum(const long *numbers, int count)
{
    long total = 0;
    for (int i = 0; i < count; i++)
        total += numbers[i];
    return total;
}

long spread(const long *numbers, int count)
{
    long least = numbers[0];
    for (int i = 1; i < count; i++)
        least = numbers[i] < least ? numbers[i] : least;
    return largest(numbers, count) - least;
}

/* Of the library that a program is built from, and not used by it. */
long product(const long *numbers, int count)
{
    long total = 1;
    for (int i = 0; i < count; i++)
        total *= numbers[i];
    return total;
}

int main(int argc, char **argv)
{
    long numbers[16];
    int count = 0;
    for (int i = 2; i < argc && count < 16; i++)
        numbers[count++] = atol(argv[i]);
    if (!count)
        return 2;
    printf("%s %ld\n", argv[1], (strcmp(argv[1], "sum") == 0 ? sum : spread)(numbers, count));
    return 0;
}
