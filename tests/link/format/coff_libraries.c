/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries of COFF objects, import libraries, and weak names, some of which libraries are searched for. */

#include "base/base.h"
#include "windows.h"

/* ---- weak names ---- */

static void test_weak_names(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    add_windows(&f, "weak", "msvc");
    assert_int_equal(((of_two *)(uintptr_t)lookup(&f, "of_other"))(2, 3), 5);
    assert_int_equal(((of_two *)(uintptr_t)lookup(&f, "of_weak"))(2, 4), 6);
    assert_ptr_equal(lookup(&f, "of_other"), (void *)(uintptr_t)host_add);
    assert_int_equal(call_windows(&f, "anti"), 5);
    close_fixture(&f);
    f = open_windows();
    define(&f, "of_other", (void *)(uintptr_t)host_mul); /* stronger */
    add_windows(&f, "weak", "msvc");
    assert_int_equal(((of_two *)(uintptr_t)lookup(&f, "of_other"))(2, 3), 6);
    close_fixture(&f);
}

/* ---- archives ---- */

static void test_libraries(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    add_windows_file(&f, "windows/more.lib");
    add_windows(&f, "code", "msvc");
    assert_int_equal(((of_one *)(uintptr_t)lookup(&f, "others"))(5), 22);
    close_fixture(&f);
}

static void *resolve(void *unused, const char *name)
{
    (void)unused;
    return !strcmp(name, "host_add") ? (void *)(uintptr_t)host_add : !strcmp(name, "host_var") ? &host_var : NULL;
}

/* Names in an import library are found where all names of the process are. */
static void test_import_library(void **state)
{
    (void)state;
    struct fixture f = open_empty_windows();
    struct tn_error err;
    void *address;
    assert_ok(tn_add_resolver(f.library, resolve, NULL, &err), &err);
    add_windows_file(&f, "windows/imports.lib");
    add_windows_file(&f, "windows/more.lib");
    add_windows(&f, "code", "msvc");
    assert_error(tn_lookup(f.library, "add3", &address, &err), TN_EUNDEF, &err, "'host_mul' needed by",
                 "code.msvc.o(.text+");
    define(&f, "host_mul", (void *)(uintptr_t)host_mul);
    assert_int_equal(((of_three *)(uintptr_t)lookup(&f, "add3"))(1, 2, 3), 6);
    close_fixture(&f);
}

enum { CLASS_EXTERNAL = 2, CLASS_WEAK = 105, ADDR64 = 1 };
enum { SEARCH_NO_LIBRARY = 1, SEARCH_LIBRARY, SEARCH_ALIAS, ANTI_DEPENDENCY };
/* A member of an import library in the old form, as MinGW's dlltool makes them: a jump through a pointer that a loader
 * would fill. It defines nothing here. */
static void test_old_import(void **state)
{
    (void)state;
    static const uint8_t jump[8] = {0xff, 0x25}, pointer[8];
    static const struct coff_reloc to_pointer = {2, 1, 4}, to_name = {0, 2, 3};
    const struct coff import = {
        .machine = COFF_X86_64,
        .sections = {{".text", COFF_CODE, jump, sizeof jump, &to_pointer, 1},
                     {".idata$5", COFF_CONSTANTS, pointer, sizeof pointer, &to_name, 1},
                     {".idata$6", COFF_CONSTANTS, "\0\0host_add\0", 12, NULL, 0}},
        .section_count = 3,
        .symbols = {{"host_add", .section = 1, .type = 0x20, .class = CLASS_EXTERNAL},
                    {"__imp_h", .section = 2, .class = CLASS_EXTERNAL},
                    {"name", .section = 3, .class = CLASS_EXTERNAL}},
        .symbol_count = 3,
    };
    struct fixture f = open_empty_windows();
    struct tn_error err;
    void *address;
    add_built(&f, "old.o", &import);
    assert_error(tn_lookup(f.library, "host_add", &address, &err), TN_EUNDEF, &err, "host_add");
    assert_ok(tn_add_resolver(f.library, resolve, NULL, &err), &err);
    assert_ptr_equal(lookup(&f, "host_add"), (void *)(uintptr_t)host_add);
    close_fixture(&f);
}

static int call_at(void *const *function)
{
    return ((of_nothing *)(uintptr_t)*function)();
}

/* Of two copies of one link the larger one is kept. If the link fails, nothing has happened. */
static void larger_member(const char *archive)
{
    static const uint8_t zeros[24];
    static const struct coff_reloc relocs[] = {{0, 0, ADDR64}, {8, 1, ADDR64}, {16, 2, ADDR64}};
    const struct coff of_both = {
        .machine = COFF_X86_64,
        .sections = {{"callers", COFF_CONSTANTS | COFF_ALIGN_8, zeros, sizeof zeros, relocs, COUNT(relocs)}},
        .section_count = 1,
        .symbols = {{"first_largest", .class = CLASS_EXTERNAL},
                    {"second_largest", .class = CLASS_EXTERNAL},
                    {"late", .class = CLASS_EXTERNAL},
                    {"callers", .section = 1, .class = CLASS_EXTERNAL}},
        .symbol_count = 4,
    };
    struct fixture f = open_windows();
    struct tn_error err;
    void *address;
    add_windows_file(&f, archive);
    add_built(&f, "callers.o", &of_both);
    assert_error(tn_lookup(f.library, "callers", &address, &err), TN_EUNDEF, &err, "'late'");
    define(&f, "late", &host_var);
    void *const *functions = lookup(&f, "callers");
    assert_int_equal(call_at(&functions[0]), 2);
    assert_int_equal(call_at(&functions[1]), 2);
    assert_ptr_equal((char *)lookup(&f, "inside_largest") - 7, lookup(&f, "largest"));
    close_fixture(&f);
}

static void test_larger_member(void **state)
{
    (void)state;
    larger_member("windows/comdats.lib");
}

/* As llvm-lib makes them: both linker members, and the paths of members. */
static void test_thin_library(void **state)
{
    (void)state;
    larger_member("windows/thin.lib");
}

/* In two links, the larger copy comes too late. */
static void test_smaller_member(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    add_windows_file(&f, "windows/comdats.lib");
    assert_int_equal(call_windows(&f, "first_largest"), 1);
    struct tn_error err;
    void *address;
    assert_error(tn_lookup(f.library, "second_largest", &address, &err), TN_EDUP, &err, "linked already");
    close_fixture(&f);
}

/* A weak external with a default, which a member of an archive defines too. */
static void add_weak(const struct fixture *f, uint8_t how)
{
    static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* returns 42 */
    const struct coff weak = {
        .machine = COFF_X86_64,
        .sections = {{".text", COFF_CODE, code, sizeof code, NULL, 0}},
        .section_count = 1,
        .symbols = {{"of_default", .section = 1, .type = 0x20, .class = CLASS_EXTERNAL},
                    {"first_any", .class = CLASS_WEAK, .more = 1},
                    {.record = {[4] = how}}},
        .symbol_count = 3,
    };
    add_built(f, "weak.o", &weak);
}

/* SEARCH_LIBRARY: the archive's, added before or after, unless the default is linked already. */
static void test_weak_searches_libraries(void **state)
{
    (void)state;
    for (int archive_first = 0; archive_first < 2; archive_first++) {
        struct fixture f = open_windows();
        if (archive_first)
            add_windows_file(&f, "windows/comdats.lib");
        add_weak(&f, SEARCH_LIBRARY);
        if (!archive_first)
            add_windows_file(&f, "windows/comdats.lib");
        assert_int_equal(call_windows(&f, "first_any"), 1);
        close_fixture(&f);
    }
    struct fixture f = open_windows();
    add_weak(&f, SEARCH_LIBRARY);
    assert_int_equal(call_windows(&f, "first_any"), 42);
    add_windows_file(&f, "windows/comdats.lib");
    assert_int_equal(call_windows(&f, "first_any"), 42);
    close_fixture(&f);
    static const uint8_t others[] = {SEARCH_NO_LIBRARY, SEARCH_ALIAS, ANTI_DEPENDENCY};
    for (size_t i = 0; i < COUNT(others); i++) {
        f = open_windows();
        add_weak(&f, others[i]);
        add_windows_file(&f, "windows/comdats.lib");
        assert_int_equal(call_windows(&f, "first_any"), 42);
        close_fixture(&f);
    }
}

/* The default is what the name stands for: if nothing defines it, a reference to the name leads nowhere, whatever is
 * searched for it. Only a default of the address 0 makes a reference to nothing. */
static void test_weak_without_default(void **state)
{
    (void)state;
    static const uint8_t zeros[8];
    static const struct coff_reloc reloc = {0, 1, ADDR64};
    for (uint8_t how = SEARCH_NO_LIBRARY; how <= ANTI_DEPENDENCY; how++) {
        const struct coff weak = {
            .machine = COFF_X86_64,
            .sections = {{"to_weak", COFF_CONSTANTS | COFF_ALIGN_8, zeros, sizeof zeros, &reloc, 1}},
            .section_count = 1,
            .symbols = {{"nowhere", .class = CLASS_EXTERNAL},
                        {"weak", .class = CLASS_WEAK, .more = 1},
                        {.record = {[4] = how}},
                        {"to_weak", .section = 1, .class = CLASS_EXTERNAL}},
            .symbol_count = 4,
        };
        struct fixture f = open_windows();
        struct tn_error err;
        void *address;
        add_built(&f, "weak.o", &weak);
        assert_error(tn_lookup(f.library, "to_weak", &address, &err), TN_EUNDEF, &err, "nowhere", "weak.o(to_weak");
        define(&f, "nowhere", NULL);
        assert_null(*(void *const *)lookup(&f, "to_weak"));
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weak_names),           cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_import_library),       cmocka_unit_test(test_old_import),
        cmocka_unit_test(test_larger_member),        cmocka_unit_test(test_thin_library),
        cmocka_unit_test(test_smaller_member),       cmocka_unit_test(test_weak_searches_libraries),
        cmocka_unit_test(test_weak_without_default),
    };
    return cmocka_run_group_tests_name("link/coff_libraries", tests, NULL, NULL);
}
