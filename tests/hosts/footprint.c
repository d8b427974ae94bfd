/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The smallest product: loads one object, calls it, and says how much memory that took at most, in kB. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

static int three = 3;
TN_EXPORT(three);

static long peak(void)
{
    static const char name[] = "VmHWM:";
    char line[128];
    long kilobytes = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && kilobytes < 0 && fgets(line, sizeof line, status))
        if (!strncmp(line, name, sizeof name - 1))
            kilobytes = atol(line + sizeof name - 1); /* sscanf would be 11 kB of the program that is measured */
    return kilobytes;
}

int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_library *library;
    void *address;
    struct tn_error err;
    if (argc != 2 || tn_session_create(NULL, &session, &err) || tn_library_create(session, "main", &library, &err) ||
        tn_add_resolver(library, tn_resolve_exports, NULL, &err) || tn_add_file(library, argv[1], &err) ||
        tn_lookup(library, "nine", &address, &err)) {
        fprintf(stderr, "footprint: %s\n", argc == 2 ? err.text : "one object");
        return 1;
    }
    if (((int (*)(void))address)() != 9)
        return 2;
    printf("%ld\n", peak());
    return 0;
}
