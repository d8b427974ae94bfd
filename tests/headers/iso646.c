/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <iso646.h>
#include <stdio.h>

int main(void)
{
    int a = 6, b = 3;
    printf("%d %d %d %d %d\n", a bitand b, a bitor b, a xor b, compl a, not a);
    a and_eq b;
    printf("%d %d %d\n", a, a and b, a not_eq b or b);
    return 0;
}
