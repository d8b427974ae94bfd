/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Runs program.o with dlopen from objects: ./libX.so is X.o, and needs the libraries that X.needs lists. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon.h>

/* The order is that of the file X.needs. */
static int search(struct tn_library *library, int letter, struct tn_error *err)
{
    char path[32], needs[8] = "";
    struct tn_search order[4];
    size_t count = 0;
    int code = 0;
    snprintf(path, sizeof path, "%c.needs", letter);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(needs, sizeof needs, file))
        needs[0] = 0;
    if (file)
        fclose(file);
    for (const char *at = needs; *at >= 'a' && *at <= 'z' && !code; at++) {
        snprintf(path, sizeof path, "./lib%c.so", *at);
        order[count].flags = 0;
        code = tn_dl_library(library, path, &order[count++].library, err);
    }
    return code ? code : tn_library_search(library, order, count, err);
}

static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *err)
{
    int letter = path[5]; /* ./libX.so */
    char object[16];
    (void)context, (void)from;
    snprintf(object, sizeof object, "%c.o", letter);
    int code = tn_add_resolver(*library, tn_resolve_dlsym, NULL, err);
    if (!code)
        code = tn_add_file(*library, object, err);
    return code ? code : search(*library, letter, err);
}

int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_session *session;
    struct tn_library *program;
    void *start;
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "program", &program, &err) ||
        tn_add_resolver(program, tn_resolve_dlsym, NULL, &err) || tn_add_file(program, "program.o", &err) ||
        tn_dl_offer(session,
                    &(struct tn_dl_options){.size = sizeof(struct tn_dl_options), .load = load, .program = program},
                    &err) ||
        tn_lookup(program, "main", &start, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return ((int (*)(int, char **))start)(argc, argv);
}
