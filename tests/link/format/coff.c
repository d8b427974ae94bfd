/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COFF objects for both kinds of Windows compilers, of clang and, where it is installed, of MinGW's gcc, linked and
 * called here. */

#include "base/base.h"
#include "coff_big.h"
#include "windows.h"

#include <stdlib.h>

static const char *const kinds[] = {"msvc", "gnu", "gcc"};

/* ---- code ---- */

static void check_code(const char *kind, const char *other)
{
    struct fixture f = open_windows();
    add_windows(&f, "code", kind);
    add_windows(&f, "more", other);
    typedef WINDOWS double of_double(double);
    assert_int_equal(((of_three *)(uintptr_t)lookup(&f, "add3"))(1, 20, 300), 321);
    assert_int_equal(((of_two *)(uintptr_t)lookup(&f, "mul"))(6, 7), 1042);
    host_var = 2000;
    assert_int_equal(((of_two *)(uintptr_t)lookup(&f, "mul"))(6, 7), 2042);
    host_var = 1000;
    assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "next"))(), 7);
    assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "next"))(), 8);
    assert_int_equal(((of_one *)(uintptr_t)lookup(&f, "calls"))(5), 5 + 2 + 7700 + 30000);
    assert_true(((of_double *)(uintptr_t)lookup(&f, "real"))(2) == 7);
    static const int chosen[] = {5, 100, 24, -1, 284, 8, 0};
    for (int i = 0; i < (int)COUNT(chosen); i++)
        assert_int_equal(((of_one *)(uintptr_t)lookup(&f, "choose"))(i), chosen[i]);
    assert_int_equal(((of_one *)(uintptr_t)lookup(&f, "others"))(5), 16 + 6);
    assert_int_equal(((of_one *)(uintptr_t)lookup(&f, "large_frame"))(1), (signed char)(3000 & 255));
    assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "weak_here"))(), 77);
    assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "weak_elsewhere"))(), 3);
    close_fixture(&f);
}

static void test_code(void **state)
{
    (void)state;
    size_t count = COUNT(kinds) - !data_exists("windows/code.gcc.o");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            check_code(kinds[i], kinds[k]);
}

/* The same with 32-bit section numbers. */
static void test_big_object(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    struct bytes code = coff_big(read_bytes(data_file("windows/code.msvc.o")));
    add_bytes(&f, "big.o", code.at, code.size);
    add_windows(&f, "more", "gnu");
    assert_int_equal(((of_one *)(uintptr_t)lookup(&f, "others"))(5), 22);
    assert_int_equal(((of_one *)(uintptr_t)lookup(&f, "calls"))(5), 37707);
    close_fixture(&f);
    free(code.at);
}

/* And one that is of this form because an assembler found that it has to be. */
static void test_many_sections(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    struct bytes object = read_bytes(data_file("windows/big.msvc.o"));
    assert_memory_equal(object.at, "\0\0\xff\xff\2\0\x64\x86", 8);
    add_bytes(&f, "big.o", object.at, object.size);
    assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "get_last"))(), 4711);
    close_fixture(&f);
    free(object.at);
}

static void test_many_relocations(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    add_windows(&f, "many", "msvc");
    int *const *words = lookup(&f, "words");
    for (int i = 0; i < 65535; i++)
        assert_int_equal(*words[i], 1);
    assert_int_equal(*words[65535], 2);
    close_fixture(&f);
}

/* ---- sections ---- */

typedef WINDOWS uint64_t address_of_nothing(void);

static uint64_t address_from(const struct fixture *f, const char *name)
{
    return ((address_of_nothing *)(uintptr_t)lookup(f, name))();
}

static void test_sections(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    add_windows(&f, "sections", "msvc");
    assert_int_equal(address_from(&f, "relative"), address_from(&f, "absolute_of"));
    assert_int_equal(address_from(&f, "imported"), (uintptr_t)host_add);
    assert_int_equal(call_windows(&f, "needs_alternative"), 4711);
    assert_int_equal(call_windows(&f, "exported"), 4711);
    assert_int_equal(call_windows(&f, "section_offset"), 12);
    assert_int_equal(call_windows(&f, "section_number"), 2);
    assert_int_equal(call_windows(&f, "get_order"), 12345);
    tn_run_finalizers(f.library);
    assert_int_equal(call_windows(&f, "get_order"), 123456);
    close_fixture(&f);
}

/* Entries of functions for unwinders (RUNTIME_FUNCTION): what they say holds here, and they are kept or stripped with
 * their functions. Nothing reads them. */
static void test_unwind_data(void **state)
{
    (void)state;
    static const char *const roots[] = {"kept", "base"};
    static const uint8_t information[] = {1, 4, 1, 0, 4, 0x42}; /* a prologue of 4 bytes, which takes 8 * (4 + 1) */
    struct tn_error err;
    void *address;
    struct fixture f = open_windows();
    add_windows(&f, "unwind", "msvc");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    const uint8_t *entry = lookup(&f, "kept_entry");
    uint64_t base = tn__get64(lookup(&f, "base")), start = base + tn__get32(entry), end = base + tn__get32(entry + 4);
    assert_int_equal(start, (uintptr_t)lookup(&f, "kept"));
    assert_int_equal(((const uint8_t *)(uintptr_t)end)[-1], 0xc3); /* ret */
    assert_memory_equal((const void *)(uintptr_t)(base + tn__get32(entry + 8)), information, sizeof information);
    assert_int_equal(call_windows(&f, "kept"), 40);
    assert_error(tn_lookup(f.library, "dropped_entry", &address, &err), TN_EUNDEF, &err, "dropped_entry");
    close_fixture(&f);
}

/* The base is the client's, if it defines one. */
static void test_base_of_the_client(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    struct fixture f = open_windows();
    define(&f, "__ImageBase", (void *)16);
    add_windows(&f, "sections", "msvc");
    assert_error(tn_lookup(f.library, "relative", &address, &err), TN_ERANGE, &err, "sections.msvc.o(.text", "REL32",
                 "__ImageBase");
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_big_object),
        cmocka_unit_test(test_many_sections),
        cmocka_unit_test(test_many_relocations),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_unwind_data),
        cmocka_unit_test(test_base_of_the_client),
    };
    return cmocka_run_group_tests_name("link/coff", tests, NULL, NULL);
}
