/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_key_t key;
static long total;
static int ready, inits, cleaned, freed;

static void initialise(void)
{
    inits++;
}

static void release(void *value)
{
    freed += value != NULL;
}

static void clean(void *flag)
{
    *(int *)flag += 1;
}

static void *worker(void *number)
{
    pthread_once(&once, initialise);
    pthread_setspecific(key, number);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        total += (long)number;
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
    pthread_mutex_lock(&mutex);
    ready++;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_exit((void *)((long)number * 2));
}

static void *endless(void *unused)
{
    pthread_cleanup_push(clean, &cleaned);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return unused;
}

int main(void)
{
    pthread_t threads[4], other;
    long sum = 0;
    void *result;
    pthread_barrier_init(&barrier, NULL, 4);
    pthread_key_create(&key, release);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
    pthread_mutex_lock(&mutex);
    while (ready < 4)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("%ld %ld %d %d\n", total, sum, inits, freed);
    pthread_create(&other, NULL, endless, NULL);
    printf("%d\n", pthread_cancel(other));
    pthread_join(other, &result); /* unwinds the frames of loaded code */
    printf("%d %d\n", result == PTHREAD_CANCELED, cleaned <= 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    size_t size;
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_attr_getstacksize(&attributes, &size);
    pthread_spinlock_t spin;
    pthread_spin_init(&spin, 0);
    printf("%zu ", size);
    printf("%d ", pthread_spin_trylock(&spin));
    printf("%d\n", pthread_spin_trylock(&spin) == EBUSY);
    struct timespec past = {0};
    pthread_mutex_lock(&mutex);
    printf("%d\n", pthread_cond_timedwait(&condition, &mutex, &past) == ETIMEDOUT);
    return 0;
}
