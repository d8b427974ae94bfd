/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/format/elf/writer.h"

struct tn__elf_section *tn__elf_append(struct tn__elf_sections *all, struct tn__elf_section section)
{
    section.offset = all->end = tn__align_up(all->end, tn__max64(section.alignment, 1));
    all->end += section.type == SHT_NOBITS ? 0 : section.size;
    all->items[all->count] = section;
    return &all->items[all->count++];
}

uint64_t tn__elf_end(struct tn__elf_sections *all)
{
    static const char own[] = ".shstrtab";
    uint64_t size = 1 + sizeof own;
    for (size_t i = 1; i < all->count; i++)
        size += strlen(all->items[i].name) + 1;
    tn__elf_append(all, (struct tn__elf_section){.name = own, .type = SHT_STRTAB, .size = size, .alignment = 1});
    return tn__elf_headers(all) + all->count * sizeof(Elf64_Shdr);
}

void tn__elf_write(uint8_t *file, const struct tn__elf_sections *all, Elf64_Ehdr header)
{
    tn__elf_write_parts(file, file, 0, all, header);
}

void tn__elf_write_parts(uint8_t *file, uint8_t *rest, uint64_t from, const struct tn__elf_sections *all,
                         Elf64_Ehdr header)
{
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_phentsize = header.e_phnum ? sizeof(Elf64_Phdr) : 0;
    header.e_shoff = tn__elf_headers(all);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = (Elf64_Half)all->count;
    header.e_shstrndx = (Elf64_Half)(all->count - 1);
    memcpy(file, &header, sizeof header);

    uint8_t *names = rest + (all->items[all->count - 1].offset - from);
    uint64_t end = 1;
    for (size_t i = 1; i < all->count; i++) {
        const struct tn__elf_section *section = &all->items[i];
        const Elf64_Shdr out = {.sh_name = tn__elf_put_name(names, &end, section->name),
                                .sh_type = section->type,
                                .sh_flags = section->flags,
                                .sh_addr = section->address,
                                .sh_offset = section->offset,
                                .sh_size = section->size,
                                .sh_link = section->link,
                                .sh_info = section->info,
                                .sh_addralign = section->alignment,
                                .sh_entsize = section->entry_size};
        memcpy(rest + (header.e_shoff - from) + i * sizeof out, &out, sizeof out);
        if (section->bytes && section->type != SHT_NOBITS)
            memcpy(rest + (section->offset - from), section->bytes, section->size);
    }
}
