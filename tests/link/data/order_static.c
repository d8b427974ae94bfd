/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The ordinary program around order_1.c, order_2.c and order_3.c. */

#include <stdio.h>

void note(const char *text);

void note(const char *text)
{
    puts(text);
    fflush(stdout);
}

int main(void)
{
    puts("main");
    return 0;
}
