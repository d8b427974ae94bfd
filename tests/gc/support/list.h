/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A list on the collected heap, for programs that keep something while they do something else. */

#ifndef TENON_TESTS_GC_LIST_H
#define TENON_TESTS_GC_LIST_H

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

typedef struct node tn_ref *node;

/* The numbers below `count`. */
static node make_list(long count)
{
    node list = NULL;
    while (count--) {
        node n = tn_new(struct node);
        n->value = count;
        n->next = list;
        list = n;
    }
    return list;
}

static long sum_of(node list)
{
    long sum = 0;
    for (; list; list = list->next)
        sum += list->value;
    return sum;
}

#endif
