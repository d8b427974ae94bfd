/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* run FILE... -- NAME ARGUMENT...: links objects and archives and runs their main, as the system runs a program called
 * NAME. Compiled twice: RESOLVER is tn_resolve_dlsym, or, in a static program, tn_resolve_exports.
 *
 * Pages are written first and become executable then (TN_STRATEGY_MPROTECT): qemu 7.2 goes on running what was
 * executable in a page before if other code is written there through another mapping. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

extern char **environ;

TN_TLS_RESERVE(64 << 10);

TN_EXPORT(printf);
TN_EXPORT(puts);
TN_EXPORT(pthread_create);
TN_EXPORT(pthread_join);

static struct tn_library *library;

/* ELF, and Mach-O and COFF where there are some for the machine. */
static const struct tn_format *const formats[] = {
#if defined __aarch64__
    &tn_format_elf_aarch64,
    &tn_format_macho_aarch64,
    &tn_format_coff_aarch64,
#elif defined __riscv
    &tn_format_elf_riscv64,
#else
    &tn_format_elf_x86_64,
#endif
    NULL,
};

static void finish(void)
{
    tn_run_finalizers(library);
}

static void check(int code, const struct tn_error *err)
{
    if (!code)
        return;
    fprintf(stderr, "run: %s: %s\n", tn_error_name(code), err->text);
    exit(99);
}

int main(int argc, char **argv)
{
    const struct tn_session_options options = {
        .size = sizeof options, .formats = formats, .strategy = TN_STRATEGY_MPROTECT};
    struct tn_session *session;
    struct tn_error err;
    int (*start)(int, char **, char **);
    void *entry;
    check(tn_session_create(&options, &session, &err), &err);
    check(tn_library_create(session, "program", &library, &err), &err);
    check(tn_add_resolver(library, RESOLVER, NULL, &err), &err);
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        check(tn_add_file(library, argv[at], &err), &err);
    if (argc - ++at < 1) {
        fprintf(stderr, "usage: run FILE... -- NAME ARGUMENT...\n");
        return 2;
    }
    check(tn_lookup(library, "main", &entry, &err), &err);
    atexit(finish);
    check(tn_run_initializers(library, argc - at, argv + at, environ, &err), &err);
    memcpy(&start, &entry, sizeof start);
    errno = 0;
    return start(argc - at, argv + at, environ);
}
