/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <elf.h>
#include <string.h>

#include "base/base.h"
#include "lib/elf_file.h"

bool tool_is_linked(const struct file *file)
{
    bool has_type = file->kind == FILE_OBJECT && file->size >= EI_NIDENT + 2 && !memcmp(file->bytes, ELFMAG, SELFMAG);
    unsigned type = has_type ? tn__get16((const uint8_t *)file->bytes + EI_NIDENT) : ET_NONE;
    return type == ET_DYN || type == ET_EXEC;
}

Elf *tool_elf_open(const struct file *file)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)file->bytes, file->size);
    if (elf && elf_kind(elf) == ELF_K_ELF && elf64_getehdr(elf))
        return elf;
    tool_fail(STATUS_FAILURE, "'%s' cannot be read: %s", file->name, elf_errmsg(-1));
    elf_end(elf);
    return NULL;
}

Elf_Scn *tool_elf_next(Elf *elf, Elf_Scn *section, uint32_t type)
{
    while ((section = elf_nextscn(elf, section))) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        if (header && header->sh_type == type)
            return section;
    }
    return NULL;
}
