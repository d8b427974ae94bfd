/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Searches in a tree, checked against an array of flags. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/tree.h"

enum { KEYS = 512, STEPS = 20000 };

/* The keys present are even multiples of `stride`. */
static void check(struct tn__tree *root, const bool *there, uint64_t stride)
{
    const struct tn__tree *below = NULL;
    assert_null(tn__tree_below(root, 0)); /* 0 is never a key */
    for (uint64_t i = 1; i < KEYS; i++) {
        uint64_t key = 2 * i * stride;
        const struct tn__tree *found = tn__tree_find(root, key);
        assert_int_equal(found != NULL, there[i]);
        if (found)
            below = found;
        assert_ptr_equal(tn__tree_below(root, key), below);
        assert_ptr_equal(tn__tree_below(root, key + stride), below);
        assert_null(tn__tree_find(root, key + stride));
    }
}

static unsigned depth(const struct tn__tree *node)
{
    unsigned left = node ? depth(node->left) : 0, right = node ? depth(node->right) : 0;
    return node ? 1 + (left > right ? left : right) : 0;
}

static void finds_what_is_there(void **state)
{
    static const uint64_t strides[] = {1, 16, 4096, 1ULL << 40};
    (void)state;
    for (size_t s = 0; s < TN_COUNT(strides); s++) {
        static struct tn__tree nodes[KEYS];
        bool there[KEYS] = {false};
        struct tn__tree *root = NULL;
        srand(1);
        for (int step = 0; step < STEPS; step++) {
            size_t i = 1 + (size_t)rand() % (KEYS - 1);
            if (there[i]) {
                tn__tree_remove(&root, &nodes[i]);
            } else {
                nodes[i].key = 2 * i * strides[s];
                tn__tree_insert(&root, &nodes[i]);
            }
            there[i] = !there[i];
            if (step % 97 == 0)
                check(root, there, strides[s]);
        }
        check(root, there, strides[s]);
    }
}

static void is_balanced_whatever_the_order(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    struct tn__tree *nodes = calloc(MANY, sizeof *nodes), *root = NULL;
    for (uint64_t i = 0; i < MANY; i++) {
        nodes[i].key = 0x555513550000 + i * 16;
        tn__tree_insert(&root, &nodes[i]);
    }
    assert_in_range(depth(root), 17, 60); /* a degenerate tree would have 100,000 */
    for (uint64_t i = 0; i < MANY; i++)
        tn__tree_remove(&root, &nodes[i]);
    assert_null(root);
    free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_there),
        cmocka_unit_test(is_balanced_whatever_the_order),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
