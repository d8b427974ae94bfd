/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For call.c: managed code in another module, which caller.c does not know to be managed. */

#include "tenon_managed.h"

struct number {
    long value;
};
TN_LEAF(struct number);

struct number tn_ref *last;
static struct number tn_ref *other;

void make_other_number(void)
{
    other = tn_new(struct number);
}

/* A leaf. */
long other_getter(void)
{
    return other->value;
}

/* Managed, because it may allocate. */
long empty_managed(long n)
{
    if (n < 0)
        last = tn_new(struct number);
    return n;
}
