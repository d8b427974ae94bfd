/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For host.c: collected C that calls functions which jump out of it, and that computes. */

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

void leave(long depth);

long be_left(long depth)
{
    struct node tn_ref *node = tn_new(struct node);
    node->value = depth;
    leave(depth);
    return node->value;
}

/* The sum of the numbers below n. */
long work(long n)
{
    struct node tn_ref *list = NULL;
    for (long i = 0; i < n; i++) {
        struct node tn_ref *node = tn_new(struct node);
        node->next = list;
        node->value = i;
        list = node;
    }
    long sum = 0;
    for (; list; list = list->next)
        sum += list->value;
    return sum;
}
