/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For caller.c and inline.cpp: an empty managed function, and loops of calls. */

#include "tenon_managed.h"

struct number {
    long value;
};
TN_LEAF(struct number);

static struct number tn_ref *last;

/* Managed, because it may allocate. */
#define EMPTY(linkage, name)                                                                                           \
    linkage __attribute__((noinline)) long name(long n)                                                                \
    {                                                                                                                  \
        if (n < 0)                                                                                                     \
            last = tn_new(struct number);                                                                              \
        return n;                                                                                                      \
    }

#define LOOP(name, call)                                                                                               \
    long name(long count)                                                                                              \
    {                                                                                                                  \
        long sum = 0;                                                                                                  \
        for (long i = 0; i < count; i++) {                                                                             \
            sum += call;                                                                                               \
            __asm__ volatile("" : "+r"(sum));                                                                          \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
