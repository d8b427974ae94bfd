/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* With TABLE, a static program: names of the host are those of this table. SEARCHED: folders of libraries that
 * others need, by the names of their files. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <unistd.h>

#include "opener.h"

#ifdef TABLE
extern const struct tn_symbol_table TABLE;
#define RESOLVE tn_resolve_table
#define CONTEXT ((void *)&TABLE)
#else
#define RESOLVE tn_resolve_dlsym
#define CONTEXT NULL
#endif
#ifndef SEARCHED
#define SEARCHED ".", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"
#endif

#ifndef RESERVE
#define RESERVE 16384
#endif
TN_TLS_RESERVE(RESERVE);

static struct tn_session *session;
static struct tn_error error;

static void check(int code)
{
    if (code) {
        printf("error: %s\n", error.text);
        exit(1);
    }
}

/* C++ libraries use the host's runtime if it has one. */
static int is_of_host(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    static const char *const names[] = {"libstdc++.so.6", "libgcc_s.so.1", "libc++.so.1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return RESOLVE(CONTEXT, "__cxa_throw") != NULL;
    return 0;
}

static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *err)
{
    static const char *const folders[] = {SEARCHED};
    char file[512];
    (void)context, (void)from;
    int code = tn_add_resolver(*library, RESOLVE, CONTEXT, err);
    if (code || is_of_host(path))
        return code;
    for (size_t i = 0; !strchr(path, '/') && i < sizeof folders / sizeof *folders; i++) {
        snprintf(file, sizeof file, "%s/%s", folders[i], path);
        if (!access(file, R_OK))
            return tn_add_file(*library, file, err);
    }
    return tn_add_file(*library, path, err);
}

static void open_session(void)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_shared_x86_64, &tn_format_elf_x86_64, NULL};
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    const struct tn_dl_options dl = {.size = sizeof dl, .load = load};
    if (session)
        return;
    check(tn_session_create(&options, &session, &error));
    check(tn_dl_offer(session, &dl, &error));
}

static int open_one(const char *path, struct tn_library **library)
{
    open_session();
    check(tn_library_create(session, path, library, &error));
    check(tn_add_resolver(*library, RESOLVE, CONTEXT, &error));
    int code = tn_add_file(*library, path, &error);
    return code ? code : tn_library_open(*library, 0, &error);
}

void *open_library(const char *path)
{
    struct tn_library *library;
    check(open_one(path, &library));
    return library;
}

void *find_in(void *library, const char *name)
{
    void *address;
    check(tn_lookup(library, name, &address, &error));
    return address;
}

void close_library(void *library)
{
    check(tn_library_close(library, &error));
    tn_library_destroy(library, &error); /* unless it stays (DF_1_NODELETE) */
}

int try_library(const char *path)
{
    struct tn_library *library;
    int code = open_one(path, &library);
    printf("%s\n", code ? error.text : "opened");
    if (code) {
        check(tn_library_remove(library, &error));
        check(tn_library_destroy(library, &error));
    } else
        close_library(library);
    return !code;
}
