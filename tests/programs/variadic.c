/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions with variable arguments, of programs for other systems on AArch64 that call Linux's C library. For Darwin
 * and for Windows such arguments are words one after the other, and a va_list is a pointer to them. A va_list of Linux
 * (AAPCS64, "The va_list type") says the same when no registers are left; it is passed by its address, as that pointer
 * is. */

#include <stdarg.h>
#include <stdio.h>

struct list {
    void *stack, *general_end, *vector_end;
    int general_offset, vector_offset;
};

#define FORWARD(format, call)                                                                                          \
    va_list arguments;                                                                                                 \
    va_start(arguments, format);                                                                                       \
    struct list list = {arguments, 0, 0, 0, 0};                                                                        \
    int result = call;                                                                                                 \
    va_end(arguments);                                                                                                 \
    return result

int printf(const char *format, ...)
{
    FORWARD(format, vprintf(format, (va_list)&list));
}

int sprintf(char *to, const char *format, ...)
{
    FORWARD(format, vsprintf(to, format, (va_list)&list));
}

int fprintf(FILE *file, const char *format, ...)
{
    FORWARD(format, vfprintf(file, format, (va_list)&list));
}

int snprintf(char *to, size_t size, const char *format, ...)
{
    FORWARD(format, vsnprintf(to, size, format, (va_list)&list));
}

#ifdef FOR_WINDOWS
int _fltused; /* compilers refer to it where there are floating-point numbers */

void __main(void) /* runs constructors; here they have run */
{
}
#endif
