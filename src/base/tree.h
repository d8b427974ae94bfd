/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A treap (Aragon and Seidel, 1989): nodes ordered by key, balanced by a hash of the key. Nodes are embedded in what
 * they index; keys are unique. */

#ifndef TENON_TREE_H
#define TENON_TREE_H

#include "base.h"

#pragma GCC visibility push(hidden)

struct tn__tree {
    uint64_t key;
    struct tn__tree *left, *right;
};

/* The root is NULL for an empty tree. */
void tn__tree_insert(struct tn__tree **root, struct tn__tree *node);
/* The node is in the tree. */
void tn__tree_remove(struct tn__tree **root, struct tn__tree *node);
/* The node with the largest key that is at most `key`, or NULL. */
struct tn__tree *tn__tree_below(struct tn__tree *root, uint64_t key);
/* The node with this key, or NULL. */
struct tn__tree *tn__tree_find(struct tn__tree *root, uint64_t key);

#pragma GCC visibility pop
#endif
