/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls the functions of zeroed.ll, whose variables are visited before they hold anything. */

#include <stdio.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

typedef struct node tn_ref *node;

node cons(long value, node next)
{
    node n = tn_new(struct node);
    n->value = value;
    n->next = next;
    return n;
}

#define FUNCTIONS(X) X(one) X(words) X(part) X(later) X(result)

#define DECLARE(name) unsigned long name(node list);
FUNCTIONS(DECLARE)

int main(void)
{
#define CALL(name) printf(#name " %lx\n", name(cons(9128161957192253152, NULL)));
    FUNCTIONS(CALL)
    return 0;
}
