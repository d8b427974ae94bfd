/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The header of an ELF file (gABI 4.1, chapter 4, "ELF Header"): which files are objects that can be linked, and what
 * the others are. */

#include "link/format/elf/reader.h"
#include "link/arch/reloc.h"

#define FAIL TN__ELF_FAIL

/* Objects of which compiler options, or of which other machines, the file of an ordinary build may turn out to be. */
static const struct {
    uint16_t machine;
    uint8_t class; /* ELFCLASSNONE: any */
    const char *name;
} machines[] = {
    {EM_386, ELFCLASSNONE, "32-bit x86 (-m32)"},
    {EM_X86_64, ELFCLASS32, "x86-64 with 32-bit pointers (-mx32)"},
    {EM_X86_64, ELFCLASS64, "x86-64"},
    {EM_AARCH64, ELFCLASS32, "AArch64 with 32-bit pointers"},
    {EM_AARCH64, ELFCLASS64, "AArch64"},
    {EM_RISCV, ELFCLASS32, "32-bit RISC-V"},
    {EM_RISCV, ELFCLASS64, "RISC-V"},
    {EM_ARM, ELFCLASSNONE, "32-bit ARM"},
    {EM_PPC, ELFCLASSNONE, "PowerPC"},
    {EM_PPC64, ELFCLASSNONE, "64-bit PowerPC"},
    {EM_MIPS, ELFCLASSNONE, "MIPS"},
    {EM_S390, ELFCLASSNONE, "S/390"},
    {EM_SPARCV9, ELFCLASSNONE, "SPARC"},
    {258, ELFCLASSNONE, "LoongArch"},
    {EM_BPF, ELFCLASSNONE, "BPF"},
};

static const char *name_of(uint16_t machine, uint8_t class)
{
    for (size_t i = 0; i < TN_COUNT(machines); i++)
        if (machines[i].machine == machine && (machines[i].class == class || machines[i].class == ELFCLASSNONE))
            return machines[i].name;
    return "an unknown machine";
}

/* Of files for a machine that cannot be linked, that is the reason; nothing else about them matters. */
static int fail_machine(const struct tn__elf_reader *r, uint16_t machine)
{
    const struct tn__object_data *object = r->object;
    const uint8_t *b = object->bytes;
    return FAIL(
        r,
        "%s: made for %s (ELF class %u, byte order %u, machine %u); only 64-bit little-endian objects of machines "
        "that this linker knows can be linked",
        object->name, name_of(machine, b[EI_CLASS]), b[EI_CLASS], b[EI_DATA], machine);
}

int tn__elf_check_header(struct tn__elf_reader *r)
{
    const struct tn__object_data *object = r->object;
    const uint8_t *b = object->bytes;
    if (object->size < sizeof(Elf64_Ehdr))
        return FAIL(r, "%s: truncated: %zu bytes are no ELF header", object->name, object->size);
    /* Type and machine have the same places in all files; big-endian ones have the other byte first. */
    bool big = b[EI_DATA] == ELFDATA2MSB;
    unsigned type = tn__get16(b + offsetof(Elf64_Ehdr, e_type)),
             machine = tn__get16(b + offsetof(Elf64_Ehdr, e_machine));
    machine = big ? (uint16_t)__builtin_bswap16((uint16_t)machine) : machine;
    r->object->arch = tn__arch_of_elf((uint16_t)machine);
    r->unwind_type = r->object->arch ? r->object->arch->elf_unwind_type : SHT_NULL;
    if (b[EI_CLASS] != ELFCLASS64 || b[EI_DATA] != ELFDATA2LSB || (!r->object->arch && !object->any_machine))
        return fail_machine(r, (uint16_t)machine);
    if (type != ET_REL)
        return FAIL(r, "%s: ELF type %u is not a relocatable object%s", object->name, type,
                    type == ET_DYN    ? " but a shared library or program"
                    : type == ET_EXEC ? " but a program"
                                      : "");
    return 0;
}
