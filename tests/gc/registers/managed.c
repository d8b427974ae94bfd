/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stores references while more values are live than there are registers: whatever the barrier destroys that compiled
 * code relies on, the result tells. */

#include <stdio.h>

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

#define APART __attribute__((noinline))

static APART node make(long value)
{
    node n = tn_new(struct node);
    n->value = value;
    return n;
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)

static APART long store(node n, node to, long seed)
{
    double half = (double)seed / 2, third = (double)seed / 3;
#define MAKE(i)                                                                                                        \
    seed = seed * 0x5851F42D4C957F2D + i;                                                                              \
    long v##i = seed;
#define ADD(i) sum = sum * 31 + v##i;
    EACH(MAKE)
    n->next = to;
    long sum = n->value;
    EACH(ADD)
    return sum + (long)(half * third * 1000);
}

/* The arguments of the barrier, an address and a value, are used again by the store after it. */
static APART void put(struct nodes tn_ref *array, node to, size_t i, size_t j)
{
    array->items[i + j] = to;
}

int main(void)
{
    node n = make(1), to = make(2);
    struct nodes tn_ref *array = tn_new_array(struct nodes, items, 20);
    for (long i = 0; i < 20; i++) {
        make(i); /* under stress, the objects are stored to for the first time again */
        printf("%ld ", store(n, to, i));
        printf("%ld", n->next->value);
        make(i);
        put(array, to, (size_t)i / 2, (size_t)(i + 1) / 2);
        printf(" %ld %ld\n", to->value, array->items[i]->value);
    }
    return 0;
}
