/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Materializers, from the promise of their symbols to the objects they are kept with. See promise.h. */

#include "promise.h"

/* ---- life ---- */

void tn__promise_hold(struct tn_responsibility *promise)
{
    promise->users++;
}

void tn__promise_drop(struct tn_responsibility *promise)
{
    if (--promise->users)
        return;
    if (promise->generator)
        tn__library_drop(promise->library);
    tn__list_remove(&promise->owned);
    tn__list_append(&promise->library->session->unused, &promise->owned);
}

static void free_staged(struct tn_responsibility *promise)
{
    for (struct tn__staged *staged = promise->staged; staged; staged = staged->next) {
        const struct tn_input input = staged->data.input;
        tn__arena_free(&staged->data.arena);
        if (input.release)
            input.release(input.context, input.bytes, input.length);
    }
    promise->staged = NULL;
}

static void free_promise(struct tn_responsibility *promise)
{
    const struct tn_allocator *from = promise->library->session->allocator;
    free_staged(promise);
    if (promise->client.destroy)
        promise->client.destroy(promise->client.context);
    tn__arena_free(&promise->arena);
    tn__free(from, promise->failure);
    tn__free(from, promise);
}

void tn__session_unlock(struct tn_session *session)
{
    struct tn__list unused;
    tn__list_init(&unused);
    while (session->unused.next != &session->unused) {
        struct tn__list *node = session->unused.next;
        tn__list_remove(node);
        tn__list_append(&unused, node);
    }
    pthread_mutex_unlock(&session->lock);
    while (unused.next != &unused) {
        struct tn_responsibility *promise = tn__container_of(unused.next, struct tn_responsibility, owned);
        tn__list_remove(&promise->owned);
        free_promise(promise);
    }
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
    promise->name = tn__arena_text(&promise->arena, name, strlen(name));
    promise->entries = tn__arena_array(&promise->arena, count, sizeof *promise->entries);
    if (promise->name && promise->entries)
        return promise;
    tn__arena_free(&promise->arena);
    tn__free(from, promise);
    return NULL;
}

void tn__promise_give(struct tn_responsibility *promise, struct tn_tracker *owner)
{
    promise->owner = owner;
    tn__list_append(&owner->promises, &promise->owned);
}

static bool owes(const struct tn_responsibility *promise, const struct tn__entry *entry)
{
    return (entry->kind == TN__ENTRY_PROMISED || entry->kind == TN__ENTRY_FAILED) && entry->promise == promise;
}

/* Forgets what it still owes. */
static void release_entries(struct tn_responsibility *promise)
{
    for (size_t i = 0; i < promise->count; i++) {
        struct tn__entry *entry = promise->entries[i];
        if (!owes(promise, entry))
            continue;
        tn__entry_forget(promise->library, entry);
        entry->wanted = false;
    }
    promise->count = 0;
}

/* ---- promising ---- */

static uint8_t strength_of(const struct tn_promised *symbol)
{
    return symbol->flags & TN_SYMBOL_WEAK ? TN__STRENGTH_WEAK : TN__STRENGTH_STRONG;
}

void tn__promise_take(struct tn_responsibility *promise, struct tn__entry *entry)
{
    entry->kind = TN__ENTRY_PROMISED;
    entry->promise = promise;
    promise->entries[promise->count++] = entry;
}

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
            m->symbols[i].flags & ~(uint64_t)(TN_SYMBOL_WEAK | TN_SYMBOL_HIDDEN))
            return tn__fail(err, TN_EINVAL, "%s: symbol %zu has no name or unknown flags", m->name, i);
    return 0;
}

static bool any_held(struct tn__entry *const *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tn__entry_is_held(entries[i]))
            return true;
    return false;
}

/* All entries of what is promised, none of them held by a link. The lock is given up meanwhile. */
static int intern_symbols(struct tn_library *library, const struct tn_materializer *m, struct tn__entry **entries,
                          struct tn_error *err)
{
    struct tn_session *session = library->session;
    int code = tn__library_check(library, err);
    for (size_t i = 0; !code && i < m->count; i++)
        if (!(entries[i] = tn__symtab_intern(&library->symtab, m->symbols[i].name)))
            code = tn__fail(err, TN_ENOMEM, "%s: out of memory", m->name);
    while (!code && any_held(entries, m->count)) {
        pthread_cond_wait(&session->idle, &session->lock);
        code = tn__library_check(library, err); /* a removed one has no entries */
    }
    return code;
}

/* Enters its symbols; of those that others define already, *refused gets the names. */
static int enter_symbols(struct tn_responsibility *promise, struct tn__entry **entries, const struct tn_materializer *m,
                         struct tn__journal *journal, const char **refused, struct tn_error *err)
{
    for (size_t i = 0; i < m->count; i++) {
        bool yields;
        int code = tn__entry_yields(entries[i], strength_of(&m->symbols[i]), promise->name, &yields, err);
        if (code)
            return code;
        if (!yields) {
            *refused++ = m->symbols[i].name;
            continue;
        }
        if (!tn__journal_note(journal, entries[i]))
            return tn__fail(err, TN_ENOMEM, "%s: out of memory", promise->name);
        entries[i]->strength = strength_of(&m->symbols[i]);
        entries[i]->hidden = m->symbols[i].flags & TN_SYMBOL_HIDDEN;
        entries[i]->thread_local = entries[i]->wanted = false;
        entries[i]->object = NULL;
        tn__promise_take(promise, entries[i]);
    }
    return 0;
}

static int enter_promise(struct tn_responsibility *promise, const struct tn_materializer *m, const char **refused,
                         struct tn_error *err)
{
    struct tn_library *library = promise->library;
    struct tn__journal journal = {.arena.from = library->session->allocator};
    struct tn__entry **entries = tn__arena_array(&promise->arena, m->count, sizeof *entries);
    int code =
        entries ? intern_symbols(library, m, entries, err) : tn__fail(err, TN_ENOMEM, "%s: out of memory", m->name);
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
    code = promise && refused ? enter_promise(promise, &m, refused, err)
                              : tn__fail(err, TN_ENOMEM, "%s: out of memory", m.name);
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

/* ---- overridden and removed ---- */

static bool lost(const struct tn__journal_record *record)
{
    const struct tn__entry *old = &record->old;
    return old->kind == TN__ENTRY_PROMISED && old->strength && old->promise->client.discard &&
           old->promise->state == TN__PROMISE_NEW && !owes(old->promise, record->entry);
}

/* Those that lost nothing are taken out; the promises of the others stay until they have been told. */
static void hold_losers(struct tn_session *session, struct tn__journal *journal)
{
    for (struct tn__journal_record **at = &journal->last; *at;) {
        session->revision += tn__entry_leads_on(&(*at)->old);
        if (lost(*at)) {
            tn__promise_hold((*at)->old.promise);
            tn__library_hold((*at)->old.promise->library);
            at = &(*at)->before;
        } else
            *at = (*at)->before;
    }
}

void tn__promises_discard(struct tn_session *session, struct tn__journal *journal)
{
    hold_losers(session, journal);
    for (const struct tn__journal_record *record = journal->last; record; record = record->before) {
        struct tn_responsibility *promise = record->old.promise;
        pthread_mutex_unlock(&session->lock);
        promise->client.discard(promise->client.context, record->entry->name);
        tn__session_lock(session);
        tn__library_drop(promise->library);
        tn__promise_drop(promise);
    }
}

void tn__promises_remove(struct tn_tracker *owner)
{
    while (owner->promises.next != &owner->promises) {
        struct tn_responsibility *promise = tn__container_of(owner->promises.next, struct tn_responsibility, owned);
        release_entries(promise);
        tn__list_remove(&promise->owned);
        promise->owner = NULL;
        tn__query_wake(promise);
        if (promise->state != TN__PROMISE_RUNNING || promise->library->session->closing) /* else it goes when it ends */
            tn__promise_drop(promise);
    }
}

/* ---- running ---- */

/* The innermost of the calling thread. */
static __thread struct tn_responsibility *current __attribute__((tls_model("initial-exec")));

struct tn_responsibility *tn__promise_current(const struct tn_session *session)
{
    struct tn_responsibility *promise = current;
    while (promise && promise->library->session != session)
        promise = promise->below;
    return promise;
}

bool tn__promise_claim(struct tn_responsibility *promise)
{
    if (promise->state != TN__PROMISE_NEW || !promise->owner)
        return false;
    promise->state = TN__PROMISE_RUNNING;
    struct tn_responsibility *below = tn__promise_current(promise->library->session);
    if (below)
        below->above = promise;
    promise->runner = pthread_self();
    promise->on_stack = true;
    tn__promise_hold(promise);
    return true;
}

static int ask_generator(const struct tn_responsibility *promise, struct tn_error *err)
{
    const struct tn__generator *generator = promise->generator;
    return generator->function(generator->context, promise->library, promise->names, promise->name_count, err);
}

static int call(struct tn_responsibility *promise, struct tn_error *err)
{
    promise->below = current;
    current = promise;
    int code = promise->generator ? ask_generator(promise, err)
                                  : promise->client.materialize(promise->client.context, promise, err);
    current = promise->below;
    return code;
}

void tn__promises_after_fork(struct tn_session *session)
{
    for (struct tn_library *library = session->libraries; library; library = library->next)
        for (struct tn_tracker *tracker = NULL; (tracker = tn__library_next_tracker(library, tracker));)
            for (struct tn__list *node = tracker->promises.next, *next; node != &tracker->promises; node = next) {
                struct tn_responsibility *promise = tn__container_of(node, struct tn_responsibility, owned);
                next = node->next;
                if (!promise->on_stack || pthread_equal(promise->runner, pthread_self()))
                    continue;
                promise->state = TN__PROMISE_NEW;
                promise->above = NULL;
                promise->on_stack = false;
                promise->staged = NULL; /* the other thread may have been changing it; lost with that thread */
                tn__promise_drop(promise);
            }
}

void tn__promise_run(struct tn_responsibility *promise)
{
    struct tn_session *session = promise->library->session;
    struct tn_error err;
    tn__fail(&err, TN_EINVAL, "no reason given");
    int code = call(promise, &err);
    if (!code) /* unless the materializer has said so itself */
        tn_responsibility_ready(promise, NULL);
    else if (code != TN_LATER || promise->generator) {
        err.code = code < 0 ? code : TN_EINVAL;
        tn_responsibility_fail(promise, &err);
    }
    tn__session_lock(session);
    promise->on_stack = false;
    struct tn_responsibility *below = tn__promise_current(session);
    if (below)
        below->above = NULL;
    tn__promise_drop(promise);
    tn__session_unlock(session);
    tn__query_continue(session);
}

struct tn_responsibility *tn__promise_generate(struct tn__generator *generator, const struct tn__missing *missing,
                                               size_t count)
{
    struct tn_library *library = missing->library;
    struct tn_responsibility *promise = tn__promise_new(library, library->name, count);
    const char **names = promise ? tn__arena_array(&promise->arena, count, sizeof *names) : NULL;
    if (!names) {
        if (promise)
            tn__promise_drop(promise);
        return NULL;
    }
    tn__promise_give(promise, &library->own);
    tn__library_hold(library);
    promise->generator = generator;
    promise->names = names;
    for (size_t i = 0; i < count; i++)
        if (tn__generator_for(&missing[i]) == generator) {
            names[promise->name_count++] = missing[i].entry->name;
            tn__promise_take(promise, missing[i].entry);
        }
    return promise;
}

/* ---- ending ---- */

static void set_failure(struct tn_responsibility *promise, const struct tn_error *why)
{
    promise->failure = tn__alloc(promise->library->session->allocator, sizeof *promise->failure);
    if (promise->failure)
        *promise->failure = *why;
}

int tn__promise_fail_with(const struct tn_responsibility *promise, const char *symbol, struct tn_error *err)
{
    if (!promise->failure)
        return tn__fail(err, TN_ENOMEM, "'%s': %s has failed, and there was no memory to say why", symbol,
                        promise->name);
    return tn__fail(err, promise->failure->code, "'%s': %s has failed: %s", symbol, promise->name,
                    promise->failure->text);
}

/* It owes nothing any more, and nobody owns it. */
static void leave(struct tn_responsibility *promise, enum tn__promise_state state)
{
    release_entries(promise);
    tn__list_remove(&promise->owned);
    promise->owner = NULL;
    promise->state = state;
    tn__query_disown(promise);
    tn__query_wake(promise);
    tn__promise_drop(promise);
}

/* Its symbols fail, and stay so until its tracker is removed; names that a generator was asked for may be asked for again. */
static void fail(struct tn_responsibility *promise, const struct tn_error *why)
{
    set_failure(promise, why);
    if (promise->generator || !promise->owner) {
        leave(promise, promise->owner ? TN__PROMISE_FAILED : TN__PROMISE_KEPT);
        return;
    }
    for (size_t i = 0; i < promise->count; i++)
        if (owes(promise, promise->entries[i]))
            promise->entries[i]->kind = TN__ENTRY_FAILED;
    promise->state = TN__PROMISE_FAILED;
    tn__query_disown(promise);
    tn__query_wake(promise);
}

static void keep(struct tn_responsibility *promise)
{
    for (size_t i = 0; i < promise->count; i++) /* what a generator did not know */
        promise->entries[i]->asked += owes(promise, promise->entries[i]);
    leave(promise, TN__PROMISE_KEPT);
}

static bool any_staged_held(const struct tn_responsibility *promise)
{
    for (const struct tn__staged *staged = promise->staged; staged; staged = staged->next)
        if (tn__library_is_held(promise->library, &staged->data))
            return true;
    return false;
}

static int enter_staged(struct tn_responsibility *promise, struct tn__journal *journal, struct tn_error *err)
{
    int code = 0;
    while (!code && promise->staged) {
        struct tn__staged *staged = promise->staged;
        const struct tn_input input = staged->data.input;
        promise->staged = staged->next;
        code = tn__library_add(promise->owner, &staged->data, &promise->library->queue, promise, journal, err);
        if (code && input.release)
            input.release(input.context, input.bytes, input.length);
    }
    return code;
}

static int check_kept(const struct tn_responsibility *promise, struct tn_error *err)
{
    int code = 0;
    for (size_t i = 0; !promise->generator && i < promise->count; i++)
        if (owes(promise, promise->entries[i])) {
            if (!code)
                code = tn__fail(err, TN_EUNDEF, "%s promised, and did not define:", promise->name);
            tn__append(err, " '%s'", promise->entries[i]->name);
        }
    return code;
}

/* Under the lock, which is given up while a link holds on to one of the names. All or nothing. */
static int enter(struct tn_responsibility *promise, struct tn_error *err)
{
    struct tn_session *session = promise->library->session;
    struct tn__journal journal = {.arena.from = session->allocator};
    while (any_staged_held(promise))
        pthread_cond_wait(&session->idle, &session->lock);
    if (!promise->owner)
        return tn__fail(err, TN_EREMOVED, "%s was removed meanwhile", promise->name);
    struct tn__list *queue = &promise->library->queue, *last = queue->previous;
    int code = enter_staged(promise, &journal, err);
    if (!code)
        code = check_kept(promise, err);
    if (code) {
        tn__journal_undo(&journal);
        while (queue->previous != last)
            tn__object_remove(tn__container_of(queue->previous, struct tn__object, queued));
    } else
        tn__promises_discard(session, &journal);
    tn__journal_free(&journal);
    return code;
}

int tn_responsibility_ready(struct tn_responsibility *promise, struct tn_error *err)
{
    if (!promise)
        return tn__fail(err, TN_EINVAL, "no responsibility given");
    struct tn_session *session = promise->library->session;
    struct tn_error why;
    tn__session_lock(session);
    if (promise->state != TN__PROMISE_RUNNING) {
        pthread_mutex_unlock(&session->lock);
        return tn__fail(err, TN_EINVAL, "%s has ended already", promise->name);
    }
    int code = enter(promise, &why);
    bool unheard = code && tn__list_is_empty(&promise->waits);
    if (code)
        fail(promise, &why);
    else
        keep(promise);
    tn__session_unlock(session);
    tn__query_continue(session);
    if (unheard)
        tn__session_report(session, &why);
    if (code && err)
        *err = why;
    return code;
}

void tn_responsibility_fail(struct tn_responsibility *promise, const struct tn_error *why)
{
    if (!promise)
        return;
    struct tn_session *session = promise->library->session;
    struct tn_error error;
    tn__fail(&error, why && why->code < 0 ? why->code : TN_EINVAL, "%s", why ? why->text : "no reason given");
    tn__session_lock(session);
    bool running = promise->state == TN__PROMISE_RUNNING;
    bool unheard = running && tn__list_is_empty(&promise->waits);
    if (running)
        fail(promise, &error);
    tn__session_unlock(session);
    tn__query_continue(session);
    if (unheard)
        tn__session_report(session, &error);
}
