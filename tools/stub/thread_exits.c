/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Destructors of thread_local objects, which musl lacks: they run when their thread ends, and those of the thread that
 * calls `exit` before all that exits otherwise (C++, [basic.start.term]). The image's `exit` is ours (--wrap in
 * rules.mk). */

#include "base/thread_end.h"
#include "stub.h"

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

_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);
_Noreturn void __wrap_exit(int status)
{
    for (struct tn__thread_end *end; (end = tn__thread_end_take(&program, NULL, NULL));)
        tn__thread_end_run(end);
    __real_exit(status);
}
