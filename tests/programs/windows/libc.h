/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What programs compiled for Windows need to call Linux's C library: its functions of which no argument or result has
 * the type long, which has 32 bits there. Each of the standard headers that they include is this one. */

#ifndef TENON_TESTS_WINDOWS_LIBC_H
#define TENON_TESTS_WINDOWS_LIBC_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
void abort(void) __attribute__((noreturn));
void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
void *memchr(const void *bytes, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

int puts(const char *text);
int vprintf(const char *format, va_list arguments);
int vsprintf(char *to, const char *format, va_list arguments);
/* With their arguments as Windows passes them (variadic.c). */
int printf(const char *format, ...);
int sprintf(char *to, const char *format, ...);

int *__errno_location(void);
#define errno     (*__errno_location())
#define assert(x) ((void)0)

#ifdef __cplusplus
}
#endif
#endif
