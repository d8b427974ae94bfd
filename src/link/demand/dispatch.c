/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Chooses who runs materializers: the thread that needs them, the session's own threads, or the client's. A promise is
 * claimed when it is run, so it does not matter which thread comes first, and none waits for a task that is not
 * begun. */

#include "link/demand/promise.h"

static void run_promise(struct tn_responsibility *promise)
{
    struct tn_session *session = promise->library->session;
    tn__session_lock(session);
    bool claimed = tn__promise_claim(promise), renewed = tn__promise_renew(promise);
    tn__promise_drop(promise);
    tn__session_unlock(session);
    if (claimed)
        tn__promise_run(promise);
    else if (renewed)
        tn__query_continue(session);
}

void tn_task_run(struct tn_task *task)
{
    if (!task)
        return;
    const struct tn_task copy = *task;
    tn__free(copy.session->allocator, task);
    if (copy.idle)
        copy.idle(copy.context, 0);
    else if (copy.promise)
        run_promise(copy.promise);
    else
        tn__query_step_one(copy.session, NULL);
}

/* ---- threads of the session's own ---- */

/* Each class of tasks has threads of its own, so that a demanded task never waits for the end of an idle one. */
struct tn__workers {
    struct tn__pool *pool;
    pthread_cond_t wanted;
    struct tn__list tasks;
    size_t started; /* threads: one is started with each task until there are as many as the client wants */
    pthread_t *threads;
};

struct tn__pool {
    struct tn__mutex lock;
    struct tn__workers of[TN_TASK_IDLE + 1]; /* by class */
    size_t size;                             /* threads for each class */
    bool closing;
    pthread_t threads[];
};

static bool may_begin(const struct tn__workers *workers)
{
    const struct tn__workers *demanded = &workers->pool->of[TN_TASK_DEMANDED];
    return !tn__list_is_empty(&workers->tasks) && (workers == demanded || tn__list_is_empty(&demanded->tasks));
}

static struct tn_task *take_task(struct tn__workers *workers)
{
    struct tn_task *task = tn__container_of(workers->tasks.next, struct tn_task, queued);
    struct tn__workers *idle = &workers->pool->of[TN_TASK_IDLE];
    tn__list_remove(&task->queued);
    if (workers != idle && may_begin(idle))
        pthread_cond_broadcast(&idle->wanted);
    return task;
}

static void *work(void *argument)
{
    struct tn__workers *workers = argument;
    struct tn__pool *pool = workers->pool;
    if (workers == &pool->of[TN_TASK_IDLE])
        tn__os_give_way();
    tn__mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->closing && !may_begin(workers))
            tn__mutex_wait(&pool->lock, &workers->wanted, NULL);
        if (pool->closing)
            break;
        struct tn_task *task = take_task(workers);
        tn__mutex_unlock(&pool->lock);
        tn_task_run(task);
        tn__mutex_lock(&pool->lock);
    }
    tn__mutex_unlock(&pool->lock);
    return NULL;
}

/* False if no thread will ever run it. */
static bool enqueue(struct tn__pool *pool, struct tn_task *task)
{
    struct tn__workers *workers = &pool->of[task->idle ? TN_TASK_IDLE : TN_TASK_DEMANDED];
    tn__mutex_lock(&pool->lock);
    if (workers->started < pool->size && !pool->closing &&
        tn__os_start_thread(&workers->threads[workers->started], work, workers))
        workers->started++;
    bool taken = workers->started;
    if (taken) {
        tn__list_append(&workers->tasks, &task->queued);
        pthread_cond_signal(&workers->wanted);
    }
    tn__mutex_unlock(&pool->lock);
    return taken;
}

int tn__pool_open(struct tn_session *session, size_t threads, struct tn_error *err)
{
    enum { MOST = 1024 };
    if (threads > MOST)
        return tn__fail(err, TN_EINVAL, "%zu threads are too many; the most are %d", threads, MOST);
    struct tn__pool *pool =
        tn__alloc_zeroed(session->allocator, 1, sizeof *pool + TN_COUNT(pool->of) * threads * sizeof *pool->threads);
    if (!pool)
        return tn__no_memory(err, NULL);
    tn__mutex_init(&pool->lock, TN__LEVEL_POOL);
    pool->size = threads;
    for (size_t i = 0; i < TN_COUNT(pool->of); i++) {
        struct tn__workers *workers = &pool->of[i];
        workers->pool = pool;
        workers->threads = pool->threads + i * threads;
        pthread_cond_init(&workers->wanted, NULL);
        tn__list_init(&workers->tasks);
    }
    session->pool = pool;
    return 0;
}

void tn__pool_before_fork(struct tn__pool *pool)
{
    if (pool)
        tn__mutex_lock(&pool->lock);
}

void tn__pool_after_fork(struct tn__pool *pool, bool in_child)
{
    if (!pool)
        return;
    for (size_t i = 0; in_child && i < TN_COUNT(pool->of); i++) {
        pthread_cond_init(&pool->of[i].wanted, NULL);
        pool->of[i].started = 0;
    }
    tn__mutex_unlock(&pool->lock);
}

/* What no thread has begun. */
static void drop_tasks(struct tn__workers *workers)
{
    while (!tn__list_is_empty(&workers->tasks)) {
        struct tn_task *task = take_task(workers);
        const struct tn_task copy = *task;
        tn__free(copy.session->allocator, task);
        if (copy.idle)
            copy.idle(copy.context, 1);
        else if (copy.promise) {
            tn__session_lock(copy.session);
            tn__promise_drop(copy.promise);
            tn__session_pause(copy.session);
        }
    }
    pthread_cond_destroy(&workers->wanted);
}

void tn__pool_close(struct tn_session *session)
{
    struct tn__pool *pool = session->pool;
    if (!pool)
        return;
    tn__mutex_lock(&pool->lock);
    pool->closing = true;
    for (size_t i = 0; i < TN_COUNT(pool->of); i++)
        pthread_cond_broadcast(&pool->of[i].wanted);
    tn__mutex_unlock(&pool->lock);
    for (size_t i = 0; i < TN_COUNT(pool->of); i++)
        for (size_t thread = 0; thread < pool->of[i].started; thread++)
            pthread_join(pool->of[i].threads[thread], NULL);
    for (size_t i = 0; i < TN_COUNT(pool->of); i++)
        drop_tasks(&pool->of[i]);
    tn__mutex_destroy(&pool->lock);
    session->pool = NULL;
    tn__free(session->allocator, pool);
}

/* ---- dispatching ---- */

bool tn__dispatch_task(const struct tn_task *made)
{
    struct tn_session *session = made->session;
    if (!session->dispatch && !session->pool)
        return false;
    struct tn_task *task = tn__alloc(session->allocator, sizeof *task);
    if (!task)
        return false;
    *task = *made;
    if (session->dispatch) {
        session->dispatch(session->context, task);
        return true;
    }
    if (enqueue(session->pool, task))
        return true;
    tn__free(session->allocator, task);
    return false;
}

static bool hand_out(struct tn_session *session, struct tn_responsibility *promise)
{
    return tn__dispatch_task(&(struct tn_task){.session = session, .promise = promise});
}

bool tn__dispatch_step(struct tn_session *session)
{
    return hand_out(session, NULL);
}

/* Hands it to other threads, if there are any. */
static void offer(struct tn_session *session, struct tn_responsibility *promise)
{
    tn__session_lock(session);
    tn__promise_hold(promise);
    tn__session_unlock(session);
    if (hand_out(session, promise))
        return;
    tn__session_lock(session);
    tn__promise_drop(promise); /* not the last one: the caller holds it too */
    tn__session_unlock(session);
}

void tn__dispatch(struct tn_session *session, struct tn__promise *const *promises, size_t count, bool waits)
{
    bool shared = session->dispatch || session->pool;
    for (size_t i = 1; waits && shared && i < count; i++)
        offer(session, tn__promise_of(promises[i]));
    for (size_t i = 0; i < count; i++)
        if (waits || !hand_out(session, tn__promise_of(promises[i])))
            run_promise(tn__promise_of(promises[i]));
}
