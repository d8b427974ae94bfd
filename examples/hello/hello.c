/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* clang-22 -O1 -c -emit-llvm hello.c -o hello.bc && tenon run hello.bc -- your name */

#include <math.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    printf("Hello");
    for (int i = 1; i < argc; i++)
        printf(" %s", argv[i]);
    printf(", from %s: the square root of 2 is %.15f\n", argv[0], sqrt(argc > 0 ? 2.0 : 0.0));
    return 0;
}
