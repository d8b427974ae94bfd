/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Dead stripping: the names in data/strip.s tell what has to stay. */

#include "support.h"

#include <stdlib.h>

#include "elf_builder.h"

static const char *const roots[] = {"live_start"};

/* Calls `visit` with every global name that strip.o defines; returns their number. */
static size_t each_name(const struct fixture *f, void (*visit)(const struct fixture *f, const char *name))
{
    struct bytes file = read_bytes(data_file("strip.o"));
    const Elf64_Ehdr *elf = (const void *)file.at;
    const Elf64_Shdr *sections = (const void *)(file.at + elf->e_shoff);
    size_t count = 0;
    for (unsigned i = 0; i < elf->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const void *)(file.at + sections[i].sh_offset);
        const char *names = (const char *)file.at + sections[sections[i].sh_link].sh_offset;
        for (size_t k = sections[i].sh_info; k < sections[i].sh_size / sizeof *symbols; k++)
            if (symbols[k].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbols[k].st_info) != STT_TLS) {
                visit(f, names + symbols[k].st_name);
                count++;
            }
    }
    free(file.at);
    return count;
}

static void is_as_its_name_says(const struct fixture *f, const char *name)
{
    struct tn_error err;
    void *address;
    int code = tn_lookup(f->library, name, &address, &err);
    if (!strncmp(name, "live_", 5))
        assert_ok(code, &err);
    else
        assert_error(code, TN_EUNDEF, &err, name);
}

static void is_there(const struct fixture *f, const char *name)
{
    lookup(f, name);
}

static void test_keeps_what_is_needed(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "strip.o");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    assert_true(each_name(&f, is_as_its_name_says) > 25);
    assert_int_equal(call(&f, "live_start"), 0);
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
    tn_run_finalizers(f.library);
    close_fixture(&f);
}

/* A failed link strips nothing: the next one may need all of it. */
static void test_failure_undoes_it(void **state)
{
    (void)state;
    static const char *const wrong[] = {"live_start", "no_such_root"};
    static const char *const dead[] = {"live_start", "dead_one"};
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "strip.o");
    struct tn_stats before = stats_of(&f);
    assert_error(tn_link_roots(f.library, wrong, COUNT(wrong), &err), TN_EUNDEF, &err, "root 'no_such_root'");
    assert_error(tn_link_roots(f.library, dead, COUNT(dead), &err), TN_EUNDEF, &err, "'nowhere_defined'", "dead_two");
    struct tn_stats after = stats_of(&f);
    assert_same_memory(&before, &after);
    define(&f, "nowhere_defined", roots);
    link_all(&f);
    each_name(&f, is_there);
    close_fixture(&f);
}

/* Stripped names are free for other objects. */
static void test_stripped_names_are_free(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "strip.o");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    define(&f, "dead_one", roots);
    assert_ptr_equal(lookup(&f, "dead_one"), roots);
    assert_error(tn_define(f.library, "live_called", roots, &err), TN_EDUP, &err, "live_called");
    close_fixture(&f);
}

/* Without roots, only what the linker must keep remains; roots may be symbols of the host and the client. */
static void test_roots_of_others(void **state)
{
    (void)state;
    static const char *const foreign[] = {"strlen", "from_client"};
    struct tn_error err;
    void *address;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "strip.o");
    define(&f, "from_client", foreign);
    assert_ok(tn_link_roots(f.library, foreign, COUNT(foreign), &err), &err);
    assert_error(tn_lookup(f.library, "live_start", &address, &err), TN_EUNDEF, &err, "live_start");
    assert_non_null(lookup(&f, "live_initializer"));
    assert_error(tn_link_roots(f.library, NULL, 1, &err), TN_EINVAL, &err, "roots");
    assert_error(tn_link_roots(NULL, roots, 1, &err), TN_EINVAL, &err, "library");
    close_fixture(&f);
}

/* Found by the fuzzer: if there is no other data, a common symbol of size 0 has no range. */
static void test_common_symbol_without_size(void **state)
{
    (void)state;
    static const uint8_t code[8], word[8];
    for (int strip = 0; strip < 2; strip++) {
        static struct elf elf;
        struct tn_error err;
        struct fixture f = open_fixture(NULL);
        memset(&elf, 0, sizeof elf);
        unsigned text = elf_code(&elf, code, sizeof code);
        if (strip)
            elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, word, sizeof word);
        elf_function(&elf, "live_start", text, 0);
        unsigned common = elf_symbol(&elf, "common", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 0);
        elf_reloc(&elf, text, 0, common, R_X86_64_64, 0);
        struct bytes object = elf_finish(&elf);
        add_bytes(&f, "common.o", object.at, object.size);
        assert_ok(strip ? tn_link_roots(f.library, roots, COUNT(roots), &err) : tn_link(f.library, &err), &err);
        assert_non_null(lookup(&f, "common"));
        close_fixture(&f);
        free(object.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_what_is_needed),       cmocka_unit_test(test_failure_undoes_it),
        cmocka_unit_test(test_stripped_names_are_free),    cmocka_unit_test(test_roots_of_others),
        cmocka_unit_test(test_common_symbol_without_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
