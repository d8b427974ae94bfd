/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COFF sections that are ordered by their names, and COMDATs, each of them chosen as its object says. */

#include "base/base.h"
#include "windows.h"

#include <stdlib.h>

/* ---- groups ---- */

/* Sections lie by what follows the $, then in link order. */
static void test_ordered_groups(void **state)
{
    (void)state;
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
    static const char *const roots[] = {"digits"};
    struct fixture f = open_windows();
    struct tn_error err;
    add_windows(&f, "groups_1", "msvc");
    add_windows(&f, "groups_2", "msvc");
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    assert_int_equal(((of_nothing *)(uintptr_t)lookup(&f, "digits"))(), 12345);
    close_fixture(&f);
}

/* ---- COMDATs ---- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordered_groups), cmocka_unit_test(test_stripped_groups),
        cmocka_unit_test(test_groups),         cmocka_unit_test(test_copies_that_differ),
        cmocka_unit_test(test_larger_copies),  cmocka_unit_test(test_larger_copy_that_is_refused),
    };
    return cmocka_run_group_tests_name("link/coff_groups", tests, NULL, NULL);
}
