/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types of collected C in images: nodes of a list, and arrays of references to them. */

#ifndef TENON_TESTS_IMAGE_NODES_H
#define TENON_TESTS_IMAGE_NODES_H

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

struct nodes {
    size_t length;
    struct node tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct nodes, items);

typedef struct node tn_ref *node;

#endif
