/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Promises as data: what they consist of, who refers to them, and the error of one that has failed. See promise.h. */

#include "base/shown_name.h"
#include "link/demand/promise.h"

void tn__promise_hold(struct tn_responsibility *promise)
{
    promise->users++;
}

void tn__promise_unstage(struct tn_responsibility *promise)
{
    for (struct tn__staged *staged = promise->staged; staged; staged = staged->next) {
        const struct tn_input input = staged->data.input;
        tn__arena_free(&staged->data.arena);
        if (input.release)
            input.release(input.context, input.bytes, input.length);
    }
    promise->staged = NULL;
}

static void free_promise(struct tn__deferred *deferred)
{
    struct tn_responsibility *promise = tn__container_of(deferred, struct tn_responsibility, deferred);
    const struct tn_allocator *from = promise->arena.from; /* the library may be gone */
    tn__promise_unstage(promise);
    if (promise->client.destroy)
        promise->client.destroy(promise->client.context);
    tn__suppliers_free(from, promise->generator); /* removed, and this was the last to need it */
    tn__arena_free(&promise->arena);
    tn__free(from, promise->failure);
    tn__free(from, promise);
}

void tn__promise_drop(struct tn_responsibility *promise)
{
    if (--promise->users)
        return;
    if (promise->generator) {
        promise->generator = tn__generator_drop(promise->generator);
        tn__library_drop(promise->library);
    }
    tn__list_remove(&promise->owned);
    promise->deferred.free = free_promise;
    tn__session_defer(promise->library->session, &promise->deferred);
    tn__library_release(promise->library);
}

struct tn_responsibility *tn__promise_new(struct tn_library *library, const char *name, size_t count)
{
    const struct tn_allocator *from = library->session->allocator;
    struct tn_responsibility *promise = tn__alloc_zeroed(from, 1, sizeof *promise);
    if (!promise)
        return NULL;
    promise->library = library;
    promise->users = 1;
    promise->arena.from = from;
    tn__list_init(&promise->owned);
    tn__list_init(&promise->waits);
    tn__list_init(&promise->queries);
    promise->seen.name = tn__arena_text(&promise->arena, name, strlen(name));
    promise->entries = tn__arena_array(&promise->arena, count, sizeof *promise->entries);
    if (promise->seen.name && promise->entries) {
        tn__library_use(library);
        return promise;
    }
    tn__arena_free(&promise->arena);
    tn__free(from, promise);
    return NULL;
}

void tn__promise_give(struct tn_responsibility *promise, struct tn_tracker *owner)
{
    promise->owner = owner;
    if (!promise->seen.input)
        promise->seen.input = tn__library_number_input(promise->library);
    tn__list_append(&owner->promises, &promise->owned);
}

void tn__promise_take(struct tn_responsibility *promise, struct tn__entry *entry)
{
    entry->kind = TN__ENTRY_PROMISED;
    entry->promise = &promise->seen;
    promise->entries[promise->count++] = entry;
}

int tn__promise_fail_with(const struct tn_responsibility *promise, const char *symbol, struct tn_error *err)
{
    int length = (int)tn__shown_length(symbol);
    if (!promise->failure)
        return tn__fail(err, TN_ENOMEM, "'%.*s': %s has failed, and there was no memory to say why", length, symbol,
                        promise->seen.name);
    return tn__fail(err, promise->failure->code, "'%.*s': %s has failed: %s", length, symbol, promise->seen.name,
                    promise->failure->text);
}
