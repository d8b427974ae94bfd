/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What marking beside threads has to have reached when it ends, for heaps that are verified. */

#include "gc/generational/cycle.h"

struct check {
    struct tn__collecting all; /* first */
    const struct tn__generational *g;
    const char *wrong;
};

static void check_slot(void *context, void **slot)
{
    struct check *check = context;
    if (tn__is_in_space(check->g, *slot) && !tn__has_bit(check->g, check->g->marks, *slot))
        check->wrong = "a marked object or a root refers to an object that was not marked";
}

static void check_kept(void *context, void *object)
{
    check_slot(context, &object);
}

static void check_object(void *context, void *object)
{
    tn__visit_references(object, check_slot, context);
}

__attribute__((cold)) const char *tn__marker_check(struct tn__cycle *cycle)
{
    static const struct tn__tracing tracing = {.forward = check_slot, .keep = check_kept};
    struct tn__generational *g = cycle->marker.g;
    struct check check = {.all = {.tracing = &tracing, .heap = cycle->heap}, .g = g};
    for (uint64_t unit = 0; unit < g->size >> TN__UNIT_SHIFT; unit++)
        if (g->units[unit])
            tn__gen_each_in(g, g->marks, unit << TN__UNIT_SHIFT, TN__UNIT, check_object, &check);
    tn__find_roots(&check.all);
    return check.wrong;
}
