/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* atexit, at_quick_exit and pthread_atfork of loaded files. Compilers link them into each program and shared library,
 * with its __dso_handle, and glibc forgets what a handle has registered when that is closed (Linux Standard Base,
 * __cxa_finalize). A loaded file has no copies, and the program's would keep addresses that dangle. So these register
 * under a handle of the file. Where the C library has no functions with handles, files get what the resolver has. */

#include <errno.h>

#include "image/load/image.h"

int __cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
void __cxa_finalize(void *handle);
int __cxa_at_quick_exit(void (*function)(void *argument), void *handle) __attribute__((weak));
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle)
    __attribute__((weak));

/* NULL: no loaded file contains the function, or the caller. */
static void *handle_of(uintptr_t function, const void *caller)
{
    void *handle = tn__image_handle((const void *)function);
    return handle ? handle : tn__image_handle(caller);
}

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

static int file_atexit(void (*function)(void))
{
    void *handle = handle_of((uintptr_t)function, CALLER);
    return handle ? __cxa_atexit((void (*)(void *))(uintptr_t)function, NULL, handle) : -1;
}

static int file_at_quick_exit(void (*function)(void))
{
    void *handle = handle_of((uintptr_t)function, CALLER);
    return handle ? __cxa_at_quick_exit((void (*)(void *))(uintptr_t)function, handle) : -1;
}

static int file_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    void (*const some)(void) = prepare ? prepare : parent ? parent : child;
    void *handle = handle_of((uintptr_t)some, CALLER);
    return handle ? __register_atfork(prepare, parent, child, handle) : ENOMEM;
}

const void *tn__image_callback(const char *name)
{
    const struct {
        const char *name;
        const void *address, *needs;
    } all[] = {
        {"atexit", (const void *)file_atexit, (const void *)__register_atfork}, /* glibc: handles have a meaning */
        {"at_quick_exit", (const void *)file_at_quick_exit, (const void *)__cxa_at_quick_exit},
        {"pthread_atfork", (const void *)file_atfork, (const void *)__register_atfork},
    };
    for (size_t i = 0; i < TN_COUNT(all); i++)
        if (!strcmp(all[i].name, name))
            return all[i].needs ? all[i].address : NULL;
    return NULL;
}

void tn__image_end_callbacks(const struct tn_image *image)
{
    if (__atomic_load_n(&image->has_callbacks, __ATOMIC_RELAXED))
        __cxa_finalize((void *)(uintptr_t)image->file->mapping.start);
}
