/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of a lazy program that are first called while the process ends, finalizers above all, are compiled then. By
 * that time exit() has destroyed the static objects that LLVM made since the program was started, as what was made last
 * goes first. So these are not destroyed at all: the linker leads calls of __cxa_atexit here (--wrap in rules.mk). */

#include "lib/tool.h"

int __real___cxa_atexit(void (*function)(void *), void *object, void *dso);
int __wrap___cxa_atexit(void (*function)(void *), void *object, void *dso);

extern const char __executable_start[], etext[];

/* atexit() passes no object; what the program registers lies elsewhere. */
static bool is_destructor_of_ours(void (*function)(void *), const void *object)
{
    uintptr_t address = (uintptr_t)function;
    return object && address >= (uintptr_t)__executable_start && address < (uintptr_t)etext;
}

int __wrap___cxa_atexit(void (*function)(void *), void *object, void *dso)
{
    if (tool_program.jit && is_destructor_of_ours(function, object))
        return 0;
    return __real___cxa_atexit(function, object, dso);
}
