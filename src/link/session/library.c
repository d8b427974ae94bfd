/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The life of libraries, from creation to removal. */

#include "base/at_exit.h"
#include "link/session/contents.h"
#include "link/tls/tls.h"

/* ---- names that every library has ---- */

enum {
    OWN_THREAD_LOCAL = 1,
    OWN_OF_PROCESS = 2, /* a function of ours: there is none in another address space */
    OWN_WEAK = 4,       /* objects and clients may have their own */
    OWN_ON_EXIT = 8,    /* only where the C library has it */
};

/* Names that every library has, and that only its own objects see. */
static const struct {
    const char *name;
    const void *address;
    uint8_t kind, flags;
} own_names[] = {
    {"_GLOBAL_OFFSET_TABLE_", NULL, TN__ENTRY_GOT, 0},
    {"__tls_get_addr", (const void *)tn__tls_get_addr, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS},
    /* For Mach-O objects. */
    {"_tlv_bootstrap", tn__tlv_get_address, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS},
    {"_tlv_atexit", (const void *)tn__cxa_thread_atexit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    /* Distances are counted from the thread pointer itself. */
    {"_TLS_MODULE_BASE_", NULL, TN__ENTRY_ABSOLUTE, OWN_THREAD_LOCAL},
    {"atexit", (const void *)tn__atexit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"__cxa_atexit", (const void *)tn__cxa_atexit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"on_exit", (const void *)tn__on_exit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK | OWN_ON_EXIT},
    {"at_quick_exit", (const void *)tn__at_quick_exit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"__cxa_at_quick_exit", (const void *)tn__cxa_at_quick_exit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"pthread_atfork", (const void *)tn__pthread_atfork, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"__register_atfork", (const void *)tn__register_atfork, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"dladdr", (const void *)tn__dladdr, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"dl_iterate_phdr", (const void *)tn__dl_iterate_phdr, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"__cxa_thread_atexit", (const void *)tn__cxa_thread_atexit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    {"__cxa_thread_atexit_impl", (const void *)tn__cxa_thread_atexit, TN__ENTRY_ABSOLUTE, OWN_OF_PROCESS | OWN_WEAK},
    /* What C++ destructors are registered under. */
    {"__dso_handle", NULL, TN__ENTRY_HANDLE, 0},
    /* Start code calls what is between two of these. The functions of loaded objects are called by tn_run_initializers
     * and tn_run_finalizers: both names of a pair are one address, so the arrays are empty. */
    {"__preinit_array_start", NULL, TN__ENTRY_HANDLE, OWN_WEAK},
    {"__preinit_array_end", NULL, TN__ENTRY_HANDLE, OWN_WEAK},
    {"__init_array_start", NULL, TN__ENTRY_HANDLE, OWN_WEAK},
    {"__init_array_end", NULL, TN__ENTRY_HANDLE, OWN_WEAK},
    {"__fini_array_start", NULL, TN__ENTRY_HANDLE, OWN_WEAK},
    {"__fini_array_end", NULL, TN__ENTRY_HANDLE, OWN_WEAK},
};

bool tn__is_own_name(const char *name)
{
    for (size_t i = 0; i < TN_COUNT(own_names); i++)
        if (!strcmp(own_names[i].name, name))
            return true;
    return false;
}

/* ---- removal ---- */

static void free_archives(struct tn_library *library)
{
    const struct tn_allocator *from = library->session->allocator;
    for (struct tn__archive *archive = library->archives, *next; archive; archive = next) {
        next = archive->next;
        if (archive->input.release)
            archive->input.release(archive->input.context, archive->input.bytes, archive->input.length);
        tn__archive_forget_index(archive);
        tn__free(from, archive->name);
        tn__free(from, archive);
    }
    library->archives = NULL;
}

/* The search starts over after each wait: meanwhile others may have added objects, or destroyed the tracker. */
void tn__library_wait_for_links(struct tn_library *library)
{
    const struct tn_tracker *tracker = NULL;
    while ((tracker = tn__library_next_tracker(library, tracker)))
        if (tn__tracker_is_busy(tracker)) {
            tn__session_wait(library->session);
            tracker = NULL;
        }
}

bool tn__entry_is_own(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_GOT || entry->kind == TN__ENTRY_HANDLE ||
           (entry->kind == TN__ENTRY_ABSOLUTE && entry->hidden && tn__is_own_name(entry->name));
}

/* Removes definitions without an owner, the promises of archives' indexes, and what was found elsewhere. */
static void forget_entries(struct tn_library *library) TN__LOCKED
{
    for (size_t i = 0; library->symtab.slots && i <= library->symtab.mask; i++) {
        struct tn__entry *entry = library->symtab.slots[i];
        if (entry && !tn__entry_is_own(entry))
            tn__entry_forget(library, entry);
    }
}

void tn__library_forget_names(struct tn_library *library)
{
    forget_entries(library);
    free_archives(library);
}

/* Releases the lock while links need some of it. TN_ENOMEM: nothing was removed. */
static int clear(struct tn_library *library, struct tn_error *err) TN__LOCKED
{
    tn__library_wait_for_links(library);
    int code = tn__library_dispose(library, NULL, err);
    if (!code)
        tn__library_forget_names(library);
    return code;
}

void tn__library_empty(struct tn_library *library)
{
    if (library->removed) /* except for what lingers */
        tn__library_dispose(library, NULL, NULL);
    else
        clear(library, NULL);
}

static void free_lists(struct tn_library *library)
{
    const struct tn_allocator *from = library->session->allocator;
    tn__free(from, library->search);
    tn__free(from, library->sources);
    library->sources = NULL;
    library->source_count = library->source_capacity = 0;
    tn__free(from, library->initializers.items);
    tn__free(from, library->finalizers.items);
    tn__free(from, library->waiting.items);
    library->search = NULL;
    library->search_count = 0;
    library->initializers = library->finalizers = library->waiting = (struct tn__calls_list){.from = from};
}

void tn__library_free(struct tn_library *library)
{
    const struct tn_allocator *from = library->session->allocator;
    free_lists(library);
    tn__library_free_names(library);
    tn__free(from, library->opened.called);
    tn__suppliers_free(from, library->resolvers.first);
    while (!tn__list_is_empty(&library->trackers)) {
        struct tn_tracker *tracker = tn__container_of(library->trackers.next, struct tn_tracker, listed);
        tn__list_remove(&tracker->listed);
        tn__free(from, tracker);
    }
    tn__free(from, library);
}

static void free_unused(struct tn__deferred *deferred)
{
    tn__library_free(tn__container_of(deferred, struct tn_library, deferred));
}

int tn_library_destroy(struct tn_library *library, struct tn_error *err)
{
    if (!library)
        return 0;
    struct tn_session *session = library->session;
    tn__session_lock(session);
    int code = library->removed && !library->is_being_removed
                   ? 0
                   : tn__fail(err, TN_EINVAL, "%s: only a library that was removed can be destroyed", library->name);
    if (!code)
        tn__library_release(library);
    tn__session_unlock(session);
    return code;
}

int tn__library_check_closed(const struct tn_library *library, bool goes, struct tn_error *err)
{
    struct tn_session *session = library->session;
    tn__session_lock(session);
    int code = session->dl ? session->dl->check_closed(library, goes, err) : 0;
    tn__session_unlock(session);
    return code;
}

int tn_library_clear(struct tn_library *library, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    struct tn_session *session = library->session;
    int code = tn__library_check_closed(library, false, err);
    if (code)
        return code;
    tn_run_finalizers(library);
    tn__callbacks_end(library, NULL);
    tn__session_lock(session);
    code = tn__library_check(library, err);
    if (!code) {
        tn__retirement_wait(&(struct tn__retirement){.library = library});
        code = clear(library, err);
        tn__library_sweep_if_due(library);
        tn__session_sweep_lost(session);
    }
    tn__session_unlock(session);
    tn__query_continue(session);
    return code;
}

/* Nothing in this library leads to `removed` any more. */
static void cut(struct tn_library *library, const struct tn_library *removed) TN__LOCKED
{
    size_t kept = 0;
    for (size_t i = 0; i < library->search_count; i++)
        if (library->search[i].library != removed)
            library->search[kept++] = library->search[i];
    library->search_count = kept;
    kept = 0;
    for (size_t i = 0; i < library->source_count; i++)
        if (library->sources[i] != removed)
            library->sources[kept++] = library->sources[i];
    library->source_count = kept;
    for (size_t i = 0; removed->found_by_others && library->symtab.slots && i <= library->symtab.mask; i++) {
        struct tn__entry *entry = library->symtab.slots[i];
        if (entry && entry->kind == TN__ENTRY_ALIAS && entry->library == removed)
            tn__entry_forget(library, entry);
    }
    tn__library_fall_back(library);
}

void tn__library_close(struct tn_library *library, struct tn__supplier **resolvers)
{
    struct tn_session *session = library->session;
    *resolvers = library->resolvers.first;
    while (session->building) /* links may be looking at its symbols */
        tn__session_wait(session);
    for (struct tn_library *other = session->libraries; other; other = other->next)
        cut(other, library);
    tn__library_set_pending(library, false);
    free_lists(library);
    library->resolvers.first = NULL;
    library->is_being_removed = false;
    if (!library->readers)
        tn__library_free_names(library);
}

int tn_library_remove(struct tn_library *library, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    struct tn_session *session = library->session;
    struct tn__supplier *resolvers = NULL;
    int code = tn__library_check_closed(library, true, err);
    if (code)
        return code;
    tn_run_finalizers(library);
    tn__callbacks_end(library, NULL);
    tn__session_lock(session);
    code = tn__library_check(library, err);
    if (!code) {
        library->removed = library->is_being_removed = true; /* no thread adds to it or searches it from here on */
        tn__retirement_wait(&(struct tn__retirement){.library = library});
        code = clear(library, err);
        if (code)
            library->removed = library->is_being_removed = false;
    }
    if (!code) {
        tn__library_close(library, &resolvers);
        tn__session_sweep_lost(session);
    }
    tn__session_unlock(session);
    tn__query_continue(session);
    tn__suppliers_free(session->allocator, resolvers); /* without the lock: closing may run client code */
    return code;
}

/* ---- creation ---- */

static bool is_missing(const struct tn_library *library, uint8_t flags)
{
    return (flags & OWN_OF_PROCESS && tn__session_is_elsewhere(library->session)) ||
           (flags & OWN_ON_EXIT && !tn__has_on_exit());
}

static int define_own_names(struct tn_library *library, struct tn_error *err) TN__LOCKED
{
    for (size_t i = 0; i < TN_COUNT(own_names); i++) {
        if (is_missing(library, own_names[i].flags))
            continue;
        struct tn__entry *entry = tn__symtab_intern(&library->symtab, own_names[i].name);
        if (!entry)
            return tn__no_memory(err, library->name);
        entry->kind = own_names[i].kind;
        entry->strength = own_names[i].flags & OWN_WEAK ? TN__STRENGTH_WEAK : TN__STRENGTH_STRONG;
        entry->hidden = true;
        entry->thread_local = own_names[i].flags & OWN_THREAD_LOCAL;
        entry->address = (uintptr_t)own_names[i].address;
    }
    return 0;
}

static int create_library(struct tn_session *session, const char *name, struct tn_library **out,
                          struct tn_error *err) TN__LOCKED
{
    size_t name_size = strlen(name) + 1;
    struct tn_library *library = tn__alloc_zeroed(session->allocator, 1, sizeof *library + name_size);
    if (!library)
        return tn__no_memory(err, name);
    library->name = memcpy(library + 1, name, name_size);
    library->session = session;
    library->symtab.arena.from = session->allocator;
    library->symtab.seed = session->seed;
    library->symtab.sweep_at = TN__SWEEP_LEAST;
    library->initializers.from = library->finalizers.from = library->waiting.from = session->allocator;
    library->users = 1;
    library->deferred.free = free_unused;
    tn__tracker_init(&library->own, library);
    tn__list_init(&library->trackers);
    tn__list_init(&library->exits);
    tn__list_init(&library->queue);
    library->resolvers.end = &library->resolvers.first;
    library->generators.end = &library->generators.first;
    int code = define_own_names(library, err);
    if (code) {
        tn__library_empty(library);
        tn__session_defer(session, &library->deferred);
        return code;
    }
    library->number = session->library_count++;
    library->next = session->libraries;
    session->libraries = library;
    *out = library;
    return 0;
}

int tn_library_create(struct tn_session *session, const char *name, struct tn_library **out, struct tn_error *err)
{
    if (!session || !name || !out)
        return tn__fail(err, TN_EINVAL, "a library needs a session and a name");
    tn__session_lock(session);
    int code = create_library(session, name, out, err);
    tn__session_unlock(session);
    return code;
}
