/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* host map|jitdump FOLDER OBJECT: spends its time in the loaded function busy(), and some of it in the stub of the lazy
 * function step. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

static void no_function(void)
{
    abort();
}

int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_session *session;
    struct tn_library *library;
    void *address[2];
    unsigned (*busy)(unsigned), (*walk)(unsigned);
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = no_function};
    const struct tn_lazy_symbol lazy = {.name = "step", .target = "next"};
    if (argc != 4)
        return 2;
    enum tn_perf kind = strcmp(argv[1], "map") ? TN_PERF_JITDUMP : TN_PERF_MAP;
    if (tn_session_create(NULL, &session, &err) || tn_observe_perf(session, kind, argv[2], &err) ||
        tn_library_create(session, "loaded", &library, &err) || tn_add_file(library, argv[3], &err) ||
        tn_define_lazy(library, &lazy, 1, library, &options, &err) || tn_lookup(library, "busy", &address[0], &err) ||
        tn_lookup(library, "walk", &address[1], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    memcpy(&busy, &address[0], sizeof busy);
    memcpy(&walk, &address[1], sizeof walk);
    printf("%u\n", busy(200u << 20) + walk(50u << 20));
    tn_session_destroy(session);
    return 0;
}
