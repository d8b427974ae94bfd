/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finalizers: .fini_array and .dtors (gABI, chapter 5, "Initialization and Termination Functions"). */

#include <stdlib.h>

#include "link/process/process.h"

static int by_priority(const void *a, const void *b)
{
    return tn__calls_compare(a, b);
}

/* Takes the list away from the library, so that it can be run without the lock. */
static struct tn__calls_list take_list(struct tn__calls_list *list)
{
    struct tn__calls_list taken = *list;
    *list = (struct tn__calls_list){.from = list->from};
    return taken;
}

static void run_backwards(struct tn__calls_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_priority);
    for (size_t i = list->count; i--;)
        for (uint64_t f = 0; list->items[i].object && f < list->items[i].count; f++) {
            uint64_t function = tn__calls_function(&list->items[i], f);
            if (function)
                tn__call_initializer(function, 0, NULL, NULL);
        }
}

bool tn__calls_take(const struct tn_tracker *owner, struct tn__calls_list *taken)
{
    struct tn__calls_list *finalizers = &owner->library->finalizers;
    if (!finalizers->count)
        return true;
    size_t total = 0, count;
    for (const struct tn__list *node = owner->objects.next; node != &owner->objects; node = node->next, total += count)
        tn__calls_of(finalizers, tn__container_of(node, struct tn__object, owned), &count);
    if (!total || !tn__grow(taken->from, &taken->items, &taken->capacity, total, sizeof *taken->items))
        return !total;
    for (TN_EACH(const struct tn__object, object, &owner->objects, owned)) {
        const struct tn__calls *own = tn__calls_of(finalizers, object, &count);
        memcpy(taken->items + taken->count, own, count * sizeof *own);
        taken->count += count;
        tn__calls_drop(finalizers, object);
    }
    return true;
}

struct tn__calls_list tn__calls_take_all(struct tn_library *library)
{
    return take_list(&library->finalizers);
}

void tn__calls_run(struct tn__calls_list *taken)
{
    run_backwards(taken);
    tn__free(taken->from, taken->items);
}

void tn_run_finalizers(struct tn_library *library)
{
    if (library)
        tn__ending_run(library, NULL, NULL);
}
