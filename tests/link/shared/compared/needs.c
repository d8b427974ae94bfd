/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Needs another library (library.c): its functions, data, and a thread-local variable. */

#include <stdio.h>

extern int exported;
extern __thread int counted;
extern int chosen(void);
int *to_needed = &exported;

__attribute__((constructor)) static void begin(void)
{
    printf("after %d\n", chosen());
}

int run(void)
{
    printf("of the other one: %d %d %d\n", exported, *to_needed == exported, counted);
    return ++counted;
}
