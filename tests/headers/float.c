/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <float.h>
#include <stdio.h>

int main(void)
{
    volatile double small = DBL_MIN, large = DBL_MAX;
    volatile long double wide = LDBL_MAX;
    printf("%d %d %d\n", FLT_DIG, DBL_DIG, LDBL_DIG);
    printf("%.17g %.17g %.20Lg\n", (double)FLT_EPSILON, DBL_EPSILON, LDBL_EPSILON);
    printf("%g %g %Lg\n", small / 2, large * 2, wide);
    printf("%d %d %d\n", FLT_RADIX, FLT_EVAL_METHOD, DECIMAL_DIG);
    return 0;
}
