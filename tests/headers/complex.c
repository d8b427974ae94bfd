/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <complex.h>
#include <stdio.h>

static void show(const char *name, double complex z)
{
    printf("%s %.12g %.12g\n", name, creal(z), cimag(z));
}

int main(void)
{
    volatile double complex a = 1.5 - 2.25 * I, b = -0.5 + 3 * I;
    show("mul", a * b);
    show("div", a / b);
    show("exp", cexp(a));
    show("log", clog(a));
    show("sqrt", csqrt(b));
    show("pow", cpow(a, b));
    show("sin", csin(a));
    show("atanh", catanh(b));
    show("conj", conj(a));
    show("proj", cproj(b));
    printf("%.12g %.12g %.6Lg\n", cabs(a), carg(b), cabsl((long double complex)a));
    volatile float complex f = 1 + 2 * I;
    printf("%.6g %.6g\n", (double)crealf(f * f), (double)cimagf(csinhf(f)));
    return 0;
}
