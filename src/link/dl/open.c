/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opening and closing libraries. Nothing counts which libraries need an open one: when the last opening of a library is
 * taken back, what can no longer be reached from a library that clients have is closed. So circles end as others do,
 * and search orders may change while libraries are open. */

#include "base/base.h"
#include "base/os.h"
#include "base/thread.h"
#include "link/dl/dl.h"
#include "link/passes/dynamic.h"

/* Libraries that are closed together, in the frame of the thread that does it. */
struct ending {
    struct tn_session *session;
    struct tn_library **list;
    size_t count;
    struct ending *outer; /* of the same thread */
};

static __thread struct ending *innermost __attribute__((tls_model("initial-exec")));

/* ---- what a session has of this ---- */

/* An open library that needs this one; NULL: none. */
static const struct tn_library *user_of(const struct tn_library *library) TN__LOCKED
{
    for (const struct tn_library *other = library->session->libraries; other; other = other->next)
        if (other != library && other->opened.is_open && !other->removed) {
            for (size_t i = 0; i < other->search_count; i++)
                if (other->search[i].library == library)
                    return other;
            for (size_t i = 0; i < other->source_count; i++)
                if (other->sources[i] == library)
                    return other;
        }
    return NULL;
}

/* In the child. */
static void after_fork(struct tn_session *session) TN__LOCKED
{
    struct tn__dl *dl = tn__dl_of(session);
    dl->endings = 0;
    for (const struct ending *ending = innermost; ending; ending = ending->outer)
        dl->endings += ending->session == session;
    if (!dl->depth || pthread_equal(dl->loader, pthread_self()))
        return;
    dl->depth = 0;
    for (struct tn__dl_path *path = dl->paths; path; path = path->next) {
        path->is_lost |= path->is_empty;
        if (path->is_empty)
            path->library->opened.called = NULL; /* of an allocator that may be in use by a thread that is not here */
    }
}

static int check_closed(const struct tn_library *library, bool goes, struct tn_error *err) TN__LOCKED
{
    const struct tn_library *user;
    if (library->opened.is_closing)
        return tn__fail(err, TN_EINVAL, "%s is being closed", library->name);
    if (!library->opened.is_open && goes && library->opened.is_loaded)
        return tn__fail(err, TN_EINVAL, "%s is being loaded for dlopen: it is the session's, which removes it",
                        library->name);
    if (!library->opened.is_open)
        return 0;
    if (library->opened.is_kept)
        return tn__fail(err, TN_EINVAL, "%s stays open until the session ends", library->name);
    if (library->opened.count)
        return tn__fail(err, TN_EINVAL, "%s is open: it has to be closed %llu times before it can be removed",
                        library->name, (unsigned long long)library->opened.count);
    user = user_of(library);
    return tn__fail(err, TN_EINVAL, "%s is open, because %s needs it: it cannot be removed", library->name,
                    user ? user->name : "a library that is to be kept");
}

static void forget_session(struct tn_session *session) TN__LOCKED
{
    struct tn__dl *dl = tn__dl_of(session);
    for (struct tn__dl_path *path; (path = dl->paths);) {
        dl->paths = path->next;
        tn__free(session->allocator, path);
    }
    tn__free(session->allocator, dl);
    session->dl = NULL;
}

struct tn__dl *tn__dl_of(struct tn_session *session)
{
    if (session->dl)
        return tn__container_of(session->dl, struct tn__dl, hooks);
    struct tn__dl *dl = tn__alloc_zeroed(session->allocator, 1, sizeof *dl);
    if (!dl)
        return NULL;
    dl->hooks = (struct tn__dl_hooks){.check_closed = check_closed, .after_fork = after_fork, .close = forget_session};
    session->dl = &dl->hooks;
    tn__session_offer_dynamic(session);
    return dl;
}

/* ---- what an open library needs ---- */

void tn__dl_forget_paths(const struct tn_library *library)
{
    for (struct tn__dl_path **at = &tn__dl_of(library->session)->paths, *path; (path = *at);)
        if (path->library == library) {
            *at = path->next;
            tn__free(library->session->allocator, path);
        } else
            at = &path->next;
}

int tn__library_claim(struct tn_library *library, struct tn_error *err)
{
    struct tn__opened *opened = &library->opened;
    struct tn_library *needed = NULL;
    int code = tn__library_check(library, err);
    if (code)
        return code;
    if (opened->is_closing)
        return tn__fail(err, TN_EREMOVED, "%s is being closed", library->name);
    if (!tn__dl_of(library->session))
        return tn__no_memory(err, library->name);
    opened->count++;
    tn__library_append_needed(library, ++library->session->visits, &needed);
    for (; needed; needed = needed->order.next)
        needed->opened.is_open |= needed->opened.is_loaded || needed == library;
    return 0;
}

/* Under the lock: all that the library needs, and itself as the last, each held. NULL when memory is out. */
static struct tn_library **list_needed(struct tn_library *library, size_t *count) TN__LOCKED
{
    struct tn_library *first = NULL, **list;
    tn__library_append_needed(library, ++library->session->visits, &first);
    *count = 0;
    for (const struct tn_library *at = first; at; at = at->order.next)
        ++*count;
    list = tn__alloc(library->session->allocator, *count * sizeof *list);
    if (list)
        for (struct tn_library **end = list; first; first = first->order.next)
            tn__library_use(*end++ = first);
    return list;
}

/* Gives back what list_needed holds. Takes the lock. */
static void free_list(struct tn_session *session, struct tn_library **list, size_t count)
{
    tn__session_lock(session);
    for (size_t i = 0; i < count; i++)
        tn__library_release(list[i]);
    tn__session_unlock(session);
    tn__free(session->allocator, list);
}

/* ---- memory that closed libraries still have ---- */

static bool is_waited_for(void)
{
    bool found = false;
    tn__threads_lock();
    for (const struct tn__thread *thread = tn__threads_first(); thread; thread = thread->next)
        found |= thread->thread_pointer == tn__thread_pointer() && __atomic_load_n(&thread->seen, __ATOMIC_RELAXED);
    tn__threads_unlock();
    return found;
}

/* True if no removal, and no thread that closes something, waits for the calling thread. */
static bool may_wait(const struct tn_session *session) TN__LOCKED
{
    const struct tn__initializing *initializing = &session->initializers;
    const struct tn__reclaimer *reclaimer = &session->reclaimer;
    const struct tn__dl *dl = tn__container_of(session->dl, struct tn__dl, hooks);
    pthread_t self = pthread_self();
    return !innermost && !(dl->depth && pthread_equal(dl->loader, self)) &&
           !(initializing->depth && pthread_equal(initializing->thread, self)) &&
           !(reclaimer->runs && pthread_equal(reclaimer->thread, self)) && !is_waited_for();
}

/* How many removals, and threads that close something, have ended. */
struct ended {
    uint32_t removals, endings;
};

static struct ended count_ended(const struct tn_session *session)
{
    const struct tn__dl *dl = tn__container_of(session->dl, struct tn__dl, hooks);
    return (struct ended){__atomic_load_n(&session->reclaimer.ended, __ATOMIC_RELAXED),
                          __atomic_load_n(&dl->ended, __ATOMIC_RELAXED)};
}

/* What is closed has its memory until it is removed. True: some of it was, since these were counted. */
static bool await_removal(struct tn_session *session, struct ended before, struct tn_error *err)
{
    tn__session_lock(session);
    const struct tn__dl *dl = tn__dl_of(session);
    struct ended now = count_ended(session);
    bool has_ended = now.removals != before.removals || now.endings != before.endings,
         is_removing = tn__removals_go_on(session), waits = !has_ended && (is_removing || dl->endings),
         may_not = waits && !may_wait(session);
    tn__session_unlock(session);
    if (may_not)
        tn__append(err, "; libraries that were closed still have memory, and this thread must not wait until they are "
                        "removed: it is attached and not in a blocking region, or runs an initializer, a finalizer or "
                        "'load'");
    if (!waits || may_not)
        return has_ended;
    const uint32_t *word = is_removing ? &session->reclaimer.ended : &dl->ended;
    uint32_t last = is_removing ? before.removals : before.endings;
    while (__atomic_load_n(word, __ATOMIC_RELAXED) == last)
        tn__os_wait(word, last, UINT64_MAX);
    return true;
}

static int link_one(struct tn_library *library, struct tn_error *err)
{
    struct ended before;
    int code;
    do {
        before = count_ended(library->session);
        code = tn_link(library, err);
    } while (code == TN_ENOMEM && await_removal(library->session, before, err));
    return code;
}

static int link_and_initialize(struct tn_library *library, struct tn_error *err)
{
    struct tn_session *session = library->session;
    size_t count;
    int code = 0;
    tn__session_lock(session);
    struct tn_library **list = list_needed(library, &count);
    tn__session_unlock(session);
    if (!list)
        return tn__no_memory(err, library->name);
    for (size_t i = 0; i < count && !code; i++)
        code = link_one(list[i], err);
    free_list(session, list, count);
    return code ? code : tn__library_run_initializers(library, err);
}

/* ---- what is open no longer ---- */

/* Clients have it, because they have opened it, or have made it and never opened it; or it is being loaded; or another
 * ending is closing it, and its finalizers may call what it needs. */
static bool is_wanted(const struct tn_library *library)
{
    const struct tn__opened *opened = &library->opened;
    bool is_loading = opened->is_loaded && tn__dl_is_loading(library->session);
    return !library->removed && (opened->is_closing || opened->count || opened->is_kept || opened->is_asked ||
                                 (!opened->is_open && (!opened->is_loaded || is_loading)));
}

static bool may_end(const struct tn_library *library)
{
    const struct tn__opened *opened = &library->opened;
    return (opened->is_open || opened->is_loaded) && !opened->is_closing && !library->removed;
}

/* Under the lock: those that no client wants, each before those that it needs; of a circle, the one that was made last
 * comes first, as with glibc. NULL when memory is out. */
static struct tn_library **list_left(struct tn_session *session, size_t *count) TN__LOCKED
{
    struct tn_library *first = NULL, **list;
    uint64_t number = ++session->visits;
    size_t most = 0;
    for (struct tn_library *library = session->libraries; library; library = library->next, most++)
        if (is_wanted(library))
            tn__library_append_needed(library, number, &first);
    list = tn__alloc(session->allocator, (most + 1) * sizeof *list);
    if (!list)
        return NULL;
    /* What is appended from here on has not been reached. */
    first = NULL;
    for (struct tn_library *library = session->libraries; library; library = library->next)
        if (may_end(library))
            tn__library_append_needed(library, number, &first);
    *count = 0;
    for (struct tn_library *at = first; at; at = at->order.next)
        if (may_end(at))
            list[(*count)++] = at;
    for (size_t i = 0; i < *count / 2; i++) {
        struct tn_library *swapped = list[i];
        list[i] = list[*count - 1 - i];
        list[*count - 1 - i] = swapped;
    }
    return list;
}

/* Those that no client wants are closed. TN_ENOMEM: all stay as they are. */
static int begin_ending(struct ending *ending, struct tn_session *session, struct tn_error *err) TN__LOCKED
{
    ending->session = session;
    ending->list = list_left(session, &ending->count);
    if (!ending->list)
        return tn__no_memory(err, NULL);
    ending->outer = innermost;
    innermost = ending;
    tn__dl_of(session)->endings++;
    for (size_t i = 0; i < ending->count; i++) {
        struct tn_library *library = ending->list[i];
        library->opened.is_closing = true;
        tn__dl_forget_paths(library);
        tn__library_use(library);
    }
    return 0;
}

static void destroy(void *library, const struct tn_error *why)
{
    (void)why;
    tn_library_destroy(library, NULL);
}

static void leave(void *library, const struct tn_error *why)
{
    (void)library, (void)why;
}

static int take_away(struct tn_library *library, bool waits, struct tn_error *err)
{
    bool is_loaded = library->opened.is_loaded;
    if (!waits)
        return tn__library_remove_start(library, is_loaded ? destroy : leave, library, err);
    int code = tn__library_retire(library, err);
    if (!code && is_loaded)
        tn_library_destroy(library, NULL);
    return code;
}

/* Also if the calling thread ends in a finalizer. */
static void leave_ending(void *of)
{
    struct ending *ending = of;
    struct tn_session *session = ending->session;
    innermost = ending->outer;
    tn__session_lock(session);
    struct tn__dl *dl = tn__dl_of(session);
    dl->endings--;
    __atomic_add_fetch(&dl->ended, 1, __ATOMIC_RELAXED);
    tn__os_wake(&dl->ended);
    tn__session_unlock(session);
}

static void run_finalizers(struct ending *ending)
{
    pthread_cleanup_push(leave_ending, ending);
    for (size_t i = 0; i < ending->count; i++)
        tn_run_finalizers(ending->list[i]);
    pthread_cleanup_pop(0);
}

/* Without the lock. Returns the first error; those that it has happened to stay until the session ends. */
static int finish_one(struct ending *ending, bool waits, struct tn_error *err)
{
    int code = 0;
    if (!ending->list)
        return 0;
    run_finalizers(ending);
    for (size_t i = 0; i < ending->count; i++) {
        int failure = take_away(ending->list[i], waits, code ? NULL : err);
        code = code ? code : failure;
    }
    leave_ending(ending);
    free_list(ending->session, ending->list, ending->count);
    return code;
}

/* The same, and then for what only those that are closed now have needed, while other endings closed the rest. */
static int finish_ending(struct ending *ending, bool waits, struct tn_error *err)
{
    size_t count = ending->count;
    int code = finish_one(ending, waits, err);
    while (count) {
        struct ending next = {0};
        tn__session_lock(ending->session);
        begin_ending(&next, ending->session, NULL);
        tn__session_unlock(ending->session);
        count = next.count;
        int failure = finish_one(&next, waits, code ? NULL : err);
        code = code ? code : failure;
    }
    return code;
}

void tn__dl_sweep(struct tn_session *session)
{
    struct ending ending = {0};
    tn__session_lock(session);
    begin_ending(&ending, session, NULL);
    tn__session_unlock(session);
    finish_ending(&ending, false, NULL);
}

/* ---- opening ---- */

/* Takes a claim back. A library of a client that no other one needs is as before; loaded ones go. */
static void give_back(struct tn_library *library)
{
    struct tn_session *session = library->session;
    tn__session_lock(session);
    if (!--library->opened.count && !library->opened.is_loaded)
        library->opened.is_open = false;
    tn__session_unlock(session);
    tn__dl_sweep(session);
}

void tn__dl_append_library(struct tn_library *library, uint64_t number, struct tn_library **first)
{
    if (library->order.visited == number || library->removed)
        return;
    while (*first)
        first = &(*first)->order.next;
    library->order = (struct tn__library_order){.visited = number};
    *first = library;
}

void tn__dl_append_scope(struct tn_library *library, uint64_t number, struct tn_library **first)
{
    tn__dl_append_library(library, number, first);
    for (struct tn_library *at = library; at; at = at->order.next) {
        for (size_t i = 0; i < at->search_count; i++)
            tn__dl_append_library(at->search[i].library, number, first);
        for (size_t i = 0; i < at->source_count; i++)
            tn__dl_append_library(at->sources[i], number, first);
    }
}

/* Under the lock: the library, and then what it needs, which is not global yet. */
static void make_global(struct tn_library *library) TN__LOCKED
{
    struct tn_library *first = NULL;
    uint64_t *globals = &tn__dl_of(library->session)->globals;
    tn__dl_append_scope(library, ++library->session->visits, &first);
    for (; first; first = first->order.next)
        if (!first->opened.global)
            first->opened.global = ++*globals;
}

struct tn_library *tn__dl_next_global(const struct tn_session *session, uint64_t last)
{
    struct tn_library *next = NULL;
    for (struct tn_library *library = session->libraries; library; library = library->next) {
        uint64_t global = library->removed ? 0 : library->opened.global;
        if (global > last && (!next || global < next->opened.global))
            next = library;
    }
    return next;
}

static void set_flags(struct tn_library *library, uint64_t flags) TN__LOCKED
{
    library->opened.is_kept |= (flags & TN_DL_KEEP) != 0;
    if (flags & TN_DL_GLOBAL)
        make_global(library);
}

bool tn__library_open_again(struct tn_library *library, uint64_t flags)
{
    struct tn_library *needed = NULL;
    const struct tn_session *session = library->session;
    if (!library->opened.count || library->removed || session->initializers.unfinished)
        return false;
    tn__library_append_needed(library, ++library->session->visits, &needed);
    for (; needed; needed = needed->order.next)
        if (needed->opened.is_closing || needed->opened.is_loaded > needed->opened.is_open ||
            !tn__list_is_empty(&needed->queue))
            return false;
    library->opened.count++;
    set_flags(library, flags);
    return true;
}

int tn__library_bring_up(struct tn_library *library, uint64_t flags, struct tn_error *err)
{
    int code = link_and_initialize(library, err);
    if (code) {
        give_back(library);
        return code;
    }
    tn__session_lock(library->session);
    set_flags(library, flags);
    tn__session_unlock(library->session);
    return 0;
}

int tn_library_open(struct tn_library *library, uint64_t flags, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    if (flags & ~(uint64_t)(TN_DL_KEEP | TN_DL_GLOBAL))
        return tn__fail(err, TN_EINVAL, "%s: unknown flags %#llx", library->name, (unsigned long long)flags);
    struct tn_session *session = library->session;
    int code = tn__session_check_here(session, "opening and closing", err);
    if (code)
        return code;
    tn__session_lock(session);
    bool is_done = tn__library_open_again(library, flags);
    code = is_done ? 0 : tn__library_claim(library, err);
    tn__session_unlock(session);
    return code || is_done ? code : tn__library_bring_up(library, flags, err);
}

/* ---- closing ---- */

/* Under the lock. */
static int unclaim(struct tn_library *library, struct ending *ending, struct tn_error *err) TN__LOCKED
{
    struct tn__opened *opened = &library->opened;
    int code = tn__library_check(library, err);
    if (code)
        return code;
    if (opened->is_closing)
        return tn__fail(err, TN_EINVAL, "%s is being closed", library->name);
    if (!opened->count)
        return tn__fail(err, TN_EINVAL, "%s is not open, or was opened by libraries that need it only", library->name);
    if (--opened->count)
        return 0;
    code = begin_ending(ending, library->session, err);
    opened->count += code != 0;
    return code;
}

int tn__library_close_one(struct tn_library *library, bool waits, struct tn_error *err)
{
    struct tn_session *session = library->session;
    struct ending ending = {0};
    tn__session_lock(session);
    int code = unclaim(library, &ending, err);
    tn__session_unlock(session);
    return code ? code : finish_ending(&ending, waits, err);
}

int tn_library_close(struct tn_library *library, struct tn_error *err)
{
    return library ? tn__library_close_one(library, true, err) : tn__fail(err, TN_EINVAL, "no library given");
}
