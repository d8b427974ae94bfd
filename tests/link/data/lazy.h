/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_TESTS_LINK_DATA_LAZY_H
#define TENON_TESTS_LINK_DATA_LAZY_H

/* Types of functions with arguments of every class. */

struct large {
    double values[8];
};

struct pair {
    double x;
    long n;
};

typedef long sum_function(long a, double x, int b, float y, long c, double z, short d, double w, long e, double v,
                          char f, double u, long g, double t, double s, double r, double q, long h, unsigned char i);
typedef long sum_longs_function(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
typedef struct large make_large_function(int first, struct large by_value, double factor);
typedef struct pair make_pair_function(struct pair pair, struct pair other);
typedef long double make_long_double_function(long double x, int n);
typedef int format_function(char *out, unsigned long size, const char *text, ...);
#endif
