/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fenv.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    volatile double x = 2.5, zero = 0, one = 1;
    for (int i = 0; i < 4; i++) {
        fesetround(modes[i]);
        printf("%d %g %g %ld\n", fegetround() == modes[i], rint(x), nearbyint(-x), lrint(x));
    }
    fesetround(FE_TONEAREST);
    feclearexcept(FE_ALL_EXCEPT);
    volatile double infinity = one / zero;
    printf("%g %d %d\n", infinity, fetestexcept(FE_DIVBYZERO) != 0, fetestexcept(FE_INVALID) != 0);
    fenv_t environment;
    feholdexcept(&environment);
    feraiseexcept(FE_OVERFLOW);
    printf("%d\n", fetestexcept(FE_OVERFLOW) != 0);
    fesetenv(&environment);
    printf("%d %d\n", fetestexcept(FE_OVERFLOW) != 0, fetestexcept(FE_DIVBYZERO) != 0);
    return 0;
}
