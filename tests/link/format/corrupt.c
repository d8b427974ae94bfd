/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Truncated objects, and objects with one spoiled bit or byte, are either linked, or refused without leaving anything
 * behind. slow/corrupt.c does the same with larger ones. */

#include "elf_builder.h"
#include "spoil.h"

#include <stdlib.h>

static struct bytes compiled(void)
{
    return read_bytes(data_file("small.o"));
}

/* What compilers do not combine in a small object: a group, extended section indices, an archive of tables. */
static struct bytes built(void)
{
    static struct elf elf;
    /* Returns immediately: one spoiled bit makes this an indirect function, which the link calls. */
    static const uint8_t code[] = {0xc3, 0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x05, 0, 0, 0, 0};
    static uint64_t words[4];
    static uint32_t group[2] = {GRP_COMDAT, 2}, indices[10];
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned data = elf_section(&elf, ".data.g", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, words, sizeof words);
    unsigned grp = elf_section(&elf, ".group", SHT_GROUP, 0, group, sizeof group);
    unsigned xindex = elf_section(&elf, ".symtab_shndx", SHT_SYMTAB_SHNDX, 0, indices, sizeof indices);
    unsigned init = elf_section(&elf, ".init_array.7", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, words, 8);
    unsigned local = elf_symbol(&elf, "", STB_LOCAL, STT_SECTION, data, 0, 0);
    unsigned function = elf_function(&elf, "function", text, 0);
    unsigned word = elf_symbol(&elf, "word", STB_WEAK, STT_OBJECT, SHN_XINDEX, 8, 8);
    elf_symbol(&elf, "shared", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 24);
    elf_symbol(&elf, "absolute", STB_GLOBAL, STT_NOTYPE, SHN_ABS, 0x1234, 0);
    unsigned host = elf_undefined(&elf, "strlen");
    indices[word] = data;
    elf.sections[grp].header.sh_info = function;
    elf_reloc(&elf, text, 2, host, R_X86_64_PLT32, -4);
    elf_reloc(&elf, text, 9, word, R_X86_64_REX_GOTPCRELX, -4);
    elf_reloc(&elf, data, 0, local, R_X86_64_64, 16);
    elf_reloc(&elf, data, 8, word, R_X86_64_SIZE64, 0);
    elf_reloc(&elf, init, 0, function, R_X86_64_64, 0);
    struct bytes object = elf_finish(&elf);
    elf_section_header(object, xindex)->sh_link =
        (uint32_t)(elf_section_of_type(object, SHT_SYMTAB) - elf_section_header(object, 0));
    return object;
}

static void prefixes_of_a_compiled_object(void **state)
{
    (void)state;
    spoil_prefixes(compiled(), SPOIL_HERE);
}

static void prefixes_of_a_built_object(void **state)
{
    (void)state;
    spoil_prefixes(built(), SPOIL_HERE);
}

static void bytes_of_a_compiled_object(void **state)
{
    (void)state;
    spoil_bytes(compiled(), SPOIL_HERE);
}

static void bytes_of_a_built_object(void **state)
{
    (void)state;
    spoil_bytes(built(), SPOIL_HERE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_of_a_compiled_object),
        cmocka_unit_test(prefixes_of_a_built_object),
        cmocka_unit_test(bytes_of_a_compiled_object),
        cmocka_unit_test(bytes_of_a_built_object),
    };
    return cmocka_run_group_tests_name("link/corrupt", tests, NULL, NULL);
}
