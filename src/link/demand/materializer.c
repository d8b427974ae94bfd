/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Materializers: entering the symbols that they promise, and notifying them when other definitions override these. */

#include "link/demand/promise.h"

int tn__materializer_take(const struct tn_library *library, const struct tn_materializer *given,
                          struct tn_materializer *m, struct tn_error *err)
{
    int code = tn__take_options(m, sizeof *m, given, "struct tn_materializer", err);
    if (code)
        return code;
    if (!m->name || !m->materialize || (m->count && !m->symbols))
        return tn__fail(err, TN_EINVAL, "a materializer needs a name, a function and symbols");
    if (m->owner && m->owner->library != library)
        return tn__fail(err, TN_EINVAL, "%s: its tracker belongs to another library", m->name);
    for (size_t i = 0; i < m->count; i++)
        if (!m->symbols[i].name || !*m->symbols[i].name ||
            m->symbols[i].flags &
                ~(uint64_t)(TN_SYMBOL_WEAK | TN_SYMBOL_HIDDEN | TN_SYMBOL_DISCARDABLE | TN_SYMBOL_CALLABLE))
            return tn__fail(err, TN_EINVAL, "%s: symbol %zu has no name or unknown flags", m->name, i);
    return 0;
}

/* The entries of all promised symbols, none of them held by a link. The lock is released meanwhile. */
static int intern_symbols(struct tn_library *library, const struct tn_materializer *m, struct tn__entry **entries,
                          struct tn_error *err) TN__LOCKED
{
    int code = tn__library_check(library, err);
    for (size_t i = 0; !code && i < m->count; i++)
        if (!(entries[i] = tn__symtab_intern(&library->symtab, m->symbols[i].name)))
            code = tn__no_memory(err, m->name);
    return code ? code : tn__entries_wait(library, NULL, entries, sizeof *entries, m->count, err);
}

/* Enters its symbols; of those that others define already, *refused gets the names. */
static int enter_symbols(struct tn_responsibility *promise, struct tn__entry **entries, const struct tn_materializer *m,
                         struct tn__journal *journal, const char **refused, struct tn_error *err) TN__LOCKED
{
    for (size_t i = 0; i < m->count; i++) {
        bool yields;
        int code =
            tn__entry_yields(entries[i], tn__strength_of_flags(m->symbols[i].flags), promise->seen.name, &yields, err);
        if (code)
            return code;
        if (!yields) {
            *refused++ = m->symbols[i].name;
            continue;
        }
        if (!tn__journal_note(journal, entries[i]))
            return tn__no_memory(err, promise->seen.name);
        entries[i]->strength = tn__strength_of_flags(m->symbols[i].flags);
        entries[i]->hidden = m->symbols[i].flags & TN_SYMBOL_HIDDEN;
        entries[i]->callable = m->symbols[i].flags & TN_SYMBOL_CALLABLE;
        entries[i]->thread_local = entries[i]->wanted = false;
        entries[i]->discardable = m->symbols[i].flags & TN_SYMBOL_DISCARDABLE;
        entries[i]->object = NULL;
        tn__promise_take(promise, entries[i]);
    }
    return 0;
}

static int enter_promise(struct tn_responsibility *promise, const struct tn_materializer *m, const char **refused,
                         struct tn_error *err) TN__LOCKED
{
    struct tn_library *library = promise->library;
    struct tn__journal journal = {.arena.from = library->session->allocator};
    struct tn__entry **entries = tn__arena_array(&promise->arena, m->count, sizeof *entries);
    int code = entries ? intern_symbols(library, m, entries, err) : tn__no_memory(err, m->name);
    if (!code)
        code = enter_symbols(promise, entries, m, &journal, refused, err);
    if (code) {
        tn__journal_undo(&journal);
        promise->count = 0;
    } else {
        promise->client = *m;
        tn__promise_hold(promise); /* for the caller: others may end it from now on */
        tn__promise_give(promise, m->owner ? m->owner : &library->own);
        tn__promises_discard(library->session, &journal);
    }
    tn__journal_free(&journal);
    return code;
}

int tn_add_materializer(struct tn_library *library, const struct tn_materializer *given, struct tn_error *err)
{
    if (!library || !given)
        return tn__fail(err, TN_EINVAL, "no library or no materializer given");
    struct tn_materializer m;
    int code = tn__materializer_take(library, given, &m, err);
    if (code)
        return code;
    struct tn_session *session = library->session;
    struct tn_responsibility *promise = tn__promise_new(library, m.name, m.count);
    const char **refused = tn__alloc_zeroed(session->allocator, m.count + 1, sizeof *refused);
    tn__session_lock(session);
    code = promise && refused ? enter_promise(promise, &m, refused, err) : tn__no_memory(err, m.name);
    if (code && promise)
        tn__promise_drop(promise);
    tn__session_unlock(session);
    for (size_t i = 0; !code && m.discard && refused[i]; i++)
        m.discard(m.context, refused[i]);
    if (!code) {
        tn__session_lock(session);
        tn__promise_drop(promise);
        tn__session_unlock(session);
    }
    tn__free(session->allocator, (void *)refused);
    return code;
}

/* ---- overridden ---- */

static bool lost(const struct tn__journal_record *record)
{
    const struct tn__entry *old = record->old;
    return old->kind == TN__ENTRY_PROMISED && old->strength && tn__promise_of(old->promise)->client.discard &&
           old->promise->state == TN__PROMISE_NEW && !tn__promise_owes(tn__promise_of(old->promise), record->entry);
}

/* Removes those that lost no symbol; the promises of the others stay until they have been notified. */
static void hold_losers(struct tn_session *session, struct tn__journal *journal) TN__LOCKED
{
    for (struct tn__journal_record **at = &journal->last; *at;) {
        session->revision += tn__entry_leads_on((*at)->old);
        if (lost(*at)) {
            tn__promise_hold(tn__promise_of((*at)->old->promise));
            tn__library_hold(tn__promise_of((*at)->old->promise)->library);
            at = &(*at)->before;
        } else
            *at = (*at)->before;
    }
}

void tn__promises_discard(struct tn_session *session, struct tn__journal *journal)
{
    hold_losers(session, journal);
    for (const struct tn__journal_record *record = journal->last; record; record = record->before) {
        struct tn_responsibility *promise = tn__promise_of(record->old->promise);
        tn__session_pause(session);
        promise->client.discard(promise->client.context, record->entry->name);
        tn__session_lock(session);
        tn__library_drop(promise->library);
        tn__promise_drop(promise);
    }
}
