/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The Mandelbrot set, with complex numbers that are boxes.
 *     mandelbrot [WIDTH] */

#include "kernel.h"

struct complex {
    double re, im;
};
TN_LEAF(struct complex);
typedef BOX(struct complex) complex;

static complex make(double re, double im)
{
    return NEW_BOX(struct complex, re, im);
}

static complex add(complex a, complex b)
{
    return make(UNBOX(a).re + UNBOX(b).re, UNBOX(a).im + UNBOX(b).im);
}

static complex square(complex a)
{
    return make(UNBOX(a).re * UNBOX(a).re - UNBOX(a).im * UNBOX(a).im, 2 * UNBOX(a).re * UNBOX(a).im);
}

static double norm(complex a)
{
    return UNBOX(a).re * UNBOX(a).re + UNBOX(a).im * UNBOX(a).im;
}

static int turns(complex c)
{
    enum { MOST = 50 };
    complex z = make(0, 0);
    int n = 0;
    for (; n < MOST && norm(z) <= 4; n++)
        z = add(square(z), c);
    return n;
}

int main(int argc, char **argv)
{
    int width = (int)argument(argc, argv, 1, 1000);
    long sum = 0;
    for (int y = 0; y < width; y++)
        for (int x = 0; x < width; x++)
            sum += turns(make(3.0 * x / width - 2, 3.0 * y / width - 1.5));
    printf("%ld\n", sum);
    return 0;
}
