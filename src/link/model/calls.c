/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The lists of what a library has to call: initializers and finalizers of its objects. */

#include "link/model/session.h"

bool tn__calls_reserve(struct tn__calls_list *list, size_t count)
{
    list->reserved += count;
    return tn__grow(list->from, &list->items, &list->capacity, list->count + list->reserved, sizeof *list->items);
}

void tn__calls_add(struct tn__calls_list *list, const struct tn__object *object,
                   const struct tn__input_section *section, uint64_t sequence)
{
    list->items[list->count++] = (struct tn__calls){
        .object = object,
        .address = section->address,
        .count = section->size / sizeof(uint64_t),
        .priority = section->priority,
        .sequence = sequence,
        .input = object->behind,
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

void tn__calls_forget(struct tn_library *library, const struct tn__object *object)
{
    tn__calls_drop(&library->initializers, object);
    tn__calls_drop(&library->waiting, object);
    for (TN_EACH(struct tn__round, round, &library->session->initializers.rounds, listed))
        for (size_t i = round->at; i < round->count; i++)
            if (round->items[i].object == object)
                round->items[i].object = NULL;
}

int tn__calls_compare(const struct tn__calls *x, const struct tn__calls *y)
{
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    bool first = x->sequence < y->sequence;
    if (x->object == y->object && x->backwards != y->backwards)
        first = y->backwards;
    else if (x->object == y->object && x->backwards)
        first = !first;
    return first ? -1 : 1;
}

uint64_t tn__calls_function(const struct tn__calls *calls, uint64_t number)
{
    uint64_t at = calls->address + (calls->reversed ? calls->count - 1 - number : number) * sizeof(uint64_t);
    uint64_t function = tn__get64((const void *)(uintptr_t)at);
    return function != UINT64_MAX ? function : 0; /* .ctors begins with this value, and ends with 0 */
}

/* The last seven are passed on the stack, where functions in the calling convention of Windows store their arguments:
 * they may write there, and so may all others, for these words belong to what is called. */
typedef void initializer(int, char **, char **, long, long, long, long, long, long, long);

void tn__call_initializer(uint64_t function, int argc, char **argv, char **envp)
{
    ((initializer *)(uintptr_t)function)(argc, argv, envp, 0, 0, 0, 0, 0, 0, 0);
}
