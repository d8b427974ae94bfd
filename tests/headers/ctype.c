/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <ctype.h>
#include <stdio.h>

int main(void)
{
    int (*const classes[])(int) = {isalnum, isalpha, isblank, iscntrl, isdigit, isgraph,
                                   islower, isprint, ispunct, isspace, isupper, isxdigit};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        unsigned long sum = 0;
        for (int c = -1; c < 256; c++)
            if (classes[i](c))
                sum = sum * 31 + (unsigned long)c;
        printf("%zu %lx\n", i, sum);
    }
    for (const char *p = "Hello, World 09!"; *p; p++) /* the macros read tables through __ctype_b_loc */
        putchar(isupper((unsigned char)*p) ? tolower((unsigned char)*p) : toupper((unsigned char)*p));
    putchar('\n');
    return 0;
}
