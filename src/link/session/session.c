/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The life of sessions, and their queries and statistics. */

#include "base/fork.h"
#include "link/instance/instance.h"
#include "link/lazy/lazy.h"
#include "link/core/link.h"
#include "link/observe/observer.h"
#include "link/demand/promise.h"
#include "tenon/thread.h"
#include "link/tls/tls.h"

/* ---- forks ---- */

/* A fork must not copy a session in the middle of a change: it waits for links that are writing and holds every lock meanwhile,
 * so that the child can go on using its sessions. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tn__list all_sessions = {&all_sessions, &all_sessions};
static const struct tn__instances *_Atomic all_instances;

const struct tn__instances *tn__instances(void)
{
    return all_instances;
}

static void before_fork(void)
{
    for (struct tn__list *node = all_sessions.next; node != &all_sessions; node = node->next) {
        struct tn_session *session = tn__container_of(node, struct tn_session, listed);
        pthread_mutex_lock(&session->lock);
        while (session->building)
            pthread_cond_wait(&session->idle, &session->lock);
        tn__pool_before_fork(session->pool);
    }
}

static void after_fork(bool in_child)
{
    for (struct tn__list *node = all_sessions.next; node != &all_sessions; node = node->next) {
        struct tn_session *session = tn__container_of(node, struct tn_session, listed);
        if (in_child) { /* where nobody waits but its one thread, and that runs */
            pthread_cond_init(&session->idle, NULL);
            tn__queries_after_fork(session);
            tn__promises_after_fork(session);
        }
        tn__pool_after_fork(session->pool, in_child);
        pthread_mutex_unlock(&session->lock);
    }
}

static void watch_forks(void)
{
    static const struct tn__fork_hooks hooks = {&all_lock, before_fork, after_fork};
    tn__forks_watch(TN__FORK_SESSIONS, &hooks);
}

void tn__instances_announce(const struct tn__instances *instances)
{
    all_instances = instances;
}

static bool init_locks(struct tn_session *session)
{
    watch_forks();
    if (pthread_mutex_init(&session->lock, NULL))
        return false;
    if (pthread_cond_init(&session->idle, NULL)) {
        pthread_mutex_destroy(&session->lock);
        return false;
    }
    return true;
}

void tn__sessions_lock(void)
{
    pthread_mutex_lock(&all_lock);
}

void tn__sessions_unlock(void)
{
    pthread_mutex_unlock(&all_lock);
}

struct tn_session *tn__sessions_next(const struct tn_session *session)
{
    struct tn__list *next = session ? session->listed.next : all_sessions.next;
    return next == &all_sessions ? NULL : tn__container_of(next, struct tn_session, listed);
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

static int open_memory(struct tn_session *session, const struct tn_session_options *options, struct tn_error *err)
{
    if (!options->memory)
        return tn__codemem_open(&session->memory, session->allocator, options->window_size, options->window_near,
                                options->strategy, err);
    if (options->window_size || options->window_near || options->strategy)
        return tn__fail(err, TN_EINVAL, "where the client's memory lies, and how it is made, is up to the client");
    return tn__codemem_open_client(&session->memory, session->allocator, options->memory, err);
}

int tn_session_create(const struct tn_session_options *given, struct tn_session **out, struct tn_error *err)
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
    tn__os_seed(session->seed.numbers);
    tn__list_init(&session->queries);
    tn__list_init(&session->runnable);
    tn__list_init(&session->removed);
    code = open_memory(session, &options, err);
    if (!code && options.threads)
        code = tn__pool_open(session, options.threads, err);
    if (!code && !init_locks(session))
        code = tn__fail(err, TN_ENOMEM, "no lock for the session");
    if (code) {
        tn__pool_close(session);
        tn__codemem_close(&session->memory);
        tn__free(options.allocator, session);
        return code;
    }
    session->on_undefined = options.on_undefined;
    session->on_error = options.on_error;
    session->dispatch = options.dispatch;
    session->on_delay = options.on_delay;
    session->context = options.context;
    session->timings = options.flags & TN_SESSION_TIMINGS;
    tn__session_init_thread_exits(session);
    list_session(session);
    *out = session;
    return 0;
}

void tn_session_destroy(struct tn_session *session)
{
    if (!session)
        return;
    unlist_session(session);
    tn__thread_end_abandon(&session->thread_exits);
    tn__pool_close(session);
    session->closing = true;
    tn__query_abandon(session);
    tn__session_lock(session);
    for (struct tn_library *library = session->libraries; library; library = library->next)
        tn__library_empty(library);
    tn__promises_drop_removed(session);
    tn__session_unlock(session);
    for (struct tn_library *library = session->libraries, *next; library; library = next) {
        next = library->next;
        tn__library_free(library);
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

void tn__session_quiesce(const struct tn_session *session)
{
    tn_quiesce_watched(session->on_delay, session->context);
}

int tn_session_seal(struct tn_session *session, struct tn_error *err)
{
    if (!session)
        return tn__no_argument(err);
    tn__session_lock(session);
    while (session->building)
        tn__session_wait(session);
    int code = tn__codemem_seal(&session->memory, err);
    tn__session_unlock(session);
    return code;
}

int tn__session_check_here(const struct tn_session *session, const char *what, struct tn_error *err)
{
    return tn__session_is_elsewhere(session) ? tn__fail(err, TN_ENOTSUP, "%s work in this address space only", what)
                                             : 0;
}

void tn_session_stats(struct tn_session *session, struct tn_stats *out)
{
    tn__session_lock(session);
    struct tn_stats stats = session->stats;
    const struct tn__codemem *memory = &session->memory;
    stats.strategy = memory->strategy->name;
    stats.mappings = tn__codemem_mappings(memory);
    for (int i = 0; i < TN__WINDOWS; i++) {
        const struct tn__window *window = &memory->windows[i];
        stats.reserved_bytes += window->end - window->start;
        stats.code_bytes += tn__window_used(window, TN_ZONE_CODE);
        stats.rodata_bytes += tn__window_used(window, TN_ZONE_RODATA);
        stats.data_bytes += tn__window_used(window, TN_ZONE_DATA);
    }
    tn__session_count_lingering(session, &stats);
    tn__session_unlock(session);
    tn__give_stats(out, sizeof stats, &stats);
}

void tn__session_report(const struct tn_session *session, const struct tn_error *error)
{
    if (session->on_error)
        session->on_error(session->context, error);
}
