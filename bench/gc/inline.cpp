/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For call.c: a managed loop that calls an inline function of C++ (linkonce_odr), of which the linker may choose
 * another module's. */

#include "tenon_managed.h"

struct number {
    long value;
};
TN_LEAF(struct number);

static struct number tn_ref *last;

/* Managed, because it may allocate. */
inline __attribute__((noinline)) long empty_inline(long n)
{
    if (n < 0)
        last = tn_new(struct number);
    return n;
}

extern "C" long call_inline(long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++) {
        sum += empty_inline(i);
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}
