/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Promises of symbols that several objects define, in COMDAT groups or weak: kept by the copy of the first input. */

#include <stdlib.h>

#include "functions.h"
#include "words.h"

/* A materializer that stages one object of words. */
struct maker {
    const struct part *object;
    const struct part *adds; /* an object that it adds to the library first; NULL: none */
    struct fixture *fixture;
    int made;
};

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    if (m->adds)
        add_words(m->fixture, "added.o", m->adds);
    struct tn_input input = input_of("made.o", words_object(m->object));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static void promise(struct fixture *f, struct maker *m, const char *name, const struct tn_promised *symbols,
                    size_t count)
{
    struct tn_error err;
    m->fixture = f;
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = name,
                                                 .context = m,
                                                 .symbols = symbols,
                                                 .count = count,
                                                 .materialize = make};
    assert_ok(tn_add_materializer(f->library, &materializer, &err), &err);
}

static const struct tn_promised inlined = {"inl", TN_SYMBOL_WEAK};
static const struct tn_promised one_and_inlined[] = {{"one", 0}, {"inl", TN_SYMBOL_WEAK}};
static const struct tn_promised two_and_inlined[] = {{"two", 0}, {"inl", TN_SYMBOL_WEAK}};

/* An object of the client's brings a copy of the group after it was promised, and before it is made. */
static void the_promised_copy_counts(void **state)
{
    (void)state;
    for (int removed = 0; removed < 2; removed++) {
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        struct tn_tracker *tracker = new_tracker(&f);
        struct maker m = {.object = OBJECT({STRONG, "one", 1}, {INLINE, "inl", 5}, {UNDEFINED, "inl"})};
        promise(&f, &m, "m", one_and_inlined, 2);
        add_words_of(&f, "copy.o", OBJECT({STRONG, "user", 7}, {INLINE, "inl", 6}, {UNDEFINED, "inl"}), tracker);
        if (removed)
            assert_ok(tn_tracker_remove(tracker, &err), &err);
        assert_int_equal(word_at(&f, "one"), 1);
        uint32_t *seen = *(uint32_t **)lookup(&f, "ref_inl");
        assert_ptr_equal(seen, lookup(&f, "inl"));
        assert_int_equal(*seen, 5);
        if (!removed)
            assert_int_equal(word_at(&f, "user"), 7);
        assert_int_equal(m.made, 1);
        close_fixture(&f);
    }
}

/* What the first materializer makes has a copy that only the second one has promised: it counts, and the second one is
 * needed for its own symbol alone. */
static void a_copy_of_an_earlier_input_keeps_the_promise(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    static const struct tn_promised only_one[] = {{"one", 0}};
    struct maker one = {.object = OBJECT({STRONG, "one", 1}, {INLINE, "inl", 5}, {UNDEFINED, "inl"})};
    struct maker two = {.object = OBJECT({STRONG, "two", 2}, {INLINE, "inl", 6})};
    promise(&f, &one, "one", only_one, 1);
    promise(&f, &two, "two", two_and_inlined, 2);
    assert_int_equal(word_at(&f, "one"), 1);
    assert_int_equal(word_at(&f, "inl"), 5);
    assert_int_equal(one.made, 1);
    assert_int_equal(two.made, 0);
    assert_int_equal(word_at(&f, "two"), 2);
    assert_int_equal(word_at(&f, "inl"), 5);
    assert_int_equal(two.made, 1);
    close_fixture(&f);
}

/* The promised copy comes with less than it has to define, so that all is as before. */
static void a_copy_comes_back_if_the_promised_one_fails(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct tn_tracker *tracker = new_tracker(&f);
    struct maker m = {.object = OBJECT({INLINE, "inl", 5}), .fixture = &f};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "m",
                                                 .context = &m,
                                                 .symbols = one_and_inlined,
                                                 .count = 2,
                                                 .materialize = make,
                                                 .owner = tracker};
    assert_ok(tn_add_materializer(f.library, &materializer, &err), &err);
    add_words(&f, "copy.o", OBJECT({STRONG, "user", 7}, {INLINE, "inl", 6}, {UNDEFINED, "inl"}));
    void *address;
    assert_error(tn_lookup(f.library, "inl", &address, &err), TN_EUNDEF, &err, "m promised", "'one'");
    assert_ok(tn_tracker_remove(tracker, &err), &err);
    assert_int_equal(**(uint32_t **)lookup(&f, "ref_inl"), 6);
    assert_int_equal(word_at(&f, "user"), 7);
    close_fixture(&f);
}

/* The promised copy of the group lacks the symbol, so that a third object's definition counts. */
static void a_definition_that_had_given_way_counts(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    static const struct tn_promised only_one[] = {{"one", 0}};
    struct maker m = {.object = OBJECT({GROUP, "inl", 5}, {STRONG, "one", 1})};
    promise(&f, &m, "m", only_one, 1);
    add_words(&f, "copy.o", OBJECT({STRONG, "user", 7}, {INLINE, "inl", 6}, {UNDEFINED, "inl"}));
    add_words(&f, "third.o", OBJECT({STRONG, "other", 3}, {WEAK, "inl", 8}));
    assert_int_equal(word_at(&f, "one"), 1);
    assert_int_equal(**(uint32_t **)lookup(&f, "ref_inl"), 8);
    assert_int_equal(word_at(&f, "user"), 7);
    close_fixture(&f);
}

/* Two materializers have a copy each, and are made in either order. */
static void another_materializer_keeps_the_promise(void **state)
{
    (void)state;
    static const char *const orders[][2] = {{"two", "one"}, {"one", "two"}};
    for (size_t order = 0; order < COUNT(orders); order++) {
        struct fixture f = open_fixture(NULL);
        struct maker one = {.object = OBJECT({STRONG, "one", 1}, {INLINE, "inl", 5}, {UNDEFINED, "inl"})};
        struct maker two = {.object = OBJECT({STRONG, "two", 2}, {INLINE, "inl", 6}, {UNDEFINED, "inl"})};
        promise(&f, &one, "one", one_and_inlined, 2);
        promise(&f, &two, "two", two_and_inlined, 2);
        for (int i = 0; i < 2; i++)
            assert_int_equal(word_at(&f, orders[order][i]), *orders[order][i] == 'o' ? 1 : 2);
        assert_int_equal(one.made + two.made, 2);
        uint32_t word = word_at(&f, "inl");
        assert_true(word == 5 || word == 6);
        close_fixture(&f);
    }
}

/* While a materializer is running, the client adds an object with a copy. */
static void a_copy_that_comes_meanwhile_gives_way(void **state)
{
    (void)state;
    struct maker m = {.object = OBJECT({INLINE, "inl", 5}, {STRONG, "one", 1}),
                      .adds = OBJECT({INLINE, "inl", 6}, {STRONG, "other", 3})};
    struct maker strong = {.object = OBJECT({INLINE_STRONG, "inl", 5}, {STRONG, "one", 1}),
                           .adds = OBJECT({INLINE_STRONG, "inl", 6}, {STRONG, "other", 3})};
    struct maker *const makers[] = {&m, &strong};
    for (size_t i = 0; i < COUNT(makers); i++) {
        struct fixture f = open_fixture(NULL);
        promise(&f, makers[i], "m", one_and_inlined, 2);
        assert_int_equal(word_at(&f, "inl"), 5);
        assert_int_equal(word_at(&f, "one"), 1);
        assert_int_equal(word_at(&f, "other"), 3);
        close_fixture(&f);
    }
}

/* Weak definitions in no group are all there, and the promised one counts. */
static void of_weak_definitions_the_promised_one_counts(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.object = OBJECT({WEAK, "inl", 5})};
    promise(&f, &m, "m", &inlined, 1);
    add_words(&f, "copy.o", OBJECT({WEAK, "inl", 6}, {UNDEFINED, "inl"}));
    assert_int_equal(**(uint32_t **)lookup(&f, "ref_inl"), 5);
    close_fixture(&f);
}

/* The copy of the group that is kept, and linked, lacks the symbol. */
static void a_copy_that_lacks_the_symbol_is_named(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    add_words(&f, "kept.o", OBJECT({GROUP, "inl", 6}, {STRONG, "other", 3}));
    link_all(&f);
    struct maker m = {.object = OBJECT({INLINE, "inl", 5})};
    promise(&f, &m, "m", &inlined, 1);
    assert_error(tn_lookup(f.library, "inl", &address, &err), TN_EUNDEF, &err, "'inl'", "m promised", "kept.o");
    close_fixture(&f);
}

/* ---- symbols that may be left out ---- */

static const struct tn_promised discardable[] = {{"one", 0}, {"inl", TN_SYMBOL_WEAK | TN_SYMBOL_DISCARDABLE}};

static void what_may_be_left_out_is_not_defined(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    struct maker m = {.object = OBJECT({STRONG, "one", 1})};
    promise(&f, &m, "m", discardable, 2);
    assert_int_equal(word_at(&f, "one"), 1);
    assert_error(tn_lookup(f.library, "inl", &address, &err), TN_EUNDEF, &err, "'inl'");
    add_words(&f, "late.o", OBJECT({WEAK, "inl", 6}));
    assert_int_equal(word_at(&f, "inl"), 6);
    close_fixture(&f);
}

static void a_copy_takes_the_place_of_what_was_left_out(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.object = OBJECT({STRONG, "one", 1})};
    promise(&f, &m, "m", discardable, 2);
    add_words(&f, "copy.o", OBJECT({INLINE, "inl", 6}, {UNDEFINED, "inl"}, {UNDEFINED, "one"}));
    assert_int_equal(**(uint32_t **)lookup(&f, "ref_inl"), 6);
    assert_int_equal(m.made, 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_promised_copy_counts),
        cmocka_unit_test(a_copy_of_an_earlier_input_keeps_the_promise),
        cmocka_unit_test(a_copy_comes_back_if_the_promised_one_fails),
        cmocka_unit_test(a_definition_that_had_given_way_counts),
        cmocka_unit_test(another_materializer_keeps_the_promise),
        cmocka_unit_test(a_copy_that_comes_meanwhile_gives_way),
        cmocka_unit_test(of_weak_definitions_the_promised_one_counts),
        cmocka_unit_test(a_copy_that_lacks_the_symbol_is_named),
        cmocka_unit_test(what_may_be_left_out_is_not_defined),
        cmocka_unit_test(a_copy_takes_the_place_of_what_was_left_out),
    };
    return cmocka_run_group_tests_name("link/copies", tests, NULL, NULL);
}
