/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <tgmath.h>

int main(void)
{
    volatile float f = 0.5f;
    volatile double d = 0.5;
    volatile long double l = 0.5L;
    volatile double complex z = 0.5 + 1 * I;
    printf("%zu %zu %zu %zu\n", sizeof sin(f), sizeof sin(d), sizeof sin(l), sizeof sin(z));
    printf("%.7g %.15g %.18Lg %.12g\n", (double)exp(f), exp(d), exp(l), creal(exp(z)));
    printf("%.15g %.7g\n", pow(d, 3), (double)fmax(f, 0.25f));
    return 0;
}
