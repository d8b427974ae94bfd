/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opens and closes libraries in a random order, asks them for symbols, and prints what comes of it: the same as an
 * ordinary program and as loaded code. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIBRARIES = 6, HANDLES = 12 };

static uint32_t seed;
static void *handles[HANDLES];

static uint32_t below(uint32_t n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

/* In a place of its own, for callers are known by where a call returns to. */
static void *find(void *handle, const char *name)
{
    void *volatile address = dlsym(handle, name);
    return address;
}

static void told(const char *what)
{
    const char *error = dlerror();
    printf(" %s%s%s", what, error ? " failed" : "", dlerror() ? " twice" : "");
}

static void open_one(int at)
{
    static const int modes[] = {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL, RTLD_NOW | RTLD_LOCAL,
                                RTLD_NOW | RTLD_NOLOAD};
    char path[32];
    int letter = "abcdef"[below(LIBRARIES)], mode = below(60) ? modes[below(5)] : RTLD_NOW | RTLD_NODELETE;
    snprintf(path, sizeof path, "./lib%c.so", letter);
    printf("%d: open %c %s", at, letter, mode & RTLD_NOLOAD ? "noload" : mode & RTLD_NODELETE ? "keep" : "");
    void *volatile handle = dlopen(path, mode);
    handles[at] = handle;
    printf(" -> %s", handles[at] ? "ok" : "none");
    for (int i = 0; i < HANDLES; i++)
        if (i != at && handles[i] && handles[i] == handles[at])
            printf(" same as %d", i);
    dlerror();
}

static void close_one(int at)
{
    printf("%d: close", at);
    int status = dlclose(handles[at]);
    handles[at] = NULL;
    printf(" -> %d", !!status);
    told("close");
}

static void call(int at)
{
    char name[16];
    snprintf(name, sizeof name, "%c_%s", "abcdef"[below(LIBRARIES)], below(2) ? "count" : "sum");
    printf("%d: %s", at, name);
    int (*function)(void) = (int (*)(void))find(handles[at], name);
    printf(" -> %d", function ? function() : -1);
    told("find");
}

static void ask_who(int at)
{
    printf("%d: who", at);
    const char *(*function)(void) = (const char *(*)(void))find(handles[at], "who");
    printf(" -> %s", function ? function() : "nobody");
}

/* At the end only: what glibc finds in this way stays open. */
static void ask_everybody(void)
{
    char name[] = "?_sum";
    const char *(*first)(void) = (const char *(*)(void))find(RTLD_DEFAULT, "who");
    printf("global: %s", first ? first() : "nobody");
    for (int i = 0; i < LIBRARIES; i++) {
        name[0] = "abcdef"[i];
        printf(" %s %s", name, find(RTLD_DEFAULT, name) ? "yes" : "no");
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    for (int step = 0; step < 200; step++) {
        int at = (int)below(HANDLES);
        if (!handles[at])
            open_one(at);
        else if (!below(3))
            close_one(at);
        else if (below(4))
            call(at);
        else
            ask_who(at);
        printf("\n");
    }
    ask_everybody();
    void *volatile itself = dlopen(NULL, RTLD_NOW);
    printf("main %s", find(itself, "main") == (void *)main ? "is found" : "is another");
    told("dlsym");
    dlclose((void *)&seed);
    told("close of no handle");
    printf(" %s\n", find(itself, "no_such_function") ? "found" : "not found");
    fflush(stdout);
    _exit(0);
}
