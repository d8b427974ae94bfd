/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What programs compiled for Windows need to call Linux's C library. Its type long, which has 32 bits for Windows, is
 * long long here. Each of the standard headers that they include is this one. */

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
enum { EXIT_SUCCESS, EXIT_FAILURE };
void exit(int status) __attribute__((noreturn));
int abs(int number);
char *getenv(const char *name);
int system(const char *command);
double strtod(const char *text, char **end);
void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
void *memchr(const void *bytes, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);
int strcoll(const char *a, const char *b);
char *strcpy(char *to, const char *from);
char *strchr(const char *text, int byte);
char *strrchr(const char *text, int byte);
char *strstr(const char *text, const char *part);
char *strpbrk(const char *text, const char *bytes);
size_t strspn(const char *text, const char *bytes);
size_t strcspn(const char *text, const char *bytes);
char *strerror(int error);

int isalnum(int c);
int isalpha(int c);
int iscntrl(int c);
int isdigit(int c);
int isgraph(int c);
int islower(int c);
int isprint(int c);
int ispunct(int c);
int isspace(int c);
int isupper(int c);
int isxdigit(int c);
int tolower(int c);
int toupper(int c);

double acos(double x);
double asin(double x);
double atan2(double y, double x);
double ceil(double x);
double cos(double x);
double exp(double x);
double fabs(double x);
double floor(double x);
double fmod(double x, double y);
double frexp(double x, int *exponent);
double ldexp(double x, int exponent);
double log(double x);
double log10(double x);
double log2(double x);
double pow(double x, double y);
double sin(double x);
double sqrt(double x);
double tan(double x);
#define HUGE_VAL __builtin_huge_val()

/* clang knows functions called setjmp and _setjmp, and passes those for Windows a frame. */
typedef long long jmp_buf[64];
int __sigsetjmp(jmp_buf buffer, int mask) __attribute__((returns_twice));
void longjmp(jmp_buf buffer, int value) __attribute__((noreturn));
#define setjmp(buffer) __sigsetjmp(buffer, 0)

typedef int sig_atomic_t;

enum { LC_CTYPE, LC_NUMERIC, LC_TIME, LC_COLLATE, LC_MONETARY, LC_ALL = 6 };
struct lconv {
    char *decimal_point;
};
char *setlocale(int category, const char *name);
struct lconv *localeconv(void);

typedef long long time_t, clock_t;
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long long tm_gmtoff;
    const char *tm_zone;
};
#define CLOCKS_PER_SEC 1000000
time_t time(time_t *now);
time_t mktime(struct tm *when);
clock_t clock(void);
double difftime(time_t a, time_t b);
struct tm *gmtime(const time_t *time);
struct tm *localtime(const time_t *time);
size_t strftime(char *to, size_t size, const char *format, const struct tm *when);

typedef struct file FILE;
/* The addresses of the program's variables are out of reach of code. */
extern __declspec(dllimport) FILE *stdin, *stdout, *stderr;
enum { EOF = -1, SEEK_SET = 0, SEEK_CUR, SEEK_END, _IOFBF = 0, _IOLBF, _IONBF, BUFSIZ = 8192, L_tmpnam = 20 };
FILE *fopen(const char *path, const char *mode);
FILE *freopen(const char *path, const char *mode, FILE *file);
FILE *tmpfile(void);
char *tmpnam(char *name);
int remove(const char *path);
int rename(const char *from, const char *to);
int fclose(FILE *file);
int fflush(FILE *file);
int ferror(FILE *file);
int feof(FILE *file);
void clearerr(FILE *file);
int getc(FILE *file);
int ungetc(int c, FILE *file);
char *fgets(char *line, int size, FILE *file);
int putchar(int c);
int fputs(const char *text, FILE *file);
size_t fread(void *to, size_t size, size_t count, FILE *file);
size_t fwrite(const void *from, size_t size, size_t count, FILE *file);
int fseek(FILE *file, long long offset, int from);
long long ftell(FILE *file);
int setvbuf(FILE *file, char *buffer, int mode, size_t size);

int puts(const char *text);
int vprintf(const char *format, va_list arguments);
int vfprintf(FILE *file, const char *format, va_list arguments);
int vsprintf(char *to, const char *format, va_list arguments);
int vsnprintf(char *to, size_t size, const char *format, va_list arguments);
/* With their arguments as Windows passes them (variadic.c). */
int printf(const char *format, ...);
int fprintf(FILE *file, const char *format, ...);
int sprintf(char *to, const char *format, ...);
int snprintf(char *to, size_t size, const char *format, ...);

int *__errno_location(void);
#define errno     (*__errno_location())
#define assert(x) ((void)0)
enum { EINTR = 4, EDOM = 33, ERANGE };

#ifdef __cplusplus
}
#endif
#endif
