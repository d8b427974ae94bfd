/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Malformed and foreign objects, one per row: the error code, what the text names, and that nothing remains. */

#include "elf_builder.h"

#include <stdlib.h>

/* The object that every row spoils: sections 1 .text, 2 .data, 3 .group, 4 .bss, then .rela.text, .symtab, .strtab,
 * .shstrtab. Symbols: 1 local function, 2 `f`, 3 `common`, 4 undefined `missing`. */
enum { TEXT = 1, DATA, GROUP, BSS, RELA, SYMTAB, STRTAB, SHSTRTAB };
enum { LOCAL = 1, F, COMMON, MISSING };

static struct bytes good(void)
{
    static struct elf elf;
    static const uint8_t code[16] = {0xc3};
    static uint64_t data[2];
    static uint32_t group[2] = {GRP_COMDAT, DATA};
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned in_group = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, data, sizeof data);
    unsigned grp = elf_section(&elf, ".group", SHT_GROUP, 0, group, sizeof group);
    elf_section(&elf, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, NULL, 64);
    elf_symbol(&elf, "local", STB_LOCAL, STT_FUNC, text, 8, 1);
    elf_function(&elf, "f", text, 0);
    elf_symbol(&elf, "common", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 8);
    unsigned missing = elf_undefined(&elf, "abs");
    elf.sections[grp].header.sh_info = F;
    elf_reloc(&elf, text, 4, missing, R_X86_64_PLT32, -4);
    elf_reloc(&elf, text, 8, LOCAL, R_X86_64_PC32, 0);
    assert_int_equal(in_group, DATA);
    return elf_finish(&elf);
}

/* ---- rows ---- */

enum what { HEADER, SECTION, SYMBOL, RELOC, BYTES };

struct row {
    const char *name;
    enum what what;
    unsigned index; /* of the section, symbol or relocation; BYTES: section */
    size_t offset;  /* in its record; BYTES: in its contents */
    unsigned bytes;
    uint64_t value;
    int code;
    const char *words[2];
};

#define IN_HEADER(field, value) HEADER, 0, offsetof(Elf64_Ehdr, field), sizeof((Elf64_Ehdr *)0)->field, value
#define IN_IDENT(at, value)     HEADER, 0, at, 1, value
#define IN_SECTION(index, field, value)                                                                                \
    SECTION, index, offsetof(Elf64_Shdr, field), sizeof((Elf64_Shdr *)0)->field, value
#define IN_SYMBOL(index, field, value) SYMBOL, index, offsetof(Elf64_Sym, field), sizeof((Elf64_Sym *)0)->field, value
#define IN_RELOC(index, field, value)  RELOC, index, offsetof(Elf64_Rela, field), sizeof((Elf64_Rela *)0)->field, value

static const struct row rows[] = {
    {"good", IN_IDENT(0, 0x7f), 0},
    /* The ELF header. */
    {"magic", IN_IDENT(0, 0x7e), TN_EFORMAT, {"not an object file"}},
    {"class 0", IN_IDENT(EI_CLASS, 0), TN_EFORMAT, {"ELF class 0"}},
    {"32-bit", IN_IDENT(EI_CLASS, ELFCLASS32), TN_EFORMAT, {"ELF class 1", "64-bit"}},
    {"big-endian", IN_IDENT(EI_DATA, ELFDATA2MSB), TN_EFORMAT, {"byte order 2", "little-endian"}},
    {"no type", IN_HEADER(e_type, ET_NONE), TN_EFORMAT, {"ELF type 0", "relocatable"}},
    {"program", IN_HEADER(e_type, ET_EXEC), TN_EFORMAT, {"ELF type 2", "a program"}},
    {"shared library", IN_HEADER(e_type, ET_DYN), TN_EFORMAT, {"ELF type 3", "shared library"}},
    {"core", IN_HEADER(e_type, ET_CORE), TN_EFORMAT, {"ELF type 4"}},
    {"AArch64", IN_HEADER(e_machine, EM_AARCH64), TN_ENOTSUP, {"made for AArch64", "links code for"}},
    {"i386", IN_HEADER(e_machine, EM_386), TN_EFORMAT, {"machine 3"}},
    {"no section headers", IN_HEADER(e_shoff, 0), TN_EFORMAT, {"section"}},
    {"section headers behind the end", IN_HEADER(e_shoff, 1 << 20), TN_EFORMAT, {"section headers"}},
    {"section headers at the end of numbers", IN_HEADER(e_shoff, UINT64_MAX), TN_EFORMAT, {"section headers"}},
    {"section headers at the end of numbers less 63", IN_HEADER(e_shoff, UINT64_MAX - 63), TN_EFORMAT, {"section"}},
    {"one section header too many", IN_HEADER(e_shnum, SHSTRTAB + 2), TN_EFORMAT, {"10 section headers"}},
    {"65,535 section headers", IN_HEADER(e_shnum, 65535), TN_EFORMAT, {"65535 section headers"}},
    {"no number of section headers", IN_HEADER(e_shnum, 0), TN_EFORMAT, {"0 section headers"}},
    {"size of section headers", IN_HEADER(e_shentsize, 32), TN_EFORMAT, {"entries of 32 bytes"}},
    {"section of names does not exist", IN_HEADER(e_shstrndx, SHSTRTAB + 1), TN_EFORMAT, {"no section names"}},
    {"section of names is code", IN_HEADER(e_shstrndx, RELA), TN_EFORMAT, {"string table"}},
    {"section of names has no bytes", IN_HEADER(e_shstrndx, BSS), TN_EFORMAT, {"no table of section names"}},
    {"section of names in the first header", IN_HEADER(e_shstrndx, SHN_XINDEX), TN_EFORMAT, {"section 0 is no table"}},
    /* Section headers. */
    {"section name", IN_SECTION(TEXT, sh_name, 1 << 20), TN_EFORMAT, {"section 1", "string table"}},
    {"section behind the end",
     IN_SECTION(TEXT, sh_offset, 1 << 20),
     TN_EFORMAT,
     {"section 1 (.text)", "outside the file"}},
    {"section too long", IN_SECTION(TEXT, sh_size, 1 << 20), TN_EFORMAT, {"section 1 (.text)", "outside the file"}},
    {"section wraps around", IN_SECTION(TEXT, sh_offset, UINT64_MAX - 3), TN_EFORMAT, {"(.text)", "outside the file"}},
    {"size wraps around", IN_SECTION(TEXT, sh_size, UINT64_MAX), TN_EFORMAT, {"(.text)", "outside the file"}},
    {"sections overlap", IN_SECTION(DATA, sh_offset, 64), TN_EFORMAT, {"1 (.text) and 2 (.data) overlap"}},
    {"alignment 0", IN_SECTION(TEXT, sh_addralign, 0), 0},
    {"alignment 3", IN_SECTION(TEXT, sh_addralign, 3), TN_EFORMAT, {"(.text)", "alignment 3 is no power of two"}},
    {"alignment 2^63", IN_SECTION(TEXT, sh_addralign, 1ULL << 63), TN_ENOMEM, {".text", "fits no window"}},
    {"alignment 2^41", IN_SECTION(TEXT, sh_addralign, 1ULL << 41), TN_ENOMEM, {".text", "fits no window"}},
    {"alignment 2^32", IN_SECTION(TEXT, sh_addralign, 1ULL << 32), TN_ENOMEM, {"window"}},
    {"zeros of 2^63 bytes", IN_SECTION(BSS, sh_size, 1ULL << 63), TN_ENOMEM, {".bss", "fits no window"}},
    {"zeros of 2^64-1 bytes", IN_SECTION(BSS, sh_size, UINT64_MAX), TN_ENOMEM, {".bss", "fits no window"}},
    {"zeros of 2^31 bytes", IN_SECTION(BSS, sh_size, 1ULL << 31), TN_ENOMEM, {"window"}},
    {"code without bytes", IN_SECTION(TEXT, sh_type, SHT_NOBITS), TN_EFORMAT, {"(.text)", "without bytes"}},
    {"compressed data", IN_SECTION(DATA, sh_flags, SHF_ALLOC | SHF_WRITE | SHF_COMPRESSED), TN_EFORMAT, {"compressed"}},
    {"second symbol table", IN_SECTION(GROUP, sh_type, SHT_SYMTAB), TN_EFORMAT, {"both symbol tables"}},
    {"symbol table that is loaded", IN_SECTION(DATA, sh_type, SHT_SYMTAB), TN_ENOTSUP, {"type 0x2 cannot be loaded"}},
    /* The symbol table. */
    {"part of a symbol", IN_SECTION(SYMTAB, sh_size, 5 * 24 - 1), TN_EFORMAT, {"no symbol table"}},
    {"names of symbols do not exist",
     IN_SECTION(SYMTAB, sh_link, SHSTRTAB + 1),
     TN_EFORMAT,
     {"no table of symbol names"}},
    {"names of symbols nowhere", IN_SECTION(SYMTAB, sh_link, 0), TN_EFORMAT, {"no table of symbol names"}},
    {"names of symbols are code", IN_SECTION(SYMTAB, sh_link, TEXT), TN_EFORMAT, {"no table of symbol names"}},
    {"names of symbols are empty", IN_SECTION(STRTAB, sh_size, 0), TN_EFORMAT, {"no table of symbol names"}},
    {"names of symbols without end", IN_SECTION(STRTAB, sh_size, 3), TN_EFORMAT, {"no table of symbol names"}},
    {"symbol name", IN_SYMBOL(F, st_name, 1 << 20), TN_EFORMAT, {"symbol 2", "string table"}},
    {"global without a name", IN_SYMBOL(F, st_name, 0), TN_EFORMAT, {"symbol 2", "no name"}},
    {"symbol in a missing section", IN_SYMBOL(F, st_shndx, SHSTRTAB + 1), TN_EFORMAT, {"symbol 2 (f)", "section 9"}},
    {"symbol in a reserved section", IN_SYMBOL(F, st_shndx, 0xff20), TN_ENOTSUP, {"symbol 2 (f)", "0xff20"}},
    {"large common", IN_SYMBOL(F, st_shndx, 0xff02), TN_ENOTSUP, {"symbol 2 (f)", "0xff02"}},
    {"symbol without an extended index", IN_SYMBOL(F, st_shndx, SHN_XINDEX), TN_EFORMAT, {"(f)", "extended section"}},
    {"symbol at the section's end", IN_SYMBOL(LOCAL, st_value, 16), 0},
    {"symbol behind the section",
     IN_SYMBOL(LOCAL, st_value, 17),
     TN_EFORMAT,
     {"symbol 1 (local)", "outside section .text"}},
    {"symbol at the end of numbers", IN_SYMBOL(LOCAL, st_value, UINT64_MAX), TN_EFORMAT, {"(local)", "outside"}},
    {"common aligned to 0", IN_SYMBOL(COMMON, st_value, 0), TN_EFORMAT, {"(common)", "alignment 0"}},
    {"common aligned to 12", IN_SYMBOL(COMMON, st_value, 12), TN_EFORMAT, {"(common)", "alignment 12"}},
    {"common aligned to 2^63", IN_SYMBOL(COMMON, st_value, 1ULL << 63), TN_ENOMEM, {"'common'", "window"}},
    {"common of 2^64-1 bytes", IN_SYMBOL(COMMON, st_size, UINT64_MAX), TN_ENOMEM, {"'common'", "window"}},
    {"undefined", IN_SYMBOL(MISSING, st_name, 12), TN_EUNDEF, {"'mon'", "bad.o(.text+0x4)"}},
    /* type, visibility and section at once */
    {"indirect function in data",
     SYMBOL,
     LOCAL,
     offsetof(Elf64_Sym, st_info),
     4,
     STT_GNU_IFUNC | DATA << 16,
     TN_EFORMAT,
     {"(local)", "indirect function outside of code"}},
    /* Relocations. */
    {"relocations of a missing section", IN_SECTION(RELA, sh_info, SHSTRTAB + 1), TN_EFORMAT, {"relocates section 9"}},
    {"relocations of no section", IN_SECTION(RELA, sh_info, 0), TN_EFORMAT, {"relocates section 0"}},
    {"relocations of zeros", IN_SECTION(RELA, sh_info, BSS), TN_EFORMAT, {".bss", "no bytes"}},
    {"relocations with other symbols",
     IN_SECTION(RELA, sh_link, DATA),
     TN_EFORMAT,
     {"section 2", "not the symbol table"}},
    {"part of a relocation", IN_SECTION(RELA, sh_size, 47), TN_EFORMAT, {"47 bytes"}},
    {"relocations without addends", IN_SECTION(RELA, sh_type, SHT_REL), TN_ENOTSUP, {"without addends"}},
    {"relocations in a group's place", IN_SECTION(GROUP, sh_type, SHT_RELA), TN_EFORMAT, {"(.group)", "8 bytes"}},
    {"relocations that are loaded", IN_SECTION(DATA, sh_type, SHT_RELA), TN_ENOTSUP, {"type 0x4 cannot be loaded"}},
    {"relocation against a missing symbol",
     IN_RELOC(0, r_info, ELF64_R_INFO(5ULL, R_X86_64_64)),
     TN_EFORMAT,
     {"symbol 5"}},
    {"relocation against no symbol", IN_RELOC(0, r_info, ELF64_R_INFO(0ULL, R_X86_64_64)), 0},
    {"relocation against symbol 2^32-1", IN_RELOC(0, r_info, UINT64_MAX), TN_EFORMAT, {"symbol 4294967295"}},
    {"relocation of type 0xffffffff", IN_RELOC(0, r_info, 0x1ffffffffULL), TN_EFORMAT, {"type 4294967295"}},
    {"relocation at the section's end", IN_RELOC(0, r_offset, 12), 0},
    {"relocation over the section's end", IN_RELOC(0, r_offset, 13), TN_EFORMAT, {"bad.o(.text+0xd)", "outside"}},
    {"relocation at the end of numbers",
     IN_RELOC(0, r_offset, UINT64_MAX),
     TN_EFORMAT,
     {"0xffffffffffffffff", "outside"}},
    /* Groups. */
    {"group of no words", IN_SECTION(GROUP, sh_size, 0), TN_EFORMAT, {"(.group)", "malformed section group"}},
    {"group of half a word", IN_SECTION(GROUP, sh_size, 6), TN_EFORMAT, {"(.group)", "malformed section group"}},
    {"group without members", IN_SECTION(GROUP, sh_size, 4), 0},
    {"group with other symbols", IN_SECTION(GROUP, sh_link, DATA), TN_EFORMAT, {"malformed section group"}},
    {"group of a missing symbol", IN_SECTION(GROUP, sh_info, 5), TN_EFORMAT, {"malformed section group"}},
    {"group with a missing member", BYTES, GROUP, 4, 4, SHSTRTAB + 1, TN_EFORMAT, {"group member 9"}},
    {"group with member 0", BYTES, GROUP, 4, 4, 0, 0},
    {"group with itself", BYTES, GROUP, 4, 4, GROUP, 0},
    {"group that is no COMDAT", BYTES, GROUP, 0, 4, 0, 0},
};

static uint8_t *place_of(struct bytes file, const struct row *row)
{
    switch (row->what) {
    case HEADER:
        return (uint8_t *)elf_header(file) + row->offset;
    case SECTION:
        return (uint8_t *)elf_section_header(file, row->index) + row->offset;
    case SYMBOL:
        return (uint8_t *)elf_symbol_entry(file, row->index) + row->offset;
    case RELOC:
        return (uint8_t *)elf_rela_entry(file, row->index) + row->offset;
    default:
        return file.at + elf_section_header(file, row->index)->sh_offset + row->offset;
    }
}

static void it_is_refused_or_harmless(void **state)
{
    const struct row *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f), after;
    struct tn_error err;
    struct bytes object = good();
    memcpy(place_of(object, row), &row->value, row->bytes);
    int code = try_add_bytes(&f, "bad.o", object.at, object.size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    if (row->code) {
        assert_error(code, row->code, &err, "bad.o", row->words[0], row->words[1]);
        after = stats_of(&f);
        assert_same_memory(&before, &after);
    } else {
        assert_ok(code, &err);
    }
    check_still_works(&f);
    close_fixture(&f);
    free(object.at);
}

/* ---- whole files ---- */

struct file {
    const char *name;
    const void *bytes;
    size_t size;
    const char *word;
    int code; /* 0: TN_EFORMAT */
};

#define CONTENTS(text) text, sizeof(text) - 1

static const struct file files[] = {
    {"empty", CONTENTS(""), "an empty file"},
    {"one byte", CONTENTS("\177"), "not an object file"},
    {"text", CONTENTS("int main(void) { return 0; }\n"), "not an object file"},
    {"bitcode", CONTENTS("BC\xC0\xDE\x35\x14\0\0"), "LLVM bitcode"},
    {"wrapped bitcode", CONTENTS("\xDE\xC0\x17\x0B\0\0\0\0"), "LLVM bitcode"},
    {"magic only", CONTENTS("\177ELF"), "truncated"},
    {"63 bytes",
     CONTENTS("\177ELF\2\1\1"
              "00000000000000000000000000000000000000000000000000000000"),
     "truncated"},
    {"Mach-O", CONTENTS("\xCF\xFA\xED\xFE\7\0\0\1"), "name tn_format_macho_x86_64", TN_ENOTSUP},
    {"script", CONTENTS("#!/bin/sh\n"), "not an object file"},
};

static void no_object_at_all(void **state)
{
    const struct file *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    int code = row->code ? row->code : TN_EFORMAT;
    assert_error(try_add_bytes(&f, "memory.o", row->bytes, row->size, &err), code, &err, "memory.o: ", row->word);
    const char *path = scratch_file("file.o");
    write_bytes(path, row->bytes, row->size);
    assert_error(tn_add_file(f.library, path, &err), code, &err, path, row->word);
    check_still_works(&f);
    close_fixture(&f);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *path, *word;
    } paths[] = {
        {"/nonexistent/x.o", "No such file"}, {"/", "directory"}, {"/dev/null", "No such device"}, {"", "No such"}};
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    for (size_t i = 0; i < COUNT(paths); i++)
        assert_error(tn_add_file(f.library, paths[i].path, &err), TN_EIO, &err, *paths[i].path ? paths[i].path : ": ",
                     paths[i].word);
    assert_int_equal(tn_add_file(f.library, "/", NULL), TN_EIO);
    check_still_works(&f);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_that_cannot_be_read)};
    int failed = cmocka_run_group_tests_name("link/bad_object", tests, NULL, NULL);
    failed += RUN_ROWS("field", rows, it_is_refused_or_harmless);
    return failed + RUN_ROWS("file", files, no_object_at_all);
}
