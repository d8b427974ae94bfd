/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* From paths to libraries: those of one path are one library, which the client fills when it is first asked for. It
 * asks in turn for what that needs, also in a circle; so a path is known before its library is complete, and one thread
 * of a session loads at a time. */

#include "base/base.h"
#include "base/os.h"
#include "link/dl/dl.h"

/* ---- the right to load ---- */

static void take_right(struct tn_session *session)
{
    tn__session_lock(session);
    struct tn__dl *dl = tn__dl_of(session);
    while (dl->depth && !pthread_equal(dl->loader, pthread_self())) {
        uint32_t given = __atomic_load_n(&dl->given, __ATOMIC_RELAXED);
        tn__session_unlock(session);
        tn__os_wait(&dl->given, given, UINT64_MAX);
        tn__session_lock(session);
    }
    dl->depth++;
    dl->loader = pthread_self();
    tn__session_unlock(session);
}

/* Under the lock: true if there may be libraries that no client wants, now that nothing is being loaded. */
static bool end_loading(struct tn_session *session)
{
    bool has_strays = false;
    for (struct tn_library *library = session->libraries; library; library = library->next) {
        struct tn__opened *opened = &library->opened;
        has_strays |= (opened->is_asked && !opened->count) || (opened->is_loaded && !opened->is_open);
        opened->is_asked = false;
    }
    return has_strays;
}

/* What was loaded and is not needed goes. */
static void give_right(struct tn_session *session)
{
    tn__session_lock(session);
    struct tn__dl *dl = tn__dl_of(session);
    bool is_last = !--dl->depth, has_strays = is_last && end_loading(session);
    if (is_last) {
        __atomic_add_fetch(&dl->given, 1, __ATOMIC_RELAXED);
        tn__os_wake(&dl->given);
    }
    tn__session_unlock(session);
    if (has_strays)
        tn__dl_sweep(session);
}

/* ---- paths; under the lock ---- */

static struct tn__dl_path *find_path(const struct tn_session *session, const char *path) TN__LOCKED
{
    struct tn__dl_path *at = tn__container_of(session->dl, struct tn__dl, hooks)->paths;
    while (at && (at->is_lost || strcmp(at->path, path)))
        at = at->next;
    return at;
}

/* The library that a path leads to, or that is called so; NULL: there is none. */
static struct tn_library *find_library(const struct tn_session *session, const char *path) TN__LOCKED
{
    const struct tn__dl_path *entry = find_path(session, path);
    if (entry)
        return entry->library;
    struct tn_library *library = session->libraries;
    while (library && (!library->opened.called || library->removed || library->opened.is_closing ||
                       strcmp(library->opened.called, path)))
        library = library->next;
    return library;
}

static int add_path(struct tn_library *library, const char *path, struct tn_error *err) TN__LOCKED
{
    struct tn__dl *dl = tn__dl_of(library->session);
    size_t size = strlen(path) + 1;
    struct tn__dl_path *entry = tn__alloc_zeroed(library->session->allocator, 1, sizeof *entry + size);
    if (!entry)
        return tn__no_memory(err, path);
    memcpy(entry->path, path, size);
    entry->library = library;
    entry->is_empty = true;
    entry->next = dl->paths;
    dl->paths = entry;
    library->opened.is_loaded = true;
    return 0;
}

/* ---- loading ---- */

static void discard(struct tn_library *library)
{
    tn__session_lock(library->session);
    tn__dl_forget_paths(library);
    library->opened.is_loaded = false;
    tn__session_unlock(library->session);
    if (!tn_library_remove(library, NULL))
        tn_library_destroy(library, NULL);
}

/* What was loaded meanwhile, and needs this path, searches the library that was made for it. */
static void search_instead(const struct tn_library *made, struct tn_library *chosen) TN__LOCKED
{
    for (struct tn_library *library = made->session->libraries; library; library = library->next)
        for (size_t i = 0; i < library->search_count; i++)
            if (library->search[i].library == made && library != chosen)
                library->search[i].library = chosen;
}

/* The path leads to what the client has made of it. */
static struct tn_library *settle(struct tn_library *made, struct tn_library *chosen, const char *path,
                                 struct tn_error *err)
{
    struct tn_session *session = made->session;
    int code = chosen && chosen->session == session
                   ? 0
                   : tn__fail(err, TN_EINVAL, "%s: this is no library of the session", path);
    tn__session_lock(session);
    struct tn__dl_path *entry = find_path(session, path);
    if (!code)
        code = tn__library_check(chosen, err);
    if (!code && entry) {
        entry->is_empty = false;
        entry->library = chosen;
        search_instead(made, chosen);
    }
    tn__session_unlock(session);
    if (code || chosen != made)
        discard(made);
    return code ? NULL : chosen;
}

static struct tn_library *load(struct tn_library *from, const char *path, struct tn_error *err)
{
    struct tn_session *session = from->session;
    const struct tn_dl_options *offered = &tn__container_of(session->dl, struct tn__dl, hooks)->offered;
    struct tn_library *made, *chosen;
    if (tn_library_create(session, path, &made, err))
        return NULL;
    tn__session_lock(session);
    int code = add_path(made, path, err);
    tn__session_unlock(session);
    chosen = made;
    if (!code)
        code = offered->load(offered->context, path, from, &chosen, err);
    if (!code)
        return settle(made, chosen, path, err);
    discard(made);
    return NULL;
}

/* By the thread that has the right to load. What is found stays until that is given up. */
static struct tn_library *find_or_load(struct tn_library *from, const char *path, struct tn_error *err)
{
    tn__session_lock(from->session);
    struct tn_library *library = find_library(from->session, path);
    if (library)
        library->opened.is_asked = true;
    tn__session_unlock(from->session);
    return library ? library : load(from, path, err);
}

struct tn_library *tn__dl_open_path_again(struct tn_session *session, const char *path, uint64_t flags)
{
    struct tn_library *library = find_library(session, path);
    return library && tn__library_open_again(library, flags) ? library : NULL;
}

struct tn_library *tn__dl_claim_path(struct tn_library *from, const char *path, bool may_load, struct tn_error *err)
{
    struct tn_session *session = from->session;
    take_right(session);
    struct tn_library *library = may_load ? find_or_load(from, path, err) : NULL;
    tn__session_lock(session);
    struct tn_library *known = find_library(session, path);
    int code = known || library ? 0 : may_load ? TN_EUNDEF : tn__fail(err, TN_EUNDEF, "%s is not open", path);
    if (known)
        library = known;
    if (!code)
        code = tn__library_claim(library, err);
    tn__session_unlock(session);
    give_right(session);
    return code ? NULL : library;
}

/* ---- what a library says that it needs ---- */

static bool searches(const struct tn_library *library, const struct tn_library *needed)
{
    for (size_t i = 0; i < library->search_count; i++)
        if (library->search[i].library == needed)
            return true;
    return library == needed;
}

static int search_too(struct tn_library *library, struct tn_library *needed, struct tn_error *err) TN__LOCKED
{
    const struct tn_allocator *from = library->session->allocator;
    size_t count = library->search_count;
    int code = tn__libraries_check(library, needed, err);
    if (code || searches(library, needed))
        return code;
    struct tn_search *order = tn__alloc_zeroed(from, count + 1, sizeof *order);
    if (!order)
        return tn__no_memory(err, library->name);
    for (size_t i = 0; i < count; i++)
        order[i] = library->search[i];
    order[count].library = needed;
    tn__free(from, library->search);
    library->search = order;
    library->search_count = count + 1;
    return 0;
}

static bool is_offered(struct tn_session *session)
{
    tn__session_lock(session);
    bool offered = session->dl && tn__dl_of(session)->offered.load;
    tn__session_unlock(session);
    return offered;
}

int tn__dl_need(struct tn_library *library, const char *path, struct tn_error *err)
{
    struct tn_session *session = library->session;
    struct tn_error why;
    if (!is_offered(session))
        return 0;
    take_right(session);
    struct tn_library *needed = find_or_load(library, path, &why);
    int code = needed ? 0 : tn__fail(err, why.code, "%s needs %s: %s", library->name, path, why.text);
    if (!code) {
        tn__session_lock(session);
        code = search_too(library, needed, err);
        tn__session_unlock(session);
    }
    give_right(session);
    return code;
}

int tn__dl_also_called(struct tn_library *library, const char *path, struct tn_error *err)
{
    struct tn_session *session = library->session;
    size_t size = strlen(path) + 1;
    char *called = tn__alloc(session->allocator, size);
    if (!called)
        return tn__no_memory(err, path);
    memcpy(called, path, size);
    tn__session_lock(session);
    bool is_new = !library->opened.called && !(session->dl && find_library(session, path));
    if (is_new)
        library->opened.called = called;
    tn__session_unlock(session);
    if (!is_new)
        tn__free(session->allocator, called);
    return 0;
}

int tn_dl_library(struct tn_library *from, const char *path, struct tn_library **out, struct tn_error *err)
{
    if (!from || !path || !out)
        return tn__no_argument(err);
    struct tn_session *session = from->session;
    tn__session_lock(session);
    bool is_loader = tn__dl_is_loading(session) && pthread_equal(tn__dl_of(session)->loader, pthread_self());
    tn__session_unlock(session);
    if (!is_loader)
        return tn__fail(err, TN_EINVAL, "%s: only 'load' of tn_dl_options asks for libraries by their paths", path);
    struct tn_error why;
    *out = find_or_load(from, path, &why);
    if (*out)
        return 0;
    if (err)
        *err = why;
    return why.code;
}
