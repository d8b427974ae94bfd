/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Chooses who runs materializers: the thread that needs them, the session's own threads, or the client's. A promise is
 * claimed when it is run, so it does not matter which thread comes first, and none waits for a task that is not
 * begun. */

#include "link/demand/promise.h"

struct tn_task {
    struct tn__list queued;
    struct tn_session *session;
    struct tn_responsibility *promise; /* held; NULL: a round of whichever query can go on */
};

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
    if (copy.promise)
        run_promise(copy.promise);
    else
        tn__query_step_one(copy.session, NULL);
}

/* ---- threads of the session's own ---- */

struct tn__pool {
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    struct tn__list tasks;
    size_t size, started; /* threads; they are started with the first task */
    bool closing;
    pthread_t threads[];
};

static void *work(void *argument)
{
    struct tn__pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->closing && tn__list_is_empty(&pool->tasks))
            pthread_cond_wait(&pool->wanted, &pool->lock);
        if (pool->closing)
            break;
        struct tn_task *task = tn__container_of(pool->tasks.next, struct tn_task, queued);
        tn__list_remove(&task->queued);
        pthread_mutex_unlock(&pool->lock);
        tn_task_run(task);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* False if no thread will ever run it. */
static bool enqueue(struct tn__pool *pool, struct tn_task *task)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->started < pool->size && !pthread_create(&pool->threads[pool->started], NULL, work, pool))
        pool->started++;
    bool taken = pool->started;
    if (taken) {
        tn__list_append(&pool->tasks, &task->queued);
        pthread_cond_signal(&pool->wanted);
    }
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

int tn__pool_open(struct tn_session *session, size_t threads, struct tn_error *err)
{
    enum { MOST = 1024 };
    if (threads > MOST)
        return tn__fail(err, TN_EINVAL, "%zu threads are too many; the most are %d", threads, MOST);
    struct tn__pool *pool = tn__alloc_zeroed(session->allocator, 1, sizeof *pool + threads * sizeof *pool->threads);
    if (!pool)
        return tn__no_memory(err, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wanted, NULL);
    tn__list_init(&pool->tasks);
    pool->size = threads;
    session->pool = pool;
    return 0;
}

void tn__pool_before_fork(struct tn__pool *pool)
{
    if (pool)
        pthread_mutex_lock(&pool->lock);
}

void tn__pool_after_fork(struct tn__pool *pool, bool in_child)
{
    if (!pool)
        return;
    if (in_child) {
        pthread_cond_init(&pool->wanted, NULL);
        pool->started = 0;
    }
    pthread_mutex_unlock(&pool->lock);
}

void tn__pool_close(struct tn_session *session)
{
    struct tn__pool *pool = session->pool;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->wanted);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->started; i++)
        pthread_join(pool->threads[i], NULL);
    while (!tn__list_is_empty(&pool->tasks)) {
        struct tn_task *task = tn__container_of(pool->tasks.next, struct tn_task, queued);
        tn__list_remove(&task->queued);
        if (task->promise)
            tn__promise_drop(task->promise);
        tn__free(session->allocator, task);
    }
    pthread_cond_destroy(&pool->wanted);
    pthread_mutex_destroy(&pool->lock);
    session->pool = NULL;
    tn__free(session->allocator, pool);
}

/* ---- dispatching ---- */

/* False if the session has neither threads nor a queue, or no memory for a task. */
static bool hand_out(struct tn_session *session, struct tn_responsibility *promise)
{
    if (!session->dispatch && !session->pool)
        return false;
    struct tn_task *task = tn__alloc(session->allocator, sizeof *task);
    if (!task)
        return false;
    *task = (struct tn_task){.session = session, .promise = promise};
    if (session->dispatch) {
        session->dispatch(session->context, task);
        return true;
    }
    if (enqueue(session->pool, task))
        return true;
    tn__free(session->allocator, task);
    return false;
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
