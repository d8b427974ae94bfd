/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Says what a file is that no reader of a session claims: an object of a format that the session was not told to read,
 * one of a machine that is not known, or no object at all. It names formats without their readers, which would come
 * along into every program. */

#include <elf.h>

#include "link/model/coff_header.h"
#include "link/model/object.h"

/* ---- ELF ---- */

/* Objects of which compiler options, or of which other machines, the file of an ordinary build may turn out to be. */
static const struct elf_machine {
    uint16_t machine;
    uint8_t class; /* ELFCLASSNONE: any */
    const char *name;
    const char *format; /* NULL: there is no reader */
} machines[] = {
    {EM_386, ELFCLASSNONE, "32-bit x86 (-m32)", NULL},
    {EM_X86_64, ELFCLASS32, "x86-64 with 32-bit pointers (-mx32)", NULL},
    {EM_X86_64, ELFCLASS64, "x86-64", "elf_x86_64"},
    {EM_AARCH64, ELFCLASS32, "AArch64 with 32-bit pointers", NULL},
    {EM_AARCH64, ELFCLASS64, "AArch64", "elf_aarch64"},
    {EM_RISCV, ELFCLASS32, "32-bit RISC-V", NULL},
    {EM_RISCV, ELFCLASS64, "RISC-V", "elf_riscv64"},
    {EM_ARM, ELFCLASSNONE, "32-bit ARM", NULL},
    {EM_PPC, ELFCLASSNONE, "PowerPC", NULL},
    {EM_PPC64, ELFCLASSNONE, "64-bit PowerPC", NULL},
    {EM_MIPS, ELFCLASSNONE, "MIPS", NULL},
    {EM_S390, ELFCLASSNONE, "S/390", NULL},
    {EM_SPARCV9, ELFCLASSNONE, "SPARC", NULL},
    {258, ELFCLASSNONE, "LoongArch", NULL},
    {EM_BPF, ELFCLASSNONE, "BPF", NULL},
};

static const struct elf_machine *find_machine(uint16_t machine, uint8_t class)
{
    static const struct elf_machine unknown = {.name = "an unknown machine"};
    for (size_t i = 0; i < TN_COUNT(machines); i++)
        if (machines[i].machine == machine && (machines[i].class == class || machines[i].class == ELFCLASSNONE))
            return &machines[i];
    return &unknown;
}

const char *tn__elf_machine_name(uint16_t machine, uint8_t class)
{
    return find_machine(machine, class)->name;
}

/* ---- others ---- */

static const struct magic {
    const char *bytes;
    size_t length;
    const char *what;
} magics[] = {
    {"BC\xC0\xDE", 4, "LLVM bitcode; compile it first"},
    {"\xDE\xC0\x17\x0B", 4, "LLVM bitcode; compile it first"},
    {"!<arch>\n", 8, "an archive, not an object"},
    {"!<thin>\n", 8, "a thin archive, not an object"},
    {"\xCE\xFA\xED\xFE", 4, "a 32-bit Mach-O file, which is not supported"},
    {"\xFE\xED\xFA\xCE", 4, "a big-endian Mach-O file, which is not supported"},
    {"\xFE\xED\xFA\xCF", 4, "a big-endian Mach-O file, which is not supported"},
};

static const struct magic *find_magic(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < TN_COUNT(magics); i++)
        if (size >= magics[i].length && !memcmp(bytes, magics[i].bytes, magics[i].length))
            return &magics[i];
    return NULL;
}

/* ---- Mach-O ---- */

static bool is_macho(const uint8_t *bytes, size_t size)
{
    return size >= 4 && tn__get32(bytes) == 0xfeedfacf;
}

/* Java's classes begin alike, with another number of parts. */
bool tn__is_universal(const uint8_t *bytes, size_t size)
{
    enum { MOST_PARTS = 32 };
    return size >= 8 && (tn__get32(bytes) | 0x01000000) == 0xbfbafeca && !tn__get16(bytes + 4) && !bytes[6] &&
           bytes[7] <= MOST_PARTS;
}

static const struct macho_machine {
    uint32_t machine; /* cputype */
    uint16_t elf_machine;
    const char *name, *format;
} macho_machines[] = {
    {0x01000007, EM_X86_64, "x86-64 (Mach-O)", "macho_x86_64"},
    {0x0100000c, EM_AARCH64, "AArch64 (Mach-O)", "macho_aarch64"},
};

/* ---- COFF ---- */

static const struct coff_machine {
    uint32_t machine;
    uint16_t elf_machine;
    const char *name, *format; /* NULL: there is no reader */
} coff_machines[] = {
    {0x8664, EM_X86_64, "x86-64 and Windows (COFF)", "coff_x86_64"},
    {0xaa64, EM_AARCH64, "AArch64 and Windows (COFF)", "coff_aarch64"},
    {0x014c, EM_NONE, "32-bit x86 and Windows (COFF)", NULL},
    {0x01c4, EM_NONE, "32-bit ARM and Windows (COFF)", NULL},
    {0xa641, EM_NONE, "x86-64 and AArch64 and Windows (ARM64EC)", NULL},
    {0xa64e, EM_NONE, "AArch64 and ARM64EC and Windows (ARM64X)", NULL},
};

/* There is no magic number, so the whole header has to look like one. */
__attribute__((cold)) static const struct coff_machine *find_coff(const uint8_t *bytes, size_t size)
{
    uint32_t machine;
    if (size >= TN__COFF_HEADER && tn__coff_kind(bytes, size, &machine) != TN__COFF_NONE)
        for (size_t i = 0; i < TN_COUNT(coff_machines); i++)
            if (coff_machines[i].machine == machine)
                return &coff_machines[i];
    return NULL;
}

/* ---- any ---- */

static bool is_elf(const uint8_t *bytes, size_t size)
{
    return size >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG);
}

__attribute__((cold)) bool tn__object_is_known(const uint8_t *bytes, size_t size)
{
    return is_elf(bytes, size) || is_macho(bytes, size) || tn__is_universal(bytes, size) || find_coff(bytes, size);
}

/* Formats of a session are all of one architecture, so only another one of the same may be named as well. */
__attribute__((cold)) static int fail_unnamed(const struct tn__object_data *object,
                                              const struct tn_format *const *formats, uint16_t elf_machine,
                                              const char *what, const char *format, struct tn_error *err)
{
    const struct tn__arch *arch = formats[0]->arch;
    if (arch && arch->elf_machine != elf_machine)
        return tn__fail(err, TN_ENOTSUP, "%s: made for %s; this session links code for %s", object->name, what,
                        arch->name);
    return tn__fail(err, TN_ENOTSUP,
                    "%s: made for %s, but this session reads %s; to read it, name tn_format_%s in "
                    "tn_session_options.formats",
                    object->name, what, formats[0]->name, format);
}

__attribute__((cold)) static int fail_elf(const struct tn__object_data *object, const struct tn_format *const *formats,
                                          struct tn_error *err)
{
    const uint8_t *b = object->bytes;
    if (object->size < sizeof(Elf64_Ehdr))
        return tn__fail(err, TN_EFORMAT, "%s: truncated: %zu bytes are no ELF header", object->name, object->size);
    /* The machine has the same place in all files; big-endian ones have the other byte first. */
    uint16_t machine = tn__get16(b + offsetof(Elf64_Ehdr, e_machine));
    if (b[EI_DATA] == ELFDATA2MSB)
        machine = __builtin_bswap16(machine);
    const struct elf_machine *found = find_machine(machine, b[EI_CLASS]);
    if (found->format && b[EI_DATA] == ELFDATA2LSB)
        return fail_unnamed(object, formats, found->machine, found->name, found->format, err);
    return tn__fail(
        err, TN_EFORMAT,
        "%s: made for %s (ELF class %u, byte order %u, machine %u); only 64-bit little-endian objects of machines "
        "that this linker knows can be linked",
        object->name, found->name, b[EI_CLASS], b[EI_DATA], machine);
}

/* The machine of a Mach-O file or, in a universal one, of the first part that there is a reader for. */
__attribute__((cold)) static const struct macho_machine *find_macho(const uint8_t *bytes, size_t size)
{
    enum { HEADER = 8, PART = 20, PART_64 = 32 };
    size_t part = bytes[3] == 0xbf ? PART_64 : PART;
    bool universal = tn__is_universal(bytes, size);
    const uint8_t *at = bytes + (universal ? HEADER : 4);
    for (unsigned count = universal ? bytes[7] : 1; count && tn__inside((uint64_t)(at - bytes), 4, size); count--) {
        uint32_t machine = universal ? __builtin_bswap32(tn__get32(at)) : tn__get32(at);
        for (size_t i = 0; i < TN_COUNT(macho_machines); i++)
            if (macho_machines[i].machine == machine)
                return &macho_machines[i];
        at += part;
    }
    return NULL;
}

__attribute__((cold)) static int fail_macho(const struct tn__object_data *object,
                                            const struct tn_format *const *formats, struct tn_error *err)
{
    const struct macho_machine *found = find_macho(object->bytes, object->size);
    if (found)
        return fail_unnamed(object, formats, found->elf_machine, found->name, found->format, err);
    if (tn__is_universal(object->bytes, object->size))
        return tn__fail(err, TN_EFORMAT, "%s: a universal Mach-O file without a part for a known machine",
                        object->name);
    return tn__fail(err, TN_EFORMAT, "%s: a Mach-O file for an unknown machine (CPU type %#x)", object->name,
                    object->size >= 8 ? tn__get32(object->bytes + 4) : 0);
}

__attribute__((cold)) int tn__object_fail_format(const struct tn__object_data *object,
                                                 const struct tn_format *const *formats, struct tn_error *err)
{
    if (is_elf(object->bytes, object->size))
        return fail_elf(object, formats, err);
    if (is_macho(object->bytes, object->size) || tn__is_universal(object->bytes, object->size))
        return fail_macho(object, formats, err);
    const struct magic *magic = find_magic(object->bytes, object->size);
    const struct coff_machine *coff = magic ? NULL : find_coff(object->bytes, object->size);
    if (coff && coff->format)
        return fail_unnamed(object, formats, coff->elf_machine, coff->name, coff->format, err);
    if (coff)
        return tn__fail(err, TN_ENOTSUP, "%s: made for %s, for which there is no reader", object->name, coff->name);
    return tn__fail(err, TN_EFORMAT, "%s: %s", object->name,
                    magic          ? magic->what
                    : object->size ? "not an object file"
                                   : "an empty file");
}
