/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compilers for macOS expect of the C library, and Linux's does not have. */

#include <string.h>

void memset_pattern16(void *to, const void *pattern, size_t size)
{
    unsigned char *bytes = to;
    for (; size >= 16; size -= 16, bytes += 16)
        memcpy(bytes, pattern, 16);
    memcpy(bytes, pattern, size);
}

#ifdef __aarch64__
/* There, Darwin's variable arguments are all on the stack, in words, and its va_list is a pointer to them. A va_list of
 * Linux (AAPCS64, Appendix "Variable argument lists") says the same when no registers are left. It is passed by its
 * address, as that pointer would be. */

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

int fprintf(FILE *file, const char *format, ...)
{
    FORWARD(format, vfprintf(file, format, (va_list)&list));
}

int sprintf(char *to, const char *format, ...)
{
    FORWARD(format, vsprintf(to, format, (va_list)&list));
}

int snprintf(char *to, size_t size, const char *format, ...)
{
    FORWARD(format, vsnprintf(to, size, format, (va_list)&list));
}
#endif
