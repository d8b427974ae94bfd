/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads that enter loaded code, which registers destructors of its thread_local objects, and end when they are
 * told to; and what those destructors say. */

#ifndef TENON_TESTS_ENTERED_THREADS_H
#define TENON_TESTS_ENTERED_THREADS_H

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static char heard[256];

static void note(const char *what)
{
    strcat(strcat(heard, " "), what);
}

static void (*enter)(const char *name); /* the loaded code */
static sem_t entered, go;

static void *work(void *name)
{
    enter(name);
    sem_post(&entered);
    sem_wait(&go);
    return NULL;
}

/* Returns when the thread has entered. */
static pthread_t start(char *name)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, name);
    sem_wait(&entered);
    return thread;
}

static void finish(pthread_t thread)
{
    sem_post(&go);
    pthread_join(thread, NULL);
}

#endif
