/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Registers functions with the C library. */

#include <pthread.h>
#include <stdlib.h>

int puts(const char *text);

/* clang-format off */
static void at_exit(void) { puts("exit"); }
static void quick(void) { puts("quick"); }
static void prepare(void) { puts("prepare"); }
__attribute__((destructor)) static void finalizer(void) { puts("finalizer"); }
/* clang-format on */

int enter(void)
{
    return atexit(at_exit) | at_quick_exit(quick) | pthread_atfork(prepare, NULL, NULL);
}
