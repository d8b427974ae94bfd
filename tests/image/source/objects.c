/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collected C beside values.c, in an image that has the objects itself: one of them has the address of a function of
 * the image. */

#include "tenon_managed.h"

struct node;
struct entry {
    struct node tn_ref *first;
    long (*run)(void);
};

extern struct entry the_entry;

long run_entry(void)
{
    return ((struct entry tn_ref *)&the_entry)->run();
}
