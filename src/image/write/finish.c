/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compilers' own startup files add to a library: when it is unloaded, __cxa_finalize runs the destructors that its
 * code has registered under __dso_handle. An object file for x86-64 (psABI), as one constant:
 *
 *     finish:  lea   __dso_handle(%rip), %rdi
 *              mov   __cxa_finalize@GOTPCREL(%rip), %rax
 *              test  %rax, %rax       # the C library may have none
 *              je    1f
 *              jmp   *%rax            # nothing of this function is on the stack meanwhile
 *     1:       ret */

#include "image/write/elf.h"

enum { AT_HANDLE = 3, AT_FINALIZE = 10 }; /* the fields in the code that are relocated */
enum { CODE = 1, CODE_RELOCATIONS, ARRAY, ARRAY_RELOCATIONS, SYMBOLS, NAMES, SECTIONS };
enum { FINISH = 1, HANDLE, FINALIZE, SYMBOL_COUNT };

struct names {
    char none[1], finish[sizeof "finish"], handle[sizeof "__dso_handle"], finalize[sizeof "__cxa_finalize"];
    char code[sizeof ".text"], code_relocations[sizeof ".rela.text"];
    char array_relocations[sizeof ".rela.fini_array.00000"]; /* ends in the name of the array's section */
    char symbols[sizeof ".symtab"], names[sizeof ".strtab"];
};

struct object {
    Elf64_Ehdr header;
    uint8_t code[24];
    Elf64_Rela code_relocations[2];
    uint64_t array[1];
    Elf64_Rela array_relocations[1];
    Elf64_Sym symbols[SYMBOL_COUNT];
    struct names names;
    Elf64_Shdr sections[SECTIONS];
};

#define NAME(name)          offsetof(struct names, name)
#define BYTES(member)       .sh_offset = offsetof(struct object, member), .sh_size = sizeof((struct object *)0)->member
#define TABLE(member, link) .sh_link = link, .sh_entsize = sizeof((struct object *)0)->member[0], .sh_addralign = 8

static const struct object object = {
    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
               .e_type = ET_REL,
               .e_machine = EM_X86_64,
               .e_version = EV_CURRENT,
               .e_shoff = offsetof(struct object, sections),
               .e_ehsize = sizeof(Elf64_Ehdr),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = SECTIONS,
               .e_shstrndx = NAMES},
    .code = {0x48, 0x8d, 0x3d, 0,    0,    0,    0,    0x48, 0x8b, 0x05, 0,
             0,    0,    0,    0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xe0, 0xc3},
    .code_relocations = {{AT_HANDLE, ELF64_R_INFO((uint64_t)HANDLE, R_X86_64_PC32), -4},
                         {AT_FINALIZE, ELF64_R_INFO((uint64_t)FINALIZE, R_X86_64_GOTPCREL), -4}},
    .array_relocations = {{0, ELF64_R_INFO((uint64_t)FINISH, R_X86_64_64), 0}},
    .symbols = {[FINISH] = {NAME(finish), ELF64_ST_INFO(STB_LOCAL, STT_FUNC), STV_DEFAULT, CODE, 0, 22},
                [HANDLE] = {NAME(handle), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), STV_HIDDEN, SHN_UNDEF, 0, 0},
                [FINALIZE] = {NAME(finalize), ELF64_ST_INFO(STB_WEAK, STT_NOTYPE), STV_DEFAULT, SHN_UNDEF, 0, 0}},
    .names = {"", "finish", "__dso_handle", "__cxa_finalize", ".text", ".rela.text", ".rela.fini_array.00000",
              ".symtab", ".strtab"},
    .sections = {
        [CODE] = {NAME(code), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, BYTES(code), .sh_addralign = 16},
        [CODE_RELOCATIONS] = {NAME(code_relocations), SHT_RELA, SHF_INFO_LINK, BYTES(code_relocations), .sh_info = CODE,
                              TABLE(code_relocations, SYMBOLS)},
        /* The lowest priority: finalizers run from the last to the first, so this one is the last. */
        [ARRAY] = {NAME(array_relocations) + sizeof ".rela" - 1, SHT_FINI_ARRAY, SHF_ALLOC | SHF_WRITE, BYTES(array),
                   TABLE(array, 0)},
        [ARRAY_RELOCATIONS] = {NAME(array_relocations), SHT_RELA, SHF_INFO_LINK, BYTES(array_relocations),
                               .sh_info = ARRAY, TABLE(array_relocations, SYMBOLS)},
        [SYMBOLS] = {NAME(symbols), SHT_SYMTAB, 0, BYTES(symbols), .sh_info = HANDLE, TABLE(symbols, NAMES)},
        [NAMES] = {NAME(names), SHT_STRTAB, 0, BYTES(names), .sh_addralign = 1},
    }};

struct tn_input tn__finish_object(void)
{
    return (struct tn_input){
        .size = sizeof(struct tn_input), .name = "finish", .bytes = &object, .length = sizeof object};
}
