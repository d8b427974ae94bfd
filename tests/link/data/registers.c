/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tells the host of a function that registers what is to be called at the end. */

extern void *__dso_handle;
int __cxa_atexit(void (*function)(void *), void *argument, void *handle);
void ran(void *number);
void here_is(int (*how)(void *number));

static int how(void *number)
{
    return __cxa_atexit(ran, number, &__dso_handle);
}

__attribute__((constructor)) static void initializer(void)
{
    here_is(how);
}
