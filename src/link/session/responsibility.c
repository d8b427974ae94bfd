/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a running materializer does with its responsibility: it stages what it makes, hands symbols on, or adds what
 * defines them to the library itself. */

#include "link/session/contents.h"

struct tn_library *tn_responsibility_library(const struct tn_responsibility *responsibility)
{
    return responsibility->library;
}

/* ---- staging ---- */

/* On an error `data` is freed. */
static int stage(struct tn_responsibility *promise, struct tn__object_data *data, struct tn_error *err)
{
    struct tn__staged *staged = tn__arena_alloc(&promise->arena, sizeof *staged);
    if (!staged) {
        tn__arena_free(&data->arena);
        return tn__no_memory(err, promise->seen.name);
    }
    *staged = (struct tn__staged){NULL, *data};
    struct tn__staged **end = &promise->staged;
    while (*end)
        end = &(*end)->next;
    *end = staged;
    return 0;
}

int tn__responsibility_add_object(struct tn_responsibility *promise, const struct tn_input *given, bool *refused,
                                  struct tn_error *err)
{
    if (!promise)
        return tn__fail(err, TN_EINVAL, "no responsibility given");
    struct tn_input input;
    struct tn__object_data data;
    int code = tn__library_take_input(promise->library, given, &input, err);
    input.owner = NULL;
    if (code)
        return code;
    code = tn__library_read(promise->library, &input, (struct tn__input_bytes){0}, &data, err);
    *refused = data.is_refused;
    return code ? code : stage(promise, &data, err);
}

int tn_responsibility_add_object(struct tn_responsibility *promise, const struct tn_input *given, struct tn_error *err)
{
    bool refused;
    return tn__responsibility_add_object(promise, given, &refused, err);
}

int tn_responsibility_define(struct tn_responsibility *promise, const struct tn_definition *definitions, size_t count,
                             const char *const *needs, size_t need_count, struct tn_error *err)
{
    if (!promise || (count && !definitions) || (need_count && !needs))
        return tn__fail(err, TN_EINVAL, "no responsibility or no definitions given");
    struct tn__object_data data;
    int code =
        tn__inject_addresses(promise->library, promise->seen.name, definitions, count, needs, need_count, &data, err);
    return code ? code : stage(promise, &data, err);
}

/* ---- handing on ---- */

static struct tn__entry *find_owed(const struct tn_responsibility *promise, const char *name) TN__LOCKED
{
    struct tn__entry *entry = tn__symtab_find(&promise->library->symtab, name);
    return entry && entry->kind == TN__ENTRY_PROMISED && entry->promise == &promise->seen ? entry : NULL;
}

int tn_responsibility_is_wanted(const struct tn_responsibility *promise, const char *symbol)
{
    struct tn_session *session = promise->library->session;
    tn__session_lock(session);
    const struct tn__entry *entry = find_owed(promise, symbol);
    bool wanted = entry && entry->wanted;
    tn__session_unlock(session);
    return wanted;
}

bool tn__responsibility_needs(struct tn_responsibility *promise, const char *symbol)
{
    struct tn_session *session = promise->library->session;
    tn__session_lock(session);
    const struct tn__entry *entry = find_owed(promise, symbol);
    bool needs = entry && entry->wanted && !entry->overrides;
    tn__session_unlock(session);
    return needs;
}

bool tn__responsibility_has_staged(const struct tn_responsibility *promise, const char *name)
{
    for (const struct tn__staged *staged = promise->staged; staged; staged = staged->next)
        for (uint32_t i = staged->data.first_global; i < staged->data.symbol_count; i++) {
            const struct tn__symbol *symbol = &staged->data.symbols[i];
            if (symbol->place != TN__PLACE_UNDEFINED && !strcmp(symbol->name, name))
                return true;
        }
    return false;
}

/* These symbols belong to `to` from now on; threads that wait for them look again. All or none. */
static int hand_on(struct tn_responsibility *promise, struct tn_responsibility *to, const char *const *names,
                   size_t count, struct tn_error *err) TN__LOCKED
{
    if (!promise->owner)
        return tn__fail(err, TN_EREMOVED, "%s was removed meanwhile", promise->seen.name);
    for (size_t i = 0; i < count; i++)
        if (!names[i] || !find_owed(promise, names[i]))
            return tn__fail(err, TN_EINVAL, "%s does not owe '%s'", promise->seen.name, names[i] ? names[i] : "");
    for (size_t i = 0; i < count; i++) {
        struct tn__entry *entry = find_owed(promise, names[i]);
        if (entry) /* else it was named twice */
            tn__promise_take(to, entry);
    }
    to->seen.input = promise->seen.input;
    tn__promise_give(to, promise->owner);
    tn__query_wake(promise);
    return 0;
}

static int hand_to_new(struct tn_responsibility *promise, const struct tn_materializer *client,
                       const char *const *names, size_t count, struct tn_responsibility **out, struct tn_error *err)
{
    struct tn_session *session = promise->library->session;
    struct tn_responsibility *to = tn__promise_new(promise->library, client ? client->name : promise->seen.name, count);
    if (!to)
        return tn__no_memory(err, promise->seen.name);
    tn__session_lock(session);
    int code = hand_on(promise, to, names, count, err);
    if (code)
        tn__promise_drop(to);
    else if (client)
        to->client = *client;
    else
        to->seen.state = TN__PROMISE_RUNNING;
    tn__session_unlock(session);
    tn__query_continue(session);
    if (!code && out)
        *out = to;
    return code;
}

int tn_responsibility_delegate(struct tn_responsibility *promise, const char *const *symbols, size_t count,
                               struct tn_responsibility **out, struct tn_error *err)
{
    if (!promise || (count && !symbols) || !out)
        return tn__fail(err, TN_EINVAL, "no responsibility, no symbols or nowhere to put the new one given");
    return hand_to_new(promise, NULL, symbols, count, out, err);
}

int tn_responsibility_replace(struct tn_responsibility *promise, const struct tn_materializer *given,
                              struct tn_error *err)
{
    if (!promise || !given)
        return tn__fail(err, TN_EINVAL, "no responsibility or no materializer given");
    struct tn_materializer m;
    int code = tn__materializer_take(promise->library, given, &m, err);
    if (code)
        return code;
    const struct tn_allocator *from = promise->library->session->allocator;
    const char **names = tn__alloc_zeroed(from, m.count + 1, sizeof *names);
    if (!names)
        return tn__no_memory(err, m.name);
    for (size_t i = 0; i < m.count; i++)
        names[i] = m.symbols[i].name;
    code = hand_to_new(promise, &m, names, m.count, NULL, err);
    tn__free(from, (void *)names);
    return code;
}

/* ---- handing over ---- */

/* A symbol as it was promised. */
struct tn__owed {
    struct tn__entry *entry, was;
};

struct tn_responsibility *tn__responsibility_current(const struct tn_library *library)
{
    struct tn_responsibility *promise = tn__promise_current(library->session);
    if (!promise || promise->generator || promise->library != library)
        return NULL;
    tn__session_lock(library->session);
    bool has_ended = promise->seen.state != TN__PROMISE_RUNNING || !promise->owner;
    tn__session_unlock(library->session);
    return has_ended ? NULL : promise;
}

static int note_owed(struct tn__handover *handover, struct tn_responsibility *promise, struct tn_error *err)
{
    if (promise->seen.state != TN__PROMISE_RUNNING)
        return tn__fail(err, TN_EINVAL, "%s has ended already", promise->seen.name);
    if (!promise->owner)
        return tn__fail(err, TN_EREMOVED, "%s was removed meanwhile", promise->seen.name);
    handover->owed = tn__alloc_zeroed(promise->library->session->allocator, promise->count + 1, sizeof *handover->owed);
    if (!handover->owed)
        return tn__no_memory(err, promise->seen.name);
    for (size_t i = 0; i < promise->count; i++)
        if (tn__promise_owes(promise, promise->entries[i]))
            handover->owed[handover->count++] = (struct tn__owed){promise->entries[i], *promise->entries[i]};
    return 0;
}

int tn__handover_begin(struct tn__handover *handover, struct tn_responsibility *promise,
                       const struct tn_library *library, struct tn_error *err)
{
    *handover = (struct tn__handover){NULL, NULL, 0};
    if (promise->library != library)
        return tn__fail(err, TN_EINVAL, "%s: the responsibility is another library's", promise->seen.name);
    tn__session_lock(library->session);
    int code = note_owed(handover, promise, err);
    if (!code) {
        handover->promise = promise;
        promise->seen.is_handed_over = true;
        promise->seen.taker = pthread_self();
    }
    tn__session_unlock(library->session);
    return code;
}

int tn__handover_give(const struct tn__handover *handover, struct tn_tracker *from, struct tn_error *err)
{
    struct tn_responsibility *promise = handover->promise;
    struct tn_session *session = promise->library->session;
    tn__session_lock(session);
    struct tn_tracker *to = promise->owner;
    if (to)
        tn__tracker_transfer(from, to);
    tn__session_unlock(session);
    return to ? 0 : tn__fail(err, TN_EREMOVED, "%s was removed meanwhile", promise->seen.name);
}

/* Unless something else has been added meanwhile. */
static void owe_again(struct tn_responsibility *promise, const struct tn__owed *owed)
{
    struct tn__entry *entry = owed->entry;
    if (entry->kind != TN__ENTRY_UNDEFINED)
        return;
    entry->kind = TN__ENTRY_PROMISED;
    entry->promise = &promise->seen;
    entry->strength = owed->was.strength;
    entry->hidden = owed->was.hidden;
    entry->callable = owed->was.callable;
    entry->discardable = owed->was.discardable;
    entry->wanted = owed->was.wanted;
}

static void owe_all_again(const struct tn__handover *handover)
{
    for (size_t i = 0; i < handover->count && handover->promise->owner; i++)
        owe_again(handover->promise, &handover->owed[i]);
}

static void owe_instead(void *handover)
{
    owe_all_again(handover);
}

int tn__handover_undo(const struct tn__handover *handover, struct tn_tracker *added, struct tn_error *err)
{
    return tn__tracker_remove(added, owe_instead, (void *)handover, err);
}

void tn__handover_end(struct tn__handover *handover, bool fails)
{
    struct tn_responsibility *promise = handover->promise;
    if (!promise)
        return;
    struct tn_session *session = promise->library->session;
    tn__session_lock(session);
    promise->seen.is_handed_over = false;
    if (fails)
        owe_all_again(handover);
    else
        tn__query_wake(promise);
    tn__session_unlock(session);
    tn__query_continue(session);
    tn__free(session->allocator, handover->owed);
    *handover = (struct tn__handover){NULL, NULL, 0};
}
