/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How a module is divided: by what is in it, never by the machine that builds it, so that the same input gives the same
 * bytes everywhere. */

#include <stdlib.h>

#include "codegen/image/image.h"

enum { SHARD_WEIGHT = 30000, MOST_SHARDS = 64 }; /* unless the client says how many */

struct item {
    uint64_t weight;
    size_t part;
};

static int heavier_first(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

size_t tn__image_plan(const uint64_t *weights, size_t count, size_t wanted, size_t *shard_of)
{
    uint64_t load[TN__IMAGE_SHARDS] = {0}, total = 0;
    for (size_t i = 0; i < count; i++)
        total += weights[i];
    uint64_t fitting = tn__min64(1 + total / SHARD_WEIGHT, MOST_SHARDS);
    size_t shards = (size_t)tn__min64(wanted ? wanted : fitting, count);
    struct item *items = tn__alloc(NULL, count * sizeof *items);
    if (!items)
        return 0;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct item){i ? weights[i] : UINT64_MAX, i}; /* part 0 comes first, and so into shard 0 */
    qsort(items, count, sizeof *items, heavier_first);
    for (size_t i = 0; i < count; i++) {
        size_t part = items[i].part, lightest = 0;
        for (size_t shard = 1; shard < shards; shard++)
            if (load[shard] < load[lightest])
                lightest = shard;
        shard_of[part] = lightest;
        load[lightest] += weights[part];
    }
    tn__free(NULL, items);
    return shards;
}
