/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* host OBJECT...: links the objects, calls outer(3) in them, and again after the last object was replaced by itself. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

__attribute__((noinline)) int host_callback(int x)
{
    return 2 * x;
}
TN_EXPORT(host_callback);
TN_EXPORT(abort);

/* Where the debugger stops while nothing is loaded. */
__attribute__((noinline)) void nothing_loaded(void)
{
    __asm__ volatile("");
}

static int load_and_call(struct tn_library *library, struct tn_tracker *tracker, char **files, struct tn_error *err)
{
    for (; *files; files++) {
        static char bytes[1 << 20];
        FILE *file = fopen(*files, "rbe");
        if (!file)
            return tn_add_file(library, *files, err);
        struct tn_input input = {.size = sizeof input, .name = *files, .bytes = bytes, .owner = tracker};
        input.length = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        if (tn_add_object(library, &input, err) || tn_link(library, err)) /* each its own entry */
            return -1;
    }
    void *address;
    int (*outer)(int);
    if (tn_lookup(library, "outer", &address, err))
        return -1;
    memcpy(&outer, &address, sizeof outer);
    printf("outer %d\n", outer(3));
    return tn_tracker_remove(tracker, err);
}

int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_session *session;
    struct tn_library *library;
    struct tn_tracker *tracker;
    (void)argc;
    int failed = tn_session_create(NULL, &session, &err) || tn_observe_gdb(session, &err) ||
                 tn_library_create(session, "loaded", &library, &err) ||
                 tn_add_resolver(library, tn_resolve_exports, NULL, &err) || tn_tracker_create(library, &tracker, &err);
    for (int i = 0; !failed && i < 2; i++) {
        failed = load_and_call(library, tracker, argv + 1, &err);
        nothing_loaded();
    }
    if (failed)
        fprintf(stderr, "%s\n", err.text);
    return failed != 0;
}
