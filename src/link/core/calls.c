/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The lists of what a library has to call: initializers and finalizers of its objects. */

#include "link/core/library.h"

bool tn__calls_reserve(struct tn__calls_list *list, size_t count)
{
    list->reserved += count;
    return tn__grow(list->from, &list->items, &list->capacity, list->count + list->reserved, sizeof *list->items);
}

void tn__calls_add(struct tn__calls_list *list, const struct tn__object *object, const struct tn__section *section,
                   uint64_t sequence)
{
    list->items[list->count++] = (struct tn__calls){
        .object = object,
        .address = section->address,
        .count = section->size / sizeof(uint64_t),
        .priority = section->priority,
        .sequence = sequence,
        .reversed = section->reversed,
        .backwards = section->backwards,
    };
}

struct tn__calls *tn__calls_of(const struct tn__calls_list *list, const struct tn__object *object, size_t *count)
{
    size_t first = TN_BISECT(0, list->count, i, list->items[i].sequence < object->first_call);
    for (*count = 0; first + *count < list->count && list->items[first + *count].object == object;)
        ++*count;
    return list->items + first;
}

static void close_gaps(struct tn__calls_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].object)
            list->items[kept++] = list->items[i];
    list->count = kept;
    list->dropped = 0;
}

void tn__calls_drop(struct tn__calls_list *list, const struct tn__object *object)
{
    size_t count;
    struct tn__calls *items = tn__calls_of(list, object, &count);
    for (size_t i = 0; i < count; i++)
        items[i].object = NULL;
    list->dropped += count;
    if (list->dropped > list->count / 2)
        close_gaps(list);
}
