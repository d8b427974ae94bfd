/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Binary trees (The Computer Language Benchmarks Game): many short-lived trees beside a long-lived one.
 *     bt [DEPTH] */

#include "workload.h"

struct tree {
    struct tree tn_ref *left, *right;
};
TN_TYPE(struct tree, left, right);

typedef struct tree tn_ref *tree;

static tree make(int depth)
{
    tree t = tn_new(struct tree);
    if (depth > 0) {
        t->left = make(depth - 1);
        t->right = make(depth - 1);
    }
    return t;
}

static int count(tree t)
{
    return t->left ? 1 + count(t->left) + count(t->right) : 1;
}

static void drop(tree t)
{
    if (!FREES || !t)
        return;
    drop(t->left);
    drop(t->right);
    FREE(t);
}

static int count_once(tree t)
{
    int n = count(t);
    drop(t);
    return n;
}

int main(int argc, char **argv)
{
    enum { SMALLEST = 4 };
    int depth = (int)argument(argc, argv, 1, 18);
    printf("stretch tree of depth %d\t check: %d\n", depth + 1, count_once(make(depth + 1)));
    tree lasting = make(depth);
    for (int d = SMALLEST; d <= depth; d += 2) {
        int rounds = 1 << (depth - d + SMALLEST), sum = 0;
        for (int i = 0; i < rounds; i++)
            sum += count_once(make(d));
        printf("%d\t trees of depth %d\t check: %d\n", rounds, d, sum);
    }
    printf("long lived tree of depth %d\t check: %d\n", depth, count(lasting));
    return 0;
}
