/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fnmatch.h>
#include <stdio.h>

int main(void)
{
    static const struct {
        const char *pattern, *text;
        int flags;
    } rows[] = {
        {"*.c", "file.c", 0},
        {"*.c", "file.h", 0},
        {"[a-c]?[!x]", "bzy", 0},
        {"*", ".hidden", FNM_PERIOD},
        {"a*b", "a/b", 0},
        {"a*b", "a/b", FNM_PATHNAME},
        {"FILE*", "filename", FNM_CASEFOLD},
        {"+(ab|c)", "abcab", FNM_EXTMATCH},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("%d\n", fnmatch(rows[i].pattern, rows[i].text, rows[i].flags));
    return 0;
}
