/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers functions for forks and for quick_exit. */

#include <pthread.h>
#include <stdlib.h>

void note(const char *text);
void hold(void);

/* clang-format off */
static void prepare(void) { note("prepare"); }
static void parent(void) { note("parent"); }
static void child(void) { note("child"); }
static void quick(void) { note("quick"); }
/* clang-format on */

static void prepare_and_hold(void)
{
    hold();
    note("held");
}

static void prepare_and_register(void)
{
    pthread_atfork(prepare, parent, child);
}

int enter(void)
{
    return pthread_atfork(prepare, parent, child) | at_quick_exit(quick);
}

int enter_holder(void)
{
    return pthread_atfork(prepare_and_hold, NULL, NULL);
}

int enter_within(void)
{
    return pthread_atfork(prepare_and_register, NULL, NULL);
}

/* What belongs to the host is kept for the caller; the call is no jump. */
int enter_of_host(void (*function)(void))
{
    volatile int failed = pthread_atfork(function, NULL, NULL);
    return failed;
}
