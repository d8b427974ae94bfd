/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdbool.h>
#include <stdio.h>

int main(void)
{
    volatile double half = 0.5;
    bool truth = half;
    printf("%d %d %zu %d\n", truth, (bool)256, sizeof(bool), true && !false);
    return 0;
}
