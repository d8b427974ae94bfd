/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon disasm FILE [SYMBOL...], where FILE is linked already: an image of `tenon build`, a shared library, a program.
 * Code is shown at the addresses of the file, which libelf reads. */

#include <inttypes.h>
#include <string.h>

#include "cmd/disasm.h"
#include "lib/elf_file.h"

struct linked_file {
    const struct file *file;
    Elf *elf;
    uint16_t machine;
    struct labels labels;
    struct tn__lines lines;
    char target[TEXT_SIZE], remark[TEXT_SIZE], taken[TEXT_SIZE]; /* no remark: empty */
};

/* ---- reading ---- */

/* The full table of symbols or, in a stripped file, that of the dynamic linker. */
static bool read_labels(struct linked_file *p)
{
    Elf_Scn *section = tool_elf_next(p->elf, NULL, SHT_SYMTAB);
    section = section ? section : tool_elf_next(p->elf, NULL, SHT_DYNSYM);
    const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
    Elf_Data *data = header ? elf_getdata(section, NULL) : NULL;
    for (size_t i = 1; data && i < data->d_size / sizeof(Elf64_Sym); i++) {
        const Elf64_Sym *symbol = (const Elf64_Sym *)data->d_buf + i;
        const char *name = elf_strptr(p->elf, header->sh_link, symbol->st_name);
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        bool is_address = type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_GNU_IFUNC;
        if (is_address && symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && name && *name &&
            !tool_add_label(&p->labels, name, symbol->st_value, symbol->st_size, type == STT_FUNC))
            return false;
    }
    tool_sort_labels(&p->labels);
    return true;
}

/* Where a section lies in the file; compressed ones are left out. */
static struct tn__image_range range_of(const struct linked_file *p, const char *wanted)
{
    size_t names = 0;
    elf_getshdrstrndx(p->elf, &names);
    for (Elf_Scn *section = elf_nextscn(p->elf, NULL); section; section = elf_nextscn(p->elf, section)) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        const char *name = header ? elf_strptr(p->elf, names, header->sh_name) : NULL;
        if (name && strcmp(name, wanted) == 0 && header->sh_type != SHT_NOBITS &&
            !(header->sh_flags & SHF_COMPRESSED) && tn__inside(header->sh_offset, header->sh_size, p->file->size))
            return (struct tn__image_range){header->sh_offset, header->sh_size};
    }
    return (struct tn__image_range){0, 0};
}

static bool read_lines(struct linked_file *p)
{
    struct tn_error error;
    const struct tn__debug_image image = {.bytes = (uint8_t *)(uintptr_t)p->file->bytes,
                                          .size = p->file->size,
                                          .line = range_of(p, ".debug_line"),
                                          .line_str = range_of(p, ".debug_line_str"),
                                          .str = range_of(p, ".debug_str")};
    return !tn__lines_add(&p->lines, &image, &error) || (tool_fail(STATUS_FAILURE, "%s", error.text), false);
}

/* ---- what the disassembler asks ---- */

/* Everything was relocated. */
static bool name_field(void *context, uint64_t at, uint64_t end, const char **name, int64_t *offset)
{
    (void)context, (void)at, (void)end, (void)name, (void)offset;
    return false;
}

static const char *name_target(void *context, uint64_t address)
{
    struct linked_file *p = context;
    const struct label *label = tool_find_label(&p->labels, address);
    bool known = label && (label->size || label->address == address);
    return known ? tool_describe(p->target, label->name, address - label->address) : NULL;
}

static void note_mention(void *context, uint64_t address)
{
    struct linked_file *p = context;
    const char *name = name_target(p, address);
    if (name)
        tool_describe(p->remark, name, 0);
}

static const char *take_remark(void *context)
{
    struct linked_file *p = context;
    if (!*p->remark)
        return NULL;
    tool_describe(p->taken, p->remark, 0);
    *p->remark = 0;
    return p->taken;
}

/* ---- showing ---- */

static void print_label(void *context, uint64_t address)
{
    struct linked_file *p = context;
    const struct label *label = tool_find_label(&p->labels, address);
    if (label && label->address == address)
        printf("%016" PRIx64 " <%s>:\n", address, label->name);
}

/* Decoding begins anew at each label: what pads a function is no instruction, and may look like the beginning of
 * one. */
static void show(struct linked_file *p, struct tn__disasm *disasm, const uint8_t *bytes, uint64_t address,
                 uint64_t size)
{
    struct stretch stretch = {.lines = &p->lines, .print_labels = print_label, .remark = take_remark, .context = p};
    for (uint64_t at = 0; at < size; at += stretch.size) {
        size_t next = TN_COUNT_UP_TO(p->labels.items, p->labels.count, address, address + at);
        stretch.bytes = bytes + at;
        stretch.address = address + at;
        stretch.size = size - at;
        if (next < p->labels.count && p->labels.items[next].address - stretch.address < stretch.size)
            stretch.size = p->labels.items[next].address - stretch.address;
        tool_disassemble(disasm, &stretch);
    }
}

/* All code of a section or, of a function, what of it the section contains. */
static bool show_section(struct linked_file *p, struct tn__disasm *disasm, Elf_Scn *section,
                         const struct label *function)
{
    const Elf64_Shdr *header = elf64_getshdr(section);
    const uint8_t *bytes = p->file->bytes;
    size_t names = 0;
    elf_getshdrstrndx(p->elf, &names);
    if (!header || header->sh_type == SHT_NOBITS || !(header->sh_flags & SHF_EXECINSTR) ||
        !tn__inside(header->sh_offset, header->sh_size, p->file->size))
        return false;
    uint64_t begin = function ? function->address - header->sh_addr : 0,
             size = function ? function->size : header->sh_size;
    if (!tn__inside(begin, size, header->sh_size))
        return false;
    const char *name = elf_strptr(p->elf, names, header->sh_name);
    printf("\n%s: section %zu, %s\n", p->file->name, elf_ndxscn(section), name ? name : "?");
    show(p, disasm, bytes + header->sh_offset + begin, header->sh_addr + begin, size);
    return true;
}

static bool show_sections(struct linked_file *p, struct tn__disasm *disasm, const struct label *function)
{
    bool any = false;
    for (Elf_Scn *section = elf_nextscn(p->elf, NULL); section; section = elf_nextscn(p->elf, section))
        any |= show_section(p, disasm, section, function);
    return any;
}

static bool show_function(struct linked_file *p, struct tn__disasm *disasm, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < p->labels.count; i++)
        if (p->labels.items[i].size && strcmp(p->labels.items[i].name, name) == 0)
            found |= show_sections(p, disasm, &p->labels.items[i]);
    return found || (tool_fail(STATUS_FAILURE, "%s: no function is called '%s'", p->file->name, name), false);
}

static bool show_wanted(struct linked_file *p, struct tn__disasm *disasm, const struct settings *settings)
{
    bool ok = true, all = true;
    for (int i = 0; i < settings->file_count; i++) {
        if (tool_is_file(settings->files[i]))
            continue;
        all = false;
        ok &= show_function(p, disasm, settings->files[i]);
    }
    if (all && !show_sections(p, disasm, NULL))
        return tool_fail(STATUS_FAILURE, "%s: no section holds code", p->file->name), false;
    return ok;
}

bool tool_show_program(const struct file *file, const struct settings *settings)
{
    struct linked_file p = {.file = file, .elf = tool_elf_open(file)};
    const struct tn__namer namer = {.context = &p, .field = name_field, .target = name_target, .mention = note_mention};
    struct tn__disasm *disasm;
    struct tn_error error;
    if (!p.elf)
        return false;
    bool ok = !tn__disasm_open(elf64_getehdr(p.elf)->e_machine, &namer, settings->intel, &disasm, &error);
    if (ok) {
        ok = read_labels(&p) && (!settings->lines || read_lines(&p)) && show_wanted(&p, disasm, settings);
        tn__disasm_close(disasm);
    } else {
        tool_fail(STATUS_FAILURE, "%s: %s", file->name, error.text);
    }
    tn__lines_free(&p.lines);
    tn__free(NULL, p.labels.items);
    elf_end(p.elf);
    return ok;
}
