/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers functions of the host, as code does whose objects have the C++ library's destructors. */

int __cxa_thread_atexit(void (*destructor)(void *), void *object, void *handle);
int __cxa_atexit(void (*destructor)(void *), void *object, void *handle);
void note(const char *text);

extern void *__dso_handle;

void register_foreign(void)
{
    __cxa_atexit((void (*)(void *))note, "foreign: of the program", &__dso_handle);
    __cxa_thread_atexit((void (*)(void *))note, "foreign: of a thread", &__dso_handle);
}
