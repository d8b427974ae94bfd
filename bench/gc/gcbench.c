/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* GCBench (Ellis, Kovac and Boehm): trees built from the top and from the bottom beside a tree and an array that last.
 *     gcbench [LASTING_DEPTH LARGEST_DEPTH] */

#include "workload.h"

struct node {
    struct node tn_ref *left, *right;
    int64_t i, j;
};
TN_TYPE(struct node, left, right);

struct doubles {
    size_t length;
    double items[];
};
TN_ARRAY_OF_LEAVES(struct doubles, items);

typedef struct node tn_ref *node;

static void grow_down(int depth, node n)
{
    if (depth <= 0)
        return;
    n->left = tn_new(struct node);
    n->right = tn_new(struct node);
    grow_down(depth - 1, n->left);
    grow_down(depth - 1, n->right);
}

static node grow_up(int depth)
{
    if (depth <= 0)
        return tn_new(struct node);
    node left = grow_up(depth - 1), right = grow_up(depth - 1), n = tn_new(struct node);
    n->left = left;
    n->right = right;
    return n;
}

static void drop(node n)
{
    if (!FREES || !n)
        return;
    drop(n->left);
    drop(n->right);
    FREE(n);
}

static int64_t size_of_tree(int depth)
{
    return (2ll << depth) - 1;
}

int main(int argc, char **argv)
{
    enum { ARRAY = 500000, SMALLEST = 4 };
    int lasting_depth = (int)argument(argc, argv, 1, 16), largest = (int)argument(argc, argv, 2, 16);
    drop(grow_up(largest + 2));
    node lasting = tn_new(struct node);
    grow_down(lasting_depth, lasting);
    struct doubles tn_ref *array = tn_new_array(struct doubles, items, ARRAY);
    for (int i = 0; i < ARRAY / 2; i++)
        array->items[i] = 1.0 / (i + 1);
    for (int d = SMALLEST; d <= largest; d += 2) {
        int64_t rounds = 2 * size_of_tree(largest + 2) / size_of_tree(d);
        for (int64_t i = 0; i < rounds; i++) {
            node n = tn_new(struct node);
            grow_down(d, n);
            drop(n);
        }
        for (int64_t i = 0; i < rounds; i++)
            drop(grow_up(d));
    }
    if (!lasting->left || array->items[1000] != 1.0 / 1001)
        puts("failed");
    puts("ok");
    return 0;
}
