/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shared library with one of each thing that a dynamic linker does something for. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- data with addresses ---- */

static int own = 1;
int exported = 2;
int *const to_own = &own;
int *to_exported = &exported;
const char *const words[] = {"one", "two", "three"};
int (*to_puts)(const char *) = puts;
extern char **environ;
char ***to_host = &environ;
extern int nowhere(void) __attribute__((weak));
int (*to_nowhere)(void) = nowhere;
char zeros[100000];

/* ---- thread-local ---- */

__thread int counted = 5;
static __thread int counted_here = 7;
__thread char cleared[40];
static __thread int *to_counted = NULL;
static __thread const char *word = "thread";

static int count_variables(void)
{
    to_counted = &counted;
    counted++;
    counted_here++;
    cleared[39]++;
    return *to_counted * 100 + counted_here * 10 + cleared[39] + (int)strlen(word);
}

/* ---- initializers ---- */

static int order[8], ordered;

__attribute__((constructor(101))) static void first(void)
{
    order[ordered++] = 1;
}

__attribute__((constructor(102))) static void second(void)
{
    order[ordered++] = 2;
}

static void given(int argc, char **argv, char **envp)
{
    order[ordered++] = 3 + (argc < 0) + (envp == NULL);
    (void)argv;
}
__attribute__((section(".init_array"), used)) static void (*const with_arguments)(int, char **, char **) = given;

__attribute__((destructor(101))) static void last(void)
{
    puts("last");
}

__attribute__((destructor(102))) static void before_last(void)
{
    puts("before the last");
}

static void at_exit(void)
{
    puts("at exit");
}

/* ---- what is chosen when it is loaded ---- */

static int chosen_here(void)
{
    return 11;
}

#ifndef WITHOUT_INDIRECT
static int (*choose(void))(void)
{
    return chosen_here;
}

int chosen(void) __attribute__((ifunc("choose")));
static int chosen_inside(void) __attribute__((ifunc("choose")));
#else
#define chosen        chosen_here
#define chosen_inside chosen_here
#endif
int (*to_chosen)(void) = chosen;

/* ---- what it knows of itself ---- */

struct seen {
    uintptr_t address;
    int found, dynamic, tls;
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct seen *seen = context;
    int here = 0, dynamic = 0, tls = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        here |= h->p_type == PT_LOAD && seen->address - info->dlpi_addr - h->p_vaddr < h->p_memsz;
        dynamic |= h->p_type == PT_DYNAMIC;
        tls |= h->p_type == PT_TLS &&
               (!info->dlpi_tls_data || (uintptr_t)&counted - (uintptr_t)info->dlpi_tls_data < h->p_memsz);
    }
    if (!here)
        return 0;
    *seen = (struct seen){seen->address, seen->found + 1, dynamic, tls};
    return 0;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int run(void)
{
    Dl_info info;
    int numbers[] = {3, 1, 2};
    struct seen seen = {(uintptr_t)run, 0, 0, 0};
    printf("data: %d %d %s %d %d %d\n", *to_own, *to_exported, words[2], to_puts == puts, *to_host == environ,
           to_nowhere == NULL);
    printf("variables: %d, cleared: %d\n", count_variables(), zeros[99999]);
    printf("order: %d %d %d of %d\n", order[0], order[1], order[2], ordered);
    printf("chosen: %d %d %d\n", chosen(), to_chosen(), chosen_inside());
    qsort(numbers, 3, sizeof *numbers, compare);
    errno = 0;
    printf("%d%d%d %d %d\n", numbers[0], numbers[1], numbers[2], strtol("99999999999999999999", NULL, 10) > 0, errno);
    dl_iterate_phdr(visit, &seen);
    printf("segments: %d %d %d\n", seen.found, seen.dynamic, seen.tls);
    printf("dladdr: %d", dladdr((void *)run, &info) != 0);
    printf(" %s %d\n", info.dli_sname ? info.dli_sname : "?", info.dli_saddr == (void *)run);
    static int registered;
    if (!registered++)
        atexit(at_exit);
    return (int)strlen(words[1]) + exported++;
}
