/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A fully static program that opens shared libraries of the system, which needs no dynamic linker:
 *     dl LIBRARY FUNCTION    opens LIBRARY, with what it needs, and prints what `const char *FUNCTION(void)` returns
 *
 * Its table of what the libraries need of glibc is made by tenon export-table --for (see the Makefile). */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tenon.h>

extern const struct tn_symbol_table host;

TN_TLS_RESERVE(16384); /* thread-local data of the libraries */

/* Where the libraries are that others need. */
static const char *const folders[] = {".", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                                      "/usr/lib64"};

/* Called with the names that libraries need. */
static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *err)
{
    char file[4096];
    (void)context, (void)from;
    int code = tn_add_resolver(*library, tn_resolve_table, (void *)&host, err);
    for (size_t i = 0; !code && !strchr(path, '/') && i < sizeof folders / sizeof *folders; i++) {
        snprintf(file, sizeof file, "%s/%s", folders[i], path);
        if (!access(file, R_OK))
            return tn_add_file(*library, file, err);
    }
    return code ? code : tn_add_file(*library, path, err);
}

static int call(struct tn_session *session, const char *path, const char *function, struct tn_error *err)
{
    struct tn_library *library;
    void *address;
    int code = tn_library_create(session, path, &library, err);
    if (!code)
        code = tn_add_resolver(library, tn_resolve_table, (void *)&host, err);
    if (!code)
        code = tn_add_file(library, path, err);
    if (!code)
        code = tn_library_open(library, 0, err);
    if (code)
        return code;
    code = tn_lookup(library, function, &address, err);
    if (!code)
        printf("%s\n", ((const char *(*)(void))address)());
    return tn_library_close(library, code ? NULL : err);
}

int main(int argc, char **argv)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_shared_x86_64, &tn_format_elf_x86_64, NULL};
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    const struct tn_dl_options dl = {.size = sizeof dl, .load = load};
    struct tn_session *session;
    struct tn_error err = {0};
    if (argc != 3)
        return fprintf(stderr, "usage: dl LIBRARY FUNCTION\n"), 2;
    if (tn_session_create(&options, &session, &err) || tn_dl_offer(session, &dl, &err) ||
        call(session, argv[1], argv[2], &err) || err.code)
        return fprintf(stderr, "%s\n", err.text), 1;
    tn_session_destroy(session);
    return 0;
}
