/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The program's own .symtab, read from its file with libelf at the first question. It also knows static functions; a
 * name that occurs twice is answered by its global definition, or not at all if there is none. An indirect function
 * (gABI, STT_GNU_IFUNC), such as memcpy of a static program, is answered by what its resolver chooses. */

#include <elf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/os.h"

struct host_symbol {
    const char *name;
    uint64_t address;
    bool global, indirect;
};

static struct {
    pthread_once_t once;
    struct tn__os_file file; /* stays mapped: the names are in it */
    struct host_symbol *symbols;
    size_t count;
} host = {.once = PTHREAD_ONCE_INIT};

static int by_name(const void *a, const void *b)
{
    const struct host_symbol *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (int)y->global - (int)x->global;
}

/* Distance between where the program was linked for and where it runs. */
static uint64_t load_bias(Elf *elf)
{
    uint64_t start, end;
    tn__os_program_range(&start, &end);
    size_t count;
    const Elf64_Phdr *headers = elf64_getphdr(elf);
    if (headers && !elf_getphdrnum(elf, &count))
        for (size_t i = 0; i < count; i++)
            if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
                return start - headers[i].p_vaddr;
    return 0;
}

static void collect_symbols(const Elf64_Sym *symbols, size_t count, const char *names, size_t names_size, uint64_t bias)
{
    host.symbols = tn__alloc_zeroed(NULL, count ? count : 1, sizeof *host.symbols);
    for (size_t i = 1; host.symbols && i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        bool defined = symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE;
        if (!defined || symbol->st_name >= names_size ||
            (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC))
            continue;
        host.symbols[host.count++] = (struct host_symbol){
            .name = names + symbol->st_name,
            .address = symbol->st_value + bias,
            .global = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL,
            .indirect = type == STT_GNU_IFUNC,
        };
    }
    if (host.count)
        qsort(host.symbols, host.count, sizeof *host.symbols, by_name);
}

static bool read_section(Elf *elf, size_t index, uint64_t *offset, uint64_t *size)
{
    const Elf64_Shdr *header = elf64_getshdr(elf_getscn(elf, index));
    if (!header || !tn__inside(header->sh_offset, header->sh_size, host.file.size))
        return false;
    *offset = header->sh_offset;
    *size = header->sh_size;
    return true;
}

static void read_symtab(Elf *elf)
{
    size_t sections;
    if (elf_getshdrnum(elf, &sections))
        return;
    const char *bytes = host.file.bytes;
    for (size_t i = 1; i < sections; i++) {
        const Elf64_Shdr *header = elf64_getshdr(elf_getscn(elf, i));
        uint64_t symbols, symbols_size, names, names_size;
        if (!header || header->sh_type != SHT_SYMTAB)
            continue;
        if (read_section(elf, i, &symbols, &symbols_size) && symbols % 8 == 0 &&
            read_section(elf, header->sh_link, &names, &names_size) && names_size && !bytes[names + names_size - 1])
            collect_symbols((const Elf64_Sym *)(const void *)(bytes + symbols), symbols_size / sizeof(Elf64_Sym),
                            bytes + names, names_size, load_bias(elf));
        return;
    }
}

static void read_program(void)
{
    if (tn__os_map_file("/proc/self/exe", &host.file))
        return;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)host.file.bytes, host.file.size);
    const char *ident = elf ? elf_getident(elf, NULL) : NULL;
    if (ident && ident[EI_CLASS] == ELFCLASS64)
        read_symtab(elf);
    elf_end(elf);
}

void *tn_resolve_symtab(void *unused, const char *name)
{
    (void)unused;
    pthread_once(&host.once, read_program);
    size_t first = TN_BISECT(0, host.count, i, strcmp(host.symbols[i].name, name) < 0);
    if (first == host.count || strcmp(host.symbols[first].name, name))
        return NULL;
    bool twice = first + 1 < host.count && !strcmp(host.symbols[first + 1].name, name);
    if (twice && !host.symbols[first].global)
        return NULL;
    uint64_t address = host.symbols[first].address;
    return host.symbols[first].indirect ? ((void *(*)(void))(uintptr_t)address)() : (void *)(uintptr_t)address;
}
