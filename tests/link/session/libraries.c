/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Several libraries: which one sees whose symbols, in which order, and what remains when one is removed. */

#include <stdlib.h>

#include "functions.h"

static struct tn_library *new_library(const struct fixture *f, const char *name)
{
    struct tn_library *library;
    struct tn_error err;
    assert_ok(tn_library_create(f->session, name, &library, &err), &err);
    return library;
}

static void search(struct tn_library *library, struct tn_library *first, struct tn_library *second)
{
    const struct tn_search order[] = {{first, 0}, {second, 0}};
    struct tn_error err;
    assert_ok(tn_library_search(library, order, second ? 2 : 1, &err), &err);
}

static void assert_undefined(struct tn_library *library, const char *name)
{
    struct tn_error err;
    void *address;
    assert_error(tn_lookup(library, name, &address, &err), TN_EUNDEF, &err, name);
}

static void first_in_order_wins(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *one = new_library(&f, "one"), *two = new_library(&f, "two");
    add_function(one, "f", 1, NULL, NULL);
    add_function(two, "f", 2, NULL, NULL); /* the same name in two libraries is no duplicate */
    add_function(two, "g", 20, NULL, NULL);
    add_function(f.library, "calls_f", 100, "f", NULL);
    add_function(f.library, "calls_g", 100, "g", NULL);
    assert_undefined(f.library, "calls_f");
    search(f.library, one, two);
    assert_int_equal(call_in(f.library, "calls_f"), 101);
    assert_int_equal(call_in(f.library, "calls_g"), 120);
    assert_int_equal(call_in(f.library, "g"), 20);
    assert_int_equal(call_in(two, "f"), 2);
    close_fixture(&f);
}

/* A library's own definition comes first, even if it is added later. */
static void own_definitions_first(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other");
    add_function(other, "f", 1, NULL, NULL);
    search(f.library, other, NULL);
    assert_int_equal(call_in(f.library, "f"), 1);
    add_function(f.library, "f", 2, NULL, NULL);
    assert_int_equal(call_in(f.library, "f"), 2);
    assert_int_equal(call_in(other, "f"), 1);
    close_fixture(&f);
}

/* Only a library's own search order counts, not those of the libraries that it searches. */
static void not_transitive(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *near = new_library(&f, "near"), *far = new_library(&f, "far");
    add_function(far, "f", 1, NULL, NULL);
    add_function(near, "calls_f", 10, "f", NULL);
    search(f.library, near, NULL);
    search(near, far, NULL);
    assert_undefined(f.library, "f");
    assert_int_equal(call_in(f.library, "calls_f"), 11);
    close_fixture(&f);
}

/* Libraries may need each other; cyclic references are linked together. */
static void around(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other");
    search(f.library, other, NULL);
    search(other, f.library, NULL);
    add_function(f.library, "a", 1, "b", NULL);
    add_function(other, "b", 2, "c", NULL);
    add_function(f.library, "c", 4, NULL, NULL);
    assert_int_equal(call_in(other, "a"), 7);
    assert_undefined(f.library, "nowhere");
    assert_undefined(other, "nowhere");
    close_fixture(&f);
}

static void hidden_symbols(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other");
    static int datum;
    const struct tn_definition hidden = {"datum", &datum, TN_SYMBOL_HIDDEN};
    assert_ok(tn_define_all(other, &hidden, 1, NULL, &err), &err);
    search(f.library, other, NULL);
    assert_undefined(f.library, "datum");
    assert_ok(tn_library_search(f.library, &(struct tn_search){other, TN_SEARCH_HIDDEN}, 1, &err), &err);
    assert_ptr_equal(lookup(&f, "datum"), &datum);
    assert_undefined(other, "datum");
    struct tn_wanted wanted = {.name = "datum", .flags = TN_WANTED_HIDDEN};
    assert_ok(tn_lookup_all(other, &wanted, 1, &err), &err);
    assert_ptr_equal(wanted.address, &datum);
    close_fixture(&f);
}

static void weak_references(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_wanted wanted[] = {{.name = "there"}, {.name = "missing", .flags = TN_WANTED_WEAK}};
    wanted[1].address = &f;
    add_function(f.library, "there", 1, NULL, NULL);
    assert_ok(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), &err);
    assert_non_null(wanted[0].address);
    assert_null(wanted[1].address);
    close_fixture(&f);
}

static void all_missing_names(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_wanted wanted[] = {{.name = "x"}, {.name = "there"}, {.name = "y"}};
    add_function(f.library, "there", 1, NULL, NULL);
    assert_error(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), TN_EUNDEF, &err, "'x'", "'y'");
    assert_null(strstr(err.text, "there"));
    close_fixture(&f);
}

static void reexports(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other");
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    const struct tn_reexport symbols[] = {{.name = "same"}, {.name = "renamed", .target = "original"}};
    assert_ok(tn_reexport(f.library, symbols, COUNT(symbols), other, tracker, &err), &err);
    add_function(f.library, "caller", 1, "renamed", NULL);
    assert_undefined(f.library, "same");
    add_function(other, "same", 1, NULL, NULL);
    add_function(other, "original", 2, NULL, NULL);
    assert_int_equal(call_in(f.library, "same"), 1);
    assert_int_equal(call_in(f.library, "caller"), 3);
    assert_int_equal(call_in(other, "original"), 2);
    assert_ptr_equal(lookup(&f, "renamed"), lookup(&(struct fixture){f.session, other}, "original"));
    assert_error(tn_reexport(f.library, symbols, 1, other, NULL, &err), TN_EDUP, &err, "'same'");
    assert_error(tn_reexport(other, &(struct tn_reexport){.name = "loop", .target = "loop"}, 1, other, NULL, &err),
                 TN_EINVAL, &err, "'loop'", "itself");
    assert_ok(tn_tracker_remove(tracker, &err), &err);
    assert_undefined(f.library, "same");
    close_fixture(&f);
}

/* A name found in another library is looked up again once that library is removed. */
static void removed_elsewhere(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *one = new_library(&f, "one"), *two = new_library(&f, "two");
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(one, &tracker, &err), &err);
    add_function(one, "f", 1, NULL, tracker);
    search(f.library, one, two);
    assert_int_equal(call_in(f.library, "f"), 1);
    assert_ok(tn_tracker_remove(tracker, &err), &err);
    assert_undefined(f.library, "f");
    add_function(two, "f", 2, NULL, NULL);
    assert_int_equal(call_in(f.library, "f"), 2);
    close_fixture(&f);
}

/* The same for an alias whose target was found there, and was found again by a library that searches where the alias
 * may not. */
static void found_elsewhere_behind_an_alias(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *near = new_library(&f, "near"), *far = new_library(&f, "far");
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(near, &tracker, &err), &err);
    add_function(near, "f", 1, NULL, tracker);
    add_function(far, "f", 2, NULL, NULL);
    search(f.library, near, NULL);
    search(near, far, NULL);
    assert_ok(tn_define_alias(f.library, "alias", "f", &err), &err);
    assert_int_equal(call_in(f.library, "alias"), 1);
    assert_ok(tn_tracker_remove(tracker, &err), &err);
    assert_int_equal(call_in(near, "f"), 2);
    assert_error(tn_lookup(f.library, "alias", &(void *){NULL}, &err), TN_EUNDEF, &err, "'f'");
    assert_undefined(f.library, "f");
    close_fixture(&f);
}

static void show(struct tn_library *library, const char *name, struct tn_library *source)
{
    struct tn_error err;
    assert_ok(tn_reexport(library, &(struct tn_reexport){.name = name}, 1, source, NULL, &err), &err);
}

/* Two libraries find a name in each other, through a third and a fourth. A name that was found along the cycle while
 * the first library had a definition is simply undefined afterwards. */
static void found_in_a_circle(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *near = new_library(&f, "near"), *far = new_library(&f, "far");
    struct tn_library *back = new_library(&f, "back"), *last = new_library(&f, "last");
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    show(near, "f", far);
    show(back, "f", f.library);
    search(f.library, near, NULL);
    search(far, back, last);
    for (int round = 0; round < 2; round++) { /* with what the first round left behind */
        assert_undefined(f.library, "f");
        assert_undefined(far, "f");
        add_function(f.library, "f", 1, NULL, tracker);
        assert_int_equal(call_in(far, "f"), 1);
        assert_ok(tn_tracker_remove(tracker, &err), &err);
    }
    add_function(last, "f", 2, NULL, NULL);
    assert_int_equal(call_in(f.library, "f"), 2);
    assert_int_equal(call_in(far, "f"), 2);
    close_fixture(&f);
}

/* After a failed link, references are looked up again, too. */
static void failed_links_start_over(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other");
    add_function(other, "f", 1, "missing", NULL);
    search(f.library, other, NULL);
    add_function(f.library, "caller", 10, "f", NULL);
    struct tn_error err;
    void *address;
    assert_error(tn_lookup(f.library, "caller", &address, &err), TN_EUNDEF, &err, "'missing'");
    add_function(f.library, "f", 2, NULL, NULL);
    assert_int_equal(call_in(f.library, "caller"), 12);
    close_fixture(&f);
}

static void clearing(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other");
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(other, &tracker, &err), &err);
    struct tn_stats after;
    for (int round = 1; round <= 3; round++) {
        add_function(other, "f", round, NULL, NULL);
        add_function(other, "g", round, "f", tracker);
        assert_ok(tn_define(other, "d", &f, &err), &err);
        search(f.library, other, NULL);
        assert_int_equal(call_in(f.library, "g"), 2 * round);
        assert_ok(tn_library_clear(other, &err), &err);
        after = stats_of(&f);
        assert_int_equal(after.code_bytes + after.rodata_bytes + after.data_bytes, 0);
        assert_undefined(f.library, "g");
        assert_undefined(other, "d");
    }
    close_fixture(&f);
}

static void removing(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other"), *third = new_library(&f, "third");
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(other, &tracker, &err), &err);
    add_function(other, "f", 1, NULL, tracker);
    search(f.library, other, NULL);
    assert_ok(tn_reexport(third, &(struct tn_reexport){.name = "f"}, 1, other, NULL, &err), &err);
    assert_int_equal(call_in(f.library, "f"), 1);
    assert_int_equal(call_in(third, "f"), 1);
    assert_ok(tn_library_remove(other, &err), &err);
    assert_undefined(f.library, "f");
    assert_undefined(third, "f");
    void *address;
    struct tn_tracker *another;
    assert_error(tn_lookup(other, "f", &address, &err), TN_EREMOVED, &err, "other");
    assert_error(tn_tracker_remove(tracker, &err), TN_EREMOVED, &err, "other");
    assert_error(tn_tracker_create(other, &another, &err), TN_EREMOVED, &err, "other");
    assert_error(tn_library_remove(other, &err), TN_EREMOVED, &err, "other");
    assert_error(tn_define(other, "f", &f, &err), TN_EREMOVED, &err, "other");
    assert_error(tn_library_search(f.library, &(struct tn_search){other, 0}, 1, &err), TN_EREMOVED, &err, "other");
    tn_tracker_destroy(tracker);
    close_fixture(&f);
}

static void transfer(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *one, *two;
    assert_ok(tn_tracker_create(f.library, &one, &err), &err);
    assert_ok(tn_tracker_create(f.library, &two, &err), &err);
    add_function(f.library, "f", 1, NULL, one);
    add_function(f.library, "g", 1, NULL, NULL);
    assert_int_equal(call_in(f.library, "f"), 1);
    assert_ok(tn_tracker_transfer(one, two, &err), &err);
    assert_ok(tn_tracker_remove(one, &err), &err);
    assert_int_equal(call_in(f.library, "f"), 1);
    assert_ok(tn_tracker_transfer(tn_library_tracker(f.library), two, &err), &err);
    assert_ok(tn_tracker_remove(two, &err), &err);
    assert_undefined(f.library, "f");
    assert_undefined(f.library, "g");
    assert_error(tn_tracker_transfer(one, tn_library_tracker(new_library(&f, "other")), &err), TN_EINVAL, &err,
                 "one library");
    close_fixture(&f);
}

static void *always(void *context, const char *name)
{
    (void)name;
    return context;
}

static void allow_lists(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *library = new_library(&f, "filtered");
    static const char *const names[] = {"alpha", "beta", "gamma"};
    struct tn_allowed allowed = {always, &f, names, COUNT(names)}, nothing = {always, &f, NULL, 0};
    assert_ok(tn_add_resolver(library, tn_resolve_allowed, &nothing, &err), &err);
    assert_undefined(library, "alpha");
    assert_ok(tn_add_resolver(library, tn_resolve_allowed, &allowed, &err), &err);
    void *address;
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_ok(tn_lookup(library, names[i], &address, &err), &err);
        assert_ptr_equal(address, &f);
    }
    assert_undefined(library, "aleph");
    assert_undefined(library, "omega");
    close_fixture(&f);
}

static void shared_libraries(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *library = new_library(&f, "shared");
    assert_error(tn_add_shared_library(library, "no/such/library.so", &err), TN_EIO, &err, "no/such/library.so");
    assert_undefined(library, "erfc");
    assert_ok(tn_add_shared_library(library, "libm.so.6", &err), &err);
    void *address;
    assert_ok(tn_lookup(library, "erfc", &address, &err), &err);
    double (*erfc_there)(double);
    memcpy(&erfc_there, &address, sizeof address);
    assert_true(erfc_there(0) == 1);
    assert_ok(tn_library_remove(library, &err), &err);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_order_wins),
        cmocka_unit_test(own_definitions_first),
        cmocka_unit_test(not_transitive),
        cmocka_unit_test(around),
        cmocka_unit_test(hidden_symbols),
        cmocka_unit_test(weak_references),
        cmocka_unit_test(all_missing_names),
        cmocka_unit_test(reexports),
        cmocka_unit_test(removed_elsewhere),
        cmocka_unit_test(found_elsewhere_behind_an_alias),
        cmocka_unit_test(found_in_a_circle),
        cmocka_unit_test(failed_links_start_over),
        cmocka_unit_test(clearing),
        cmocka_unit_test(removing),
        cmocka_unit_test(transfer),
        cmocka_unit_test(allow_lists),
        cmocka_unit_test(shared_libraries),
    };
    return cmocka_run_group_tests_name("libraries", tests, NULL, NULL);
}
