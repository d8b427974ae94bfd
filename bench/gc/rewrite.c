/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Old objects are rewritten at random: every store is into another one, half of them of new objects. The worst case for
 * a barrier and for what it remembers.
 *     rewrite [OBJECTS STORES] */

#include "workload.h"

struct object {
    struct object tn_ref *a, *b, *c;
    uint64_t number;
};
TN_TYPE(struct object, a, b, c);

typedef struct object tn_ref *object;

struct objects {
    size_t length;
    object items[];
};
TN_ARRAY_OF_REFERENCES(struct objects, items);

static object make(uint64_t number)
{
    object o = tn_new(struct object);
    o->number = number;
    return o;
}

int main(int argc, char **argv)
{
    uint64_t count = argument(argc, argv, 1, 1000000), stores = argument(argc, argv, 2, 5000000), state = SEED, sum = 0;
    struct objects tn_ref *objects = tn_new_array(struct objects, items, count);
    for (uint64_t i = 0; i < count; i++)
        objects->items[i] = make(i);
    for (uint64_t i = 0; i < stores; i++) {
        object to = objects->items[next_random(&state) % count], from = objects->items[next_random(&state) % count];
        object value = i % 2 ? from : make(i);
        if (i % 3 == 0)
            to->a = value;
        else if (i % 3 == 1)
            to->b = value;
        else
            to->c = value;
        sum += from->a ? from->a->number : 1;
    }
    for (uint64_t i = 0; i < count; i++)
        sum += objects->items[i]->b ? objects->items[i]->b->number : 1;
    printf("sum %llu\n", (unsigned long long)sum);
    return 0;
}
