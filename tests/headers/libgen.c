/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <libgen.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    static const char *const paths[] = {"/usr/lib", "/usr/", "usr", "/", ".", ""};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char a[20], b[20];
        strcpy(a, paths[i]);
        strcpy(b, paths[i]);
        printf("%s %s\n", dirname(a), basename(b));
    }
    return 0;
}
