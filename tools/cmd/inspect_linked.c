/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon inspect, of what is linked: shared libraries and programs, read by libelf. */

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/elf_file.h"
#include "cmd/inspect.h"
#include "link/model/object.h"

/* ---- sizes of functions ---- */

bool inspect_note_size(struct inspect_sizes *sizes, const char *name, uint64_t size)
{
    if (!tn__grow(NULL, &sizes->items, &sizes->capacity, sizes->count + 1, sizeof *sizes->items))
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    sizes->items[sizes->count++] = (struct inspect_size){name, size};
    sizes->is_sorted = false;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct inspect_size *)a)->name, ((const struct inspect_size *)b)->name);
}

const struct inspect_size *inspect_find_size(struct inspect_sizes *sizes, const char *name)
{
    const struct inspect_size wanted = {.name = name};
    if (!sizes->is_sorted && sizes->count)
        qsort(sizes->items, sizes->count, sizeof *sizes->items, by_name);
    sizes->is_sorted = true;
    return sizes->count ? bsearch(&wanted, sizes->items, sizes->count, sizeof wanted, by_name) : NULL;
}

/* ---- the file ---- */

static const char *kind_of(const Elf64_Shdr *header)
{
    if (!(header->sh_flags & SHF_ALLOC))
        return "-";
    if (header->sh_flags & SHF_TLS)
        return "thread";
    if (header->sh_flags & SHF_EXECINSTR)
        return "code";
    if (!(header->sh_flags & SHF_WRITE))
        return "rodata";
    return header->sh_type == SHT_NOBITS ? "zero" : "data";
}

static void show_sections(struct show *show, Elf *elf)
{
    size_t count = 0, names = 0, number = 1;
    elf_getshdrnum(elf, &count);
    elf_getshdrstrndx(elf, &names);
    show_plain(show, "\nsections: %zu\n  %4s %-8s %10s %10s %6s  %s\n", count ? count - 1 : 0, "no", "kind", "address",
               "size", "align", "name");
    show_list(show, "sections");
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section), number++) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        const char *name = header ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (!header)
            continue;
        show_item(show, NULL);
        show_number(show, "number", 6, number);
        show_plain(show, " ");
        show_text(show, "kind", 8, kind_of(header));
        show_plain(show, " ");
        show_address(show, "address", 10, header->sh_addr);
        show_number(show, "size", 11, header->sh_size);
        show_number(show, "alignment", 7, header->sh_addralign);
        show_plain(show, "  ");
        show_text(show, "name", 0, name ? name : "?");
        show_plain(show, "\n");
        show_end(show);
    }
    show_end(show);
}

/* The dynamic section's entries; NULL if there are none. */
static const Elf64_Dyn *find_dynamic(Elf *elf, size_t *count, size_t *strings)
{
    Elf_Scn *section = tool_elf_next(elf, NULL, SHT_DYNAMIC);
    const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
    Elf_Data *data = header ? elf_getdata(section, NULL) : NULL;
    const Elf64_Dyn *entries = data ? data->d_buf : NULL;
    *count = 0;
    *strings = header ? header->sh_link : 0;
    while (entries && *count < data->d_size / sizeof *entries && entries[*count].d_tag != DT_NULL)
        (*count)++;
    return entries;
}

/* The libraries that a dynamic loader would look for. */
static void show_libraries(struct show *show, Elf *elf)
{
    size_t count, strings;
    const Elf64_Dyn *entries = find_dynamic(elf, &count, &strings);
    bool any = false;
    show_plain(show, "\nlibraries needed:\n");
    show_list(show, "libraries");
    for (size_t i = 0; i < count; i++) {
        const char *name = entries[i].d_tag == DT_NEEDED ? elf_strptr(elf, strings, entries[i].d_un.d_val) : NULL;
        if (!name)
            continue;
        any = true;
        show_plain(show, "  ");
        show_text(show, NULL, 0, name);
        show_plain(show, "\n");
    }
    show_end(show);
    if (!any)
        show_plain(show, "  none\n");
}

/* Shared libraries and position-independent executables have one type (gABI, chapter 4). The latter have a flag or,
 * made by older linkers, only a dynamic linker; libc.so.6 has that as well, but a name for other files to need it
 * by. */
static const char *kind_of_file(Elf *elf, const Elf64_Ehdr *header)
{
    size_t count, strings, segments = 0;
    const Elf64_Dyn *entries = find_dynamic(elf, &count, &strings);
    const Elf64_Phdr *segment = elf64_getphdr(elf);
    bool has_flag = false, has_name = false, is_dynamic = false;
    for (size_t i = 0; i < count; i++) {
        has_flag |= entries[i].d_tag == DT_FLAGS_1 && (entries[i].d_un.d_val & DF_1_PIE);
        has_name |= entries[i].d_tag == DT_SONAME;
    }
    elf_getphdrnum(elf, &segments);
    for (size_t i = 0; segment && i < segments; i++)
        is_dynamic |= segment[i].p_type == PT_INTERP;
    if (header->e_type == ET_EXEC)
        return is_dynamic ? "dynamic executable" : "static executable";
    if (!has_flag && (!is_dynamic || has_name))
        return "shared library";
    return is_dynamic ? "dynamic position-independent executable" : "static position-independent executable";
}

static bool note_sizes(Elf *elf, struct inspect_sizes *sizes)
{
    Elf_Scn *section = tool_elf_next(elf, NULL, SHT_SYMTAB);
    const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
    Elf_Data *data = header ? elf_getdata(section, NULL) : NULL;
    for (size_t i = 0; data && i < data->d_size / sizeof(Elf64_Sym); i++) {
        const Elf64_Sym *symbol = (const Elf64_Sym *)data->d_buf + i;
        const char *name = elf_strptr(elf, header->sh_link, symbol->st_name);
        if (name && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && !inspect_note_size(sizes, name, symbol->st_size))
            return false;
    }
    return true;
}

bool inspect_linked(struct show *show, const struct file *file, struct inspect_sizes *sizes)
{
    Elf *elf = tool_elf_open(file);
    if (!elf)
        return false;
    const Elf64_Ehdr *header = elf64_getehdr(elf);
    inspect_begin(show, file, "ELF", kind_of_file(elf, header),
                  tn__elf_machine_name(header->e_machine, header->e_ident[EI_CLASS]));
    show_sections(show, elf);
    show_libraries(show, elf);
    bool good = note_sizes(elf, sizes);
    elf_end(elf);
    return good;
}
