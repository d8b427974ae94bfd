/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Requests over a heap of 500 MB: each makes garbage, one in eight replaces a tree that lived long. How long do they
 * take at worst?
 *     latency [REQUESTS TREES] */

#include "workload.h"

struct tree {
    struct tree tn_ref *left, *right;
    uint64_t words[2];
};
TN_TYPE(struct tree, left, right);

struct store {
    size_t length;
    struct tree tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct store, items);

typedef struct tree tn_ref *tree;

enum { DEPTH = 9, GARBAGE = 4, LOOKS = 4, REPLACED = 8 };

static tree make(int depth, uint64_t key)
{
    tree t = tn_new(struct tree);
    t->words[0] = key;
    if (depth > 0) {
        t->left = make(depth - 1, 2 * key);
        t->right = make(depth - 1, 2 * key + 1);
    }
    return t;
}

static void drop(tree t)
{
    if (!FREES || !t)
        return;
    drop(t->left);
    drop(t->right);
    FREE(t);
}

static uint64_t add_up(tree t)
{
    return t->left ? t->words[0] + add_up(t->left) + add_up(t->right) : t->words[0];
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void report(uint32_t *times, uint64_t count, uint64_t total)
{
    static const double parts[] = {.5, .99, .999, .9999};
    qsort(times, count, sizeof *times, compare);
    fprintf(stderr, "loop %.3f s, us:", (double)total / 1e9);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        fprintf(stderr, " p%g %.0f", parts[i] * 100, times[(uint64_t)((double)count * parts[i])] / 1e3);
    fprintf(stderr, " max %.0f\n", times[count - 1] / 1e3);
}

int main(int argc, char **argv)
{
    uint64_t requests = argument(argc, argv, 1, 50000), trees = argument(argc, argv, 2, 15625), sum = 0, state = SEED;
    struct store tn_ref *store = tn_new_array(struct store, items, trees);
    for (uint64_t i = 0; i < trees; i++)
        store->items[i] = make(DEPTH, i);
    uint32_t *times = malloc(requests * sizeof *times);
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t begin = now_ns();
        for (int j = 0; j < GARBAGE; j++) {
            tree t = make(DEPTH, i);
            sum += add_up(t);
            drop(t);
        }
        if (i % REPLACED == 0) {
            uint64_t index = next_random(&state) % trees;
            drop(store->items[index]);
            store->items[index] = make(DEPTH, i);
        }
        for (int j = 0; j < LOOKS; j++)
            sum += add_up(store->items[next_random(&state) % trees]);
        uint64_t took = now_ns() - begin;
        times[i] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
    }
    report(times, requests, now_ns() - start);
    printf("sum %llu\n", (unsigned long long)sum);
    free(times);
    return 0;
}
