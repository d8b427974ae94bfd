/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For stop.c: a loop of managed code that allocates nothing and calls nobody, and has references that live. */

#include "tenon_managed.h"

struct numbers {
    size_t length;
    long items[];
};
TN_ARRAY_OF_LEAVES(struct numbers, items);

/* Until *done is set; *rounds tells that it runs. */
long run_loop(const int *done, unsigned long *rounds)
{
    struct numbers tn_ref *numbers = tn_new_array(struct numbers, items, 1000);
    long sum = 0;
    for (unsigned long round = 1; !__atomic_load_n(done, __ATOMIC_RELAXED); round++) {
        __atomic_store_n(rounds, round, __ATOMIC_RELAXED);
        for (size_t i = 0; i < numbers->length; i++)
            sum += numbers->items[i] += (long)i;
    }
    return sum;
}
