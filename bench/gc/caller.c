/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For call.c: managed loops. */

#include "tenon_managed.h"

long empty_native(long n), empty_managed(long n);
TN_NO_TRANSITION long empty_no_transition(long n);

struct number {
    long value;
};
TN_LEAF(struct number);

static struct number tn_ref *last;

/* Managed, because it may allocate. */
static __attribute__((noinline)) long empty_body(long n)
{
    if (n < 0)
        last = tn_new(struct number);
    return n;
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

LOOP(call_nothing, i)
LOOP(call_body, empty_body(i))
LOOP(call_no_transition, empty_no_transition(i))
LOOP(call_native, empty_native(i))
LOOP(call_module, empty_managed(i))
