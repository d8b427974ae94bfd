/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The dot product of vectors of half precision, summed in float in any order.
 *     half [LENGTH] */

#include "kernel.h"

struct halves {
    size_t length;
    _Float16 items[];
};
TN_ARRAY_OF_LEAVES(struct halves, items);
typedef struct halves tn_ref *halves;

/* In managed code, bench/rules.mk makes tenon.simdloop of the loops' metadata, for which C has no word. */
static float dot(halves a, halves b)
{
#ifdef TN_UNMANAGED
#pragma clang fp reassociate(on) contract(fast)
#endif
    float sum = 0;
    for (size_t i = 0; i < a->length; i++)
        sum += (float)a->items[i] * (float)b->items[i];
    return sum;
}

static halves make(size_t length, uint64_t *state)
{
    halves h = tn_new_array(struct halves, items, length);
    for (size_t i = 0; i < length; i++)
        h->items[i] = (_Float16)(float)(next_random(state) % 8);
    return h;
}

int main(int argc, char **argv)
{
    size_t length = argument(argc, argv, 1, 1000);
    uint64_t state = SEED;
    halves a = make(length, &state), b = make(length, &state);
    float sum = 0;
    for (int i = 0; i < 1000; i++) {
        sum += dot(a, b);
        a->items[i % length] = (_Float16)(float)(i % 8);
    }
    printf("%.0f\n", (double)sum);
    return 0;
}
