/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Many live arrays of 8,192 references each, 64 KB, which are replaced one after the other; into each, a few references
 * are stored. How long does it take to mark them, and to find what was stored?
 *     arrays [MEGABYTES STEPS] */

#include "workload.h"

struct leaf {
    uint64_t number;
};
TN_LEAF(struct leaf);

struct leaves {
    size_t length;
    struct leaf tn_ref *items[];
};
struct arrays {
    size_t length;
    struct leaves tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct leaves, items);
TN_ARRAY_OF_REFERENCES(struct arrays, items);

enum { ELEMENTS = 8192, STORES = 16 };

static struct leaf tn_ref *make_leaf(uint64_t number)
{
    struct leaf tn_ref *l = tn_new(struct leaf);
    l->number = number;
    return l;
}

static struct leaves tn_ref *make_array(uint64_t number)
{
    struct leaves tn_ref *a = tn_new_array(struct leaves, items, ELEMENTS);
    struct leaf tn_ref *l = make_leaf(number);
    for (uint64_t i = 0; i < ELEMENTS; i += 8)
        a->items[i] = l;
    return a;
}

int main(int argc, char **argv)
{
    uint64_t count = argument(argc, argv, 1, 64) * 16, steps = argument(argc, argv, 2, 20000), state = SEED, sum = 0;
    struct arrays tn_ref *arrays = tn_new_array(struct arrays, items, count);
    for (uint64_t i = 0; i < count; i++)
        arrays->items[i] = make_array(i);
    for (uint64_t i = 0; i < steps; i++) {
        if (i % 8 == 0)
            arrays->items[i / 8 % count] = make_array(i);
        struct leaves tn_ref *a = arrays->items[next_random(&state) % count];
        for (int j = 0; j < STORES; j++) {
            uint64_t at = next_random(&state) % ELEMENTS;
            sum += a->items[at] ? a->items[at]->number : 1;
            a->items[at] = make_leaf(i);
        }
    }
    printf("sum %llu\n", (unsigned long long)sum);
    return 0;
}
