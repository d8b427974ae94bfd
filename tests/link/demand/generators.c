/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which generators are asked for names that nothing defines, when, and how often. */

#include <stdlib.h>

#include "functions.h"

/* A generator that knows names with a certain first letter. */
struct source {
    char letter;
    int calls;
    size_t names; /* asked for, in total */
    int fails;
    const char *looks_up;
};

static int generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                    struct tn_error *err)
{
    struct source *source = context;
    source->calls++;
    source->names += count;
    if (source->fails) {
        snprintf(err->text, sizeof err->text, "the shelf is empty");
        return source->fails;
    }
    if (source->looks_up) {
        void *address;
        int code = tn_lookup(library, source->looks_up, &address, err);
        if (code)
            return code;
    }
    for (size_t i = 0; i < count; i++)
        if (names[i][0] == source->letter)
            add_function(library, names[i], source->letter, NULL, NULL);
    return 0;
}

static void add(struct tn_library *library, struct source *source)
{
    struct tn_error err;
    assert_ok(tn_add_generator(library, generate, source, &err), &err);
}

static void asked_in_turn(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a'}, b = {.letter = 'b'};
    add(f.library, &a);
    add(f.library, &b);
    add_function(f.library, "caller", 1, "bee", NULL);
    struct tn_wanted wanted[] = {{.name = "caller"}, {.name = "ant"}, {.name = "bug"}};
    assert_ok(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), &err);
    assert_int_equal(call_in(f.library, "caller"), 'b' + 1);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.names, 3);
    assert_int_equal(b.calls, 1);
    assert_int_equal(b.names, 2);
    close_fixture(&f);
}

/* A name that no generator knows is undefined, but the next lookup asks again. */
static void asked_again(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a'};
    add(f.library, &a);
    for (int i = 1; i <= 3; i++) {
        assert_error(tn_lookup(f.library, "bee", &address, &err), TN_EUNDEF, &err, "'bee'");
        assert_int_equal(a.calls, i);
    }
    a.letter = 'b';
    assert_int_equal(call_in(f.library, "bee"), 'b');
    close_fixture(&f);
}

static void failures(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a', .fails = TN_EIO};
    add(f.library, &a);
    add_function(f.library, "caller", 1, "ant", NULL);
    for (int i = 0; i < 2; i++)
        assert_error(tn_lookup(f.library, "caller", &address, &err), TN_EIO, &err, "ant", "shelf");
    a.fails = 0;
    assert_int_equal(call_in(f.library, "caller"), 'a' + 1);
    close_fixture(&f);
}

/* A generator that looks up the name it is being asked for. */
static void waiting_for_itself(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a', .looks_up = "ant"};
    add(f.library, &a);
    assert_error(tn_lookup(f.library, "ant", &address, &err), TN_ECYCLE, &err, "ant");
    close_fixture(&f);
}

/* Generators of another library are asked in search order, and what they define belongs to that library. */
static void of_another_library(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *one, *two;
    assert_ok(tn_library_create(f.session, "one", &one, &err), &err);
    assert_ok(tn_library_create(f.session, "two", &two, &err), &err);
    struct source a = {.letter = 'a'}, also_a = {.letter = 'a'};
    add(one, &a);
    add(two, &also_a);
    const struct tn_search order[] = {{one, 0}, {two, 0}};
    assert_ok(tn_library_search(f.library, order, COUNT(order), &err), &err);
    assert_int_equal(call_in(f.library, "ant"), 'a');
    assert_int_equal(also_a.calls, 0);
    void *address, *there;
    assert_ok(tn_lookup(f.library, "ant", &address, &err), &err);
    assert_ok(tn_lookup(one, "ant", &there, &err), &err);
    assert_ptr_equal(address, there);
    assert_error(tn_lookup(f.library, "bee", &address, &err), TN_EUNDEF, &err, "'bee'");
    assert_int_equal(also_a.calls, 1);
    close_fixture(&f);
}

/* Weak references do not fail without a definition. */
static void weak_lookups(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a'};
    add(f.library, &a);
    struct tn_wanted wanted[] = {{.name = "bee", .flags = TN_WANTED_WEAK}, {.name = "ant", .flags = TN_WANTED_WEAK}};
    assert_ok(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), &err);
    assert_null(wanted[0].address);
    assert_non_null(wanted[1].address);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_in_turn),      cmocka_unit_test(asked_again),        cmocka_unit_test(failures),
        cmocka_unit_test(waiting_for_itself), cmocka_unit_test(of_another_library), cmocka_unit_test(weak_lookups),
    };
    return cmocka_run_group_tests_name("generators", tests, NULL, NULL);
}
