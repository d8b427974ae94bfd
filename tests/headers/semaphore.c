/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static sem_t empty, full;
static int cell;

static void *produce(void *unused)
{
    for (int i = 1; i <= 100; i++) {
        sem_wait(&empty);
        cell = i;
        sem_post(&full);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    int sum = 0, value;
    sem_init(&empty, 0, 1);
    sem_init(&full, 0, 0);
    pthread_create(&thread, NULL, produce, NULL);
    for (int i = 0; i < 100; i++) {
        sem_wait(&full);
        sum += cell;
        sem_post(&empty);
    }
    pthread_join(thread, NULL);
    sem_getvalue(&empty, &value);
    printf("%d ", sum);
    printf("%d ", value);
    printf("%d\n", sem_trywait(&full) < 0 && errno == EAGAIN);
    char name[50];
    snprintf(name, sizeof name, "/tenon-%d", getpid());
    sem_t *named = sem_open(name, O_CREAT, 0600, 3);
    printf("%d\n", named != SEM_FAILED && sem_getvalue(named, &value) == 0 && value == 3);
    return sem_close(named) | sem_unlink(name);
}
