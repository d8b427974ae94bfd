/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <math.h>
#include <stdio.h>

typedef double unary(double);
typedef float unary_float(float);
typedef long double unary_long(long double);

/* The sign of a NaN is nobody's business. */
static void show(size_t row, double value)
{
    printf("%zu %.15g\n", row, isnan(value) ? fabs(value) : value);
}

int main(void)
{
    unary *const doubles[] = {sin,  cos,  tan,   asin,  acos,   atan, sinh, cosh, tanh,      asinh,  exp,  exp2,
                              log,  log2, log10, log1p, expm1,  cbrt, sqrt, erf,  erfc,      tgamma, ceil, floor,
                              rint, fabs, trunc, round, lgamma, j0,   y1,   logb, nearbyint, acosh,  atanh};
    unary_float *const floats[] = {sinf, cosf, expf, logf, sqrtf, tanf, floorf, cbrtf, tgammaf};
    unary_long *const longs[] = {sinl, cosl, expl, logl, sqrtl, tgammal, floorl, cbrtl};
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        for (double x = -1.25; x < 3; x += 0.75)
            show(i, doubles[i](x));
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        printf("%.7g\n", (double)floats[i](0.7f));
    for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++)
        printf("%.18Lg\n", longs[i](0.7L));
    int exponent, quotient;
    double whole;
    volatile double x = 123.4567, y = 7.5;
    printf("%.15g %.15g %.15g %.15g\n", pow(x, y), fmod(x, y), atan2(x, y), hypot(x, y));
    printf("%.15g %.15g %.15g %.15g\n", fma(x, y, 1), remainder(x, y), copysign(x, -y), nextafter(x, y));
    double fraction = frexp(x, &exponent);
    printf("%.15g %d %.15g\n", fraction, exponent, ldexp(fraction, exponent));
    fraction = modf(x, &whole);
    printf("%.15g %g %.15g\n", fraction, whole, scalbn(x, -3));
    printf("%.15g %ld %lld\n", remquo(x, y, &quotient), lround(x), llrint(y));
    printf("%d %d %d %d\n", isnan(NAN), isinf(-INFINITY) != 0, fpclassify(x) == FP_NORMAL, signbit(-x) != 0);
    lgamma(-0.5);
    printf("%d\n", signgam);
    return 0;
}
