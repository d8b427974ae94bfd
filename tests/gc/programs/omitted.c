/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What passes leave out, or do together: barriers of new objects that phis choose, of words that were logged, of
 * permanent values; polls; the second of two allocations. Each function stores between safepoints in a way that a wrong
 * omission would lose. */

#include <stdio.h>
#include <stdlib.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next, *other;
    long value;
};
TN_TYPE(struct node, next, other);

struct large {
    struct node tn_ref *next;
    long values[700];
};
TN_TYPE(struct large, next);

typedef struct node tn_ref *node;

#define APART __attribute__((noinline))

/* Several objects by one bump: the numbers between them, the references after all. */
static APART node make_tree(long depth)
{
    node a = tn_new(struct node);
    a->value = depth;
    node b = tn_new(struct node);
    b->value = depth + 1;
    b->next = a;
    node c = tn_new(struct node);
    c->value = a->value + b->value;
    a->other = c;
    c->next = b;
    return depth ? (b->other = make_tree(depth - 1), c) : c;
}

static APART long sum(node n)
{
    return n ? n->value + sum(n->next == n ? NULL : n->other) + (n->next ? n->next->value : 0) : 0;
}

/* More than the room that is left, and more than one bump is for. */
static APART long large(long i)
{
    struct large tn_ref *a = tn_new(struct large);
    a->values[1] = i;
    struct large tn_ref *b = tn_new(struct large);
    b->values[699] = i + 1;
    node n = tn_new(struct node);
    n->value = 3;
    a->next = n;
    b->next = a->next;
    n = tn_new(struct node);
    return a->values[1] + b->values[699] + b->next->value + a->values[2] * 0 + n->value * 0;
}

/* The parent is new whichever was chosen; or was allocated a turn before. */
static APART node choose(int which, node value)
{
    node n;
    if (which)
        n = tn_new(struct node);
    else {
        n = tn_new(struct node);
        n->value = 1;
    }
    n->next = value;
    return n;
}

static APART node chain(long length)
{
    node first = tn_new(struct node), last = first;
    for (long i = 0; i < length; i++) {
        node n = tn_new(struct node);
        n->value = i;
        last->next = n; /* `last` is of the turn before */
        last = n;
        last->other = first; /* this one is new */
    }
    return first;
}

/* The word is logged by the first store, but not any more after the collection. */
static APART void again(node n, node a, node b, int collect)
{
    n->next = a;
    n->other = n->next;
    n->next = b;
    n->other = n->next;
    n->next = a;
    if (collect)
        tn_new(struct node)->value = 1;
    n->next = a;
    n->next->value++;
}

static APART long loops(long n)
{
    long total = 0;
    for (long i = 0; i < n; i++)
        for (long k = 0; k < 7; k++)
            total += i ^ k;
    for (long i = 0; i < n; i++) {
        node a = tn_new(struct node);
        a->value = i;
        node b = tn_new(struct node);
        b->next = a;
        total += b->next->value;
    }
    return total;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 40;
    long total = 0;
    node old = tn_new(struct node), keep = NULL;
    for (long i = 0; i < rounds; i++) {
        node tree = make_tree(i % 9);
        total += sum(tree) + large(i);
        keep = choose(i & 1, keep);
        keep->value = i;
        node list = chain(i % 50);
        long length = 0;
        for (node n = list; n; n = n->next)
            length += n->value + (n->other == list);
        total += length;
        again(old, tree, list, i & 2);
        total += old->next->value + old->other->value;
        total += loops(20);
    }
    for (node n = keep; n; n = n->next)
        total = total * 31 % 1000003 + n->value;
    printf("%ld\n", total);
    return 0;
}
