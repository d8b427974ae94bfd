/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A struct whose descriptor, in descriptor.c, does not list one of its references: the compiler cannot see that
 * here. With an argument the program does what such programs must not do. */

#include <stdint.h>
#include <stdio.h>

#include "tenon_managed.h"

struct pair {
    struct pair tn_ref *first, *second;
    uintptr_t number;
    void *address;
};
extern const struct tn_type tn_type_of_pair;

static struct pair tn_ref *kept;

/* Numbers and raw addresses that are equal to references are no references. */
static void store_numbers(struct pair tn_ref *pair, struct pair tn_ref *other)
{
    TN_PIN(address, other);
    pair->address = address;
    pair->number = (uintptr_t)address;
}

int main(int count, char **arguments)
{
    (void)arguments;
    kept = tn_new(struct pair);
    struct pair tn_ref *other = tn_new(struct pair);
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    store_numbers(kept, other);
    kept->first = other;
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    if (count > 1)
        kept->second = other;
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    printf("%d\n", kept->first == other);
    return 0;
}
