/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which definition a name is bound to (gABI, "Symbol Table"; GNU ld where the gABI is silent). */

#include "words.h"

/* ---- which definition wins ---- */

struct winner {
    const char *name;
    struct part first, second;
    int code; /* result of adding the second one */
    uint32_t word;
};

static const struct winner winners[] = {
    {"strong, weak", {STRONG, "x", 1}, {WEAK, "x", 2}, 0, 1},
    {"weak, strong", {WEAK, "x", 1}, {STRONG, "x", 2}, 0, 2},
    {"weak, weak", {WEAK, "x", 1}, {WEAK, "x", 2}, 0, 1},
    {"strong, strong", {STRONG, "x", 1}, {STRONG, "x", 2}, TN_EDUP, 1},
    {"common, strong", {COMMON, "x", 4, 4}, {STRONG, "x", 2}, 0, 2},
    {"strong, common", {STRONG, "x", 1}, {COMMON, "x", 4, 4}, 0, 1},
    {"common, weak", {COMMON, "x", 4, 4}, {WEAK, "x", 2}, 0, 0},
    {"weak, common", {WEAK, "x", 1}, {COMMON, "x", 4, 4}, 0, 0},
    {"common, common", {COMMON, "x", 4, 4}, {COMMON, "x", 4, 4}, 0, 0},
    {"hidden, strong", {HIDDEN, "x", 1}, {STRONG, "x", 2}, TN_EDUP, 1},
    {"undefined, strong", {UNDEFINED, "x"}, {STRONG, "x", 2}, 0, 2},
    {"strong, undefined", {STRONG, "x", 1}, {UNDEFINED, "x"}, 0, 1},
    {"unique, weak", {UNIQUE, "x", 1}, {WEAK, "x", 2}, 0, 1},
    {"weak, unique", {WEAK, "x", 1}, {UNIQUE, "x", 2}, 0, 2},
    {"unique, common", {UNIQUE, "x", 1}, {COMMON, "x", 4, 4}, 0, 1},
    {"common, unique", {COMMON, "x", 4, 4}, {UNIQUE, "x", 2}, 0, 2},
    {"unique, unique", {UNIQUE, "x", 1}, {UNIQUE, "x", 2}, TN_EDUP, 1},
    {"unique, strong", {UNIQUE, "x", 1}, {STRONG, "x", 2}, TN_EDUP, 1},
    {"strong, unique", {STRONG, "x", 1}, {UNIQUE, "x", 2}, TN_EDUP, 1},
    {"weak undefined, weak", {WEAK_UNDEFINED, "x"}, {WEAK, "x", 2}, 0, 2},
};

static void the_stronger_definition_wins(void **state)
{
    const struct winner *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add_words(&f, "first.o", OBJECT(row->first));
    add_words(&f, "reader.o", OBJECT({UNDEFINED, "x"}));
    int code = try_add_words(&f, "second.o", OBJECT(row->second), &err);
    if (row->code)
        assert_error(code, row->code, &err, "'x'", "first.o", "second.o");
    else
        assert_ok(code, &err);
    const uint32_t *seen = *(const uint32_t *const *)lookup(&f, "ref_x");
    assert_int_equal(*seen, row->word);
    if (row->first.kind != HIDDEN)
        assert_ptr_equal(seen, lookup(&f, "x"));
    link_all(&f);
    check_still_works(&f);
    close_fixture(&f);
}

/* ---- common ---- */

struct merge {
    const char *name;
    uint32_t size[3], alignment[3];
};

static const struct merge merges[] = {
    {"equal", {4, 4, 4}, {4, 4, 4}},
    {"growing", {1, 100, 5000}, {1, 8, 64}},
    {"shrinking", {5000, 100, 1}, {4096, 8, 1}},
    {"size and alignment of different ones", {8, 3000, 8}, {2048, 1, 16}},
};

static void commons_share_the_largest_size_and_alignment(void **state)
{
    const struct merge *row = *state;
    struct fixture f = open_fixture(NULL);
    uint32_t size = 0, alignment = 0;
    for (int i = 0; i < 3; i++) {
        char before[16], after[16];
        snprintf(before, sizeof before, "before%d", i);
        snprintf(after, sizeof after, "after%d", i);
        add_words(
            &f, "common.o",
            OBJECT({COMMON, before, 4, 4}, {COMMON, "x", row->size[i], row->alignment[i]}, {COMMON, after, 4, 4}));
        size = row->size[i] > size ? row->size[i] : size;
        alignment = row->alignment[i] > alignment ? row->alignment[i] : alignment;
    }
    link_all(&f);
    char *x = lookup(&f, "x");
    assert_int_equal((uintptr_t)x % alignment, 0);
    for (uint32_t i = 0; i < size; i++)
        assert_int_equal(x[i], 0);
    memset(x, 0xff, size);
    static const char *const neighbours[] = {"before0", "before1", "before2", "after0", "after1", "after2"};
    for (size_t i = 0; i < COUNT(neighbours); i++)
        assert_int_equal(word_at(&f, neighbours[i]), 0);
    close_fixture(&f);
}

static void a_common_that_is_linked_cannot_grow(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add_words(&f, "first.o", OBJECT({COMMON, "x", 16, 8}));
    link_all(&f);
    static const struct {
        uint32_t size, alignment;
        int code;
    } rows[] = {{16, 8, 0}, {1, 1, 0}, {17, 8, TN_EDUP}, {16, 16, TN_EDUP}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        int code = try_add_words(&f, "second.o", OBJECT({COMMON, "x", rows[i].size, rows[i].alignment}), &err);
        if (rows[i].code)
            assert_error(code, rows[i].code, &err, "'x'", "first.o", "second.o");
        else
            assert_ok(code, &err);
    }
    link_all(&f);
    close_fixture(&f);
}

static void data_that_is_reused_is_zero_again(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    /* Fails after its data was placed, so that the range is free again, but dirty. */
    add_words(&f, "dirty.o", OBJECT({STRONG, "dirty", 0xffffffff}, {STRONG, "dirty2", 0xffffffff}, {UNDEFINED, "far"}));
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'far'");
    define(&f, "far", &f);
    struct fixture other = {.session = f.session};
    assert_ok(tn_library_create(f.session, "other", &other.library, &err), &err);
    add_words(&other, "common.o", OBJECT({COMMON, "x", 4000, 8}));
    link_all(&other);
    const char *x = lookup(&other, "x");
    for (int i = 0; i < 4000; i++)
        assert_int_equal(x[i], 0);
    link_all(&f);
    assert_int_equal(word_at(&f, "dirty2"), 0xffffffff);
    close_fixture(&f);
}

/* ---- after linking ---- */

static void what_is_linked_is_not_overridden(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add_words(&f, "weak.o", OBJECT({WEAK, "x", 1}));
    link_all(&f);
    assert_error(try_add_words(&f, "strong.o", OBJECT({STRONG, "x", 2}, {STRONG, "y", 3}), &err), TN_EDUP, &err, "'x'",
                 "weak.o", "strong.o", "linked already");
    assert_error(tn_define(f.library, "x", &f, &err), TN_EDUP, &err, "'x'", "weak.o");
    void *address;
    assert_error(tn_lookup(f.library, "y", &address, &err), TN_EUNDEF, &err, "'y'", "not defined", "main");
    add_words(&f, "weak2.o", OBJECT({WEAK, "x", 5}, {STRONG, "y", 3}));
    assert_int_equal(word_at(&f, "x"), 1);
    assert_int_equal(word_at(&f, "y"), 3);
    add_words(&f, "unique.o", OBJECT({UNIQUE, "x", 6}, {UNDEFINED, "x"}));
    assert_ptr_equal(*(void **)lookup(&f, "ref_x"), lookup(&f, "x"));
    close_fixture(&f);
}

static void copies_of_a_group_do_not_override_what_is_linked(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add_words(&f, "weak.o", OBJECT({WEAK, "x", 1}, {INLINE, "y", 1}));
    link_all(&f);
    add_words(&f, "copies.o", OBJECT({INLINE_STRONG, "x", 2}, {INLINE_STRONG, "y", 2}, {UNDEFINED, "x"}));
    assert_ptr_equal(*(void **)lookup(&f, "ref_x"), lookup(&f, "x"));
    assert_int_equal(word_at(&f, "x"), 1);
    assert_int_equal(word_at(&f, "y"), 1);
    close_fixture(&f);
}

/* ---- visibility ---- */

static void hidden_symbols_serve_their_library_only(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    add_words(&f, "a.o", OBJECT({HIDDEN, "secret", 5}));
    add_words(&f, "b.o", OBJECT({UNDEFINED, "secret"}));
    assert_int_equal(**(const uint32_t *const *)lookup(&f, "ref_secret"), 5);
    assert_error(tn_lookup(f.library, "secret", &address, &err), TN_EUNDEF, &err, "'secret' is hidden");
    assert_error(tn_lookup(f.library, "__dso_handle", &address, &err), TN_EUNDEF, &err, "hidden");
    close_fixture(&f);
}

static const void *reference(const struct fixture *f, const char *name)
{
    return *(const void *const *)lookup(f, name);
}

static void hidden_references_stay_in_their_library(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL), other = {.session = f.session};
    struct tn_error err;
    assert_ok(tn_library_create(f.session, "other", &other.library, &err), &err);
    struct tn_search search = {other.library, 0};
    assert_ok(tn_library_search(f.library, &search, 1, &err), &err);
    add_words(&other, "other.o", OBJECT({STRONG, "elsewhere", 1}));
    add_words(&f, "a.o",
              OBJECT({HIDDEN_UNDEFINED, "elsewhere"}, {HIDDEN_UNDEFINED, "environ"}, {HIDDEN_UNDEFINED, "here"},
                     {HIDDEN_WEAK_UNDEFINED, "stdout"}));
    add_words(&f, "b.o", OBJECT({STRONG, "here", 2}, {UNDEFINED, "elsewhere"}, {UNDEFINED, "environ"}));
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'elsewhere' needed by a.o(.data.rel+0x0) (hidden)",
                 "'environ' needed by a.o(.data.rel+0x8) (hidden)");
    assert_null(strstr(err.text, "b.o"));
    assert_null(strstr(err.text, "'here'"));
    assert_null(strstr(err.text, "stdout"));
    /* The client's definitions belong to the library; libraries that see each other's hidden symbols are one. */
    define(&f, "environ", &f);
    search.flags = TN_SEARCH_HIDDEN;
    assert_ok(tn_library_search(f.library, &search, 1, &err), &err);
    link_all(&f);
    assert_ptr_equal(reference(&f, "ref_environ"), &f);
    assert_ptr_equal(reference(&f, "ref_elsewhere"), lookup(&other, "elsewhere"));
    assert_ptr_equal(reference(&f, "ref_here"), lookup(&f, "here"));
    assert_null(reference(&f, "ref_stdout"));
    close_fixture(&f);
}

/* ---- the client's symbols ---- */

static int asked[2];
static int first_answer, second_answer;

static void *first_resolver(void *context, const char *name)
{
    asked[0] += !strcmp(name, "both") || !strcmp(name, "second_only");
    return !strcmp(name, "both") || !strcmp(name, "own") ? context : NULL;
}

static void *second_resolver(void *context, const char *name)
{
    asked[1] += !strcmp(name, "both") || !strcmp(name, "second_only");
    return !strcmp(name, "both") || !strcmp(name, "second_only") ? context : NULL;
}

static void resolvers_are_asked_in_order_after_the_library(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    memset(asked, 0, sizeof asked);
    assert_ok(tn_add_resolver(f.library, first_resolver, &first_answer, &err), &err);
    assert_ok(tn_add_resolver(f.library, second_resolver, &second_answer, &err), &err);
    define(&f, "defined", &f);
    add_words(&f, "a.o",
              OBJECT({STRONG, "own", 3}, {UNDEFINED, "both"}, {UNDEFINED, "second_only"}, {UNDEFINED, "own"},
                     {UNDEFINED, "defined"}, {WEAK_UNDEFINED, "nobody"}));
    add_words(&f, "b.o", OBJECT({UNDEFINED, "both"}));
    link_all(&f);
    assert_ptr_equal(*(void **)lookup(&f, "ref_both"), &first_answer);
    assert_ptr_equal(*(void **)lookup(&f, "ref_second_only"), &second_answer);
    assert_ptr_equal(*(void **)lookup(&f, "ref_own"), lookup(&f, "own"));
    assert_ptr_equal(*(void **)lookup(&f, "ref_defined"), &f);
    assert_ptr_equal(*(void **)lookup(&f, "ref_nobody"), NULL);
    assert_ptr_equal(lookup(&f, "both"), &first_answer);
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 1);
    close_fixture(&f);
}

static void the_clients_definitions_are_strong(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    define(&f, "x", &first_answer);
    assert_error(tn_define(f.library, "x", &f, &err), TN_EDUP, &err, "'x'", "the client");
    assert_error(try_add_words(&f, "a.o", OBJECT({STRONG, "x", 1}), &err), TN_EDUP, &err, "'x'", "the client", "a.o");
    add_words(&f, "weak.o", OBJECT({WEAK, "x", 1}, {UNDEFINED, "x"}, {WEAK, "y", 1}));
    define(&f, "y", &second_answer);
    link_all(&f);
    assert_ptr_equal(*(void **)lookup(&f, "ref_x"), &first_answer);
    assert_ptr_equal(lookup(&f, "y"), &second_answer);
    assert_error(tn_define(f.library, "", &f, &err), TN_EINVAL, &err, "name");
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_common_that_is_linked_cannot_grow),
        cmocka_unit_test(data_that_is_reused_is_zero_again),
        cmocka_unit_test(what_is_linked_is_not_overridden),
        cmocka_unit_test(copies_of_a_group_do_not_override_what_is_linked),
        cmocka_unit_test(hidden_symbols_serve_their_library_only),
        cmocka_unit_test(hidden_references_stay_in_their_library),
        cmocka_unit_test(resolvers_are_asked_in_order_after_the_library),
        cmocka_unit_test(the_clients_definitions_are_strong),
    };
    int failed = cmocka_run_group_tests_name("link/symbols", tests, NULL, NULL);
    failed += RUN_ROWS("definitions", winners, the_stronger_definition_wins);
    return failed + RUN_ROWS("commons", merges, commons_share_the_largest_size_and_alignment);
}
