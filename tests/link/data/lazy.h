/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_TESTS_LINK_DATA_LAZY_H
#define TENON_TESTS_LINK_DATA_LAZY_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct large {
    double values[8];
};

struct pair {
    double x;
    long n;
};

typedef long sum_function(long a, double x, int b, float y, long c, double z, short d, double w, long e, double v,
                          char f, double u, long g, double t, double s, double r, double q, long h, unsigned char i);
sum_function sum;
typedef struct large make_large_function(int first, struct large by_value, double factor);
make_large_function make_large;
typedef struct pair make_pair_function(struct pair pair, struct pair other);
make_pair_function make_pair;
typedef long double make_long_double_function(long double x, int n);
make_long_double_function make_long_double;
typedef int format_function(char *out, unsigned long size, const char *text, ...);
format_function format;
int read_errno(void);
int twice(int n);
int once(int n);

#endif
