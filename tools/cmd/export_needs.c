/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What shared libraries need of glibc: undefined symbols with one of its versions. What has no version, or another one,
 * is another library's. */

#include <fnmatch.h>
#include <string.h>

#include <gelf.h>

#include "base/base.h"
#include "cmd/export_needs.h"
#include "lib/elf_file.h"

enum { VERSIONS = 0x8000, HIDDEN = 0x8000 };

struct needs {
    Elf *elf;
    bool is_libc[VERSIONS]; /* by the number of a version */
};

/* Sessions answer these themselves (doc/SESSION.md). */
static bool is_of_session(const char *name)
{
    static const char *const patterns[] = {
        "dl*", "_dl_*", "__tls_get_addr", "__cxa_atexit", "__cxa_thread_atexit_impl", "__register_atfork"};
    for (size_t i = 0; i < TN_COUNT(patterns); i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

/* A record's successor, or -1 at the end; offsets of records must grow. */
static int64_t step(int64_t at, uint32_t next, size_t size)
{
    return next && at + next < (int64_t)size ? at + next : -1;
}

static void note_versions(struct needs *needs, Elf_Scn *section)
{
    GElf_Shdr header;
    GElf_Verneed need;
    GElf_Vernaux version;
    Elf_Data *data = gelf_getshdr(section, &header) ? elf_getdata(section, NULL) : NULL;
    if (!data)
        return;
    for (int64_t at = 0; at >= 0 && gelf_getverneed(data, (int)at, &need); at = step(at, need.vn_next, data->d_size))
        for (int64_t inner = step(at, need.vn_aux, data->d_size);
             inner >= 0 && gelf_getvernaux(data, (int)inner, &version);
             inner = step(inner, version.vna_next, data->d_size)) {
            const char *name = elf_strptr(needs->elf, header.sh_link, version.vna_name);
            if (name && version.vna_other < VERSIONS)
                needs->is_libc[version.vna_other] = strncmp(name, "GLIBC_", 6) == 0 && strcmp(name, "GLIBC_PRIVATE");
        }
}

static void visit_symbols(const struct needs *needs, Elf_Scn *symbols, Elf_Scn *versions,
                          void (*visit)(void *context, const char *name), void *context)
{
    GElf_Shdr header;
    GElf_Sym symbol;
    GElf_Versym version;
    Elf_Data *data = gelf_getshdr(symbols, &header) ? elf_getdata(symbols, NULL) : NULL;
    Elf_Data *numbers = elf_getdata(versions, NULL);
    for (int i = 1; data && numbers && gelf_getsym(data, i, &symbol) && gelf_getversym(numbers, i, &version); i++) {
        const char *name = elf_strptr(needs->elf, header.sh_link, symbol.st_name);
        if (name && symbol.st_shndx == SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) != STT_TLS &&
            needs->is_libc[version & ~HIDDEN & 0xffff] && !is_of_session(name))
            visit(context, name);
    }
}

bool tool_each_need(const char *path, void (*visit)(void *context, const char *name), void *context)
{
    struct file file;
    struct needs needs = {.elf = NULL};
    if (!tool_read(path, &file))
        return false;
    if (!tool_is_linked(&file)) {
        tool_fail(STATUS_FAILURE, "'%s' is no shared library", path);
        tool_release(&file);
        return false;
    }
    needs.elf = tool_elf_open(&file);
    if (needs.elf) {
        Elf_Scn *symbols = tool_elf_next(needs.elf, NULL, SHT_DYNSYM);
        Elf_Scn *versions = tool_elf_next(needs.elf, NULL, SHT_GNU_versym);
        Elf_Scn *needed = tool_elf_next(needs.elf, NULL, SHT_GNU_verneed);
        if (needed)
            note_versions(&needs, needed);
        if (symbols && versions)
            visit_symbols(&needs, symbols, versions, visit, context);
        elf_end(needs.elf);
    }
    tool_release(&file);
    return needs.elf;
}
