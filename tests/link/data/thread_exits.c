/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers destructors of thread-local objects, as C++ compilers do. */

void note(const char *text);
int __cxa_thread_atexit(void (*destructor)(void *), void *object, void *handle);
int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *handle);

extern void *__dso_handle;

static __thread const char *name = "unnamed";
static __thread char log[8] = "?";

static void later(void *argument)
{
    (void)argument;
    note("later");
}

static void destroy(void *object)
{
    const char *const *text = object;
    note(*text);
    __cxa_thread_atexit(later, log, &__dso_handle); /* while they are being run */
}

static void last(void *argument)
{
    (void)argument;
    note("last");
}

void enter_thread(const char *text)
{
    name = text;
    __cxa_thread_atexit_impl(last, log, &__dso_handle);
    __cxa_thread_atexit(destroy, &name, &__dso_handle);
}

__attribute__((destructor)) static void finalizer(void)
{
    note("finalizer");
}
