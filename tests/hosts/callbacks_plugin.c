/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers functions with the C library in every way that it has. The host (callbacks.c) loads this, or is linked with
 * it as an ordinary program. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "callbacks.h"

int __cxa_atexit(void (*function)(void *), void *argument, void *handle);
int __cxa_at_quick_exit(void (*function)(void *), void *handle);

extern void *__dso_handle __attribute__((visibility("hidden")));

static void late(void)
{
    note("late");
}

static void first(void)
{
    note("first");
}

/* Handlers that are left run within the call. */
static void again(void)
{
    note("again");
    atexit(late);
    exit(6);
}

static void with_argument(void *text)
{
    note(text);
}

#ifdef __GLIBC__ /* musl has no on_exit, and does not call what finalizers register */
static void with_status(int status, void *text)
{
    note(text);
    note_number(status);
}

static void again_with_status(int status, void *text)
{
    with_status(status, text);
    exit(status + 1);
}
#endif

__attribute__((destructor)) static void finalizer(void)
{
    note("finalizer");
#ifdef __GLIBC__
    atexit(late);
#endif
}

static void quick(void)
{
    note("quick");
}

static void quicker(void)
{
    note("quicker");
    quick_exit(7);
}

/* clang-format off */
static void prepare(void) { note("prepare"); }
static void prepare_again(void) { note("prepare again"); }
static void parent(void) { note("parent"); }
static void parent_again(void) { note("parent again"); }
static void child(void) { note("child"); }
static void child_again(void) { note("child again"); }
/* clang-format on */

int enter(int exits)
{
    int failed = atexit(first) + __cxa_atexit(with_argument, "argument", &__dso_handle);
#ifdef __GLIBC__
    failed += on_exit(with_status, "status");
    if (exits)
        failed += on_exit(again_with_status, "status again");
#endif
    if (exits)
        failed += atexit(again);
    failed += __cxa_atexit(with_argument, "last", &__dso_handle);
    failed += atexit(flush); /* the host's */
    failed += at_quick_exit(quick) + at_quick_exit(quicker);
    failed += pthread_atfork(prepare, parent, child) + pthread_atfork(prepare_again, parent_again, child_again);
    return failed + pthread_atfork(NULL, NULL, NULL);
}
