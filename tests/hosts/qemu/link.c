/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* link OBJECT: links an object into this process and prints how many relocations and symbols it has. Every undefined
 * symbol is found, at a function of this program; nothing of the object runs. What instructions.sh counts lies between
 * the calls of tn_add_object and tn_session_stats. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon.h"

static void stand_in(void)
{
}

static void *answer_anything(void *unused, const char *name)
{
    (void)unused, (void)name;
    return (void *)stand_in;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t room = 16 << 20;
    void *bytes = malloc(room);
    if (!file || !bytes)
        return 1;
    struct tn_input input = {
        .size = sizeof input, .name = argv[1], .bytes = bytes, .length = fread(bytes, 1, room, file)};
    struct tn_stats stats = {.size = sizeof stats};
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "counted", &library, &err) ||
        tn_add_resolver(library, answer_anything, NULL, &err) || tn_add_object(library, &input, &err) ||
        tn_link(library, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tn_session_stats(session, &stats);
    printf("%" PRIu64 " %" PRIu64 "\n", stats.relocations, stats.symbols);
    tn_session_destroy(session);
    free(bytes);
    fclose(file);
    return 0;
}
