/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <threads.h>

static mtx_t mutex;
static cnd_t condition;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static thread_local int own = 3;
static int counter, calls, destroyed;

static void initialise(void)
{
    calls++;
}

static void destroy(void *value)
{
    destroyed += *(int *)value;
}

static int work(void *argument)
{
    call_once(&once, initialise);
    tss_set(key, argument);
    for (int i = 0; i < 1000; i++, own++) {
        mtx_lock(&mutex);
        counter += *(int *)tss_get(key);
        mtx_unlock(&mutex);
    }
    mtx_lock(&mutex);
    cnd_signal(&condition);
    mtx_unlock(&mutex);
    return own == 1003 ? *(int *)argument : -1;
}

int main(void)
{
    thrd_t threads[3];
    int numbers[] = {1, 10, 100}, result, sum = 0;
    mtx_init(&mutex, mtx_plain);
    cnd_init(&condition);
    tss_create(&key, destroy);
    for (int i = 0; i < 3; i++)
        if (thrd_create(&threads[i], work, &numbers[i]) != thrd_success)
            return 1;
    mtx_lock(&mutex);
    while (counter < 111000)
        cnd_wait(&condition, &mutex);
    mtx_unlock(&mutex);
    for (int i = 0; i < 3; i++, sum += result)
        thrd_join(threads[i], &result);
    printf("%d %d %d %d %d\n", counter, calls, sum, destroyed, thrd_equal(thrd_current(), thrd_current()) != 0);
    return 0;
}
