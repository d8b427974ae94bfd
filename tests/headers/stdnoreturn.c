/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>

noreturn static void leave(int status)
{
    puts("leaving");
    exit(status);
}

int main(void)
{
    leave(9);
}
