/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What musl lacks of the end of threads and programs. Destructors of thread_local objects run when their thread ends,
 * and those of the thread that calls `exit` before all that exits otherwise (C++, [basic.start.term]). Functions of
 * on_exit run in turn with those of atexit, and get the status of the last `exit`, as in glibc. The image's `exit` is
 * ours (--wrap in rules.mk). */

#include <stdlib.h>

#include "base/thread_end.h"
#include "stub.h"

/* ---- destructors of thread_local objects ---- */

static bool ended(struct tn__thread_ends *owner, void *part, bool ran)
{
    (void)owner, (void)part, (void)ran;
    return false;
}

static struct tn__thread_ends program = {ended};

int __cxa_thread_atexit(void (*function)(void *argument), void *argument, void *handle);
int __cxa_thread_atexit(void (*function)(void *argument), void *argument, void *handle)
{
    (void)handle;
    return tn__thread_end_add(&program, NULL, function, argument) ? 0 : -1;
}

int __cxa_thread_atexit_impl(void (*function)(void *argument), void *argument, void *handle)
    __attribute__((alias("__cxa_thread_atexit")));

/* ---- on_exit ---- */

static int exit_status;

struct with_status {
    void (*function)(int status, void *argument);
    void *argument;
};

static void call(void *registered)
{
    struct with_status what = *(struct with_status *)registered;
    free(registered); /* the function may not return */
    what.function(exit_status, what.argument);
}

int __cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
int on_exit(void (*function)(int status, void *argument), void *argument);
int on_exit(void (*function)(int status, void *argument), void *argument)
{
    struct with_status *what = malloc(sizeof *what);
    if (what)
        *what = (struct with_status){function, argument};
    if (what && !__cxa_atexit(call, what, NULL))
        return 0;
    free(what);
    return -1;
}

/* ---- exit ---- */

_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);
_Noreturn void __wrap_exit(int status)
{
    exit_status = status;
    for (struct tn__thread_end *end; (end = tn__thread_end_take(&program, NULL, NULL));)
        tn__thread_end_run(end);
    __real_exit(status);
}
