/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a call of a loaded function that uses a thread-local variable costs, by the model that it was compiled in, in a
 * thread that has the variable's initial value.
 *
 *     tls OBJECT...     prints ns for each, without the directory and the suffix */

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

static void measure(const char *path)
{
    struct tn_session *session;
    struct tn_library *library;
    void *address;
    long (*next)(void);
    double ns[ROUNDS];
    check(tn_session_create(NULL, &session, &error));
    check(tn_library_create(session, "bench", &library, &error));
    check(tn_add_file(library, path, &error));
    check(tn_lookup(library, "next", &address, &error));
    memcpy(&next, &address, sizeof next);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = now_ns();
        for (int i = 0; i < CALLS; i++)
            next();
        ns[round] = (double)(now_ns() - start) / CALLS;
    }
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    printf("%.*s ns %.2f\n", (int)strcspn(name, "."), name, median(ns, ROUNDS));
    tn_session_destroy(session);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    return 0;
}
