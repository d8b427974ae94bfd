/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links laid out as files: what is refused, and the last that is not. */

#include "outputs.h"

#include <stdlib.h>

static const uint8_t code[64] = {0xc3};
static const uint8_t words[64];

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *section;
        uint32_t flags, type;
        int code;
        const char *word;
    } rows[] = {
        {".text", SHF_EXECINSTR, R_X86_64_32S, TN_ERANGE, "object.o(.text+0x0): R_X86_64_32S against 'thing'"},
        {".text", SHF_EXECINSTR, R_X86_64_64, TN_ERANGE, "section .text has addresses in it"},
        {".text", SHF_EXECINSTR, R_X86_64_TPOFF32, TN_ERANGE, "R_X86_64_TPOFF32 is for code of a program"},
        {".ctors", SHF_WRITE, R_X86_64_64, TN_ENOTSUP, "section .ctors"},
        {".init", SHF_EXECINSTR, R_X86_64_PC32, TN_ENOTSUP, "(.init): a piece of a function"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        static struct elf elf;
        memset(&elf, 0, sizeof elf);
        unsigned where = elf_section(&elf, rows[i].section, SHT_PROGBITS, SHF_ALLOC | rows[i].flags, words, 16);
        bool tls = rows[i].type == R_X86_64_TPOFF32;
        unsigned in =
            tls ? elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, words, 8) : where;
        unsigned thing = elf_symbol(&elf, "thing", STB_GLOBAL, tls ? STT_TLS : STT_FUNC, in, 0, 0);
        elf_reloc(&elf, where, 0, thing, rows[i].type, 0);
        struct tn__output *output;
        struct tn_error err;
        const struct tn__output_options options = {.name = "out"};
        assert_error(link_output(&options, elf_finish(&elf), &output, &err), rows[i].code, &err, rows[i].word);
        assert_null(output);
    }
}

/* A pointer that is filled when the file is loaded, and a stub, which other words lead to. Symbols after it keep their
 * places. */
static void test_indirect(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        static struct elf elf;
        memset(&elf, 0, sizeof elf);
        unsigned text = elf_code(&elf, code, sizeof code);
        unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, 16);
        unsigned thing = elf_symbol(&elf, "thing", STB_GLOBAL, STT_GNU_IFUNC, text, 16, 0);
        unsigned common = elf_symbol(&elf, "common", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 8);
        elf_reloc(&elf, data, 0, thing, R_X86_64_64, 0);
        elf_reloc(&elf, data, 8, common, R_X86_64_64, 0);
        struct tn__output *output;
        struct tn_error err;
        const struct tn__output_options options = {.name = "out", .indirect = allowed};
        int rc = link_output(&options, elf_finish(&elf), &output, &err);
        if (!allowed) {
            assert_error(rc, TN_ENOTSUP, &err, "object.o: it has indirect functions");
            continue;
        }
        assert_ok(rc, &err);
        const struct tn__output_section *pointer = find_section(output, ".got.iplt"),
                                        *stubs = find_section(output, ".plt");
        assert_int_equal(output->reloc_count, 3);
        assert_int_equal(output->relocs[0].fixup, TN__DYNAMIC_INDIRECT);
        assert_int_equal(output->relocs[0].address, pointer->address);
        assert_int_equal(output->relocs[0].addend, find_section(output, ".text")->address + 16);
        assert_int_equal(output->relocs[1].fixup, TN__DYNAMIC_RELATIVE);
        assert_int_equal(output->relocs[1].addend, stubs->address);
        assert_int_equal(output->relocs[2].addend, find_section(output, ".bss")->address);
        assert_int_equal(find_symbol(output, "thing")->value, stubs->address);
        assert_true(find_symbol(output, "thing")->function);
        tn__output_free(output);
    }
}

/* Overlapping words would be relocated twice. */
static void test_overlap(void **state)
{
    (void)state;
    for (uint64_t second = 0; second <= 16; second++) {
        static struct elf elf;
        memset(&elf, 0, sizeof elf);
        unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, 32);
        unsigned thing = elf_symbol(&elf, "thing", STB_GLOBAL, STT_OBJECT, data, 0, 8);
        elf_reloc(&elf, data, 8, thing, R_X86_64_64, 0);
        elf_reloc(&elf, data, second, thing, R_X86_64_64, 0);
        struct tn__output *output;
        struct tn_error err;
        const struct tn__output_options options = {.name = "out"};
        int rc = link_output(&options, elf_finish(&elf), &output, &err);
        if (second == 0 || second == 16)
            assert_ok(rc, &err);
        else
            assert_error(rc, TN_EFORMAT, &err, "overlap");
        tn__output_free(output);
    }
}

/* Every distance fits 64 bits, but those to imports are unknown. */
static void test_distances(void **state)
{
    (void)state;
    static const uint32_t types[] = {R_X86_64_PC64, R_X86_64_GOTOFF64, R_X86_64_PLTOFF64};
    for (size_t i = 0; i < 2 * COUNT(types); i++) {
        static struct elf elf;
        memset(&elf, 0, sizeof elf);
        unsigned text = elf_code(&elf, code, sizeof code);
        unsigned own = elf_function(&elf, "own", text, 0), far = elf_undefined(&elf, "far");
        elf_reloc(&elf, text, 8, i % 2 ? far : own, types[i / 2], 0);
        struct tn__output *output;
        struct tn_error err;
        const struct tn__output_options options = {.name = "out"};
        int rc = link_output(&options, elf_finish(&elf), &output, &err);
        if (i % 2)
            assert_error(rc, TN_ERANGE, &err, "against 'far', which lies outside of the file");
        else
            assert_ok(rc, &err);
        tn__output_free(output);
    }
}

/* Offsets in the thread-local data of the file, as __tls_get_addr takes them. Those in other files are unknown. */
static void test_thread_local_offsets(void **state)
{
    (void)state;
    enum { R_RISCV_DTPREL64 = 9 };
    static const struct {
        const struct tn_format *formats[2];
        uint16_t machine;
        uint32_t type;
        uint64_t value;
    } rows[] = {{{&tn_format_elf_x86_64}, EM_X86_64, R_X86_64_DTPOFF64, 12},
                {{&tn_format_elf_riscv64}, EM_RISCV, R_RISCV_DTPREL64, 12 - 0x800ULL}};
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        static struct elf elf;
        memset(&elf, 0, sizeof elf);
        unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, 8);
        unsigned tls = elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, words, 16);
        unsigned own = elf_symbol(&elf, "own", STB_GLOBAL, STT_TLS, tls, 8, 8);
        unsigned far = elf_symbol(&elf, "far", STB_GLOBAL, STT_TLS, 0, 0, 0);
        elf_reloc(&elf, data, 0, i % 2 ? far : own, rows[i / 2].type, 4);
        struct bytes file = elf_finish(&elf);
        elf_header(file)->e_machine = rows[i / 2].machine;
        struct tn__output *output;
        struct tn_error err;
        const struct tn__output_options options = {.name = "out", .formats = rows[i / 2].formats};
        int rc = link_output(&options, file, &output, &err);
        if (i % 2) {
            assert_error(rc, TN_ENOTSUP, &err, "'far' is a thread-local variable of another file");
            continue;
        }
        assert_ok(rc, &err);
        assert_int_equal(tn__get64(find_section(output, ".data")->bytes), rows[i / 2].value);
        tn__output_free(output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses),   cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_distances), cmocka_unit_test(test_thread_local_offsets),
        cmocka_unit_test(test_indirect),
    };
    return cmocka_run_group_tests_name("link/output_refused", tests, NULL, NULL);
}
