/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* callbacks MODE [OBJECT]: loads an object that registers functions with the C library (callbacks_plugin.c), and does
 * what calls them. Without an object, it is linked with it as an ordinary program. MODE, where `removed-` in front of
 * it means that the library is removed before: exit, return, quick, fork, child (which exits). */

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "callbacks.h"

/* What the child of a fork says is marked, because it says it beside its parent. */
static pid_t first;

void note(const char *text)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%s%s\n", first && getpid() != first ? "> " : "", text);
    if (write(1, line, (size_t)length) != length)
        _exit(1);
}

void note_number(int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    note(text);
}

void flush(void)
{
    note("flush");
}

#ifdef NATIVE
static int load(const char *path, int exits)
{
    (void)path;
    return enter(exits);
}

static void remove_all(void)
{
}
#else
#include "tenon.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if (call)                                                                                                      \
            fprintf(stderr, "%s\n", err.text), _exit(1);                                                               \
    } while (0)

static struct tn_session *session;
static struct tn_library *library;
static struct tn_error err;

#ifdef __GLIBC__
TN_EXPORT(on_exit); /* static programs only contain it if they name it */
#endif

static void finalize(void)
{
    tn_run_finalizers(library);
}

static int load(const char *path, int exits)
{
    void *address;
    int (*start)(int);
    const struct tn_definition definitions[] = {{"note", (void *)note, 0},
                                                {"note_number", (void *)note_number, 0},
                                                {"flush", (void *)flush, 0},
                                                {"exit", (void *)exit, 0},
                                                {"quick_exit", (void *)quick_exit, 0}};
    atexit(finalize);
    TRY(tn_session_create(NULL, &session, &err));
    TRY(tn_library_create(session, "plugin", &library, &err));
    TRY(tn_define_all(library, definitions, sizeof definitions / sizeof definitions[0], NULL, &err));
    TRY(tn_add_file(library, path, &err));
    TRY(tn_lookup(library, "enter", &address, &err));
    TRY(tn_run_initializers(library, 0, NULL, NULL, &err));
    memcpy(&start, &address, sizeof start);
    return start(exits);
}

static void remove_all(void)
{
    TRY(tn_library_remove(library, &err));
    note("removed");
    tn_session_destroy(session);
    library = NULL;
}
#endif

static int fork_and(const char *mode)
{
    int status;
    pid_t child = fork();
    note(child ? "in the parent" : "in the child");
    if (!child && !strcmp(mode, "child"))
        exit(3);
    if (!child)
        _exit(0);
    waitpid(child, &status, 0);
    note_number(WEXITSTATUS(status));
    _exit(0);
}

int main(int argc, char **argv)
{
    static const char removed[] = "removed-";
    const char *mode = argc > 1 ? argv[1] : "";
    first = getpid();
    bool is_removed = !strncmp(mode, removed, sizeof removed - 1);
    if (load(argc > 2 ? argv[2] : NULL, !is_removed))
        note("failed");
    if (is_removed) {
        mode += sizeof removed - 1;
        remove_all();
    }
    if (!strcmp(mode, "exit"))
        exit(4);
    if (!strcmp(mode, "quick"))
        quick_exit(4);
    if (!strcmp(mode, "fork") || !strcmp(mode, "child"))
        fork_and(mode);
    return 5;
}
