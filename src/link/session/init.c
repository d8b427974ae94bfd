/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Initializers and finalizers: .init_array, .ctors and their opposites (gABI, chapter 5, "Initialization and
 * Termination Functions"; priorities as GNU ld sorts them). */

#include <stdlib.h>

#include "link/session/contents.h"

static int by_priority(const void *a, const void *b)
{
    const struct tn__calls *x = a, *y = b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    bool first = x->sequence < y->sequence;
    if (x->object == y->object && x->backwards != y->backwards)
        first = y->backwards;
    else if (x->object == y->object && x->backwards)
        first = !first;
    return first ? -1 : 1;
}

/* The last four are passed on the stack, where functions in the calling convention of Windows store their arguments:
 * they may write there, and so may all others, for these words belong to what is called. */
typedef void initializer(int, char **, char **, long, long, long, long, long, long, long);

static void call_array(const struct tn__calls *calls, int argc, char **argv, char **envp)
{
    for (uint64_t i = 0; i < calls->count; i++) {
        uint64_t at = calls->address + (calls->reversed ? calls->count - 1 - i : i) * sizeof(uint64_t);
        uint64_t function = tn__get64((const void *)(uintptr_t)at);
        if (function != 0 && function != UINT64_MAX) /* what .ctors begins and ends with */
            ((initializer *)(uintptr_t)function)(argc, argv, envp, 0, 0, 0, 0, 0, 0, 0);
    }
}

/* Takes the list away from the library, so that it can be run without the lock. */
static struct tn__calls_list take_list(struct tn__calls_list *list)
{
    struct tn__calls_list taken = *list;
    *list = (struct tn__calls_list){.from = list->from};
    return taken;
}

static void run_calls(struct tn__calls_list *list, bool backwards, int argc, char **argv, char **envp)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_priority);
    for (size_t i = 0; i < list->count; i++) {
        const struct tn__calls *calls = &list->items[backwards ? list->count - 1 - i : i];
        if (calls->object)
            call_array(calls, argc, argv, envp);
    }
}

/* What is initialised from now on will have to be finalised. False when memory is out. */
static bool arm_finalizers(struct tn_library *library)
{
    struct tn__calls_list *armed = &library->finalizers, *waiting = &library->waiting;
    if (!tn__grow(armed->from, &armed->items, &armed->capacity, armed->count + waiting->count, sizeof *armed->items))
        return false;
    for (size_t i = 0; i < waiting->count; i++)
        if (waiting->items[i].object)
            armed->items[armed->count++] = waiting->items[i];
    waiting->count = waiting->dropped = 0;
    return true;
}

static int check_here(const struct tn_library *library, struct tn_error *err)
{
    if (!tn__session_is_elsewhere(library->session) || library->initializers.count == library->initializers.dropped)
        return 0;
    return tn__fail(err, TN_ENOTSUP, "%s: its initializers are in the memory of another process, which has to run them",
                    library->name);
}

int tn_run_initializers(struct tn_library *library, int argc, char **argv, char **envp, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    struct tn__calls_list initializers = {.from = NULL};
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code)
        code = check_here(library, err);
    if (!code && !arm_finalizers(library))
        code = tn__no_memory(err, library->name);
    if (!code)
        initializers = take_list(&library->initializers);
    tn__session_unlock(library->session);
    if (code)
        return code;
    run_calls(&initializers, false, argc, argv, envp);
    tn__free(initializers.from, initializers.items);
    return 0;
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
    run_calls(taken, true, 0, NULL, NULL);
    tn__free(taken->from, taken->items);
}

void tn_run_finalizers(struct tn_library *library)
{
    if (library)
        tn__ending_run(library, NULL, NULL);
}
