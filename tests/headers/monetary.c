/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <monetary.h>
#include <stdio.h>

int main(void)
{
    char text[100];
    printf("%zd %s\n", strfmon(text, sizeof text, "[%^=*#6n] [%i]", 1234.567, -3.5), text);
    return 0;
}
