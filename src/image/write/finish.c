/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compilers' own startup files add to a library: when it is unloaded, __cxa_finalize runs the destructors that its
 * code has registered under __dso_handle. An object file for each machine, as a constant. Its function jumps to
 * __cxa_finalize, so that nothing of it is on the stack meanwhile, unless the C library has none. */

#include "image/write/elf.h"

enum { CODE = 1, CODE_RELOCATIONS, ARRAY, ARRAY_RELOCATIONS, SYMBOLS, NAMES, SECTIONS };
enum { FINISH = 1, SECOND, HANDLE, FINALIZE, SYMBOL_COUNT }; /* SECOND: a label in the code */
enum { MOST_CODE = 32, MOST_RELOCATIONS = 4 };
enum { DOUBLE_FLOATS = 4 }; /* of RISC-V's e_flags (EF_RISCV_FLOAT_ABI_DOUBLE): how functions are called */

struct names {
    char none[1], finish[sizeof "finish"], second[sizeof "second"], handle[sizeof "__dso_handle"],
        finalize[sizeof "__cxa_finalize"];
    char code[sizeof ".text"], code_relocations[sizeof ".rela.text"];
    char array_relocations[sizeof ".rela.fini_array.00000"]; /* ends in the name of the array's section */
    char symbols[sizeof ".symtab"], names[sizeof ".strtab"];
};

struct object {
    Elf64_Ehdr header;
    uint8_t code[MOST_CODE];
    Elf64_Rela code_relocations[MOST_RELOCATIONS];
    uint64_t array[1];
    Elf64_Rela array_relocations[1];
    Elf64_Sym symbols[SYMBOL_COUNT];
    struct names names;
    Elf64_Shdr sections[SECTIONS];
};

#define NAME(name)          offsetof(struct names, name)
#define BYTES(member)       .sh_offset = offsetof(struct object, member), .sh_size = sizeof((struct object *)0)->member
#define TABLE(member, link) .sh_link = link, .sh_entsize = sizeof((struct object *)0)->member[0], .sh_addralign = 8

#define HEADER(number, flags)                                                                                          \
    {                                                                                                                  \
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_REL,        \
        .e_machine = (number), .e_version = EV_CURRENT, .e_shoff = offsetof(struct object, sections),                  \
        .e_flags = (flags), .e_ehsize = sizeof(Elf64_Ehdr), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTIONS,    \
        .e_shstrndx = NAMES                                                                                            \
    }
/* `size`: of the code. `label`: where SECOND is in it. */
#define SYMBOLS_OF(size, label)                                                                                        \
    {                                                                                                                  \
        [FINISH] = {NAME(finish), ELF64_ST_INFO(STB_LOCAL, STT_FUNC), STV_DEFAULT, CODE, 0, size},                     \
        [SECOND] = {NAME(second), ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), STV_DEFAULT, CODE, label, 0},                  \
        [HANDLE] = {NAME(handle), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), STV_HIDDEN, SHN_UNDEF, 0, 0}, [FINALIZE] = {  \
            NAME(finalize),                                                                                            \
            ELF64_ST_INFO(STB_WEAK, STT_NOTYPE),                                                                       \
            STV_DEFAULT,                                                                                               \
            SHN_UNDEF,                                                                                                 \
            0,                                                                                                         \
            0                                                                                                          \
        }                                                                                                              \
    }
/* The array has the lowest priority: finalizers run from the last to the first, so this one is the last. */
#define SECTIONS_OF(relocations)                                                                                       \
    {                                                                                                                  \
        [CODE] = {NAME(code), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, BYTES(code), .sh_addralign = 16},               \
        [CODE_RELOCATIONS] = {NAME(code_relocations),                                                                  \
                              SHT_RELA,                                                                                \
                              SHF_INFO_LINK,                                                                           \
                              .sh_offset = offsetof(struct object, code_relocations),                                  \
                              .sh_size = (relocations) * sizeof(Elf64_Rela),                                           \
                              .sh_info = CODE,                                                                         \
                              TABLE(code_relocations, SYMBOLS)},                                                       \
        [ARRAY] = {NAME(array_relocations) + sizeof ".rela" - 1, SHT_FINI_ARRAY, SHF_ALLOC | SHF_WRITE, BYTES(array),  \
                   TABLE(array, 0)},                                                                                   \
        [ARRAY_RELOCATIONS] = {NAME(array_relocations),  SHT_RELA,         SHF_INFO_LINK,                              \
                               BYTES(array_relocations), .sh_info = ARRAY, TABLE(array_relocations, SYMBOLS)},         \
        [SYMBOLS] = {NAME(symbols), SHT_SYMTAB, 0, BYTES(symbols), .sh_info = HANDLE, TABLE(symbols, NAMES)},          \
        [NAMES] = {NAME(names), SHT_STRTAB, 0, BYTES(names), .sh_addralign = 1},                                       \
    }
#define NAMES_OF                                                                                                       \
    {                                                                                                                  \
        "", "finish", "second", "__dso_handle", "__cxa_finalize", ".text", ".rela.text", ".rela.fini_array.00000",     \
            ".symtab", ".strtab"                                                                                       \
    }
/* `pointer`: the type of a relocation that stores an address. */
#define OBJECT(number, flags, size, label, pointer, relocations)                                                       \
    .header = HEADER(number, flags), .array_relocations = {RELOC(0, FINISH, pointer, 0)},                              \
    .symbols = SYMBOLS_OF(size, label), .names = NAMES_OF, .sections = SECTIONS_OF(relocations)

#define RELOC(at, symbol, type, addend)                                                                                \
    {                                                                                                                  \
        at, ELF64_R_INFO((uint64_t)(symbol), type), addend                                                             \
    }
#define WORD(word) (word) & 0xff, (word) >> 8 & 0xff, (word) >> 16 & 0xff, (word) >> 24 & 0xff

/*      lea   __dso_handle(%rip), %rdi
 *      mov   __cxa_finalize@GOTPCREL(%rip), %rax
 *      test  %rax, %rax
 *      je    1f
 *      jmp   *%rax
 *  1:  ret */
static const struct object x86_64 = {
    .code = {0x48, 0x8d, 0x3d, 0,    0,    0,    0,    0x48, 0x8b, 0x05, 0,
             0,    0,    0,    0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xe0, 0xc3},
    .code_relocations = {RELOC(3, HANDLE, R_X86_64_PC32, -4), RELOC(10, FINALIZE, R_X86_64_GOTPCREL, -4)},
    OBJECT(EM_X86_64, 0, 22, 0, R_X86_64_64, 2),
};

/*      bti   c
 *      adrp  x0, __dso_handle
 *      add   x0, x0, :lo12:__dso_handle
 *      adrp  x16, :got:__cxa_finalize
 *      ldr   x16, [x16, :got_lo12:__cxa_finalize]
 *      cbz   x16, 1f
 *      br    x16
 *  1:  ret */
static const struct object aarch64 = {
    .code = {WORD(0xd503245fU), WORD(0x90000000U), WORD(0x91000000U), WORD(0x90000010U), WORD(0xf9400210U),
             WORD(0xb4000050U), WORD(0xd61f0200U), WORD(0xd65f03c0U)},
    .code_relocations = {RELOC(4, HANDLE, R_AARCH64_ADR_PREL_PG_HI21, 0),
                         RELOC(8, HANDLE, R_AARCH64_ADD_ABS_LO12_NC, 0), RELOC(12, FINALIZE, R_AARCH64_ADR_GOT_PAGE, 0),
                         RELOC(16, FINALIZE, R_AARCH64_LD64_GOT_LO12_NC, 0)},
    OBJECT(EM_AARCH64, 0, 32, 0, R_AARCH64_ABS64, 4),
};

/*      auipc a0, %pcrel_hi(__dso_handle)
 *      addi  a0, a0, %pcrel_lo(finish)
 *  second:
 *      auipc t1, %got_pcrel_hi(__cxa_finalize)
 *      ld    t1, %pcrel_lo(second)(t1)
 *      beqz  t1, 1f
 *      jr    t1
 *  1:  ret */
static const struct object riscv64 = {
    .code = {WORD(0x00000517U), WORD(0x00050513U), WORD(0x00000317U), WORD(0x00033303U), WORD(0x00030463U),
             WORD(0x00030067U), WORD(0x00008067U)},
    .code_relocations = {RELOC(0, HANDLE, R_RISCV_PCREL_HI20, 0), RELOC(4, FINISH, R_RISCV_PCREL_LO12_I, 0),
                         RELOC(8, FINALIZE, R_RISCV_GOT_HI20, 0), RELOC(12, SECOND, R_RISCV_PCREL_LO12_I, 0)},
    OBJECT(EM_RISCV, DOUBLE_FLOATS, 28, 8, R_RISCV_64, 4),
};

bool tn__finish_object(uint16_t machine, struct tn_input *input)
{
    static const struct object *const objects[] = {&x86_64, &aarch64, &riscv64};
    for (size_t i = 0; i < TN_COUNT(objects); i++)
        if (objects[i]->header.e_machine == machine) {
            *input = (struct tn_input){
                .size = sizeof *input, .name = "finish", .bytes = objects[i], .length = sizeof *objects[i]};
            return true;
        }
    return false;
}
