/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For call.c: managed code in another module, which caller.c does not know to be managed. */

#include "tenon_managed.h"

struct number {
    long value;
};
TN_LEAF(struct number);

struct number tn_ref *last;

/* Managed, because it may allocate. */
long empty_managed(long n)
{
    if (n < 0)
        last = tn_new(struct number);
    return n;
}
