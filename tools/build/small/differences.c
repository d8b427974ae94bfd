/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* differences SIZE: copies its input with each byte as its difference from the byte SIZE before. Of a table with rows
 * of this size, which are alike, little is left to compress. tools/cmd/packed_tables.c undoes it. */

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    unsigned char before[256] = {0};
    size_t size = argc == 2 ? (size_t)atoi(argv[1]) : 0, at = 0;
    if (size == 0 || size > sizeof before)
        return 2;
    for (int byte; (byte = getchar()) != EOF; at = (at + 1) % size) {
        putchar((unsigned char)(byte - before[at]));
        before[at] = (unsigned char)byte;
    }
    return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
