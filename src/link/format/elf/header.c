/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The header of an ELF file (gABI 4.1, chapter 4, "ELF Header"): which files are objects that can be linked. */

#include "link/format/elf/reader.h"

bool tn__elf_claims(const uint8_t *bytes, size_t size, uint32_t machine)
{
    if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG))
        return false;
    return size < sizeof(Elf64_Ehdr) || (bytes[EI_CLASS] == ELFCLASS64 && bytes[EI_DATA] == ELFDATA2LSB &&
                                         (!machine || tn__get16(bytes + offsetof(Elf64_Ehdr, e_machine)) == machine));
}

int tn__elf_check_header(const struct tn__elf_reader *r)
{
    struct tn__object_data *object = r->object;
    if (object->size < sizeof(Elf64_Ehdr))
        return TN__ELF_FAIL(r, "%s: truncated: %zu bytes are no ELF header", object->name, object->size);
    unsigned type = tn__get16(object->bytes + offsetof(Elf64_Ehdr, e_type));
    if (type != ET_REL)
        return TN__ELF_FAIL(r, "%s: ELF type %u is not a relocatable object%s", object->name, type,
                            type == ET_DYN    ? " but a shared library or program"
                            : type == ET_EXEC ? " but a program"
                                              : "");
    object->variant = tn__get32(object->bytes + offsetof(Elf64_Ehdr, e_flags));
    return 0;
}
