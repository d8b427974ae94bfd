/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The error list, and texts: where they are truncated, and that truncation is visible. */

#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/base.h"

static void list_has_names_and_texts(void **state)
{
    (void)state;
#define TN_X(name, code, text)                                                                                         \
    assert_int_equal(name, code);                                                                                      \
    assert_string_equal(tn_error_name(name), #name);                                                                   \
    assert_string_equal(tn_error_string(name), text);
    TN_ERROR_LIST(TN_X)
#undef TN_X
    assert_string_equal(tn_error_name(0), "TN_OK");
}

static void unknown_codes_have_a_text_too(void **state)
{
    (void)state;
    int lowest = 0;
#define TN_X(name, code, text) lowest = code < lowest ? code : lowest;
    TN_ERROR_LIST(TN_X)
#undef TN_X
    const int codes[] = {1, lowest - 1, -1000};
    for (size_t i = 0; i < TN_COUNT(codes); i++) {
        assert_string_equal(tn_error_name(codes[i]), "TN_?");
        assert_string_equal(tn_error_string(codes[i]), "unknown error");
    }
}

static void fail_returns_the_code_with_and_without_a_place(void **state)
{
    (void)state;
    struct tn_error err;
    assert_int_equal(tn__fail(NULL, TN_ERANGE, "%d", 1), TN_ERANGE);
    tn__append(NULL, "%d", 1);
    assert_int_equal(tn__fail(&err, TN_EUNDEF, "'%s' + %d", "f", 7), TN_EUNDEF);
    assert_int_equal(err.code, TN_EUNDEF);
    assert_string_equal(err.text, "'f' + 7");
    tn__append(&err, ", %s", "more");
    assert_string_equal(err.text, "'f' + 7, more");
    assert_int_equal(err.code, TN_EUNDEF);
}

enum { ROOM = sizeof((struct tn_error *)0)->text };

static void a_text_that_fits_is_whole_and_a_longer_one_ends_in_dots(void **state)
{
    (void)state;
    static char long_text[2 * ROOM];
    const struct {
        size_t length;
        bool cut;
    } rows[] = {{0, false}, {1, false}, {ROOM - 2, false}, {ROOM - 1, false}, {ROOM, true}, {2 * ROOM - 1, true}};
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_error err;
        memset(long_text, 'x', rows[i].length);
        long_text[rows[i].length] = '\0';
        tn__fail(&err, TN_EINVAL, "%s", long_text);
        size_t length = strlen(err.text);
        assert_int_equal(length, rows[i].cut ? ROOM - 1 : rows[i].length);
        assert_int_equal(length >= 3 && !strcmp(err.text + length - 3, "..."), rows[i].cut);
    }
}

static void appending_cuts_in_the_same_way(void **state)
{
    (void)state;
    struct tn_error err;
    tn__fail(&err, TN_EUNDEF, "undefined:");
    for (int i = 0; i < ROOM; i++)
        tn__append(&err, "\n  %d", i);
    assert_int_equal(strlen(err.text), ROOM - 1);
    assert_string_equal(err.text + ROOM - 4, "...");
    assert_memory_equal(err.text, "undefined:\n  0\n  1\n", 19);
}

/* Line breaks of the format stay, those of names do not: also where the name has every character that could tell
 * them apart. */
static void arguments_are_quoted(void **state)
{
    (void)state;
    char all[40] = "";
    struct tn_error err;
    for (int i = 1; i < 32; i++)
        all[i - 1] = (char)i;
    assert_int_equal(tn__fail(&err, TN_EINVAL, "a:\n  '%s' and %d\n", "x\n\x1b[31m\x7f", 7), TN_EINVAL);
    assert_string_equal(err.text, "a:\n  'x??[31m?' and 7\n");
    tn__append(&err, "\n%s",
               "\xc2\x9b"
               "b\xc3\xa4");
    assert_string_equal(err.text, "a:\n  'x??[31m?' and 7\n\n??b\xc3\xa4");
    tn__fail(&err, TN_EINVAL, "%s\n", all);
    assert_string_equal(err.text, "????????????????????????????????");
    tn__fail(&err, TN_EINVAL, "first");
    assert_int_equal(tn__append_text(&err, "\nsecond\n"), TN_EINVAL);
    assert_string_equal(err.text, "first\nsecond\n");
    for (int i = 0; i < 1000; i++)
        tn__append_text(&err, "0123456789");
    assert_string_equal(err.text + sizeof err.text - 4, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_quoted),
        cmocka_unit_test(list_has_names_and_texts),
        cmocka_unit_test(unknown_codes_have_a_text_too),
        cmocka_unit_test(fail_returns_the_code_with_and_without_a_place),
        cmocka_unit_test(a_text_that_fits_is_whole_and_a_longer_one_ends_in_dots),
        cmocka_unit_test(appending_cuts_in_the_same_way),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
