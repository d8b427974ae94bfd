/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* thread_exits OBJECT...: links objects with thread_local C++ objects (tests/image/source/thread_exits.cpp). Their
 * destructors run when threads end, before and after the library is removed, in whatever kind of program this is. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"
#include "entered_threads.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if (call)                                                                                                      \
            printf("%s\n", err.text), exit(1);                                                                         \
    } while (0)

static struct tn_error err;

static void report(struct tn_session *session, const char *what)
{
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(session, &stats);
    printf("%s:%s, %d\n", what, heard, (int)stats.lingering_objects);
    heard[0] = 0;
}

int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_library *library;
    void *address;
    char one[] = "one", two[] = "two";
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    TRY(tn_session_create(NULL, &session, &err));
    TRY(tn_library_create(session, "plugin", &library, &err));
    TRY(tn_define(library, "note", (void *)note, &err));
    for (int i = 1; i < argc; i++)
        TRY(tn_add_file(library, argv[i], &err));
    TRY(tn_link(library, &err));
    TRY(tn_run_initializers(library, 0, NULL, NULL, &err));
    TRY(tn_lookup(library, "enter_thread", &address, &err));
    memcpy(&enter, &address, sizeof enter);
    finish(start(one));
    report(session, "a thread ended");
    enter("main");
    pthread_t thread = start(two);
    TRY(tn_library_remove(library, &err));
    report(session, "removed");
    finish(thread);
    report(session, "another ended");
    tn_session_destroy(session);
    return 0;
}
