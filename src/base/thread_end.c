/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that run when their thread ends (thread_end.h). A key of POSIX tells: its destructor runs in every thread
 * that ends otherwise than by the end of the process, with any C library. Each thread has a stack of its functions,
 * which only this thread changes; what other threads need to know is in one list, under one lock. */

#include <pthread.h>

#include "fork.h"
#include "os.h"
#include "thread_end.h"

struct tn__thread_end {
    struct tn__thread_end *older; /* of the same thread */
    struct tn__list all;
    const void *thread;
    struct tn__thread_ends *owner; /* NULL: abandoned */
    void *part;
    void (*function)(void *argument);
    void *argument;
    bool running;
};

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_ENDS);
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static struct tn__list all = {&all, &all};

static __thread struct tn__thread_end *newest __attribute__((tls_model("initial-exec")));

static uint64_t key;

static void after_fork(bool in_child);

static void lock_all(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock, .after = after_fork};
    tn__forks_watch(TN__LEVEL_ENDS, &hooks);
    tn__mutex_lock(&lock);
}

/* ---- one function ---- */

bool tn__thread_end_waits(void)
{
    return newest;
}

/* Also frees abandoned ones on the way. `owner` NULL: of any. */
struct tn__thread_end *tn__thread_end_take(const struct tn__thread_ends *owner,
                                           bool (*wanted)(void *context, void *part), void *context)
{
    struct tn__thread_end *found = NULL;
    lock_all();
    for (struct tn__thread_end **at = &newest; *at && !found;) {
        struct tn__thread_end *end = *at;
        bool take = !owner || (end->owner == owner && (!wanted || wanted(context, end->part)));
        if (end->owner && !take) {
            at = &end->older;
            continue;
        }
        *at = end->older;
        if (end->owner) {
            end->running = true;
            found = end;
        } else {
            tn__free(NULL, end);
        }
    }
    tn__mutex_unlock(&lock);
    return found;
}

/* While it is in the list as running, its owner is not destroyed by another thread. The function itself may abandon
 * it. */
void tn__thread_end_run(struct tn__thread_end *end)
{
    end->function(end->argument);
    struct tn__thread_ends *owner = __atomic_load_n(&end->owner, __ATOMIC_RELAXED);
    bool gone = owner && owner->ended(owner, end->part, true);
    lock_all();
    if (gone || end->owner)
        tn__list_remove(&end->all);
    pthread_cond_broadcast(&ended);
    tn__mutex_unlock(&lock);
    tn__free(NULL, end);
}

/* They may register more. */
static void run_all(void *unused)
{
    (void)unused;
    for (struct tn__thread_end *end; (end = tn__thread_end_take(NULL, NULL, NULL));)
        tn__thread_end_run(end);
}

void tn__thread_ends_prepare(void)
{
    tn__os_at_thread_end(&key, run_all, &newest);
}

bool tn__thread_end_add(struct tn__thread_ends *owner, void *part, void (*function)(void *argument), void *argument)
{
    struct tn__thread_end *end = tn__alloc(NULL, sizeof *end);
    if (!end || tn__os_at_thread_end(&key, run_all, &newest)) {
        tn__free(NULL, end);
        return false;
    }
    *end = (struct tn__thread_end){
        .older = newest, .thread = &newest, .owner = owner, .part = part, .function = function, .argument = argument};
    newest = end;
    lock_all();
    tn__list_append(&all, &end->all);
    tn__mutex_unlock(&lock);
    return true;
}

/* ---- owners that go ---- */

static bool is_run_elsewhere(const struct tn__thread_ends *owner)
{
    for (TN_EACH(const struct tn__thread_end, end, &all, all))
        if (end->owner == owner && end->running && end->thread != &newest)
            return true;
    return false;
}

void tn__thread_end_abandon(struct tn__thread_ends *owner)
{
    lock_all();
    while (is_run_elsewhere(owner))
        tn__mutex_wait(&lock, &ended, NULL);
    for (TN_EACH_TO_REMOVE(struct tn__thread_end, end, &all, all)) {
        if (end->owner != owner)
            continue;
        tn__list_remove(&end->all);
        __atomic_store_n(&end->owner, NULL, __ATOMIC_RELAXED); /* its thread frees it */
    }
    tn__mutex_unlock(&lock);
    tn__thread_end_take(owner, NULL, NULL); /* finds none: frees this thread's */
}

/* ---- forks ---- */

/* Other threads do not exist in the child. */
static void after_fork(bool in_child)
{
    if (!in_child)
        return;
    pthread_cond_init(&ended, NULL);
    for (TN_EACH_TO_REMOVE(struct tn__thread_end, end, &all, all)) {
        if (end->thread == &newest)
            continue;
        tn__list_remove(&end->all);
        end->owner->ended(end->owner, end->part, false);
        tn__free(NULL, end);
    }
}
