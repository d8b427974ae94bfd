/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a call of a loaded function that uses a thread-local variable costs, by the model that it was compiled in, in a
 * thread that has the variable's initial value.
 *
 *     tls FILE...     objects, and shared libraries (.so), which the system's dynamic linker opens: calls them in
 *                     turns, and prints ns for each, without the directory and the suffix, with `system_` before the
 *                     latter */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tenon.h"

enum { ROUNDS = 41, CALLS = 1000000, MOST = 16 };

static struct tn_error error;

static void check(int code)
{
    if (code) {
        fprintf(stderr, "tls: %s\n", error.text);
        exit(1);
    }
}

/* An open library may have more thread-local data than the reserve. */
static void *open_object(struct tn_session *session, const char *path)
{
    struct tn_library *library;
    void *address;
    check(tn_library_create(session, path, &library, &error));
    check(tn_library_open(library, 0, &error));
    check(tn_add_file(library, path, &error));
    check(tn_lookup(library, "next", &address, &error));
    return address;
}

static void *open_library(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW), *address = handle ? dlsym(handle, "next") : NULL;
    if (!address) {
        fprintf(stderr, "tls: %s\n", dlerror());
        exit(1);
    }
    return address;
}

static double measure(const void *address)
{
    long (*next)(void);
    memcpy(&next, &address, sizeof next);
    uint64_t start = now_ns();
    for (int i = 0; i < CALLS; i++)
        next();
    return (double)(now_ns() - start) / CALLS;
}

static int is_library(const char *path)
{
    const char *suffix = strrchr(path, '.');
    return suffix && !strcmp(suffix, ".so");
}

int main(int argc, char **argv)
{
    static double ns[MOST][ROUNDS];
    void *functions[MOST];
    struct tn_session *session;
    int count = argc - 1 < MOST ? argc - 1 : MOST;
    check(tn_session_create(NULL, &session, &error));
    for (int i = 0; i < count; i++)
        functions[i] = is_library(argv[i + 1]) ? open_library(argv[i + 1]) : open_object(session, argv[i + 1]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++)
            ns[i][round] = measure(functions[i]);
    for (int i = 0; i < count; i++) {
        const char *path = argv[i + 1], *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        printf("%s%.*s ns %.2f\n", is_library(path) ? "system_" : "", (int)strcspn(name, "."), name,
               median(ns[i], ROUNDS));
    }
    tn_session_destroy(session);
    return 0;
}
