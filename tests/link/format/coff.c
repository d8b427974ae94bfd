/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COFF objects for both kinds of Windows compilers, of clang and, where it is installed, of MinGW's gcc, linked and
 * called here. */

#include "base/base.h"
#include "coff_big.h"
#include "coff_builder.h"

#include <stdlib.h>

#define WINDOWS __attribute__((ms_abi))

static const struct tn_format *const formats[] = {&tn_format_coff_x86_64, NULL};
static const char *const kinds[] = {"msvc", "gnu", "gcc"};

/* ---- what the host supplies ---- */

static int host_var = 1000, included_one;

WINDOWS static int host_add(int a, int b)
{
    return a + b;
}

WINDOWS static int host_mul(int a, int b)
{
    return a * b;
}

static struct fixture open_windows(void)
{
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct fixture f;
    struct tn_error err;
    assert_ok(tn_session_create(&options, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "windows", &f.library, &err), &err);
    define(&f, "host_add", (void *)(uintptr_t)host_add);
    define(&f, "host_mul", (void *)(uintptr_t)host_mul);
    define(&f, "host_var", &host_var);
    define(&f, "included_one", &included_one);
    return f;
}

static void add_windows(const struct fixture *f, const char *name, const char *kind)
{
    char path[64];
    snprintf(path, sizeof path, "windows/%s.%s.o", name, kind);
    struct tn_error err;
    assert_ok(tn_add_file(f->library, data_file(path), &err), &err);
}

/* ---- code ---- */

static void check_code(const char *kind, const char *other)
{
    struct fixture f = open_windows();
    add_windows(&f, "code", kind);
    add_windows(&f, "more", other);
    typedef WINDOWS int of_nothing(void);
    typedef WINDOWS int of_one(int);
    typedef WINDOWS int of_two(int, int);
    typedef WINDOWS int of_three(int, int, int);
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
    typedef WINDOWS int of_one(int);
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
    typedef WINDOWS int of_nothing(void);
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

/* ---- groups ---- */

/* Sections lie by what follows the $, then in link order. */
static void test_ordered_groups(void **state)
{
    (void)state;
    typedef WINDOWS int of_nothing(void);
    static const char *const order[] = {"groups_1", "groups_2", "groups_1"};
    static const int digits[] = {123456, 124356};
    static const uint8_t others[] = {1, 3, 2}; /* without a suffix, w, x */
    for (int first = 0; first < 2; first++) {
        struct fixture f = open_windows();
        add_windows(&f, order[first], "msvc");
        add_windows(&f, order[first + 1], "msvc");
        link_all(&f);
        assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "digits"))(), digits[first]);
        assert_memory_equal(lookup(&f, "other_first"), others, sizeof others);
        close_fixture(&f);
    }
}

/* Nothing refers to the parts of a table; only those of COMDATs are stripped. */
static void test_stripped_groups(void **state)
{
    (void)state;
    typedef WINDOWS int of_nothing(void);
    static const char *const roots[] = {"digits"};
    struct fixture f = open_windows();
    struct tn_error err;
    add_windows(&f, "groups_1", "msvc");
    add_windows(&f, "groups_2", "msvc");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "digits"))(), 12345);
    close_fixture(&f);
}

/* ---- sections ---- */

typedef WINDOWS int of_nothing(void);
typedef WINDOWS uint64_t address_of_nothing(void);

static int call_windows(const struct fixture *f, const char *name)
{
    return ((of_nothing *)(uintptr_t)lookup(f, name))();
}

static uint64_t address_from(const struct fixture *f, const char *name)
{
    return ((address_of_nothing *)(uintptr_t)lookup(f, name))();
}

static void test_sections(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_windows();
    add_windows(&f, "sections", "msvc");
    assert_int_equal(address_from(&f, "relative"), address_from(&f, "absolute_of"));
    assert_int_equal(address_from(&f, "imported"), (uintptr_t)host_add);
    assert_int_equal(call_windows(&f, "needs_alternative"), 4711);
    assert_int_equal(call_windows(&f, "exported"), 4711);
    assert_int_equal(call_windows(&f, "section_offset"), 12);
    assert_int_equal(call_windows(&f, "section_number"), 2);
    assert_int_equal(call_windows(&f, "get_order"), 0);
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
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

/* ---- groups ---- */

static void test_groups(void **state)
{
    (void)state;
    static const char *const orders[][2] = {{"comdat_1", "comdat_2"}, {"comdat_2", "comdat_1"}};
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct fixture f = open_windows();
        struct tn_error err;
        void *address;
        for (size_t k = 0; k < 2; k++)
            add_windows(&f, orders[i][k], "msvc");
        int first = i ? 2 : 1;
        assert_int_equal(call_windows(&f, "first_any"), first);
        assert_int_equal(call_windows(&f, "second_any"), first);
        assert_int_equal(call_windows(&f, "first_largest"), 2);
        assert_int_equal(call_windows(&f, "second_largest"), 2);
        assert_ptr_equal((char *)lookup(&f, "inside_largest") - 7, lookup(&f, "largest"));
        assert_int_equal(*(uint64_t *)lookup(&f, "same_size"), first);
        assert_int_equal(*(uint64_t *)lookup(&f, "identical"), 7);
        lookup(&f, first == 1 ? "about_any" : "about_any_too");
        assert_error(tn_lookup(f.library, first == 1 ? "about_any_too" : "about_any", &address, &err), TN_EUNDEF, &err,
                     "not defined");
        close_fixture(&f);
    }
}

static int try_windows(const struct fixture *f, struct tn_tracker *owner, const char *name, struct tn_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "windows/%s.msvc.o", name);
    struct bytes object = read_bytes(data_file(path));
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = object.at, .length = object.size, .owner = owner};
    int code = tn_add_object(f->library, &input, err);
    if (!code)
        code = tn_link(f->library, err); /* borrows the bytes until then */
    free(object.at);
    return code;
}

static void test_copies_that_differ(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"other_size", "have one size"}, {"other_contents", "be identical"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f = open_windows();
        struct tn_error err;
        add_windows(&f, "comdat_1", "msvc");
        assert_error(try_windows(&f, NULL, rows[i][0], &err), TN_EDUP, &err, "comdat_1.msvc.o", rows[i][0], rows[i][1]);
        assert_int_equal(call_windows(&f, "first_any"), 1);
        close_fixture(&f);
    }
    struct fixture f = open_windows();
    struct tn_error err;
    assert_ok(try_windows(&f, NULL, "other_once", &err), &err);
    assert_error(try_windows(&f, NULL, "comdat_1", &err), TN_EDUP, &err, "'same_size' is defined by other_once");
    close_fixture(&f);
}

/* A larger copy comes too late for one that is linked, and brings nothing. When it has won and goes, the smaller one is
 * back. */
static void test_larger_copies(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_windows();
    struct tn_tracker *owner;
    assert_ok(try_windows(&f, NULL, "comdat_1", &err), &err);
    assert_error(try_windows(&f, NULL, "comdat_2", &err), TN_EDUP, &err, "'largest' in comdat_2 is larger",
                 "linked already");
    assert_int_equal(call_windows(&f, "first_largest"), 1);
    close_fixture(&f);

    f = open_windows();
    assert_ok(tn_tracker_create(f.library, &owner, &err), &err);
    add_windows(&f, "comdat_1", "msvc");
    struct bytes object = read_bytes(data_file("windows/comdat_2.msvc.o"));
    const struct tn_input input = {
        .size = sizeof input, .name = "comdat_2", .bytes = object.at, .length = object.size, .owner = owner};
    assert_ok(tn_add_object(f.library, &input, &err), &err);
    assert_ok(tn_tracker_remove(owner, &err), &err);
    assert_int_equal(call_windows(&f, "first_largest"), 1);
    assert_ptr_equal((char *)lookup(&f, "inside_largest") - 5, lookup(&f, "largest"));
    close_fixture(&f);
    free(object.at);
}

/* An object that is refused after it has won a group gives it back. */
static void test_larger_copy_that_is_refused(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_windows();
    define(&f, "second_any", &host_var);
    add_windows(&f, "comdat_1", "msvc");
    assert_error(try_windows(&f, NULL, "comdat_2", &err), TN_EDUP, &err, "'second_any' is defined by");
    assert_int_equal(call_windows(&f, "first_largest"), 1);
    assert_ptr_equal((char *)lookup(&f, "inside_largest") - 5, lookup(&f, "largest"));
    close_fixture(&f);
}

/* ---- weak names ---- */

static void test_weak_names(void **state)
{
    (void)state;
    struct fixture f = open_windows();
    add_windows(&f, "weak", "msvc");
    typedef WINDOWS int of_two(int, int);
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

static void add_library(const struct fixture *f, const char *name)
{
    struct tn_error err;
    assert_ok(tn_add_file(f->library, data_file(name), &err), &err);
}

static void test_libraries(void **state)
{
    (void)state;
    typedef WINDOWS int of_one(int);
    struct fixture f = open_windows();
    add_library(&f, "windows/more.lib");
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
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct fixture f;
    struct tn_error err;
    void *address;
    assert_ok(tn_session_create(&options, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "windows", &f.library, &err), &err);
    assert_ok(tn_add_resolver(f.library, resolve, NULL, &err), &err);
    add_library(&f, "windows/imports.lib");
    add_library(&f, "windows/more.lib");
    add_windows(&f, "code", "msvc");
    typedef WINDOWS int of_three(int, int, int);
    assert_error(tn_lookup(f.library, "add3", &address, &err), TN_EUNDEF, &err, "'host_mul' needed by",
                 "code.msvc.o(.text+");
    define(&f, "host_mul", (void *)(uintptr_t)host_mul);
    assert_int_equal(((of_three *)(uintptr_t)lookup(&f, "add3"))(1, 2, 3), 6);
    close_fixture(&f);
}

enum { CLASS_EXTERNAL = 2, CLASS_WEAK = 105, ADDR64 = 1 };
enum { SEARCH_NO_LIBRARY = 1, SEARCH_LIBRARY, SEARCH_ALIAS, ANTI_DEPENDENCY };

static void release_built(void *unused, const void *bytes, size_t length)
{
    (void)unused, (void)length;
    free((void *)(uintptr_t)bytes);
}

static void add_built(const struct fixture *f, const char *name, const struct coff *coff)
{
    struct bytes object = coff_build(coff, NULL);
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = object.at, .length = object.size, .release = release_built};
    struct tn_error err;
    assert_ok(tn_add_object(f->library, &input, &err), &err);
}

static int call_at(void *const *function)
{
    return ((of_nothing *)(uintptr_t)*function)();
}

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
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct fixture f;
    struct tn_error err;
    void *address;
    assert_ok(tn_session_create(&options, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "windows", &f.library, &err), &err);
    add_built(&f, "old.o", &import);
    assert_error(tn_lookup(f.library, "host_add", &address, &err), TN_EUNDEF, &err, "host_add");
    assert_ok(tn_add_resolver(f.library, resolve, NULL, &err), &err);
    assert_ptr_equal(lookup(&f, "host_add"), (void *)(uintptr_t)host_add);
    close_fixture(&f);
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
    add_library(&f, archive);
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
    add_library(&f, "windows/comdats.lib");
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
            add_library(&f, "windows/comdats.lib");
        add_weak(&f, SEARCH_LIBRARY);
        if (!archive_first)
            add_library(&f, "windows/comdats.lib");
        assert_int_equal(call_windows(&f, "first_any"), 1);
        close_fixture(&f);
    }
    struct fixture f = open_windows();
    add_weak(&f, SEARCH_LIBRARY);
    assert_int_equal(call_windows(&f, "first_any"), 42);
    add_library(&f, "windows/comdats.lib");
    assert_int_equal(call_windows(&f, "first_any"), 42);
    close_fixture(&f);
    static const uint8_t others[] = {SEARCH_NO_LIBRARY, SEARCH_ALIAS, ANTI_DEPENDENCY};
    for (size_t i = 0; i < COUNT(others); i++) {
        f = open_windows();
        add_weak(&f, others[i]);
        add_library(&f, "windows/comdats.lib");
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
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_big_object),
        cmocka_unit_test(test_many_sections),
        cmocka_unit_test(test_many_relocations),
        cmocka_unit_test(test_ordered_groups),
        cmocka_unit_test(test_stripped_groups),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_unwind_data),
        cmocka_unit_test(test_base_of_the_client),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_copies_that_differ),
        cmocka_unit_test(test_larger_copies),
        cmocka_unit_test(test_larger_copy_that_is_refused),
        cmocka_unit_test(test_weak_names),
        cmocka_unit_test(test_larger_member),
        cmocka_unit_test(test_thin_library),
        cmocka_unit_test(test_smaller_member),
        cmocka_unit_test(test_weak_searches_libraries),
        cmocka_unit_test(test_weak_without_default),
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_import_library),
        cmocka_unit_test(test_old_import),
    };
    return cmocka_run_group_tests_name("link/coff", tests, NULL, NULL);
}
