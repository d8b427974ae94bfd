/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded code registers with the C library for the whole process: functions of pthread_atfork (POSIX.1-2017), and
 * of at_quick_exit (C11, 7.22.4.3). The C library would keep addresses that dangle once a library is removed. So it is
 * given functions of ours, which call those of loaded code: for the child of a fork, and newest first, as it would.
 * What is removed is forgotten, as glibc does when a shared library is closed.
 *
 * A thread runs such a function without a lock, because it may call anything. Removals wait for other threads that are
 * running one of theirs. The functions for forks run while the library's own locks are free (base/fork.h): ours were
 * registered earlier, so they come last before a fork and first after it. */

#include <errno.h>
#include <stdlib.h>

#include "base/fork.h"
#include "link/process/process.h"

enum phase { PREPARE, PARENT, CHILD, PHASES, QUICK = PREPARE };

struct tn__callback {
    struct tn__list listed; /* among all of its kind, oldest first */
    struct tn__list owned;  /* in its owner's */
    struct tn_tracker *const *owner;
    const struct tn_allocator *from;
    uint64_t number; /* newer ones have larger numbers */
    void (*functions[PHASES])(void);
};

/* One that a thread is running, in its frame. */
struct run {
    struct tn__list listed;
    struct tn__callback *callback; /* NULL: removed meanwhile, by itself */
    struct run *outer;             /* of the same thread */
};

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_CALLBACKS);
static pthread_cond_t ran = PTHREAD_COND_INITIALIZER;
static struct tn__list of_forks = {&of_forks, &of_forks};
static struct tn__list of_quick_exit = {&of_quick_exit, &of_quick_exit};
static struct tn__list runs = {&runs, &runs};
static uint64_t count; /* registered so far; atomic, so that without any there is nothing to do */
static __thread struct run *innermost __attribute__((tls_model("initial-exec")));

/* ---- running ---- */

/* Under the lock of this file. */
static void end(struct run *run)
{
    innermost = run->outer;
    tn__list_remove(&run->listed);
    pthread_cond_broadcast(&ran);
}

/* The calling thread ends in the function. */
static void leave(void *run)
{
    tn__mutex_lock(&lock);
    end(run);
    tn__mutex_unlock(&lock);
}

/* Under the lock of this file, which is released meanwhile. False if the callback has gone. */
static bool run(struct tn__callback *callback, enum phase phase)
{
    struct run run = {.callback = callback, .outer = innermost};
    void (*function)(void) = callback->functions[phase];
    if (!function)
        return true;
    tn__list_append(&runs, &run.listed);
    innermost = &run;
    tn__mutex_unlock(&lock);
    pthread_cleanup_push(leave, &run);
    function();
    pthread_cleanup_pop(0);
    tn__mutex_lock(&lock);
    end(&run);
    return run.callback;
}

/* The newest one below a number, or the oldest one above it; NULL: none. */
static struct tn__callback *beside(const struct tn__list *list, uint64_t number, bool below)
{
    struct tn__callback *found = NULL;
    for (TN_EACH(struct tn__callback, callback, list, listed))
        if (below ? callback->number < number : callback->number > number && !found)
            found = callback;
    return found;
}

static struct tn__callback *next_of(const struct tn__callback *callback, const struct tn__list *list, bool below)
{
    struct tn__list *next = below ? callback->listed.previous : callback->listed.next;
    return next == list ? NULL : tn__container_of(next, struct tn__callback, listed);
}

/* All up to a number, newest first or oldest first. */
static void run_forks(enum phase phase, uint64_t last)
{
    bool below = phase == PREPARE;
    struct tn__callback *callback = beside(&of_forks, below ? last + 1 : 0, below);
    while (callback && callback->number <= last) {
        uint64_t number = callback->number;
        callback = run(callback, phase) ? next_of(callback, &of_forks, below) : beside(&of_forks, number, below);
    }
}

/* ---- forks ---- */

/* The newest one when the calling thread began to fork: those that its functions register, or other threads, are not
 * for this fork. */
static __thread uint64_t last_of_fork __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    tn__mutex_lock(&lock);
    uint64_t last = last_of_fork = count;
    run_forks(PREPARE, last);
    last_of_fork = last; /* a function may have forked */
    tn__mutex_unlock(&lock);
}

static void after_fork(enum phase phase)
{
    tn__mutex_lock(&lock);
    run_forks(phase, last_of_fork);
    tn__mutex_unlock(&lock);
}

static void after_fork_in_parent(void)
{
    after_fork(PARENT);
}

static void after_fork_in_child(void)
{
    after_fork(CHILD);
}

/* The child has none of the other threads, nor may their frames be there. */
static void forget_runs(bool in_child)
{
    if (!in_child)
        return;
    pthread_cond_init(&ran, NULL);
    tn__list_init(&runs);
    for (struct run *own = innermost; own; own = own->outer)
        tn__list_append(&runs, &own->listed);
}

static int fork_result;

static void watch_forks(void)
{
    fork_result = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- quick_exit ---- */

static bool is_quick_exit_watched; /* the C library has our function */

static void quick_exit_begins(void);

static bool watch_quick_exit(void)
{
    return is_quick_exit_watched || (is_quick_exit_watched = !at_quick_exit(quick_exit_begins));
}

static void free_callback(struct tn__callback *callback)
{
    for (TN_EACH(struct run, run, &runs, listed))
        if (run->callback == callback)
            run->callback = NULL;
    tn__list_remove(&callback->listed);
    tn__list_remove(&callback->owned);
    tn__free(callback->from, callback);
}

/* If a function calls quick_exit, the rest is run within that call. */
static void quick_exit_begins(void)
{
    tn__mutex_lock(&lock);
    is_quick_exit_watched = false;
    while (!tn__list_is_empty(&of_quick_exit)) {
        struct tn__callback *callback = tn__container_of(of_quick_exit.previous, struct tn__callback, listed);
        tn__list_remove(&callback->listed);
        tn__list_init(&callback->listed); /* stays with its owner while it is run */
        if (!tn__list_is_empty(&of_quick_exit))
            watch_quick_exit();
        if (run(callback, QUICK))
            free_callback(callback);
    }
    tn__mutex_unlock(&lock);
}

/* ---- registering ---- */

struct what {
    struct tn__list *list;
    struct tn__callback values;
};

static int keep(void *context, struct tn__object *object, struct tn_tracker *const *owner) TN__LOCKED
{
    (void)object;
    const struct what *what = context;
    const struct tn_allocator *from = (*owner)->library->session->allocator;
    struct tn__callback *callback = tn__alloc(from, sizeof *callback);
    if (!callback)
        return -1;
    *callback = what->values;
    callback->owner = owner;
    callback->from = from;
    tn__mutex_lock(&lock);
    callback->number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    tn__list_append(what->list, &callback->listed);
    tn__list_append(&(*owner)->callbacks, &callback->owned);
    tn__mutex_unlock(&lock);
    return 0;
}

static void watch_locks(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock, .after = forget_runs};
    tn__forks_watch(TN__LEVEL_CALLBACKS, &hooks);
}

static int keep_quick_exit(void (*function)(void), const void *handle, const void *caller)
{
    const void *const clues[] = {handle, (const void *)(uintptr_t)function, caller};
    struct what what = {&of_quick_exit, {.functions = {[QUICK] = function}}};
    watch_locks();
    tn__mutex_lock(&lock);
    bool watched = watch_quick_exit();
    tn__mutex_unlock(&lock);
    return watched ? tn__keep_with_owner(clues, TN_COUNT(clues), keep, &what) : -1;
}

int tn__at_quick_exit(void (*function)(void))
{
    return keep_quick_exit(function, NULL, TN__CALLER);
}

int tn__cxa_at_quick_exit(void (*function)(void), void *handle)
{
    return keep_quick_exit(function, handle, TN__CALLER);
}

static int keep_fork(const struct what *what, const void *handle, const void *caller)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void (*const *functions)(void) = what->values.functions;
    const void *const clues[] = {handle, (const void *)(uintptr_t)functions[PREPARE],
                                 (const void *)(uintptr_t)functions[PARENT], (const void *)(uintptr_t)functions[CHILD],
                                 caller};
    watch_locks(); /* first: functions of loaded code run while all locks are free */
    pthread_once(&once, watch_forks);
    bool kept = !fork_result && !tn__keep_with_owner(clues, TN_COUNT(clues), keep, (void *)what);
    return kept ? 0 : ENOMEM;
}

int tn__register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle)
{
    return keep_fork(&(struct what){&of_forks, {.functions = {prepare, parent, child}}}, handle, TN__CALLER);
}

int tn__pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return keep_fork(&(struct what){&of_forks, {.functions = {prepare, parent, child}}}, NULL, TN__CALLER);
}

/* ---- owners ---- */

static bool is_used(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

void tn__callbacks_give(struct tn_tracker *from, struct tn_tracker *to)
{
    if (!is_used())
        return;
    tn__mutex_lock(&lock);
    while (!tn__list_is_empty(&from->callbacks)) {
        struct tn__list *node = from->callbacks.next;
        tn__list_remove(node);
        tn__list_append(&to->callbacks, node);
    }
    tn__mutex_unlock(&lock);
}

bool tn__callbacks_of(const struct tn_tracker *tracker)
{
    if (!is_used())
        return false;
    tn__mutex_lock(&lock);
    bool any = !tn__list_is_empty(&tracker->callbacks);
    tn__mutex_unlock(&lock);
    return any;
}

static void forget(struct tn_tracker *tracker)
{
    while (!tn__list_is_empty(&tracker->callbacks))
        free_callback(tn__container_of(tracker->callbacks.next, struct tn__callback, owned));
}

void tn__callbacks_forget(struct tn_tracker *tracker)
{
    if (!is_used())
        return;
    tn__mutex_lock(&lock);
    forget(tracker);
    tn__mutex_unlock(&lock);
}

static bool belongs(const struct run *run, const struct tn_library *library, const struct tn_tracker *owner)
{
    const struct tn_tracker *tracker = run->callback ? *run->callback->owner : NULL;
    return tracker && (owner ? tracker == owner : tracker->library == library);
}

static bool is_run_elsewhere(const struct tn_library *library, const struct tn_tracker *owner)
{
    size_t own = 0, all = 0;
    for (const struct run *run = innermost; run; run = run->outer)
        own += belongs(run, library, owner);
    for (TN_EACH(const struct run, run, &runs, listed))
        all += belongs(run, library, owner);
    return all > own;
}

/* Both locks guard owners. */
void tn__callbacks_end(struct tn_library *library, struct tn_tracker *owner)
{
    for (bool waits = is_used(); waits;) {
        tn__session_lock(library->session);
        tn__mutex_lock(&lock);
        waits = is_run_elsewhere(library, owner);
        for (struct tn_tracker *tracker = NULL; !waits && (tracker = tn__library_next_owner(library, owner, tracker));)
            forget(tracker);
        tn__session_pause(library->session);
        if (waits)
            tn__mutex_wait(&lock, &ran, NULL);
        tn__mutex_unlock(&lock);
    }
}
