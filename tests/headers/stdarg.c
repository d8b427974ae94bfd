/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdarg.h>
#include <stdio.h>

static double sum(const char *kinds, ...)
{
    va_list arguments, again;
    va_start(arguments, kinds);
    va_copy(again, arguments);
    double total = 0;
    for (const char *k = kinds; *k; k++)
        total += *k == 'd'   ? va_arg(arguments, double)
                 : *k == 'l' ? (double)va_arg(arguments, long)
                             : va_arg(arguments, int);
    for (const char *k = kinds; *k == 'i'; k++)
        total += va_arg(again, int) * 1000;
    va_end(again);
    va_end(arguments);
    return total;
}

static int print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vprintf(format, arguments);
    va_end(arguments);
    return written;
}

int main(void)
{
    printf("%g\n", sum("iidlidddddddddl", 1, 2, 0.5, 4L, 5, .1, .2, .3, .4, .5, .6, .7, .8, .9, 10L));
    return print("%s %d %Lf %c\n", "text", 7, 1.25L, 'x') == 18 ? 0 : 1;
}
