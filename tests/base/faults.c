/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The syntax of fault plans, and that each kind of request obeys them. */

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/faults.h"
#include "base/os.h"

static int clear(void **state)
{
    (void)state;
    return tn__os_set_faults(NULL);
}

static void words(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        int rc;
    } rows[] = {
        {"", 0},         {" ", 0},        {".", 0},       {"h", 0},        {"F", 0},
        {"P", 0},        {"x", 0},        {"m", 0},       {"m*", EINVAL},  {"a1", 0},
        {"F*", 0},       {". F P h", 0},  {"  .  F ", 0}, {"a20 x F*", 0}, {"f", EINVAL},
        {"FF", EINVAL},  {"F**", EINVAL}, {"x*", EINVAL}, {"a", EINVAL},   {"a0", EINVAL},
        {"a1x", EINVAL}, {". q", EINVAL}, {"*", EINVAL},  {"a-1", EINVAL}, {"a+1", EINVAL},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        if (tn__os_set_faults(rows[i].plan) != rows[i].rc)
            fail_msg("'%s' should answer %d", rows[i].plan, rows[i].rc);
        bool hint = false;
        if (rows[i].rc) { /* a malformed plan leaves none */
            assert_false(tn__os_alloc_fault());
            assert_int_equal(tn__os_fault(true, &hint), 0);
        }
    }
}

static void a_plan_holds_96_words(void **state)
{
    (void)state;
    char plan[2 * 97 + 1];
    for (int i = 0; i < 97; i++)
        memcpy(plan + 2 * i, ". ", 3);
    assert_int_equal(tn__os_set_faults(plan), EINVAL);
    plan[2 * 95] = 'F';
    plan[2 * 96] = '\0';
    assert_int_equal(tn__os_set_faults(plan), 0);
    for (int i = 0; i < 95; i++)
        assert_int_equal(tn__os_fault(false, NULL), 0);
    assert_int_equal(tn__os_fault(false, NULL), ENOMEM);
}

static void words_are_taken_in_order_and_a_star_stays(void **state)
{
    (void)state;
    bool hint = false;
    tn__os_set_faults(". F P h .");
    static const int errors[] = {0, ENOMEM, EACCES, 0, 0, 0, 0};
    for (size_t i = 0; i < TN_COUNT(errors); i++) {
        hint = false;
        assert_int_equal(tn__os_fault(false, &hint), errors[i]);
        assert_int_equal(hint, i == 3);
    }
    tn__os_set_faults(". P*");
    assert_int_equal(tn__os_fault(false, NULL), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(tn__os_fault(false, NULL), EACCES);
}

static void x_refuses_only_what_is_executable(void **state)
{
    (void)state;
    tn__os_set_faults("x");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tn__os_fault(true, NULL), EACCES);
        assert_int_equal(tn__os_fault(false, NULL), 0);
    }
}

static void allocations_are_counted_apart_from_requests(void **state)
{
    (void)state;
    tn__os_set_faults("a3 F");
    assert_false(tn__os_alloc_fault());
    assert_int_equal(tn__os_fault(false, NULL), ENOMEM);
    assert_false(tn__os_alloc_fault());
    assert_true(tn__os_alloc_fault());
    assert_false(tn__os_alloc_fault());
    assert_int_equal(tn__os_fault(false, NULL), 0);
}

/* ---- each request of os.h ---- */

static uint64_t page;
static int fd = -1;
static size_t page_size;

static int reserve(void)
{
    uint64_t address;
    int error = tn__os_reserve(0, page_size, false, &address);
    if (!error)
        tn__os_release(address, page_size);
    return error;
}

static int commit(void)
{
    return tn__os_commit(page, page_size, TN__PROT_RW);
}

static int protect(void)
{
    return tn__os_protect(page, page_size, TN__PROT_R);
}

static int protect_executable(void)
{
    return tn__os_protect(page, page_size, TN__PROT_RX);
}

static int memfd(void)
{
    int file, error = tn__os_memfd(page_size, &file);
    if (!error)
        tn__os_close(file);
    return error;
}

static int map_alias(void)
{
    uint8_t *alias;
    int error = tn__os_map_alias(fd, 0, page_size, &alias);
    if (!error)
        tn__os_release((uintptr_t)alias, page_size);
    return error;
}

static int map_view(void)
{
    return tn__os_map_view(fd, 0, page, page_size, TN__PROT_R, false);
}

static int map_view_executable(void)
{
    return tn__os_map_view(fd, 0, page, page_size, TN__PROT_RX, true);
}

static int write_file(void)
{
    return tn__os_write(fd, 0, &(struct tn__piece){"x", 1}, 1);
}

static int seal(void)
{
    int file = memfd_create("seal", MFD_ALLOW_SEALING); /* a new one each time: it can be sealed only once */
    int error = tn__os_seal(file);
    tn__os_close(file);
    return error;
}

static int seal_views(void)
{
    int file = memfd_create("seal", MFD_ALLOW_SEALING);
    int error = tn__os_seal_views(file);
    tn__os_close(file);
    return error;
}

static int get_random(void)
{
    uint64_t bits;
    return tn__os_random(&bits);
}

static int map_file(void)
{
    struct tn__os_file file;
    int error = tn__os_map_file("/proc/self/exe", &file);
    tn__os_unmap_file(&file);
    return error;
}

static const struct {
    const char *name;
    int (*run)(void);
    bool executable; /* the plan x refuses it */
} requests[] = {
    {"reserve", reserve, false},   {"commit", commit, false},
    {"protect", protect, false},   {"protect executable", protect_executable, true},
    {"memfd", memfd, true},        {"alias", map_alias, false},
    {"view", map_view, false},     {"executable view", map_view_executable, true},
    {"write", write_file, false},  {"map file", map_file, false},
    {"seal", seal, false},         {"seal views", seal_views, false},
    {"random", get_random, false},
};

static void every_request_obeys_the_plan(void **state)
{
    (void)state;
    page_size = tn__os_page_size();
    assert_int_equal(tn__os_reserve(0, page_size, false, &page), 0);
    assert_int_equal(tn__os_memfd(page_size, &fd), 0);
    for (size_t i = 0; i < TN_COUNT(requests); i++) {
        const struct {
            const char *plan;
            int error;
        } rows[] = {{"F", ENOMEM}, {"P", EACCES}, {"x", requests[i].executable ? EACCES : 0}, {"", 0}};
        for (size_t k = 0; k < TN_COUNT(rows); k++) {
            tn__os_set_faults(rows[k].plan);
            int error = requests[i].run();
            if (error != rows[k].error)
                fail_msg("%s under '%s': %d instead of %d", requests[i].name, rows[k].plan, error, rows[k].error);
        }
    }
    tn__os_close(fd);
    tn__os_release(page, page_size);
}

static void giving_back_works_whatever_the_plan_says(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    assert_int_equal(tn__os_reserve(0, size, false, &page), 0);
    assert_int_equal(tn__os_commit(page, size, TN__PROT_RW), 0);
    tn__os_set_faults("F*");
    assert_int_equal(tn__os_decommit(page, size), 0);
    tn__os_release(page, size);
}

static void a_required_hint_that_is_ignored_is_a_refusal(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    uint64_t first, second;
    assert_int_equal(tn__os_reserve(0, size, false, &first), 0);
    assert_int_equal(tn__os_reserve(first, size, true, &second), EEXIST);
    assert_int_equal(tn__os_reserve(first, size, false, &second), 0);
    assert_true(first != second);
    tn__os_release(first, size);
    tn__os_set_faults("h");
    assert_int_equal(tn__os_reserve(first, size, true, &first), EEXIST);
    assert_int_equal(tn__os_reserve(first, size, true, &first), 0);
    tn__os_release(first, size);
    tn__os_release(second, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(words, clear),
        cmocka_unit_test_teardown(a_plan_holds_96_words, clear),
        cmocka_unit_test_teardown(words_are_taken_in_order_and_a_star_stays, clear),
        cmocka_unit_test_teardown(x_refuses_only_what_is_executable, clear),
        cmocka_unit_test_teardown(allocations_are_counted_apart_from_requests, clear),
        cmocka_unit_test_teardown(every_request_obeys_the_plan, clear),
        cmocka_unit_test_teardown(giving_back_works_whatever_the_plan_says, clear),
        cmocka_unit_test_teardown(a_required_hint_that_is_ignored_is_a_refusal, clear),
    };
    return cmocka_run_group_tests_name("base/faults", tests, NULL, NULL);
}
