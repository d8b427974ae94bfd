/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a linker for Mach-O decides otherwise than one for ELF: weak definitions and common symbols, sections that are
 * kept only for what they refer to (S_ATTR_LIVE_SUPPORT), bounds of sections that do not exist. verdicts.sh has the
 * same choices of ld64.lld. */

#include <stdlib.h>

#include "functions.h"
#include "macho_builder.h"

static const struct tn_format *const formats[] = {&tn_format_macho_x86_64, NULL};
static const struct tn_session_options options = {.size = sizeof options, .formats = formats};

enum { UNSIGNED = 0, WORD = 3, EXTERNAL = TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL };

static const uint64_t words[8] = {0};

static bool is_there(const struct fixture *f, const char *name)
{
    void *address;
    struct tn_error err;
    return !tn_lookup(f->library, name, &address, &err);
}

static void add(const struct fixture *f, const char *file, struct macho *macho)
{
    const struct tn_input input = input_of(file, macho_finish(macho));
    struct tn_error err;
    assert_ok(tn_add_object(f->library, &input, &err), &err);
    free(macho);
}

static struct macho *begin(void)
{
    struct macho *macho = calloc(1, sizeof *macho);
    assert_non_null(macho);
    return macho;
}

/* ---- definitions of one name ---- */

enum how { COMMON, LARGER_COMMON, WEAK, STRONG };

static void add_definition(const struct fixture *f, const char *file, enum how how)
{
    static const int number[] = {[WEAK] = 3, [STRONG] = 4};
    struct macho *macho = begin();
    unsigned data = macho_section(macho, "__DATA", "__data", 0, &number[how], how >= WEAK ? 4 : 0);
    if (how >= WEAK)
        macho_symbol(macho, "_x", EXTERNAL, data, how == WEAK ? TN__MACHO_WEAK_DEFINITION : 0, 0);
    else
        macho_symbol(macho, "_x", TN__MACHO_EXTERNAL, 0, 0, how == COMMON ? 4 : 4096);
    add(f, file, macho);
}

static void common_symbols_give_way(void **state)
{
    (void)state;
    static const int wanted[4][4] = {
        [COMMON] = {[WEAK] = 3, [STRONG] = 4},
        [LARGER_COMMON] = {[WEAK] = 3, [STRONG] = 4},
        [WEAK] = {3, 3, 3, 4},
        [STRONG] = {4, 4, 4, -1},
    };
    struct tn_error err;
    for (enum how one = COMMON; one <= STRONG; one++)
        for (enum how other = COMMON; other <= STRONG; other++) {
            if (wanted[one][other] < 0)
                continue;
            struct fixture f = open_fixture(&options);
            add_definition(&f, "a.o", one);
            add_definition(&f, "b.o", other);
            link_all(&f);
            const int *x = lookup(&f, "x");
            assert_int_equal(*x, wanted[one][other]);
            if (one == LARGER_COMMON && other == COMMON)
                assert_int_equal(x[1023], 0);
            close_fixture(&f);
        }
    /* What is linked stays, and a stronger one comes too late. */
    struct fixture f = open_fixture(&options);
    add_definition(&f, "a.o", COMMON);
    int *x = lookup(&f, "x");
    *x = 7;
    add_definition(&f, "b.o", WEAK);
    link_all(&f);
    assert_ptr_equal(lookup(&f, "x"), x);
    assert_int_equal(*x, 7);
    struct macho *macho = begin();
    unsigned data = macho_section(macho, "__DATA", "__data", 0, words, 4);
    macho_symbol(macho, "_x", EXTERNAL, data, 0, 0);
    struct bytes object = macho_finish(macho);
    assert_error(try_add_bytes(&f, "c.o", object.at, object.size, &err), TN_EDUP, &err, "'x'", "linked already");
    free(object.at);
    free(macho);
    close_fixture(&f);
}

/* ---- stripping ---- */

/* A section of a word, which refers to the symbol. */
static unsigned add_word(struct macho *macho, const char *section, const char *name, uint32_t flags, unsigned to)
{
    unsigned index = macho_section(macho, "__DATA", section, flags, words, sizeof *words);
    macho_reloc(macho, index, 0, to, UNSIGNED, WORD, false, true);
    return macho_symbol(macho, name, EXTERNAL, index, 0, 0);
}

static void sections_that_support_live_ones_are_kept(void **state)
{
    (void)state;
    static const char *const roots[] = {"root"};
    struct tn_error err;
    struct fixture f = open_fixture(&options);
    define(&f, "client", &f);
    struct macho *macho = begin();
    unsigned root = macho_symbol(macho, "_root", EXTERNAL, macho_section(macho, "__DATA", "__root", 0, words, 8), 0, 0);
    unsigned dead = macho_symbol(macho, "_dead", EXTERNAL, macho_section(macho, "__DATA", "__dead", 0, words, 8), 0, 0);
    unsigned needed =
        macho_symbol(macho, "_needed", EXTERNAL, macho_section(macho, "__DATA", "__needed", 0, words, 8), 0, 0);
    unsigned client = macho_undefined(macho, "_client");
    unsigned of_root = add_word(macho, "__of_root", "_of_root", TN__MACHO_LIVE_SUPPORT, root);
    add_word(macho, "__of_that", "_of_that", TN__MACHO_LIVE_SUPPORT, of_root);
    add_word(macho, "__of_dead", "_of_dead", TN__MACHO_LIVE_SUPPORT, dead);
    add_word(macho, "__of_host", "_of_client", TN__MACHO_LIVE_SUPPORT, client);
    unsigned both = macho_section(macho, "__DATA", "__both", TN__MACHO_LIVE_SUPPORT, words, 16);
    macho_symbol(macho, "_both", EXTERNAL, both, 0, 0);
    macho_reloc(macho, both, 0, root, UNSIGNED, WORD, false, true);
    macho_reloc(macho, both, 8, needed, UNSIGNED, WORD, false, true);
    add_word(macho, "__kept", "_kept", TN__MACHO_LIVE_SUPPORT | TN__MACHO_NO_DEAD_STRIP, dead);
    add(&f, "a.o", macho);
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    static const char *const there[] = {"root", "of_root", "of_that", "both", "needed", "kept", "dead"};
    for (size_t i = 0; i < COUNT(there); i++)
        assert_true(is_there(&f, there[i]));
    assert_false(is_there(&f, "of_client"));
    assert_true(is_there(&f, "of_dead")); /* which is kept by "kept" */
    close_fixture(&f);

    f = open_fixture(&options);
    macho = begin();
    macho_symbol(macho, "_root", EXTERNAL, macho_section(macho, "__DATA", "__root", 0, words, 8), 0, 0);
    dead = macho_symbol(macho, "_dead", EXTERNAL, macho_section(macho, "__DATA", "__dead", 0, words, 8), 0, 0);
    add_word(macho, "__of_dead", "_of_dead", TN__MACHO_LIVE_SUPPORT, dead);
    add(&f, "a.o", macho);
    assert_ok(tn_link_roots(f.library, roots, COUNT(roots), &err), &err);
    assert_false(is_there(&f, "dead"));
    assert_false(is_there(&f, "of_dead"));
    /* What an earlier link has kept counts. */
    macho = begin();
    macho_symbol(macho, "_more", EXTERNAL, macho_section(macho, "__DATA", "__more", 0, words, 8), 0, 0);
    add_word(macho, "__late", "_late", TN__MACHO_LIVE_SUPPORT, macho_undefined(macho, "_root"));
    add(&f, "b.o", macho);
    static const char *const more[] = {"more"};
    assert_ok(tn_link_roots(f.library, more, COUNT(more), &err), &err);
    assert_true(is_there(&f, "late"));
    close_fixture(&f);
}

/* ---- bounds ---- */

static void *answer_bound(void *address, const char *name)
{
    return strstr(name, "$start$") ? address : NULL;
}

/* Of nothing, unless a resolver knows better. */
static void bounds_of_no_section_are_one_address(void **state)
{
    (void)state;
    for (int segment = 0; segment < 2; segment++)
        for (int resolved = 0; resolved < 2; resolved++) {
            struct tn_error err;
            struct fixture f = open_fixture(&options);
            if (resolved)
                assert_ok(tn_add_resolver(f.library, answer_bound, &f, &err), &err);
            struct macho *macho = begin();
            add_word(macho, "__a", "_a", 0,
                     macho_undefined(macho, segment ? "segment$start$__NONE" : "section$start$__DATA$__none"));
            add_word(macho, "__b", "_b", 0,
                     macho_undefined(macho, segment ? "segment$end$__NONE" : "section$end$__DATA$__none"));
            add(&f, "a.o", macho);
            link_all(&f);
            void *const *start = lookup(&f, "a"), *const *end = lookup(&f, "b");
            assert_non_null(*start);
            assert_non_null(*end);
            if (resolved)
                assert_ptr_equal(*start, &f);
            else
                assert_ptr_equal(*start, *end);
            close_fixture(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(common_symbols_give_way),
                                       cmocka_unit_test(sections_that_support_live_ones_are_kept),
                                       cmocka_unit_test(bounds_of_no_section_are_one_address)};
    return cmocka_run_group_tests_name("link/macho_choices", tests, NULL, NULL);
}
