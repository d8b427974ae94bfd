/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A splay tree (D. Sleator, R. Tarjan, "Self-adjusting binary search trees", JACM 1985) whose nodes carry trees: each
 * operation replaces a node and rewrites old ones on its path. How long do operations take, and how many exceed the
 * target?
 *     splay [NODES OPERATIONS TARGET_US] */

#include "workload.h"

struct payload {
    struct payload tn_ref *left, *right;
    uint64_t words[8];
};
TN_TYPE(struct payload, left, right);

struct node {
    struct node tn_ref *left, *right;
    struct payload tn_ref *payload;
    uint64_t key;
};
TN_TYPE(struct node, left, right, payload);

typedef struct node tn_ref *node;

enum { DEPTH = 3 };

static node root;

static struct payload tn_ref *make_payload(int depth, uint64_t key)
{
    struct payload tn_ref *p = tn_new(struct payload);
    p->words[0] = key;
    if (depth > 0) {
        p->left = make_payload(depth - 1, key);
        p->right = make_payload(depth - 1, key);
    }
    return p;
}

/* Top down: the node with the key, or the last one on the way to it, becomes the root. */
static void splay(uint64_t key)
{
    node head = tn_new(struct node), left = head, right = head, at = root, child;
    for (;;) {
        bool is_left = key < at->key;
        if (key == at->key || !(child = is_left ? at->left : at->right))
            break;
        if (is_left && key < child->key) {
            at->left = child->right;
            child->right = at;
            at = child;
        } else if (!is_left && key > child->key) {
            at->right = child->left;
            child->left = at;
            at = child;
        }
        if (!(is_left ? at->left : at->right))
            break;
        if (is_left) {
            right->left = at;
            right = at;
            at = at->left;
        } else {
            left->right = at;
            left = at;
            at = at->right;
        }
    }
    left->right = at->left;
    right->left = at->right;
    at->left = head->right;
    at->right = head->left;
    root = at;
}

static bool insert(uint64_t key)
{
    node n;
    if (root)
        splay(key);
    if (root && root->key == key)
        return false;
    n = tn_new(struct node);
    n->key = key;
    n->payload = make_payload(DEPTH, key);
    if (root && key > root->key) {
        n->left = root;
        n->right = root->right;
        root->right = NULL;
    } else if (root) {
        n->right = root;
        n->left = root->left;
        root->left = NULL;
    }
    root = n;
    return true;
}

/* Removes the greatest node below the key, or the root if there is none. */
static uint64_t remove_below(uint64_t key)
{
    node rest;
    splay(key);
    if (root->left) {
        node right = root->right, top = root;
        root = root->left;
        splay(key);
        rest = root;
        top->left = rest->left;
        top->right = right;
        root = top;
        return rest->key;
    }
    uint64_t removed = root->key;
    root = root->right;
    return removed;
}

int main(int argc, char **argv)
{
    uint64_t nodes = argument(argc, argv, 1, 8000), operations = argument(argc, argv, 2, 200000);
    uint64_t target = argument(argc, argv, 3, 1000) * 1000, state = SEED, sum = 0, late = 0, worst = 0;
    for (uint64_t i = 0; i < nodes;)
        i += insert(next_random(&state));
    for (uint64_t i = 0; i < operations; i++) {
        uint64_t before = now_ns(), key;
        while (!insert(key = next_random(&state)))
            ;
        sum += remove_below(key) % 1000;
        uint64_t took = now_ns() - before;
        late += took > target;
        worst = took > worst ? took : worst;
    }
    fprintf(stderr, "above %llu us: %llu of %llu operations, worst %.2f ms\n", (unsigned long long)target / 1000,
            (unsigned long long)late, (unsigned long long)operations, (double)worst / 1e6);
    printf("sum %llu root %llu\n", (unsigned long long)sum, (unsigned long long)root->payload->words[0]);
    return 0;
}
