/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int counter;
static _Atomic long long wide = 5;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static int guarded;

static void *work(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        while (atomic_flag_test_and_set(&lock))
            ;
        guarded++;
        atomic_flag_clear(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    long long expected = 4;
    int failed = !atomic_compare_exchange_strong(&wide, &expected, 9);
    printf("%d %d %d %lld\n", atomic_load(&counter), guarded, failed, expected);
    atomic_fetch_or(&wide, 8);
    atomic_thread_fence(memory_order_seq_cst);
    printf("%lld ", atomic_exchange(&wide, 1));
    printf("%d\n", atomic_is_lock_free(&wide));
    return 0;
}
