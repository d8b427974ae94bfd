/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Structs that begin with their size, from callers of the same, an older and a newer version. */

#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/base.h"

/* `known` is this version's struct; older ones end after `first`, newer ones have two more members. */
struct known {
    size_t size;
    void *first;
    int second, third;
};

struct newer {
    struct known known;
    int fourth, fifth;
};

static struct newer given;

static int take(size_t size, struct known *known, struct tn_error *err)
{
    given.known.size = size;
    memset(known, 0x55, sizeof *known);
    return tn__take_options(known, sizeof *known, &given, "struct known", err);
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        int fifth, code;
        const char *says;
    } rows[] = {
        {0, 0, TN_EINVAL, "struct known has size 0"},
        {sizeof(size_t) - 1, 0, TN_EINVAL, "has size 7"},
        {sizeof(size_t), 9, 0, NULL},
        {sizeof(size_t) + 1, 0, TN_EINVAL, "has size 9; it has to be sizeof(struct known), here 24"},
        {offsetof(struct known, second), 9, 0, NULL},
        {sizeof(struct known), 9, 0, NULL},
        {sizeof(struct newer), 0, 0, NULL},
        {sizeof(struct newer), 9, TN_EINVAL, "has size 32 and byte 28 of it is not zero; this library knows 24"},
        {sizeof(struct newer) - 1, 0, TN_EINVAL, "has size 31"},
        {4096 + sizeof(size_t), 0, TN_EINVAL, "has size 4104"},
        {(size_t)-8, 0, TN_EINVAL, "has size"},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct known known;
        struct tn_error err = {0};
        given = (struct newer){{0, &given, 2, 3}, 0, rows[i].fifth};
        assert_int_equal(take(rows[i].size, &known, &err), rows[i].code);
        if (rows[i].code) {
            assert_non_null(strstr(err.text, rows[i].says));
            continue;
        }
        assert_int_equal(known.size, sizeof known);
        assert_ptr_equal(known.first, rows[i].size > offsetof(struct known, first) ? &given : NULL);
        assert_int_equal(known.third, rows[i].size > offsetof(struct known, third) ? 3 : 0);
    }
}

static void none_are_defaults(void **state)
{
    (void)state;
    struct known known = {1, &known, 2, 3}, zero = {.size = sizeof zero};
    assert_int_equal(tn__take_options(&known, sizeof known, NULL, "struct known", NULL), 0);
    assert_memory_equal(&known, &zero, sizeof known);
}

static void reports(void **state)
{
    (void)state;
    static const struct known known = {0, &given, 2, 3};
    static const struct {
        size_t size, filled;
        int third, fourth;
    } rows[] = {
        {0, 0, 77, 77},
        {12, 12, 77, 77}, /* impossible sizes: not written to */
        {offsetof(struct known, second), offsetof(struct known, second), 77, 77},
        {sizeof(struct known), sizeof(struct known), 3, 77},
        {sizeof(struct newer), sizeof(struct known), 3, 0},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct newer out = {{rows[i].size, NULL, 77, 77}, 77, 77};
        tn__give_stats(&out, sizeof known, &known);
        assert_int_equal(out.known.size, rows[i].filled);
        assert_int_equal(out.known.third, rows[i].third);
        assert_int_equal(out.fourth, rows[i].fourth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(none_are_defaults),
        cmocka_unit_test(reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
