/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions and libraries, from creation to the end, and what is asked of them. */

#include "base/thread.h"
#include "detached.h"
#include "lazy.h"
#include "observer.h"
#include "tls.h"

/* ---- forks ---- */

/* A fork must not catch a session half changed: it waits for links that are writing, and holds every lock meanwhile, so
 * that the child may go on using its sessions. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tn__list all_sessions = {&all_sessions, &all_sessions};

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    for (struct tn__list *node = all_sessions.next; node != &all_sessions; node = node->next) {
        struct tn_session *session = tn__container_of(node, struct tn_session, listed);
        pthread_mutex_lock(&session->lock);
        while (session->building)
            pthread_cond_wait(&session->idle, &session->lock);
    }
}

static void after_fork(void)
{
    for (struct tn__list *node = all_sessions.next; node != &all_sessions; node = node->next)
        pthread_mutex_unlock(&tn__container_of(node, struct tn_session, listed)->lock);
    pthread_mutex_unlock(&all_lock);
}

/* Nobody waits in the child but its one thread, and that runs. */
static void after_fork_in_child(void)
{
    for (struct tn__list *node = all_sessions.next; node != &all_sessions; node = node->next)
        pthread_cond_init(&tn__container_of(node, struct tn_session, listed)->idle, NULL);
    after_fork();
}

static void watch_forks(void)
{
    tn__threads_watch_forks(); /* sessions are locked before threads */
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static bool init_locks(struct tn_session *session)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (pthread_mutex_init(&session->lock, NULL))
        return false;
    if (pthread_cond_init(&session->idle, NULL)) {
        pthread_mutex_destroy(&session->lock);
        return false;
    }
    return true;
}

static void list_session(struct tn_session *session)
{
    pthread_mutex_lock(&all_lock);
    tn__list_append(&all_sessions, &session->listed);
    pthread_mutex_unlock(&all_lock);
}

static void unlist_session(struct tn_session *session)
{
    pthread_mutex_lock(&all_lock);
    tn__list_remove(&session->listed);
    pthread_mutex_unlock(&all_lock);
}

/* ---- sessions ---- */

int tn_session_create(const struct tn_session_options *given, struct tn_session **out, struct tn_error *err)
{
    return tn__session_create_detached(given, NULL, out, err);
}

int tn__session_create_detached(const struct tn_session_options *given, struct tn__detached *where,
                                struct tn_session **out, struct tn_error *err)
{
    if (!out)
        return tn__fail(err, TN_EINVAL, "nowhere to put the session");
    struct tn_session_options options;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_session_options", err);
    if (code)
        return code;
    if (options.flags & ~(uint64_t)TN_SESSION_TIMINGS)
        return tn__fail(err, TN_EINVAL, "unknown session flags %#llx", (unsigned long long)options.flags);
    const struct tn_allocator *allocator = options.allocator;
    if (allocator && (!allocator->allocate || !allocator->reallocate || !allocator->release))
        return tn__fail(err, TN_EINVAL, "an allocator needs all three functions");
    tn__os_read_fault_environment();
    struct tn_session *session = tn__alloc_zeroed(options.allocator, 1, sizeof *session);
    if (!session)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    session->allocator = session->unwind.arena.from = options.allocator;
    if (where)
        code = tn__codemem_open_detached(&session->memory, session->allocator, where->address, where->size,
                                         where->page_size, err);
    else
        code = tn__codemem_open(&session->memory, session->allocator, options.window_size, options.window_near,
                                options.strategy, err);
    if (!code && !init_locks(session)) {
        tn__codemem_close(&session->memory);
        code = tn__fail(err, TN_ENOMEM, "no lock for the session");
    }
    if (code) {
        tn__free(options.allocator, session);
        return code;
    }
    session->detached = where;
    session->on_undefined = options.on_undefined;
    session->context = options.context;
    session->timings = options.flags & TN_SESSION_TIMINGS;
    list_session(session);
    *out = session;
    return 0;
}

static void free_archives(struct tn_library *library)
{
    const struct tn_allocator *from = library->session->allocator;
    for (struct tn__archive *archive = library->archives, *next; archive; archive = next) {
        next = archive->next;
        if (archive->input.release)
            archive->input.release(archive->input.context, archive->input.bytes, archive->input.length);
        tn__free(from, archive->name);
        tn__free(from, archive);
    }
}

static void free_library(struct tn_library *library)
{
    const struct tn_allocator *from = library->session->allocator;
    tn__tracker_empty(&library->own);
    while (library->trackers.next != &library->trackers) {
        struct tn_tracker *tracker = tn__container_of(library->trackers.next, struct tn_tracker, listed);
        tn__tracker_empty(tracker);
        tn__list_remove(&tracker->listed);
        tn__free(from, tracker);
    }
    free_archives(library);
    for (struct tn__resolver *resolver = library->resolvers, *next; resolver; resolver = next) {
        next = resolver->next;
        tn__free(from, resolver);
    }
    tn__symtab_free(&library->symtab);
    tn__free(from, library->initializers.items);
    tn__free(from, library->finalizers.items);
    tn__free(from, library->waiting.items);
    tn__free(from, library->name);
    tn__free(from, library);
}

void tn_session_destroy(struct tn_session *session)
{
    if (!session)
        return;
    unlist_session(session);
    for (struct tn_library *library = session->libraries, *next; library; library = next) {
        next = library->next;
        free_library(library);
    }
    if (session->lazy)
        session->lazy->close(session);
    if (session->watch)
        session->watch->closed(session);
    tn__unwind_close(&session->unwind);
    tn__codemem_close(&session->memory);
    pthread_cond_destroy(&session->idle);
    pthread_mutex_destroy(&session->lock);
    tn__free(session->allocator, session);
}

/* Names that every library has, and that only its own objects see. */
static const struct {
    const char *name;
    const void *address;
    uint8_t kind;
    bool thread_local, of_process;
} own_names[] = {
    {"_GLOBAL_OFFSET_TABLE_", NULL, TN__ENTRY_GOT, false, false},
    {"__tls_get_addr", (const void *)tn__tls_get_addr, TN__ENTRY_ABSOLUTE, false, true},
    /* Distances are counted from the thread pointer itself. */
    {"_TLS_MODULE_BASE_", NULL, TN__ENTRY_ABSOLUTE, true, false},
    /* What C++ destructors are registered under. */
    {"__dso_handle", NULL, TN__ENTRY_HANDLE, false, false},
};

bool tn__is_own_name(const char *name)
{
    for (size_t i = 0; i < TN_COUNT(own_names); i++)
        if (!strcmp(own_names[i].name, name))
            return true;
    return false;
}

static int define_own_names(struct tn_library *library, struct tn_error *err)
{
    for (size_t i = 0; i < TN_COUNT(own_names); i++) {
        if (own_names[i].of_process && library->session->detached)
            continue;
        struct tn__entry *entry = tn__symtab_intern(&library->symtab, own_names[i].name);
        if (!entry)
            return tn__fail(err, TN_ENOMEM, "%s: out of memory", library->name);
        entry->kind = own_names[i].kind;
        entry->strength = TN__STRENGTH_STRONG;
        entry->hidden = true;
        entry->thread_local = own_names[i].thread_local;
        entry->address = (uintptr_t)own_names[i].address;
    }
    return 0;
}

static int create_library(struct tn_session *session, const char *name, struct tn_library **out, struct tn_error *err)
{
    struct tn_library *library = tn__alloc_zeroed(session->allocator, 1, sizeof *library);
    size_t name_size = strlen(name) + 1;
    char *copy = library ? tn__alloc(session->allocator, name_size) : NULL;
    if (!copy) {
        tn__free(session->allocator, library);
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    }
    library->name = memcpy(copy, name, name_size);
    library->session = session;
    library->symtab.arena.from = session->allocator;
    library->initializers.from = library->finalizers.from = library->waiting.from = session->allocator;
    library->own.library = library;
    tn__list_init(&library->own.objects);
    tn__list_init(&library->own.lazy);
    tn__list_init(&library->trackers);
    tn__list_init(&library->queue);
    library->resolvers_end = &library->resolvers;
    int code = define_own_names(library, err);
    if (code) {
        free_library(library);
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
    pthread_mutex_lock(&session->lock);
    int code = create_library(session, name, out, err);
    pthread_mutex_unlock(&session->lock);
    return code;
}

void tn_session_stats(struct tn_session *session, struct tn_stats *out)
{
    pthread_mutex_lock(&session->lock);
    struct tn_stats stats = session->stats;
    const struct tn__codemem *memory = &session->memory;
    stats.strategy = memory->strategy->name;
    stats.mappings = tn__codemem_mappings(memory);
    for (int i = 0; i < TN__WINDOWS; i++) {
        const struct tn__window *window = &memory->windows[i];
        stats.reserved_bytes += window->end - window->start;
        stats.code_bytes += window->zones[TN__ZONE_CODE].ranges.used;
        stats.rodata_bytes += window->zones[TN__ZONE_RODATA].ranges.used;
        stats.data_bytes += window->zones[TN__ZONE_DATA].ranges.used;
    }
    pthread_mutex_unlock(&session->lock);
    tn__give_stats(out, sizeof stats, &stats);
}

int tn_link(struct tn_library *library, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    pthread_mutex_lock(&library->session->lock);
    int code = tn__link_run(library, NULL, err);
    pthread_mutex_unlock(&library->session->lock);
    return code;
}

int tn_link_roots(struct tn_library *library, const char *const *roots, size_t count, struct tn_error *err)
{
    if (!library || (count && !roots))
        return tn__fail(err, TN_EINVAL, "no library or no roots given");
    pthread_mutex_lock(&library->session->lock);
    int code = tn__link_run_roots(library, &(struct tn__roots){roots, count}, err);
    pthread_mutex_unlock(&library->session->lock);
    return code;
}

static bool has_address(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_LINKED || entry->kind == TN__ENTRY_ABSOLUTE || entry->kind == TN__ENTRY_HOST;
}

static int lookup(struct tn_library *library, const char *name, void **address, struct tn_error *err)
{
    struct tn__entry *entry = tn__symtab_intern(&library->symtab, name);
    if (!entry)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    struct tn__entry *target = tn__entry_target(entry);
    int code = has_address(target) ? 0 : tn__link_run(library, target, err);
    if (code)
        return code;
    if (!has_address(target) || entry->hidden)
        return tn__fail(err, TN_EUNDEF, "'%s' is %s in library %s", target->name,
                        entry->hidden ? "hidden" : "not defined", library->name);
    *address = (void *)(uintptr_t)target->address;
    return 0;
}

int tn_lookup(struct tn_library *library, const char *name, void **address, struct tn_error *err)
{
    if (!library || !name || !address)
        return tn__fail(err, TN_EINVAL, "a lookup needs a library, a name and a place for the answer");
    pthread_mutex_lock(&library->session->lock);
    int code = lookup(library, name, address, err);
    pthread_mutex_unlock(&library->session->lock);
    return code;
}
