/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The life of sessions, and their queries and statistics. */

#include "link/session/contents.h"

/* ---- sessions ---- */

static bool init_locks(struct tn_session *session)
{
    if (tn__mutex_init(&session->lock, TN__LEVEL_SESSION))
        return false;
    if (pthread_cond_init(&session->idle, NULL)) {
        tn__mutex_destroy(&session->lock);
        return false;
    }
    return true;
}

static int open_memory(struct tn_session *session, const struct tn_session_options *options, struct tn_error *err)
{
    if (!options->memory)
        return tn__codemem_open(&session->memory, session->allocator, options->window_size, options->window_near,
                                options->strategy, err);
    if (options->window_size || options->window_near || options->strategy)
        return tn__fail(err, TN_EINVAL, "where the client's memory lies, and how it is made, is up to the client");
    return tn__codemem_open_client(&session->memory, session->allocator, options->memory, err);
}

/* `given` up to NULL is copied: the client's list need not outlive the call. */
static int take_formats(struct tn_session *session, const struct tn_format *const *given, struct tn_error *err)
{
    session->formats = tn__formats_host;
    if (!given)
        return 0;
    size_t count = 0;
    while (given[count] && given[count]->arch == given[0]->arch)
        count++;
    if (!count || given[count])
        return tn__fail(err, TN_EINVAL,
                        count ? "formats of one session are for one architecture: %s is for another"
                              : "a session reads at least one format%s",
                        count ? given[count]->name : "");
    if (given[0]->arch != tn__arch_host && !tn__session_is_elsewhere(session))
        return tn__fail(err, TN_ENOTSUP, "%s: code for %s does not run on %s: linking it needs TN_MEMORY_ELSEWHERE",
                        given[0]->name, given[0]->arch->name, tn__arch_host->name);
    const struct tn_format **copy = tn__arena_array(&session->arena, count + 1, sizeof *copy);
    if (!copy)
        return tn__no_memory(err, NULL);
    memcpy(copy, given, count * sizeof *copy);
    session->formats = copy;
    return 0;
}

int tn_session_create(const struct tn_session_options *given, struct tn_session **out, struct tn_error *err)
{
    if (!out)
        return tn__fail(err, TN_EINVAL, "nowhere to put the session");
    struct tn_session_options options;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_session_options", err);
    if (code)
        return code;
    if (options.flags & ~(uint64_t)(TN_SESSION_TIMINGS | TN_SESSION_OWN_THREADS))
        return tn__fail(err, TN_EINVAL, "unknown session flags %#llx", (unsigned long long)options.flags);
    if (options.initializers != TN_INITIALIZERS_AUTOMATIC && options.initializers != TN_INITIALIZERS_MANUAL)
        return tn__fail(err, TN_EINVAL, "no way %d to run initializers", (int)options.initializers);
    const struct tn_allocator *allocator = options.allocator;
    if (allocator && (!allocator->allocate || !allocator->reallocate || !allocator->release))
        return tn__fail(err, TN_EINVAL, "an allocator needs all three functions");
    struct tn_session *session = tn__alloc_zeroed(options.allocator, 1, sizeof *session);
    if (!session)
        return tn__no_memory(err, NULL);
    session->allocator = session->unwind.arena.from = session->arena.from = options.allocator;
    tn__os_seed(session->seed.numbers);
    tn__list_init(&session->queries);
    tn__list_init(&session->runnable);
    tn__list_init(&session->retirements);
    for (size_t i = 0; i < TN__ACKNOWLEDGEMENTS; i++)
        tn__list_init(&session->later[i]);
    tn__list_init(&session->unplaced);
    tn__list_init(&session->lookup_handles);
    tn__list_init(&session->cancelling);
    tn__list_init(&session->initializers.rounds);
    tn__list_init(&session->initializers.postponed);
    code = open_memory(session, &options, err);
    if (!code)
        code = take_formats(session, options.formats, err);
    if (!code && options.threads)
        code = tn__pool_open(session, options.threads, err);
    if (!code && !init_locks(session))
        code = tn__fail(err, TN_ENOMEM, "no lock for the session");
    if (code) {
        tn__pool_close(session);
        tn__codemem_close(&session->memory);
        tn__arena_free(&session->arena);
        tn__free(options.allocator, session);
        return code;
    }
    session->on_undefined = options.on_undefined;
    session->on_error = options.on_error;
    session->dispatch = options.dispatch;
    session->on_delay = options.on_delay;
    session->on_object = options.on_object;
    session->decompress = options.decompress;
    session->context = options.context;
    session->initializers.are_manual = options.initializers == TN_INITIALIZERS_MANUAL;
    session->timings = options.flags & TN_SESSION_TIMINGS;
    session->any_threads = !(options.flags & TN_SESSION_OWN_THREADS) && !tn__session_is_elsewhere(session);
    tn__session_init_thread_exits(session);
    tn__sessions_add(session);
    *out = session;
    return 0;
}

void tn_session_destroy(struct tn_session *session)
{
    if (!session)
        return;
    const struct tn__reclaim_hooks *reclaim = session->reclaimer.hooks;
    tn__session_lock(session);
    session->reclaimer.closed = true;
    tn__session_unlock(session);
    if (reclaim)
        reclaim->stop(session);
    tn__sessions_remove(session);
    tn__thread_end_abandon(&session->thread_exits);
    for (struct tn_library *library = session->libraries; library; library = library->next)
        tn__callbacks_end(library, NULL);
    if (reclaim)
        reclaim->close(session);
    tn__pool_close(session);
    session->closing = true;
    tn__query_abandon(session);
    tn__session_lock(session);
    for (struct tn_library *library = session->libraries; library; library = library->next)
        tn__library_empty(library);
    tn__promises_drop_removed(session);
    tn__session_unlock(session);
    tn__initializers_free(session);
    for (struct tn_library *library = session->libraries, *next; library; library = next) {
        next = library->next;
        tn__library_free(library);
    }
    for (TN_EACH_TO_REMOVE(struct tn__lazy_batch, batch, &session->later[TN__ACK_FIRST_CALLS], owned))
        tn__free(session->allocator, batch); /* a fork has ended the calls */
    for (size_t i = session->observers.count; i-- > 0;)
        if (session->observers.items[i].closed)
            session->observers.items[i].closed(session->observers.items[i].context);
    tn__free(session->allocator, session->observers.items);
    if (session->dl)
        session->dl->close(session);
    tn__session_lock(session);
    tn__unwind_remove(&session->unwind, session->tables);
    for (const struct tn__kept *kept = session->kept; kept; kept = kept->next)
        tn__codemem_give(&session->memory.windows[TN__WINDOW_NEAR], kept->range);
    tn__session_unlock(session);
    tn__unwind_close(&session->unwind);
    tn__codemem_close(&session->memory);
    tn__arena_free(&session->arena);
    pthread_cond_destroy(&session->idle);
    tn__mutex_destroy(&session->lock);
    tn__free(session->allocator, session);
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
    stats.unwind_bytes = session->unwind.blocks.kept * sizeof(union tn__unwind_block);
    tn__session_count_lingering(session, &stats);
    tn__session_unlock(session);
    tn__give_stats(out, sizeof stats, &stats);
}
