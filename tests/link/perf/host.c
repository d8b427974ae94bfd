/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* host map|jitdump FOLDER OBJECT: spends its time in the loaded function busy(). */

#include <stdio.h>
#include <string.h>

#include "tenon.h"

int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_session *session;
    struct tn_library *library;
    void *address;
    unsigned (*busy)(unsigned);
    if (argc != 4)
        return 2;
    enum tn_perf kind = strcmp(argv[1], "map") ? TN_PERF_JITDUMP : TN_PERF_MAP;
    if (tn_session_create(NULL, &session, &err) || tn_observe_perf(session, kind, argv[2], &err) ||
        tn_library_create(session, "loaded", &library, &err) || tn_add_file(library, argv[3], &err) ||
        tn_lookup(library, "busy", &address, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    memcpy(&busy, &address, sizeof busy);
    printf("%u\n", busy(200u << 20));
    tn_session_destroy(session);
    return 0;
}
