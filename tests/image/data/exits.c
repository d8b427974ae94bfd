/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers a destructor as C++ objects do. */

extern int __cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
extern char __dso_handle __attribute__((visibility("hidden")));

static void destroy(void *calls)
{
    ++*(int *)calls;
}

int register_exit(int *calls)
{
    return __cxa_atexit(destroy, calls, &__dso_handle);
}
