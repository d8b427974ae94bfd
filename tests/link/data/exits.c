/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers what is to be called at the end, as programs and C++ compilers do. */

#include <stdlib.h>

void note(const char *text);
int __cxa_atexit(void (*function)(void *), void *argument, void *handle);

extern void *__dso_handle;

static char object[] = "destroyed";

static void last(void)
{
    note("last");
}

static void first(void)
{
    note("first");
    atexit(last); /* while they are being run */
}

static void destroy(void *argument)
{
    note(argument);
}

__attribute__((destructor)) static void finalizer(void)
{
    note("finalizer");
}

__attribute__((constructor)) static void initializer(void)
{
    atexit(first);
    __cxa_atexit(destroy, object, &__dso_handle);
}
