/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a call of a loaded function that uses a thread-local variable costs, by the model that it was compiled in, in a
 * thread that has the variable's initial value.
 *
 *     tls FILE...     objects, and shared libraries (.so), which the system's dynamic linker opens: prints ns for each,
 *                     without the directory and the suffix, with `system_` before the latter */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tenon.h"

enum { ROUNDS = 41, CALLS = 1000000 };

static struct tn_error error;

static void check(int code)
{
    if (code) {
        fprintf(stderr, "tls: %s\n", error.text);
        exit(1);
    }
}

static void measure(const char *who, const char *path, const void *address)
{
    long (*next)(void);
    double ns[ROUNDS];
    memcpy(&next, &address, sizeof next);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = now_ns();
        for (int i = 0; i < CALLS; i++)
            next();
        ns[round] = (double)(now_ns() - start) / CALLS;
    }
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    printf("%s%.*s ns %.2f\n", who, (int)strcspn(name, "."), name, median(ns, ROUNDS));
}

/* An open library may have more thread-local data than the reserve. */
static void measure_object(const char *path)
{
    struct tn_session *session;
    struct tn_library *library;
    void *address;
    check(tn_session_create(NULL, &session, &error));
    check(tn_library_create(session, "bench", &library, &error));
    check(tn_library_open(library, 0, &error));
    check(tn_add_file(library, path, &error));
    check(tn_lookup(library, "next", &address, &error));
    measure("", path, address);
    check(tn_library_close(library, &error));
    tn_session_destroy(session);
}

static void measure_library(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW), *address = handle ? dlsym(handle, "next") : NULL;
    if (!address) {
        fprintf(stderr, "tls: %s\n", dlerror());
        exit(1);
    }
    measure("system_", path, address);
    dlclose(handle);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *suffix = strrchr(argv[i], '.');
        (suffix && !strcmp(suffix, ".so") ? measure_library : measure_object)(argv[i]);
    }
    return 0;
}
