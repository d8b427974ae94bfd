/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Initializers: .init_array, .ctors (gABI, chapter 5, "Initialization and Termination Functions"; priorities as GNU ld
 * sorts them). A lookup runs those of what is linked in its library, and in the libraries that this one searches,
 * before it hands out an address. So does the first call of a lazy function.
 *
 * Initializers that run together are a round. Rounds belong to the session. Each function is taken from its round under
 * the session's lock and called without it: so objects can be removed meanwhile, and the child of a fork goes on with
 * the rounds of threads that it does not have. One thread at a time runs rounds: it has the initializer lock. When an
 * initializer makes that thread come here again, the thread does not wait for the rounds that it is running further
 * down; so libraries may need each other in a circle. Other threads wait if they need something of a round, or have to
 * begin one. */

#include <stdlib.h>
#include <unistd.h>

#include "base/delay.h"
#include "link/demand/promise.h"

/* ---- which libraries, in which order ---- */

/* The next library that this one may have found something in; NULL: that was all. */
static struct tn_library *next_needed(struct tn_library *library)
{
    size_t at = library->order.at++;
    if (at < library->search_count)
        return library->search[at].library;
    at -= library->search_count;
    return at < library->source_count ? library->sources[at] : NULL;
}

void tn__library_append_needed(struct tn_library *library, uint64_t number, struct tn_library **first)
{
    struct tn_library **end = first;
    if (library->order.visited == number)
        return;
    while (*end)
        end = &(*end)->order.next;
    library->order = (struct tn__library_order){.visited = number};
    for (struct tn_library *at = library; at;) {
        struct tn_library *next = next_needed(at);
        if (!next) {
            *end = at;
            end = &at->order.next;
            at = at->order.from;
        } else if (next->order.visited != number && !next->removed) {
            next->order = (struct tn__library_order){.visited = number, .from = at};
            at = next;
        }
    }
}

static struct tn_library *in_order(struct tn_library *library) TN__LOCKED
{
    struct tn_library *first = NULL;
    tn__library_append_needed(library, ++library->session->visits, &first);
    return first;
}

/* ---- rounds ---- */

static int by_priority(const void *a, const void *b)
{
    return tn__calls_compare(a, b);
}

/* Fills in what the library has to initialise. Its finalizers will have to run from now on. */
static void take_calls(struct tn__round *round, struct tn_library *library) TN__LOCKED
{
    struct tn__calls_list *waiting = &library->waiting, *armed = &library->finalizers;
    struct tn__calls_list *initializers = &library->initializers;
    struct tn__calls *first = round->items + round->count;
    for (size_t i = 0; i < initializers->count; i++)
        if (initializers->items[i].object)
            round->items[round->count++] = initializers->items[i];
    size_t count = (size_t)(round->items + round->count - first);
    if (count)
        qsort(first, count, sizeof *first, by_priority);
    for (size_t i = 0; i < waiting->count; i++)
        if (waiting->items[i].object)
            armed->items[armed->count++] = waiting->items[i];
    initializers->count = initializers->dropped = waiting->count = waiting->dropped = 0;
    tn__library_set_pending(library, false);
    library->rounds++;
    tn__library_use(library);
    round->libraries[round->library_count++] = library;
}

/* Of the libraries from this one on, or of it alone. NULL: out of memory, and nothing has changed. */
static struct tn__round *make_round(struct tn_library *first, bool alone) TN__LOCKED
{
    const struct tn_allocator *from = first->session->allocator;
    size_t libraries = 0, items = 0;
    for (struct tn_library *library = first; library; library = alone ? NULL : library->order.next) {
        struct tn__calls_list *armed = &library->finalizers;
        if (!library->is_pending)
            continue;
        libraries++;
        items += library->initializers.count;
        if (!tn__grow(armed->from, &armed->items, &armed->capacity, armed->count + library->waiting.count,
                      sizeof *armed->items))
            return NULL;
    }
    struct tn__round *round =
        tn__alloc(from, sizeof *round + items * sizeof *round->items + libraries * sizeof(struct tn_library *));
    if (!round)
        return NULL;
    *round = (struct tn__round){.libraries = (struct tn_library **)(void *)(round->items + items)};
    for (struct tn_library *library = first; library; library = alone ? NULL : library->order.next)
        if (library->is_pending)
            take_calls(round, library);
    return round;
}

/* The next function of the round; 0: that was the last one. */
static uint64_t next_function(struct tn__round *round) TN__LOCKED
{
    for (; round->at < round->count; round->at++, round->function = 0) {
        const struct tn__calls *calls = &round->items[round->at];
        while (calls->object && round->function < calls->count) {
            uint64_t function = tn__calls_function(calls, round->function++);
            if (function)
                return function;
        }
    }
    return 0;
}

static void end_round(struct tn_session *session, struct tn__round *round) TN__LOCKED
{
    tn__list_remove(&round->listed);
    tn__session_count_unfinished(session, UINT32_MAX); /* minus one */
    for (size_t i = 0; i < round->library_count; i++) {
        round->libraries[i]->rounds--;
        tn__library_release(round->libraries[i]);
    }
    tn__free(session->allocator, round);
}

static void begin_round(struct tn_session *session, struct tn__round *round) TN__LOCKED
{
    tn__session_count_unfinished(session, 1);
    tn__list_append(&session->initializers.rounds, &round->listed);
}

/* ---- the lock ---- */

static bool is_held_by_other(const struct tn__initializing *state)
{
    return state->depth && !pthread_equal(state->thread, pthread_self());
}

static void take_lock(struct tn__initializing *state)
{
    if (state->depth++)
        return;
    state->thread = pthread_self();
    state->thread_id = tn__os_thread_id();
}

/* Lookups that have waited for this can go on. */
static void release_postponed(struct tn_session *session)
{
    struct tn__list *postponed = &session->initializers.postponed;
    while (!tn__list_is_empty(postponed)) {
        struct tn__list *query = postponed->next;
        tn__list_remove(query);
        tn__list_append(&session->runnable, query);
    }
}

static void give_lock(struct tn_session *session)
{
    struct tn__initializing *state = &session->initializers;
    if (--state->depth)
        return;
    release_postponed(session);
    __atomic_add_fetch(&state->given, 1, __ATOMIC_RELAXED);
    tn__os_wake(&state->given);
}

/* The calling thread ends in an initializer. As after a fork, the next one that needs something of the round goes on
 * with it. */
static void leave(void *context)
{
    struct tn_session *session = context;
    if (session->initializers.are_manual)
        return;
    tn__session_lock(session);
    give_lock(session);
    tn__session_unlock(session);
    tn__query_continue(session);
}

/* As the program, which may make a first call in a session that defers signals meanwhile. */
static void call_initializer(struct tn_session *session, uint64_t function, const struct tn__arguments *arguments)
{
    bool deferred = session->signals && session->signals->deliver();
    pthread_cleanup_push(leave, session);
    tn__call_initializer(function, arguments->count, arguments->values,
                         arguments->are_given ? arguments->environment : environ);
    pthread_cleanup_pop(0);
    if (deferred)
        session->signals->defer();
}

/* Releases the lock for each function. */
static void run_round(struct tn_session *session, struct tn__round *round, const struct tn__arguments *own) TN__LOCKED
{
    for (uint64_t function; (function = next_function(round));) {
        const struct tn__arguments arguments = own ? *own : session->initializers.arguments;
        __atomic_store_n(&session->initializers.running, function, __ATOMIC_RELAXED);
        tn__session_unlock(session);
        call_initializer(session, function, &arguments);
        tn__session_lock(session);
    }
    end_round(session, round);
}

/* Waits until the other thread has given back the lock of initializers; the session's is released meanwhile.
 * TN_ECANCELLED: the deadline, if it is not 0, has passed. */
static int wait_for_lock(struct tn_session *session, struct tn__watched_wait *delay, uint64_t deadline,
                         struct tn_error *err) TN__LOCKED
{
    const struct tn__initializing *state = &session->initializers;
    uint32_t given = state->given, id = state->thread_id;
    tn__session_unlock(session);
    uint64_t now = tn__os_now_ns(), most = tn__delay_until_report(delay);
    bool is_late = deadline && now >= deadline;
    if (!is_late && tn__delay_is_due(delay))
        tn__delay_report(delay, id, (const void *)(uintptr_t)__atomic_load_n(&state->running, __ATOMIC_RELAXED));
    else if (!is_late)
        tn__os_wait(&state->given, given, deadline ? tn__min64(most, deadline - now) : most);
    tn__session_lock(session);
    return is_late ? tn__fail(err, TN_ECANCELLED, "the lookup's deadline has passed") : 0;
}

/* ---- what a library needs ---- */

enum need { NOTHING, TO_RUN, TO_WAIT };

static enum need find_need(struct tn_library *first) TN__LOCKED
{
    const struct tn__initializing *state = &first->session->initializers;
    bool is_pending = false, is_running = false;
    for (const struct tn_library *library = first; library; library = library->order.next) {
        is_pending |= library->is_pending;
        is_running |= library->rounds != 0;
    }
    if (!is_pending && !is_running)
        return NOTHING;
    if (is_held_by_other(state))
        return TO_WAIT;
    return is_pending || !state->depth ? TO_RUN : NOTHING;
}

/* Releases the lock meanwhile. The rounds that a fork has left to this process come first. */
static int run(struct tn_session *session, struct tn_library *library, struct tn_error *err) TN__LOCKED
{
    struct tn__initializing *state = &session->initializers;
    bool is_outermost = !state->depth;
    take_lock(state);
    while (is_outermost && !tn__list_is_empty(&state->rounds))
        run_round(session, tn__container_of(state->rounds.previous, struct tn__round, listed), NULL);
    struct tn__round *round = make_round(in_order(library), false);
    if (round) {
        begin_round(session, round);
        run_round(session, round, NULL);
    }
    give_lock(session);
    return round ? 0 : tn__no_memory(err, library->name);
}

bool tn__library_must_be_left(struct tn_library *library, bool is_making)
{
    const struct tn__initializing *state = &library->session->initializers;
    struct tn_library *first = in_order(library);
    bool is_running = false;
    for (const struct tn_library *at = first; at; at = at->order.next)
        is_running |= at->rounds != 0;
    return find_need(first) == TO_WAIT ? is_making : state->depth && is_running;
}

bool tn__library_is_initialized(struct tn_library *library)
{
    const struct tn__initializing *state = &library->session->initializers;
    return !state->unfinished || state->are_manual || find_need(in_order(library)) == NOTHING;
}

int tn__library_initialize_now(struct tn_library *library, uint64_t deadline, struct tn_error *err)
{
    struct tn_session *session = library->session;
    struct tn__watched_wait delay = tn__delay_begin(session->on_delay, session->context);
    enum need need;
    int code = 0;
    tn__session_lock(session);
    while (!code && !library->removed && (need = find_need(in_order(library))) != NOTHING)
        code = need == TO_RUN ? run(session, library, err) : wait_for_lock(session, &delay, deadline, err);
    bool may_go_on = !tn__list_is_empty(&session->runnable);
    tn__session_unlock(session);
    if (may_go_on)
        tn__query_continue(session);
    return code;
}

/* ---- on request ---- */

/* The client decides when initializers run, in which order, and on which threads. */
static int run_manually(struct tn_library *library, const struct tn__arguments *arguments, struct tn_error *err)
{
    struct tn_session *session = library->session;
    tn__session_lock(session);
    struct tn__round *round = make_round(library, true);
    if (round) {
        begin_round(session, round);
        run_round(session, round, arguments);
    }
    tn__session_unlock(session);
    return round ? 0 : tn__no_memory(err, library->name);
}

int tn__library_run_initializers(struct tn_library *library, struct tn_error *err)
{
    const struct tn__arguments none = {.are_given = true};
    return library->session->initializers.are_manual ? run_manually(library, &none, err)
                                                     : tn__library_initialize(library, 0, err);
}

static int check_here(const struct tn_library *library, struct tn_error *err)
{
    if (!tn__session_is_elsewhere(library->session) || library->initializers.count == library->initializers.dropped)
        return 0;
    return tn__fail(err, TN_ENOTSUP, "%s: its initializers are in the memory of another process, which has to run them",
                    library->name);
}

int tn_run_initializers(struct tn_library *library, int argc, char **argv, char **envp, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    struct tn__initializing *state = &library->session->initializers;
    const struct tn__arguments arguments = {argc, argv, envp, true};
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code)
        code = check_here(library, err);
    if (!code && !state->are_manual && !state->arguments.are_given)
        state->arguments = arguments;
    tn__session_unlock(library->session);
    if (code)
        return code;
    return state->are_manual ? run_manually(library, &arguments, err) : tn__library_initialize(library, 0, err);
}

/* ---- the session ---- */

void tn__initializers_after_fork(struct tn_session *session)
{
    struct tn__initializing *state = &session->initializers;
    if (!is_held_by_other(state))
        return;
    state->depth = 0;
    release_postponed(session);
}

void tn__initializers_free(struct tn_session *session)
{
    struct tn__list *rounds = &session->initializers.rounds;
    while (!tn__list_is_empty(rounds)) {
        struct tn__list *round = rounds->next;
        tn__list_remove(round);
        tn__free(session->allocator, tn__container_of(round, struct tn__round, listed));
    }
}
