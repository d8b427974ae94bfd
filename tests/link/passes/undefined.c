/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Error messages about undefined names. */

#include "words.h"

struct heard {
    int count;
    char last_symbol[64], last_place[128];
};

static void hear(void *context, const char *symbol, const char *needed_by)
{
    struct heard *heard = context;
    heard->count++;
    snprintf(heard->last_symbol, sizeof heard->last_symbol, "%s", symbol);
    snprintf(heard->last_place, sizeof heard->last_place, "%s", needed_by);
}

static void all_undefined_symbols_are_named_with_who_needs_them(void **state)
{
    (void)state;
    struct heard heard = {0};
    const struct tn_session_options options = {.size = sizeof options, .on_undefined = hear, .context = &heard};
    struct fixture f = open_fixture(&options);
    struct tn_stats before = stats_of(&f);
    struct tn_error err;
    add_words(&f, "a.o", OBJECT({UNDEFINED, "missing_1"}, {STRONG, "there", 7}, {UNDEFINED, "missing_2"}));
    add_words(&f, "b.o", OBJECT({UNDEFINED, "missing_2"}, {UNDEFINED, "there"}, {WEAK_UNDEFINED, "optional"}));
    for (int i = 1; i <= 2; i++) {
        assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'missing_1' needed by a.o(.data.rel+0x0)",
                     "'missing_2' needed by a.o(.data.rel+0x10)", "'missing_2' needed by b.o(.data.rel+0x0)");
        assert_null(strstr(err.text, "there"));
        assert_null(strstr(err.text, "optional"));
        assert_int_equal(heard.count, 3 * i);
    }
    assert_string_equal(heard.last_symbol, "missing_2");
    assert_string_equal(heard.last_place, "b.o(.data.rel+0x0)");
    struct tn_stats after = stats_of(&f);
    assert_same_memory(&before, &after);
    check_still_works(&f);
    /* Missing names may be defined later. */
    define(&f, "missing_1", &f);
    add_words(&f, "c.o", OBJECT({STRONG, "missing_2", 9}));
    link_all(&f);
    assert_int_equal(**(const uint32_t *const *)lookup(&f, "ref_missing_2"), 9);
    assert_ptr_equal(*(const void *const *)lookup(&f, "ref_optional"), NULL);
    close_fixture(&f);
}

static void a_thousand_undefined_symbols(void **state)
{
    (void)state;
    struct heard heard = {0};
    const struct tn_session_options options = {.size = sizeof options, .on_undefined = hear, .context = &heard};
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "missing_%d", i);
        add_words(&f, "many.o", OBJECT({UNDEFINED, name}));
    }
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'missing_0'", "...");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(heard.count, 1000);
    close_fixture(&f);
}

static void lookup_fails_for_what_cannot_be_linked_and_leaves_the_rest(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    add_words(&f, "bad.o", OBJECT({STRONG, "bad", 1}, {UNDEFINED, "missing"}));
    add_words(&f, "good.o", OBJECT({STRONG, "good", 2}));
    assert_error(tn_lookup(f.library, "bad", &address, &err), TN_EUNDEF, &err, "'missing'", "bad.o");
    assert_int_equal(word_at(&f, "good"), 2);
    assert_error(tn_lookup(f.library, "missing", &address, &err), TN_EUNDEF, &err, "'missing'");
    assert_error(tn_lookup(f.library, "nothing", &address, &err), TN_EUNDEF, &err, "'nothing'");
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_undefined_symbols_are_named_with_who_needs_them),
        cmocka_unit_test(a_thousand_undefined_symbols),
        cmocka_unit_test(lookup_fails_for_what_cannot_be_linked_and_leaves_the_rest),
    };
    return cmocka_run_group_tests_name("link/undefined", tests, NULL, NULL);
}
