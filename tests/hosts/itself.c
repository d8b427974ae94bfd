/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* itself OBJECT: loads code that asks where it lies (tests/link/data/itself.c). */

#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "tenon.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if (call)                                                                                                      \
            return printf("%s\n", err.text), 1;                                                                        \
    } while (0)

static int contains(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            (ElfW(Addr))address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const checks[] = {"check_dladdr", "check_iterate"};
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    int (*check)(const void *of_host);
    void *address;
    TRY(tn_session_create(NULL, &session, &err));
    TRY(tn_library_create(session, "itself", &library, &err));
    TRY(tn_define(library, "strcmp", (void *)strcmp, &err));
    TRY(tn_define(library, "memset", (void *)memset, &err));
    TRY(tn_add_file(library, argc > 1 ? argv[1] : "", &err));
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        TRY(tn_lookup(library, checks[i], &address, &err));
        memcpy(&check, &address, sizeof check);
        int line = check((void *)main);
        if (line)
            return printf("line %d\n", line), 1;
    }
    if (dl_iterate_phdr(contains, address)) /* what unwinders of the host use */
        return puts("the host sees loaded code"), 1;
    tn_session_destroy(session);
    return 0;
}
