/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What promises go through until objects keep them, or they fail or are removed. See promise.h. */

#include "link/demand/promise.h"

/* Drops the symbols that it still owes. */
static void release_entries(struct tn_responsibility *promise) TN__LOCKED
{
    for (size_t i = 0; i < promise->count; i++) {
        struct tn__entry *entry = promise->entries[i];
        if (!tn__promise_owes(promise, entry))
            continue;
        tn__entry_forget(promise->library, entry);
        entry->wanted = false;
    }
    promise->count = 0;
}

/* ---- removed ---- */

/* Wakes the threads that wait for it. */
static void remove_promise(struct tn_responsibility *promise) TN__LOCKED
{
    struct tn_session *session = promise->library->session;
    release_entries(promise);
    tn__list_remove(&promise->owned);
    promise->owner = NULL;
    tn__query_wake(promise);
    if (promise->seen.state == TN__PROMISE_RUNNING)
        tn__list_append(&session->later[TN__ACK_MATERIALIZERS], &promise->owned);
    else
        tn__promise_drop(promise);
}

void tn__promises_remove(struct tn_tracker *owner)
{
    while (!tn__list_is_empty(&owner->promises))
        remove_promise(tn__container_of(owner->promises.next, struct tn_responsibility, owned));
}

void tn__promises_drop_removed(struct tn_session *session)
{
    struct tn__list *removed = &session->later[TN__ACK_MATERIALIZERS];
    while (!tn__list_is_empty(removed)) {
        struct tn__list *node = removed->next;
        tn__list_remove(node);
        tn__promise_drop(tn__container_of(node, struct tn_responsibility, owned));
    }
}

/* ---- running ---- */

/* The innermost materializer that the calling thread runs. */
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
    if (promise->seen.state != TN__PROMISE_NEW || !promise->owner || promise->unneeded)
        return false;
    promise->seen.state = TN__PROMISE_RUNNING;
    struct tn_responsibility *below = tn__promise_current(promise->library->session);
    if (below)
        below->above = promise;
    promise->runner = pthread_self();
    promise->on_stack = true;
    tn__promise_hold(promise);
    return true;
}

static int call(struct tn_responsibility *promise, struct tn_error *err)
{
    promise->below = current;
    current = promise;
    const struct tn__supplier *generator = promise->generator;
    int code = 0;
    if (!generator)
        code = promise->client.materialize(promise->client.context, promise, err);
    else if (!__atomic_load_n(&generator->removed, __ATOMIC_RELAXED))
        code = generator->generate(generator->context, promise->library, promise->names, promise->name_count, err);
    current = promise->below;
    return code;
}

struct tn_responsibility *tn_generator_keep(const struct tn_library *library)
{
    struct tn_responsibility *promise = library ? tn__promise_current(library->session) : NULL;
    if (!promise || !promise->generator || promise->library != library)
        return NULL;
    promise->is_kept = true;
    return promise;
}

/* ---- running ---- */

void tn__promise_run(struct tn_responsibility *promise)
{
    struct tn_session *session = promise->library->session;
    struct tn_error err;
    tn__fail(&err, TN_EINVAL, "no reason given");
    int code = call(promise, &err);
    if (!code) /* unless the materializer has said so itself */
        tn_responsibility_ready(promise, NULL);
    else if (code != TN_LATER || (promise->generator && !promise->is_kept)) {
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

struct tn_responsibility *tn__promise_generate(struct tn__supplier *generator, const struct tn__missing *missing,
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
    generator->users++;
    promise->names = names;
    for (size_t i = 0; i < count; i++)
        if (tn__generator_for(&missing[i]) == generator) {
            names[promise->name_count++] = missing[i].entry->name;
            tn__promise_take(promise, missing[i].entry);
        }
    return promise;
}

/* ---- ending ---- */

/* It owes nothing any more, and has no owner. */
static void end_promise(struct tn_responsibility *promise, enum tn__promise_state state) TN__LOCKED
{
    release_entries(promise);
    tn__list_remove(&promise->owned);
    promise->owner = NULL;
    promise->seen.state = state;
    tn__query_disown(promise);
    tn__query_wake(promise);
    tn__promise_drop(promise);
}

/* Its symbols fail, for good until its tracker is removed; a generator may be asked for its names again. */
static void fail_promise(struct tn_responsibility *promise, const struct tn_error *why) TN__LOCKED
{
    promise->failure = tn__alloc(promise->library->session->allocator, sizeof *promise->failure);
    if (promise->failure)
        *promise->failure = *why;
    if (promise->generator || !promise->owner) {
        end_promise(promise, promise->owner ? TN__PROMISE_FAILED : TN__PROMISE_KEPT);
        return;
    }
    for (size_t i = 0; i < promise->count; i++)
        if (tn__promise_owes(promise, promise->entries[i]))
            promise->entries[i]->kind = TN__ENTRY_FAILED;
    promise->seen.state = TN__PROMISE_FAILED;
    tn__query_disown(promise);
    tn__query_wake(promise);
}

/* Stands in for the materializer of a delegated promise, which only the client knew how to keep. */
static int give_up(void *unused, struct tn_responsibility *promise, struct tn_error *err)
{
    (void)unused, (void)promise;
    return tn__fail(err, TN_EREMOVED, "it was delegated before a fork, to a thread that this process may lack");
}

static void hand_over(struct tn_responsibility *promise, struct tn_responsibility *to) TN__LOCKED
{
    to->client = promise->client;
    if (!to->client.materialize)
        to->client.materialize = give_up;
    promise->client = (struct tn_materializer){0};
    to->seen.input = promise->seen.input;
    for (size_t i = 0; i < promise->count; i++)
        if (tn__promise_owes(promise, promise->entries[i]))
            tn__promise_take(to, promise->entries[i]);
    tn__promise_give(to, promise->owner);
}

/* What a materializer has stopped making because no lookup needed it is promised again, and a generator is asked again.
 * False if it was not told to stop, or nothing else can make the symbols, or memory is out. */
static bool give_back(struct tn_responsibility *promise, const struct tn_error *why) TN__LOCKED
{
    if (why->code != TN_ECANCELLED || !promise->told_unneeded || !promise->owner)
        return false;
    if (!promise->generator) {
        struct tn_responsibility *to =
            promise->client.materialize ? tn__promise_new(promise->library, promise->seen.name, promise->count) : NULL;
        if (!to)
            return false;
        hand_over(promise, to);
    }
    for (TN_EACH(struct tn__wait, wait, &promise->waits, listed))
        wait->query->given_back = true;
    end_promise(promise, TN__PROMISE_KEPT);
    return true;
}

static void keep_promise(struct tn_responsibility *promise) TN__LOCKED
{
    for (size_t i = 0; promise->generator && i < promise->count; i++) /* what it did not know */
        if (tn__promise_owes(promise, promise->entries[i]))
            promise->entries[i]->asked = promise->generator->number;
    end_promise(promise, TN__PROMISE_KEPT);
}

static bool any_staged_held(const struct tn_responsibility *promise) TN__LOCKED
{
    for (const struct tn__staged *staged = promise->staged; staged; staged = staged->next)
        if (tn__library_is_held(promise->library, &staged->data))
            return true;
    return false;
}

static int enter_staged(struct tn_responsibility *promise, struct tn__journal *journal, struct tn_error *err) TN__LOCKED
{
    int code = 0;
    while (!code && promise->staged) {
        struct tn__staged *staged = promise->staged;
        const struct tn_input input = staged->data.input;
        promise->staged = staged->next;
        code = tn__library_add(promise->owner, &staged->data, &promise->library->queue,
                               (struct tn__origin){promise->seen.input, &promise->seen}, journal, err);
        if (code && input.release)
            input.release(input.context, input.bytes, input.length);
    }
    return code;
}

/* Moves what was staged to its place among the inputs. `last`: see check_kept. */
static void sort_queue(struct tn__list *queue, const struct tn__list *last)
{
    for (struct tn__list *node = last->next, *next; node != queue; node = next) {
        struct tn__list *before = node->previous;
        uint64_t input = tn__container_of(node, struct tn__object, queued)->data->number;
        next = node->next;
        while (before != queue && tn__container_of(before, struct tn__object, queued)->data->number > input)
            before = before->previous;
        if (before == node->previous)
            continue;
        tn__list_remove(node);
        tn__list_append(before->next, node);
    }
}

/* The object whose copy of a group is kept, if the group of another object's defines the entry. */
static const struct tn__object *other_copy(const struct tn__object *object, const struct tn__entry *entry) TN__LOCKED
{
    const struct tn__object_data *data = object->data;
    const struct tn__symtab *table = &object->owner->library->symtab;
    uint32_t section = 0;
    for (uint32_t i = data->first_global; i < data->symbol_count && !section; i++)
        if (data->symbols[i].entry == entry && data->symbols[i].dropped)
            section = data->symbols[i].section;
    for (uint32_t i = 0; section && i < data->group_count; i++)
        for (uint32_t m = 0; m < data->groups[i].count; m++)
            if (data->groups[i].members[m] == section)
                return tn__symtab_find_key(table, data->groups[i].signature, data->groups[i].key)->group_owner;
    return NULL;
}

/* `last`: the last in the library's queue before what was staged. */
static int check_kept(const struct tn_responsibility *promise, const struct tn__list *last,
                      struct tn_error *err) TN__LOCKED
{
    int code = 0;
    for (size_t i = 0; !promise->generator && i < promise->count; i++) {
        const struct tn__entry *entry = promise->entries[i];
        if (!tn__promise_owes(promise, entry) || entry->discardable)
            continue;
        if (!code)
            code = tn__fail(err, TN_EUNDEF, "%s promised, and did not define:", promise->seen.name);
        tn__append(err, " '%s'", entry->name);
        const struct tn__object *other = NULL;
        for (const struct tn__list *at = last->next; !other && at != &promise->library->queue; at = at->next)
            other = other_copy(tn__container_of(at, struct tn__object, queued), entry);
        if (other)
            tn__append(err, " (whose group gave way to that of %s, without it)", other->name);
    }
    return code;
}

/* True if an object has lost a definition with its copy of a group, which the copy that is kept does not have. */
static bool lacks_any(const struct tn__journal *journal)
{
    const struct tn__journal_record *record = journal->last;
    while (record && (record->entry->kind != TN__ENTRY_UNDEFINED || record->old->kind != TN__ENTRY_OBJECT))
        record = record->before;
    return record;
}

/* Enters all or nothing. Releases the lock while a link holds one of the names. */
static int enter_all(struct tn_responsibility *promise, struct tn_error *err) TN__LOCKED
{
    struct tn_session *session = promise->library->session;
    struct tn__journal journal = {.arena.from = session->allocator};
    while (any_staged_held(promise))
        tn__session_wait(session);
    if (!promise->owner)
        return tn__fail(err, TN_EREMOVED, "%s was removed meanwhile", promise->seen.name);
    struct tn_library *library = promise->library;
    struct tn__list *queue = &library->queue, *last = queue->previous;
    bool was_due = library->fall_back_due;
    int code = enter_staged(promise, &journal, err);
    if (!code)
        code = check_kept(promise, last, err);
    if (code) {
        tn__journal_undo(&journal);
        while (queue->previous != last)
            tn__object_remove(tn__container_of(queue->previous, struct tn__object, queued));
        tn__library_fall_back(library); /* they may have taken groups from others */
    } else {
        library->fall_back_due = was_due || (library->fall_back_due && lacks_any(&journal));
        sort_queue(queue, last);
        tn__promises_discard(session, &journal);
    }
    tn__journal_free(&journal);
    return code;
}

/* A failure that only on_error can learn of. That something was removed while it was made is none. */
static bool is_unheard(const struct tn_responsibility *promise, const struct tn_error *why)
{
    return why->code != TN_EREMOVED && tn__list_is_empty(&promise->waits);
}

static int end_ready(struct tn_responsibility *promise, bool fails, struct tn_error *err)
{
    if (!promise)
        return tn__fail(err, TN_EINVAL, "no responsibility given");
    struct tn_session *session = promise->library->session;
    struct tn_error why;
    tn__session_lock(session);
    if (promise->seen.state != TN__PROMISE_RUNNING) {
        tn__session_unlock(session);
        return tn__fail(err, TN_EINVAL, "%s has ended already", promise->seen.name);
    }
    int code = enter_all(promise, &why);
    bool unheard = code && fails && is_unheard(promise, &why);
    if (!code) {
        struct tn_library *library = promise->library;
        keep_promise(promise);
        tn__library_fall_back(library); /* to what had given way to a symbol that was left out */
    } else if (fails)
        fail_promise(promise, &why);
    tn__session_unlock(session);
    tn__query_continue(session);
    if (unheard)
        tn__session_report(session, &why);
    if (code && !fails)
        tn__promise_unstage(promise);
    if (code && err)
        *err = why;
    return code;
}

int tn_responsibility_ready(struct tn_responsibility *promise, struct tn_error *err)
{
    return end_ready(promise, true, err);
}

int tn_responsibility_try(struct tn_responsibility *promise, struct tn_error *err)
{
    return end_ready(promise, false, err);
}

void tn_responsibility_fail(struct tn_responsibility *promise, const struct tn_error *why)
{
    if (!promise)
        return;
    struct tn_session *session = promise->library->session;
    struct tn_error error;
    tn__fail(&error, why && why->code < 0 ? why->code : TN_EINVAL, "%s", why ? why->text : "no reason given");
    tn__session_lock(session);
    bool fails = promise->seen.state == TN__PROMISE_RUNNING && !give_back(promise, &error);
    bool unheard = fails && is_unheard(promise, &error);
    if (fails)
        fail_promise(promise, &error);
    tn__session_unlock(session);
    tn__query_continue(session);
    if (unheard)
        tn__session_report(session, &error);
}

/* ---- forks ---- */

/* In the child of a fork: the thread that would end a running or postponed materializer may not exist here. */
static void leave_behind(struct tn_responsibility *promise) TN__LOCKED
{
    bool by_this_thread = promise->on_stack && pthread_equal(promise->runner, pthread_self());
    promise->left_behind = promise->seen.state == TN__PROMISE_RUNNING && !by_this_thread;
    if (!promise->on_stack || by_this_thread)
        return;
    promise->above = NULL;
    promise->on_stack = false;
    promise->staged = NULL; /* the other thread may have been changing it, so it is lost with that thread */
    tn__promise_drop(promise);
}

void tn__promises_after_fork(struct tn_session *session)
{
    for (struct tn_library *library = session->libraries; library; library = library->next)
        for (struct tn_tracker *tracker = NULL; (tracker = tn__library_next_tracker(library, tracker));)
            for (TN_EACH_TO_REMOVE(struct tn_responsibility, promise, &tracker->promises, owned))
                leave_behind(promise);
}

bool tn__promise_renew(struct tn_responsibility *promise)
{
    if (!promise->left_behind || promise->seen.state != TN__PROMISE_RUNNING || !promise->owner)
        return false;
    struct tn_responsibility *to =
        promise->generator ? NULL : tn__promise_new(promise->library, promise->seen.name, promise->count);
    promise->left_behind = false;
    if (to)
        hand_over(promise, to);
    if (to || promise->generator) /* which is asked again like for the first time */
        remove_promise(promise);  /* a thread that ends it later finds it removed */
    else {
        struct tn_error err;
        tn__fail(&err, TN_ENOMEM, "out of memory");
        fail_promise(promise, &err);
    }
    return true;
}
