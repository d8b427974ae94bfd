/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "tree.h"

/* A node's priority: splitmix64's finalizer, because addresses as keys are far from random. */
static uint64_t priority(const struct tn__tree *node)
{
    uint64_t x = node->key;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

void tn__tree_insert(struct tn__tree **root, struct tn__tree *node)
{
    struct tn__tree **link = root;
    while (*link && priority(*link) > priority(node))
        link = (*link)->key < node->key ? &(*link)->right : &(*link)->left;
    /* The subtree that was here is split in two, below the new node. */
    struct tn__tree *rest = *link, **left = &node->left, **right = &node->right;
    *link = node;
    while (rest) {
        if (rest->key < node->key) {
            *left = rest;
            left = &rest->right;
            rest = rest->right;
        } else {
            *right = rest;
            right = &rest->left;
            rest = rest->left;
        }
    }
    *left = *right = NULL;
}

void tn__tree_remove(struct tn__tree **root, struct tn__tree *node)
{
    struct tn__tree **link = root;
    while (*link != node)
        link = (*link)->key < node->key ? &(*link)->right : &(*link)->left;
    struct tn__tree *left = node->left, *right = node->right;
    while (left && right) {
        if (priority(left) > priority(right)) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left ? left : right;
}

struct tn__tree *tn__tree_below(struct tn__tree *root, uint64_t key)
{
    struct tn__tree *best = NULL;
    while (root) {
        if (root->key <= key)
            best = root;
        root = root->key <= key ? root->right : root->left;
    }
    return best;
}

struct tn__tree *tn__tree_find(struct tn__tree *root, uint64_t key)
{
    struct tn__tree *node = tn__tree_below(root, key);
    return node && node->key == key ? node : NULL;
}
