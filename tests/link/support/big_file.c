/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "big_file.h"

#include <stdlib.h>

size_t file_append(struct file *file, const void *bytes, size_t size)
{
    size_t at = (file->bytes.size + 15) & ~(size_t)15;
    file->bytes.at = realloc(file->bytes.at, at + size + 1);
    memset(file->bytes.at + file->bytes.size, 0, at - file->bytes.size);
    if (size)
        memcpy(file->bytes.at + at, bytes, size);
    file->bytes.size = at + size;
    return at;
}

unsigned file_section(struct file *file, Elf64_Shdr header, const void *bytes)
{
    header.sh_offset = file_append(file, bytes, header.sh_type == SHT_NOBITS ? 0 : header.sh_size);
    file->headers[++file->sections] = header;
    return file->sections;
}

void file_begin(struct file *file)
{
    *file = (struct file){.sections = 0};
    file_append(file, &(Elf64_Ehdr){0}, sizeof(Elf64_Ehdr));
}

struct bytes file_finish(struct file *file, const Elf64_Shdr *more, size_t count)
{
    static const char names[] =
        "\0.text\0.group\0.data\0.eh_frame\0.fini_array\0gathered\0.debug_line\0.debug_line_str";
    bool own_names = file->names.size;
    unsigned strings =
        file_section(file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = own_names ? file->names.size : sizeof names},
                     own_names ? (const void *)file->names.at : names);
    size_t own = file->sections + 1, at = file_append(file, file->headers, own * sizeof(Elf64_Shdr));
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_REL,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_shoff = at,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = own + count < SHN_LORESERVE ? (Elf64_Half)(own + count) : 0,
                         .e_shstrndx = (Elf64_Half)strings};
    if (count)
        file_append(file, more, count * sizeof *more); /* headers have 64 bytes, so they follow without a gap */
    Elf64_Shdr first = {.sh_size = own + count};
    memcpy(file->bytes.at + at, &first, sizeof first);
    memcpy(file->bytes.at, &header, sizeof header);
    return file->bytes;
}
