/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Symbols in places where compilers rarely or never put them. */

#include "elf_builder.h"
#include "functions.h"
#include "words.h"

#include <stdlib.h>

/* An object whose .data refers by R_X86_64_64 to `name`, which is defined in the section `what`. */
static int link_reference_into(struct fixture *f, Elf64_Shdr section, unsigned bind, const char *name, uint32_t type,
                               struct tn_error *err)
{
    static struct elf elf;
    static uint64_t reference[2], contents[2];
    memset(&elf, 0, sizeof elf);
    memset(reference, 0, sizeof reference);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, reference, sizeof reference);
    unsigned odd = elf_section(&elf, ".odd", section.sh_type, section.sh_flags, contents, section.sh_size);
    unsigned symbol = elf_symbol(&elf, name, bind, STT_OBJECT, odd, 0, 0);
    elf_symbol(&elf, "reference", STB_GLOBAL, STT_OBJECT, data, 0, 8);
    elf_reloc(&elf, data, 0, symbol, type, 0);
    struct bytes object = elf_finish(&elf);
    add_bytes(f, "odd.o", object.at, object.size);
    int code = tn_link(f->library, err);
    static uint8_t *waiting; /* borrowed until the session ends, if it was not linked */
    free(waiting);
    waiting = object.at;
    return code;
}

struct odd {
    const char *name;
    Elf64_Shdr section;
    unsigned bind;
    uint32_t type;
    int code;
};

#define ALLOC_DATA (SHF_ALLOC | SHF_WRITE)

static const struct odd odds[] = {
    {"local in debug data", {.sh_type = SHT_PROGBITS, .sh_size = 8}, STB_LOCAL, R_X86_64_64, TN_EFORMAT},
    {"global in debug data", {.sh_type = SHT_PROGBITS, .sh_size = 8}, STB_GLOBAL, R_X86_64_64, TN_EUNDEF},
    {"weak in debug data", {.sh_type = SHT_PROGBITS, .sh_size = 8}, STB_WEAK, R_X86_64_64, TN_EUNDEF},
    {"global in a note",
     {.sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_size = 8},
     STB_GLOBAL,
     R_X86_64_64,
     TN_EUNDEF},
    {"empty data", {.sh_type = SHT_PROGBITS, .sh_flags = ALLOC_DATA}, STB_GLOBAL, R_X86_64_PC32, 0},
    {"empty code", {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR}, STB_GLOBAL, R_X86_64_PC32, 0},
    {"empty constants", {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, STB_LOCAL, R_X86_64_PC32, 0},
    {"empty zeros", {.sh_type = SHT_NOBITS, .sh_flags = ALLOC_DATA}, STB_GLOBAL, R_X86_64_PC32, 0},
    {"zeros", {.sh_type = SHT_NOBITS, .sh_flags = ALLOC_DATA, .sh_size = 8}, STB_GLOBAL, R_X86_64_PC32, 0},
};

static void a_symbol_in_an_odd_place(void **state)
{
    const struct odd *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f);
    struct tn_error err;
    int code = link_reference_into(&f, row->section, row->bind, "odd_symbol", row->type, &err);
    if (row->code) {
        assert_error(code, row->code, &err, "odd.o(.data+0x0)", "'odd_symbol'",
                     row->code == TN_EFORMAT ? "not loaded" : "undefined");
        struct tn_stats after = stats_of(&f);
        assert_same_memory(&before, &after);
        check_still_works(&f);
    } else {
        assert_ok(code, &err);
        assert_non_null(lookup(&f, "reference"));
    }
    close_fixture(&f);
}

static void an_object_without_symbols(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    static const uint8_t code[] = {0xc3};
    struct elf elf = {0};
    elf_code(&elf, code, sizeof code);
    struct bytes object = elf_finish(&elf);
    elf_section_of_type(object, SHT_SYMTAB)->sh_type = SHT_PROGBITS;
    add_bytes(&f, "stripped.o", object.at, object.size);
    link_all(&f);
    assert_int_equal(stats_of(&f).objects, 1);
    close_fixture(&f);
    free(object.at);
}

/* An object that defines the symbol `target` at an absolute address, and calls it. */
static void a_branch_to_a_far_absolute_symbol_goes_through_a_stub(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        static const uint8_t code[] = {0xe9, 0, 0, 0, 0}; /* jmp target */
        static struct elf elf, other;
        memset(&elf, 0, sizeof elf);
        memset(&other, 0, sizeof other);
        unsigned text = elf_code(&elf, code, sizeof code);
        elf_function(&elf, "f", text, 0);
        uint64_t address = (uintptr_t)abs; /* of the C library, far from this program */
        unsigned target = same ? elf_symbol(&elf, "target", STB_GLOBAL, STT_FUNC, SHN_ABS, address, 0)
                               : elf_undefined(&elf, "target");
        elf_symbol(&other, "target", STB_GLOBAL, STT_FUNC, SHN_ABS, address, 0);
        elf_reloc(&elf, text, 1, target, R_X86_64_PLT32, -4);
        struct bytes object = elf_finish(&elf), second = elf_finish(&other);
        struct fixture f = open_fixture(NULL);
        add_bytes(&f, "jump.o", object.at, object.size);
        if (!same)
            add_bytes(&f, "absolute.o", second.at, second.size);
        void *found = lookup(&f, "f");
        int (*function)(int);
        memcpy(&function, &found, sizeof function);
        assert_int_equal(function(-5), 5);
        close_fixture(&f);
        free(object.at);
        free(second.at);
    }
}

/* `x` in one of these ways, with this size; with a name, also a word of data that is the size of `x`. */
static void add_sized(const struct fixture *f, const char *file, enum kind how, uint64_t size, const char *word)
{
    static const uint8_t bytes[64];
    struct elf *elf = calloc(1, sizeof *elf);
    assert_non_null(elf);
    unsigned data = elf_section(elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, bytes, sizeof bytes);
    unsigned x = how == UNDEFINED ? elf_undefined(elf, "x")
                                  : elf_symbol(elf, "x", how == WEAK ? STB_WEAK : STB_GLOBAL, STT_OBJECT,
                                               how == COMMON ? SHN_COMMON : data, how == COMMON ? 8 : 0, size);
    if (word) {
        elf_symbol(elf, word, STB_GLOBAL, STT_OBJECT, data, 8, 8);
        elf_reloc(elf, data, 8, x, R_X86_64_SIZE64, 0);
    }
    const struct tn_input input = input_of(file, elf_finish(elf));
    struct tn_error err;
    assert_ok(tn_add_object(f->library, &input, &err), &err);
    free(elf);
}

/* In all objects of a link. ld.lld has the same numbers. */
static void sizes_are_those_of_the_definition_in_use(void **state)
{
    (void)state;
    static const struct {
        enum kind how[2];
        uint64_t sizes[2], wanted;
    } cases[] = {
        {{COMMON, COMMON}, {4, 40}, 40},  {{UNDEFINED, COMMON}, {0, 24}, 24}, {{UNDEFINED, STRONG}, {0, 56}, 56},
        {{UNDEFINED, WEAK}, {0, 16}, 16}, {{WEAK, STRONG}, {8, 32}, 32},      {{COMMON, STRONG}, {48, 16}, 16},
        {{COMMON, WEAK}, {16, 32}, 16},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int swapped = 0; swapped < 2; swapped++) {
            struct fixture f = open_fixture(NULL);
            for (int k = 0; k < 2; k++) {
                int which = k ^ swapped;
                add_sized(&f, which ? "b.o" : "a.o", cases[i].how[which], cases[i].sizes[which], which ? "b" : "a");
            }
            link_all(&f);
            assert_int_equal(*(const uint64_t *)lookup(&f, "a"), cases[i].wanted);
            assert_int_equal(*(const uint64_t *)lookup(&f, "b"), cases[i].wanted);
            close_fixture(&f);
        }
}

static void a_common_symbol_may_be_weak(void **state)
{
    (void)state;
    enum { SIZE = 40, ALIGNMENT = 32 };
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    elf_symbol(&elf, "x", STB_WEAK, STT_OBJECT, SHN_COMMON, ALIGNMENT, SIZE);
    elf_symbol(&elf, "y", STB_WEAK, STT_OBJECT, SHN_COMMON, ALIGNMENT, SIZE);
    struct bytes object = elf_finish(&elf);
    struct fixture f = open_fixture(NULL);
    add_bytes(&f, "weak.o", object.at, object.size);
    const uint8_t *x = lookup(&f, "x"), *y = lookup(&f, "y");
    assert_true(x - y >= SIZE || y - x >= SIZE);
    assert_int_equal((uintptr_t)x % ALIGNMENT, 0);
    close_fixture(&f);
    free(object.at);
}

/* What is linked has no sizes any more, and the client's symbols never had. */
static void a_size_that_is_not_known_is_not_taken_for_zero(void **state)
{
    (void)state;
    for (int defined = 0; defined < 2; defined++) {
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        if (defined)
            define(&f, "x", &f);
        else
            add_sized(&f, "x.o", STRONG, 8, NULL);
        link_all(&f);
        add_sized(&f, "size.o", UNDEFINED, 0, "size");
        assert_error(tn_link(f.library, &err), TN_ENOTSUP, &err, "size.o(.data+0x8)", "R_X86_64_SIZE64", "'x'");
        close_fixture(&f);
    }
}

/* gcc for RISC-V puts such labels behind its data, and subtracts. */
static void a_label_may_lie_a_little_behind_its_section(void **state)
{
    (void)state;
    enum { BEYOND = 1 << 15 };
    for (unsigned excess = 0; excess < 2; excess++) {
        static struct elf elf;
        static uint64_t words[2];
        struct tn_error err;
        memset(&elf, 0, sizeof elf);
        unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
        unsigned anchor = elf_symbol(&elf, "anchor", STB_LOCAL, STT_NOTYPE, data, sizeof words + BEYOND + excess, 0);
        elf_symbol(&elf, "word", STB_GLOBAL, STT_OBJECT, data, 0, 8);
        elf_reloc(&elf, data, 0, anchor, R_X86_64_64, -BEYOND - 8);
        struct bytes object = elf_finish(&elf);
        struct fixture f = open_fixture(NULL);
        int code = try_add_bytes(&f, "anchor.o", object.at, object.size, &err);
        if (excess) {
            assert_error(code, TN_EFORMAT, &err, "(anchor)", "outside section .data");
        } else {
            assert_ok(code, &err);
            const uint64_t *word = lookup(&f, "word");
            assert_int_equal(*word, (uintptr_t)(word + 1));
        }
        close_fixture(&f);
        free(object.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_without_symbols),
        cmocka_unit_test(a_branch_to_a_far_absolute_symbol_goes_through_a_stub),
        cmocka_unit_test(sizes_are_those_of_the_definition_in_use),
        cmocka_unit_test(a_common_symbol_may_be_weak),
        cmocka_unit_test(a_size_that_is_not_known_is_not_taken_for_zero),
        cmocka_unit_test(a_label_may_lie_a_little_behind_its_section),
    };
    int failed = cmocka_run_group_tests_name("link/odd_symbols", tests, NULL, NULL);
    return failed + RUN_ROWS("odd places", odds, a_symbol_in_an_odd_place);
}
