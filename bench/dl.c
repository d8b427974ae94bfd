/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What dlopen, dlsym and dlclose of a library that is open cost loaded code, in turns with those of the system's
 * dynamic linker for the same library.
 *
 *     dl OBJECT LIBRARY     of bench/dl_library.c: the object, and a shared library made of it
 *     dl LIBRARY            what opening this shared library takes, and finding its function f0 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tenon.h"

enum { ROUNDS = 41, CALLS = 20000 };

/* The functions of bench/dl_library.c. */
struct calls {
    void (*open_and_close)(const char *path, int count);
    void (*find)(const char *path, const char *name, int count);
};

static struct tn_error error;

static void check(int code)
{
    if (code) {
        fprintf(stderr, "dl: %s\n", error.text);
        exit(1);
    }
}

static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *err)
{
    (void)context, (void)from;
    int code = tn_add_resolver(*library, tn_resolve_dlsym, NULL, err);
    return code ? code : tn_add_file(*library, path, err);
}

static void *in_session(struct tn_library *program, const char *name)
{
    void *address;
    check(tn_lookup(program, name, &address, &error));
    return address;
}

static void *in_system(void *handle, const char *name)
{
    void *address = handle ? dlsym(handle, name) : NULL;
    if (!address) {
        fprintf(stderr, "dl: %s\n", dlerror());
        exit(1);
    }
    return address;
}

struct times {
    double open[ROUNDS], find[ROUNDS];
};

static void measure(const struct calls *calls, const char *path, struct times *times, int round)
{
    uint64_t start = now_ns();
    calls->open_and_close(path, CALLS);
    times->open[round] = (double)(now_ns() - start) / CALLS;
    start = now_ns();
    calls->find(path, "find", CALLS);
    times->find[round] = (double)(now_ns() - start) / CALLS;
}

static void print(const char *who, struct times *times)
{
    printf("%s open_close_ns %.1f\n", who, median(times->open, ROUNDS));
    printf("%s find_ns %.1f\n", who, median(times->find, ROUNDS));
}

/* ---- opening ---- */

static double open_by_us(struct tn_session *session, const char *path)
{
    struct tn_library *library;
    void *address;
    uint64_t start = now_ns();
    check(tn_library_create(session, path, &library, &error));
    check(tn_add_resolver(library, tn_resolve_dlsym, NULL, &error));
    check(tn_add_file(library, path, &error));
    check(tn_library_open(library, 0, &error));
    check(tn_lookup(library, "f0", &address, &error));
    uint64_t end = now_ns();
    check(tn_library_close(library, &error));
    return (double)(end - start);
}

static double open_by_system(const char *path)
{
    uint64_t start = now_ns();
    void *handle = dlopen(path, RTLD_NOW);
    in_system(handle, "f0");
    uint64_t end = now_ns();
    dlclose(handle);
    return (double)(end - start);
}

static int measure_opening(const char *path)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_shared_x86_64, &tn_format_elf_x86_64, NULL};
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct tn_session *session;
    double ours[ROUNDS], theirs[ROUNDS];
    check(tn_session_create(&options, &session, &error));
    for (int round = 0; round < ROUNDS; round++) {
        ours[round] = open_by_us(session, path);
        theirs[round] = open_by_system(path);
    }
    printf("tenon open_ns %.0f\n", median(ours, ROUNDS));
    printf("system open_ns %.0f\n", median(theirs, ROUNDS));
    tn_session_destroy(session);
    return 0;
}

/* ---- the whole ---- */

int main(int argc, char **argv)
{
    if (argc == 2)
        return measure_opening(argv[1]);
    struct tn_session *session;
    struct tn_library *program;
    static struct times ours, theirs;
    if (argc != 3)
        return 1;
    check(tn_session_create(NULL, &session, &error));
    check(tn_library_create(session, "program", &program, &error));
    check(tn_add_resolver(program, tn_resolve_dlsym, NULL, &error));
    struct tn_dl_options options = {.size = sizeof options, .load = load, .program = program};
    check(tn_dl_offer(session, &options, &error));
    check(tn_add_file(program, argv[1], &error));
    struct calls loaded = {(void (*)(const char *, int))in_session(program, "open_and_close"),
                           (void (*)(const char *, const char *, int))in_session(program, "find")};
    void *handle = dlopen(argv[2], RTLD_NOW);
    struct calls linked = {(void (*)(const char *, int))in_system(handle, "open_and_close"),
                           (void (*)(const char *, const char *, int))in_system(handle, "find")};
    for (int round = 0; round < ROUNDS; round++) {
        measure(&loaded, argv[1], &ours, round);
        measure(&linked, argv[2], &theirs, round);
    }
    print("tenon", &ours);
    print("system", &theirs);
    tn_session_destroy(session);
    return 0;
}
